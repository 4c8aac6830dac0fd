// The chat: the form works without this; with it, questions and answers travel over one socket, live.

import { connect } from "./socket.js";
import { addTurn, streamingTurns } from "./turns.js";

const POLL_MS = 2_000;
// After so many failures in a row the page helps itself with plain requests.
const PATIENCE = 3;

const form = document.getElementById("composer");
const field = form.elements.question;
const problem = document.getElementById("composer-error");
const connection = document.getElementById("connection");
const conversation = form.elements.conversation ? Number(form.elements.conversation.value) : null;
const turns = new Map(streamingTurns().map((turn) => [turn.id, turn]));
const draftKey = `draft:${location.pathname}`;
let socket = null;
let waiting = false;
let polling = null;

document.documentElement.classList.add("scripted");

if (conversation !== null) {
  socket = connect(`/ws/assistant/?language=${document.documentElement.lang}`, {
    opened() {
      connection.textContent = "";
      clearInterval(polling);
      polling = null;
      for (const turn of turns.values()) {
        if (turn.after === null) turn.text = "";
        if (turn.isStreaming) socket.send({ type: "follow", turn: turn.id, after: turn.after });
      }
    },
    received(message) {
      if (message.type === "asked") {
        waiting = false;
        clearDraft();
        turns.set(message.turn, addTurn(message));
      } else if (message.type === "error") {
        waiting = false;
        say(message.text);
      } else {
        turns.get(message.turn)?.take(message);
      }
    },
    lost(failures) {
      waiting = false;
      if (failures > 1) connection.textContent = connection.dataset.lost;
      if (failures >= PATIENCE && polling === null) polling = setInterval(poll, POLL_MS);
    },
    refused() {
      location.reload(); // the server says what is the matter: the login page, or "not found"
    },
  });
}

form.addEventListener("submit", (event) => {
  const question = field.value.trim();
  if (!question) {
    event.preventDefault();
    field.focus();
    return;
  }
  if (waiting) {
    event.preventDefault();
    return;
  }
  say("");
  // Without a socket the form is sent as a form.
  if (socket?.send({ type: "ask", question: field.value, conversation })) {
    event.preventDefault();
    waiting = true;
  }
});

field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

field.addEventListener("input", () => {
  sessionStorage.setItem(draftKey, field.value);
  fit();
});

document.addEventListener("submit", (event) => {
  if (!event.target.matches(".stop")) return;
  const id = Number(event.target.closest(".turn").dataset.turn);
  if (socket?.send({ type: "stop", turn: id })) event.preventDefault();
});

/** Each streaming turn as the server shows it now. */
async function poll() {
  for (const turn of turns.values()) {
    if (!turn.isStreaming) continue;
    const response = await fetch(turn.node.dataset.url).catch(() => null);
    if (!response?.ok) continue;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = document.adoptNode(page.querySelector(".turn"));
    turn.node.replaceWith(fresh);
    turn.node = fresh;
    turn.after = null;
  }
}

function say(text) {
  problem.textContent = text;
  field.toggleAttribute("aria-invalid", Boolean(text));
}

function clearDraft() {
  field.value = "";
  sessionStorage.removeItem(draftKey);
  say("");
  fit();
}

/** The field grows with what is typed (where CSS cannot do it by itself). */
function fit() {
  if (CSS.supports("field-sizing", "content")) return;
  field.rows = Math.min(12, Math.max(conversation === null ? 2 : 1, field.value.split("\n").length));
}

/** Nothing typed is lost by a reload; what has been asked is no draft any more. */
function restoreDraft() {
  const asked = [...document.querySelectorAll('.turn input[name="question"]')].map((input) => input.value);
  for (const key of ["draft:/", draftKey]) {
    if (asked.includes((sessionStorage.getItem(key) ?? "").trim())) sessionStorage.removeItem(key);
  }
  if (!field.value) field.value = sessionStorage.getItem(draftKey) ?? "";
  fit();
}

restoreDraft();
