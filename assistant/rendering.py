"""Markdown of answers -> sanitised HTML, the numbers in square brackets as links."""

import re
from collections.abc import Mapping

import nh3
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

CITATION = re.compile(r"\[(\d{1,3})\]")
TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li"),
    *("h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "a", "mark"),
}


def answer_html(text: str, urls: Mapping[int, str]) -> str:
    """HTML of an answer. `urls` maps the numbers of its sources to the addresses of their passages.

    `[n]` becomes a link where n is a source and it is not part of a quotation. Links, images and HTML that
    the answer itself contains stay text: whatever a document or model writes, nothing is loaded or followed.
    """
    html = _ANSWERS.render(text, {"urls": urls})
    return nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href", "class", "data-number", "aria-label"}, "ol": {"start"}},
        url_schemes=set(),
        link_rel=None,
    )


def _cite(state: StateCore) -> None:
    """Turn [n] in text tokens into links; runs before escapes are joined, so that \\[1\\] stays text."""
    urls: Mapping[int, str] = state.env.get("urls", {})
    quoted = 0
    for token in state.tokens:
        quoted += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if token.type == "inline" and token.children and not quoted:
            token.children = [part for child in token.children for part in _split(child, urls)]


def _split(token: Token, urls: Mapping[int, str]) -> list[Token]:
    if token.type != "text":
        return [token]
    parts: list[Token] = []
    at = 0
    for match in CITATION.finditer(token.content):
        number = int(match[1])
        if number not in urls:
            continue
        parts.append(Token("text", "", 0, content=token.content[at : match.start()]))
        attributes: dict[str, str | int | float] = {
            "class": "cite",
            "href": urls[number],
            "data-number": number,
            "aria-label": _("Source %(number)d") % {"number": number},
        }
        parts += [
            Token("link_open", "a", 1, attrs=attributes),
            Token("text", "", 0, content=str(number)),
            Token("link_close", "a", -1),
        ]
        at = match.end()
    parts.append(Token("text", "", 0, content=token.content[at:]))
    return parts


def _answers() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.disable(["link", "image", "autolink", "reference", "code", "html_block", "html_inline"])
    markdown.core.ruler.before("text_join", "citations", _cite)
    return markdown


_ANSWERS = _answers()
