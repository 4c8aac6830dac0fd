"""What a text is made of: words with their tokens, and the blocks and sections they form."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

PIECE_CHARS = 128  # of a "word" too long to be one, such as a line of Chinese or base64

WORD = re.compile(r"\S+")
HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
FENCE = re.compile(r"[ \t]*(```+|~~~+)")
ITEM = re.compile(r"[ \t]*(?:[-*+•‣▪–]|\d{1,3}[.)])[ \t]+\S")
TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")
MARKS = re.compile(r"\*\*|__|`|\[([^\]]*)\]\([^)]*\)|[ \t]+#+[ \t]*\Z")


class Words:
    """The words of a text with prefix sums of their tokens; very long ones in pieces."""

    def __init__(self, text: str, *, count_tokens: Callable[[str], int], chunk_size: int) -> None:
        self.text = text
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.sums: list[int] = [0]
        known: dict[str, int] = {}
        total = 0
        for match in WORD.finditer(text):
            start, end = match.span()
            width = PIECE_CHARS if end - start > 4 * PIECE_CHARS else end - start
            while start < end:
                stop = min(end, start + width)
                word = text[start:stop]
                tokens = known.get(word)
                if tokens is None:
                    tokens = known[word] = count_tokens(word)
                if tokens > chunk_size and stop - start > 1:
                    width = (stop - start) // 2
                    continue
                self.starts.append(start)
                self.ends.append(stop)
                total += tokens
                self.sums.append(total)
                start = stop

    def tokens(self, first: int, stop: int) -> int:
        """Tokens of the words [first, stop)."""
        return self.sums[stop] - self.sums[first]

    def within(self, start: int, end: int) -> tuple[int, int]:
        """The range [first, stop) of words that begin in [start, end)."""
        return bisect_left(self.starts, start), bisect_left(self.starts, end)

    def stop_after(self, first: int, budget: int) -> int:
        """The largest stop such that [first, stop) has at most budget tokens, but at least one word."""
        return max(first + 1, bisect_right(self.sums, self.sums[first] + budget) - 1)


@dataclass
class Block:
    """Lines that belong together; [first, stop) are its words, headings in front of it included.

    body is the first word after those headings; header the text of a table's header row.
    """

    kind: str
    first: int
    stop: int
    body: int
    path: tuple[str, ...]
    header: str | None = None


def blocks_of(words: Words, start: int, end: int) -> Iterator[Block]:
    """Parse text[start:end] into blocks; headings belong to the block that follows them."""
    text = words.text
    path: list[tuple[int, str]] = []
    pending: int | None = None  # where the headings in front of the next block begin
    for kind, block_start, block_end in _lines_to_blocks(text, start, end):
        if kind == "heading":
            match = HEADING.match(text, block_start, block_end)
            assert match is not None
            level = len(match.group(1))
            path = [entry for entry in path if entry[0] < level]
            path.append((level, MARKS.sub(lambda mark: mark.group(1) or "", match.group(2)).strip()))
            pending = block_start if pending is None else pending
            continue
        body, stop = words.within(block_start, block_end)
        first = body if pending is None else words.within(pending, block_end)[0]
        if body == stop:
            continue
        header = _header_of(text, block_start, block_end) if kind == "table" else None
        yield Block(kind, first, stop, body, tuple(title for _, title in path if title), header)
        pending = None
    if pending is not None:  # headings with nothing after them
        first, stop = words.within(pending, end)
        yield Block("list", first, stop, first, tuple(title for _, title in path if title))


def _lines_to_blocks(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield (kind, start, end) of each block: heading, table, list, code or paragraph."""
    kind = ""
    block_start = at = start
    fence = ""
    while at < end:
        newline = text.find("\n", at, end)
        line_end = end if newline < 0 else newline
        following = line_end + 1
        if fence:
            if text[at:line_end].strip().startswith(fence):
                fence = ""
                yield "code", block_start, line_end
                kind = ""
            at = following
            continue
        line_kind = _kind_of(text, at, line_end, kind)
        if line_kind != kind or line_kind == "heading":
            if kind and kind != "heading":
                yield kind, block_start, at
            kind, block_start = line_kind, at
        if line_kind == "heading":
            yield "heading", at, line_end
            kind = ""
        elif line_kind == "code":
            match = FENCE.match(text, at, line_end)
            fence = match.group(1) if match else "```"
        at = following
    if kind and kind != "heading":
        yield kind, block_start, end


def _kind_of(text: str, at: int, line_end: int, kind: str) -> str:
    """The kind of the block a line belongs to, given that of the line before; "" for an empty line."""
    first = text[at : at + 1]
    if at == line_end or not text[at : min(line_end, at + 400)].strip():
        return ""
    if first == "#" and HEADING.match(text, at, line_end):
        return "heading"
    if first == "|":
        return "table"
    if FENCE.match(text, at, line_end):
        return "code"
    if ITEM.match(text, at, line_end) and (kind != "paragraph" or first in "-*+•‣▪"):
        return "list"
    if kind == "list":
        return "list"  # a lazy continuation of its last item
    return "paragraph"


def _header_of(text: str, start: int, end: int) -> str | None:
    """The header row of a Markdown table, if its second line is a rule."""
    lines = text[start : min(end, start + 20_000)].split("\n", 2)
    return lines[0].strip() if len(lines) > 1 and TABLE_RULE.match(lines[1]) else None


def sections_of(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """The blocks from one heading to the next."""
    section: list[Block] = []
    for block in blocks:
        if section and block.first < block.body:  # headings in front
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def line_starts(text: str, start: int, end: int, *, items_only: bool) -> Iterator[int]:
    """Offsets of the lines in (start, end), or of those that begin a list item."""
    at = text.find("\n", start, end) + 1
    while at > 0:
        if not items_only or ITEM.match(text, at, end):
            yield at
        at = text.find("\n", at, end) + 1
