// A socket that comes back by itself. Messages are only sent while it is open.

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 10_000;
// Closed for a reason that trying again does not mend: not logged in, foreign origin, not yours.
const FOR_GOOD = new Set([4401, 4403, 4404]);

/**
 * handlers: opened(), received(message), lost(), refused(code).
 * Returns {send(message) -> boolean}: false if the socket is not open.
 */
export function connect(path, handlers) {
  let socket;
  let failures = 0;

  function open() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(`${scheme}//${location.host}${path}`);
    socket.addEventListener("open", () => {
      failures = 0;
      handlers.opened();
    });
    socket.addEventListener("message", (event) => handlers.received(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => {
      if (FOR_GOOD.has(event.code)) {
        handlers.refused(event.code);
        return;
      }
      failures += 1;
      handlers.lost(failures);
      const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
      setTimeout(open, wait * (0.75 + Math.random() / 2));
    });
  }

  open();
  return {
    send(message) {
      if (socket.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify(message));
      return true;
    },
  };
}
