"""HTML and kreuzberg's Markdown, made plain enough to be cited."""

from __future__ import annotations

import html
import re

ESCAPE = re.compile(r"\\([\\`*_{}\[\]()+.!<>$~&^#=-])")
IMAGE = re.compile(r"!\[([^\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)")
LINK = re.compile(r"\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]\((?:[^()\n]|\([^()\n]*\))*\)")
AUTOLINK = re.compile(r"<((?:https?|mailto):[^>\s]+)>")
STRONG = re.compile(r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1")
EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![\w*])")
LINE_START_ESCAPE = re.compile(r"\\[#>+-] ")
PADDED_CELL = re.compile(r"(?<=\|) {2,}|(?<=\S) {2,}(?=\|)")
RULE_CELL = re.compile(r"-{4,}")
DECLARED_HTML = re.compile(
    rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]+encoding=[\"']([\w.:-]+)", re.IGNORECASE
)
HTML_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
HTML_LANGUAGE = re.compile(r"<html[^>]*?\slang\s*=\s*[\"']?([A-Za-z]{2,3})\b", re.IGNORECASE)
HEAD = re.compile(r"<head\b[^>]*>.*?(?:</head\s*>|(?=<body\b))", re.IGNORECASE | re.DOTALL)
HEAD_TAGS = re.compile(
    r"<title\b[^>]*>.*?</title\s*>|<(?:meta|link|base)\b[^>]*>|<\?xml[^>]*\?>", re.IGNORECASE | re.DOTALL
)
UNSEEN = re.compile(
    r"<!--.*?-->|<(script|style|noscript|template|nav|svg|iframe|object)\b[^>]*>.*?</\1\s*>",
    re.IGNORECASE | re.DOTALL,
)


def declared_encoding(data: bytes) -> str | None:
    """The encoding that an HTML page names in its first 2,048 bytes."""
    match = DECLARED_HTML.search(data[:2048])
    return (match.group(1) or match.group(2)).decode("ascii", "replace") if match else None


def split_html(page: str) -> tuple[str, str | None, str | None]:
    """Return (page with its visible part only, title, language as declared)."""
    title = HTML_TITLE.search(page)
    language = HTML_LANGUAGE.search(page)
    seen = UNSEEN.sub(" ", page)
    seen = HEAD_TAGS.sub(" ", HEAD.sub(" ", seen, count=1))
    return (
        seen,
        " ".join(html.unescape(title.group(1)).split()) or None if title else None,
        language.group(1).lower() if language else None,
    )


def plain_markdown(text: str) -> str:
    """Keep headings, lists and tables; drop emphasis, link targets, pictures and escapes.

    Backslashes stay before "|" (they part cells) and before what would begin a heading or list.
    """
    text = AUTOLINK.sub(r"\1", text)
    text = IMAGE.sub(r"\1", text)
    text = LINK.sub(r"\1", text)
    text = STRONG.sub(r"\2", text)
    text = EMPHASIS.sub(r"\1", text)
    return unescape_markdown(text)


def unescape_markdown(text: str) -> str:
    """Take away the backslashes and the padding of table cells that a writer of Markdown adds."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("|"):
            line = RULE_CELL.sub("---", PADDED_CELL.sub(" ", line))
        if not LINE_START_ESCAPE.match(line):
            line = ESCAPE.sub(r"\1", line)
        lines[number] = line
    return "\n".join(lines)
