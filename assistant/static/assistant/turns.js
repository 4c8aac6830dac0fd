// The turns on the page: taking in events, showing what is there so far.

import { show } from "./markdown.js";

const label = document.getElementById("citation-label")?.textContent ?? "{n}";

/** What the page knows of a turn that is being answered. */
class Turn {
  constructor(node) {
    this.node = node;
    this.id = Number(node.dataset.turn);
    this.after = null;
    this.text = "";
    this.urls = new Map();
    this.drawing = false;
  }

  get isStreaming() {
    return this.node.dataset.state === "STREAMING";
  }

  take(event) {
    this.after = event.id;
    if (event.type === "sources") this.takeSources(event);
    else if (event.type === "delta") this.takeText(event.text);
    else if (event.type === "done") this.end(event.state, event.html, event.supported);
    else if (event.type === "failed") {
      this.node.querySelector(".failure").textContent = event.text;
      this.end("FAILED", event.html, null);
    }
  }

  takeSources({ sources, supported }) {
    this.node.dataset.supported = supported ? "yes" : "no";
    this.urls = new Map(sources.map((source) => [source.number, source.url]));
    const list = this.node.querySelector(".sources");
    list.querySelector("ol").replaceChildren(...sources.map(sourceNode));
    list.hidden = sources.length === 0;
  }

  takeText(text) {
    this.text += text;
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      if (this.isStreaming) this.keepInView(() => show(this.answer, this.text, (number) => this.cite(number)));
    });
  }

  end(state, html, supported) {
    this.keepInView(() => {
      if (html) this.answer.innerHTML = html; // sanitised by the server
      if (supported !== null) this.node.dataset.supported = supported ? "yes" : "no";
      this.node.dataset.state = state;
      this.answer.removeAttribute("aria-busy");
    });
  }

  cite(number) {
    if (!this.urls.has(number)) return null;
    const link = document.createElement("a");
    link.className = "cite";
    link.href = this.urls.get(number);
    link.dataset.number = number;
    link.setAttribute("aria-label", label.replace("{n}", number));
    link.textContent = number;
    return link;
  }

  get answer() {
    return this.node.querySelector(".answer");
  }

  /** Stay at the end of the page if the reader is there; leave them alone if they have scrolled up. */
  keepInView(change) {
    const page = document.documentElement;
    const atEnd = page.scrollHeight - page.scrollTop - page.clientHeight < 120;
    change();
    if (atEnd && this.node.getBoundingClientRect().top > 90) page.scrollTop = page.scrollHeight;
  }
}

function sourceNode(source) {
  const node = document.getElementById("source-template").content.firstElementChild.cloneNode(true);
  node.dataset.number = source.number;
  node.querySelector("a").href = source.url;
  node.querySelector(".source-number").textContent = source.number;
  node.querySelector(".source-title").textContent = source.title;
  node.querySelector(".source-heading").textContent = source.heading;
  node.querySelector(".source-snippet").textContent = source.snippet;
  return node;
}

/** The turns of the page that are being answered. */
export function streamingTurns() {
  return [...document.querySelectorAll('#turns .turn[data-state="STREAMING"]')].map((node) => new Turn(node));
}

/** Add a turn that the server has just begun. */
export function addTurn({ turn, question }) {
  const node = document.getElementById("turn-template").content.querySelector(".turn").cloneNode(true);
  node.id = `turn-${turn}`;
  node.dataset.turn = turn;
  node.dataset.url = node.dataset.url.replace("/0/", `/${turn}/`);
  for (const form of node.querySelectorAll("form")) form.action = form.getAttribute("action").replace("/0/", `/${turn}/`);
  const receipt = node.querySelector(".turn-end a");
  receipt.href = receipt.getAttribute("href").replace("/0/", `/${turn}/`);
  const heading = node.querySelector(".question");
  heading.replaceChildren(...question.split("\n").flatMap((line, index) => (index ? [document.createElement("br"), line] : [line])));
  node.querySelector('input[name="question"]').value = question;
  document.getElementById("turns").append(node);
  node.scrollIntoView({ block: "start", behavior: "smooth" });
  return new Turn(node);
}
