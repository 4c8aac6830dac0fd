"""Why a start ends. Each message is one sentence that says what to do."""

from pathlib import Path


class RuntimeProblem(Exception):
    """Base of everything that keeps Kamerplanter from running."""


class NotWritable(RuntimeProblem):
    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} cannot be written ({reason}); "
            "change its owner or set KAMERPLANTER_HOME to a folder of yours."
        )


class NoRoom(RuntimeProblem):
    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The disk that holds {path} is full; "
            "free at least 500 MB there or set KAMERPLANTER_HOME to a folder on another disk."
        )


class PortTaken(RuntimeProblem):
    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} on {host} is used by another program; "
            f"stop that one or choose another port: ./run --port {port + 1}"
        )


class CannotListen(RuntimeProblem):
    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(
            f"Cannot listen on {host} port {port} ({reason}); "
            "give an address of this machine and a port from 1024 to 65535."
        )


class AlreadyRunning(RuntimeProblem):
    def __init__(self, *, home: Path, url: str | None, pid: int) -> None:
        where = f"at {url}" if url else "and still starting"
        super().__init__(
            f"Kamerplanter is already running {where} (process {pid}, home {home}); "
            "stop that one first, or set KAMERPLANTER_HOME and --port for a second one."
        )


class NoUnprivilegedUser(RuntimeProblem):
    def __init__(self, tried: list[str]) -> None:
        super().__init__(
            f"PostgreSQL does not run as root, and root can become no other user here "
            f"(tried {', '.join(tried)}); "
            "start as an ordinary user, name one in KAMERPLANTER_SERVICE_USER, "
            "or set DATABASE_URL and REDIS_URL."
        )


class OutOfReach(RuntimeProblem):
    def __init__(self, path: Path, user: str) -> None:
        super().__init__(
            f"PostgreSQL runs as user {user} and may not enter {path}; "
            "open its parent folders for passing through (chmod o+x), or set KAMERPLANTER_HOME elsewhere."
        )


class ServerUnreachable(RuntimeProblem):
    """`variable` names the setting; the address is shown without user and password."""

    def __init__(self, *, variable: str, address: str, reason: str) -> None:
        super().__init__(
            f"{variable} points at {address}, which cannot be used ({reason}); "
            f"start or correct that server, or unset {variable} to use the embedded one."
        )


class DidNotStart(RuntimeProblem):
    def __init__(self, name: str, *, log: Path, reason: str = "") -> None:
        super().__init__(f"{name} did not start{f' ({reason})' if reason else ''}; what it said is in {log}.")


class UnsuitableData(RuntimeProblem):
    def __init__(self, path: Path, *, found: str, wanted: str) -> None:
        super().__init__(
            f"The database in {path} was made by PostgreSQL {found} and this is {wanted}; "
            "export it with the release that made it, or set KAMERPLANTER_HOME to start a new one."
        )
