"""A document's extracted text as HTML, with one stretch of it marked exactly.

Two punctuation marks that the text does not use are set around the stretch before the Markdown is parsed,
and turned into <mark> in the parsed tree; so the marks run through paragraphs, lists and tables without
breaking any of them.
"""

import re
from html import escape

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from assistant.rendering import TAGS

# Punctuation, so that emphasis beside it still opens and closes; scripts that hardly any text is written in.
_SENTINELS = "꣎꣏᪨᪩᪪᪫꧁꧂"
# What a passage may begin or end with that is structure, not text: whole lines (fences, rules, the second
# line of a table or heading), and what stands before the text of a line (quotes, headings, items, cells).
_LINES = r"(?:[ \t]*(?:`{3,}|~{3,})[^\n]*|[ \t|:=-]*)"
_BEFORE = re.compile(
    rf"(?:{_LINES}\n)*[ \t]*(?:>[ \t]*)*(?:#{{1,6}}[ \t]+|[-*+•][ \t]+|\d{{1,9}}[.)][ \t]+)?(?:\|[ \t]*)?"
)
_AFTER = re.compile(rf"(?:\n{_LINES})+\Z")


def text_html(text: str, *, mark: tuple[int, int] | None, is_plain: bool = False) -> str:
    """Sanitised HTML of Markdown (or of plain text, its line breaks kept), with [start, end) in <mark>.

    The first mark has the id `passage`. Nothing in it loads anything from elsewhere.
    """
    opening, closing = _free_sentinels(text)
    if mark is not None:
        start, end = _onto_text(text, *mark)
        text = f"{text[:start]}{opening}{text[start:end]}{closing}{text[end:]}"
    markdown = _PLAIN if is_plain else _DOCUMENTS
    tokens = markdown.parse(text, {})
    inside = False
    for token in tokens:
        if token.type == "inline" and token.children:
            children: list[Token] = []
            for child in token.children:
                marked, inside = _marked(child, opening, closing, inside)
                children += marked
            token.children = children
        elif token.type in {"fence", "code_block"}:
            marked, inside = _marked(Token("text", "", 0, content=token.content), opening, closing, inside)
            inner = "".join(_code_part(part) for part in marked)
            token.type, token.content = "html_block", f"<pre><code>{inner}</code></pre>\n"
    html = markdown.renderer.render(tokens, markdown.options, {})
    html = html.replace(opening, "").replace(closing, "").replace("<mark>", '<mark id="passage">', 1)
    return nh3.clean(
        html,
        tags=TAGS | {"h1"},
        attributes={"a": {"href", "title"}, "ol": {"start"}, "mark": {"id"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _free_sentinels(text: str) -> tuple[str, str]:
    free = [character for character in _SENTINELS if character not in text]
    return (free[0], free[1]) if len(free) > 1 else ("\ue000", "\ue001")


def _onto_text(text: str, start: int, end: int) -> tuple[int, int]:
    """Move the start past what is structure, and the end before blanks and the edges of cells."""
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip(" \t>|-*+#"):
        match = _BEFORE.match(text, start, end)
        start = match.end() if match else start
    if after := _AFTER.search(text, start, end):
        end = after.start()
    while end > start and text[end - 1] in " \t\n|":
        end -= 1
    return start, end


def _marked(token: Token, opening: str, closing: str, inside: bool) -> tuple[list[Token], bool]:
    """The parts of a token, those inside the stretch between marks; and whether it goes on after it."""
    if token.type == "softbreak" and inside:
        token = Token("text", "", 0, content="\n")
    if token.type not in {"text", "code_inline"}:
        return [token], inside
    parts: list[Token] = []
    for piece in re.split(f"([{opening}{closing}])", token.content):
        if piece == opening:
            inside = True
        elif piece == closing:
            inside = False
        elif piece:
            part = Token(token.type, token.tag, 0, content=piece, markup=token.markup)
            parts += (
                [Token("mark_open", "mark", 1), part, Token("mark_close", "mark", -1)] if inside else [part]
            )
    return parts, inside


def _code_part(token: Token) -> str:
    return {"mark_open": "<mark>", "mark_close": "</mark>"}.get(token.type) or escape(token.content)


def _documents(*, breaks: bool) -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": breaks}).enable(["table", "strikethrough"])
    # An indented line of an extracted text is hardly ever code; pictures would be loaded from elsewhere.
    return markdown.disable(["code", "image", "html_block", "html_inline"])


_DOCUMENTS = _documents(breaks=False)
_PLAIN = _documents(breaks=True)
