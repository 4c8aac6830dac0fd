// The answer while it is being written, as DOM nodes. Text only ever becomes text nodes, so nothing in it can
// act; once the answer is whole, the server's sanitised HTML takes its place and looks the same.

const ITEM = /^\s*(?:[-*+•]|\d{1,3}[.)])\s+/;
const INLINE = /\\([\\`*_[\]<>#|])|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|`([^`]+)`|\[(\d{1,3})\]/g;

/** Replace what `target` shows by `text`; `cite(number)` makes a link, or returns null for an unknown number. */
export function show(target, text, cite) {
  target.replaceChildren(...blocks(text.split("\n"), cite));
}

function blocks(lines, cite) {
  const nodes = [];
  let group = [];
  const close = () => {
    if (group.length) nodes.push(...block(group, cite));
    group = [];
  };
  for (const line of lines) {
    const starts = group.length && kindOf(line) !== kindOf(group[0]) && (kindOf(line) !== "text" || kindOf(group[0]) === "quote");
    if (!line.trim() || starts) close();
    if (line.trim()) group.push(line);
  }
  close();
  return nodes;
}

function kindOf(line) {
  if (/^>/.test(line)) return "quote";
  if (/^#{1,6}\s/.test(line)) return "heading";
  if (/^\s*\|/.test(line)) return "table";
  return ITEM.test(line) ? "list" : "text";
}

function block(lines, cite) {
  switch (kindOf(lines[0])) {
    case "quote": {
      // A quotation's own numbers in brackets are not citations of this answer.
      const inner = lines.map((line) => line.replace(/^>\s?/, ""));
      return [element("blockquote", blocks(inner, () => null))];
    }
    case "heading":
      return lines.map((line) => element("h3", inline(line.replace(/^#+\s+/, ""), cite)));
    case "table":
      return [table(lines, cite)];
    case "list": {
      const items = [];
      for (const line of lines) {
        if (ITEM.test(line) || !items.length) items.push(line.replace(ITEM, ""));
        else items[items.length - 1] += " " + line.trim();
      }
      const list = element(/^\s*\d/.test(lines[0]) ? "ol" : "ul", items.map((item) => element("li", inline(item, cite))));
      return [list];
    }
    default:
      return [element("p", inline(lines.join(" "), cite))];
  }
}

function table(lines, cite) {
  const rows = lines.filter((line) => !/^[\s|:-]+$/.test(line));
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|");
  return element("table", [
    element("tbody", rows.map((row, index) =>
      element("tr", cells(row).map((cell) => element(index ? "td" : "th", inline(cell.trim(), cite)))))),
  ]);
}

function inline(text, cite) {
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, escaped, strong, emphasis, code, number] = match;
    nodes.push(text.slice(at, match.index));
    at = match.index + whole.length;
    if (escaped) nodes.push(escaped);
    else if (strong) nodes.push(element("strong", inline(strong, cite)));
    else if (emphasis) nodes.push(element("em", inline(emphasis, cite)));
    else if (code) nodes.push(element("code", [code]));
    else nodes.push(cite(Number(number)) ?? whole);
  }
  nodes.push(text.slice(at));
  return nodes;
}

function element(name, children) {
  const node = document.createElement(name);
  node.append(...children);
  return node;
}
