"""Extracted text -> chunks: stretches of it that are embedded, found and cited.

Cut at headings first, then between blocks (paragraphs, lists, tables, code), then sentences, items,
rows or lines, then words, then within words. All is measured in tokens through prefix sums over the
words, so that the cost is linear and no text is tokenised twice.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from knowledge.extraction import Extracted
from knowledge.ingest.sentences import sentence_starts

# Raise it whenever the same text would be cut otherwise; it is part of index_format.
CHUNKER_VERSION = 1
ENTRY_TOKENS = 2048  # up to which an entry of a guide stays whole
TINY_TOKENS = 64  # below which a section is joined with what follows
PIECE_CHARS = 128  # of a "word" too long to be one, such as a line of Chinese or base64

WORD = re.compile(r"\S+")
HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
FENCE = re.compile(r"[ \t]*(```+|~~~+)")
ITEM = re.compile(r"[ \t]*(?:[-*+•‣▪–]|\d{1,3}[.)])[ \t]+\S")
TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")
MARKS = re.compile(r"\*\*|__|`|\[([^\]]*)\]\([^)]*\)|[ \t]+#+[ \t]*\Z")


@dataclass(frozen=True)
class ChunkDraft:
    """A chunk before it has an id: text == extracted.text[start:end].

    ordinal counts from 0 in order of start; page counts from 1, or is None for formats without
    pages; key is that of a guide's entry (with "/2", "/3" on the further parts of a very long one).
    metadata has table_header where rows are cut off from their header.
    """

    ordinal: int
    start: int
    end: int
    text: str
    heading_path: tuple[str, ...]
    token_count: int
    page: int | None
    key: str | None
    metadata: dict[str, Any]


def chunk(
    extracted: Extracted,
    *,
    count_tokens: Callable[[str], int],
    chunk_size: int = 512,
    overlap: int = 64,
) -> list[ChunkDraft]:
    """Return the chunks of a text in order; every character but white space is in at least one.

    count_tokens has to be additive over words parted by white space. No chunk has more than
    chunk_size tokens, but an entry of a guide stays one chunk up to ENTRY_TOKENS. A chunk repeats
    at most overlap tokens of the one before, from the beginning of a sentence or block, and never
    across a heading.
    """
    if chunk_size < 16 or not 0 <= overlap <= chunk_size // 2:
        raise ValueError("chunk_size must be at least 16, and overlap at most half of it")
    words = _Words(extracted.text, count_tokens=count_tokens, chunk_size=chunk_size)
    cutter = _Cutter(words, chunk_size=chunk_size, overlap=overlap)
    if extracted.entries:
        cuts = _cut_entries(extracted, cutter)
    else:
        cuts = cutter.cut(0, len(extracted.text))
    return [
        ChunkDraft(
            ordinal=ordinal,
            start=words.starts[cut.first],
            end=words.ends[cut.last],
            text=extracted.text[words.starts[cut.first] : words.ends[cut.last]],
            heading_path=cut.path,
            token_count=words.tokens(cut.first, cut.last + 1),
            page=bisect_right(extracted.pages, words.starts[cut.first]) or None,
            key=cut.key,
            metadata=cut.metadata,
        )
        for ordinal, cut in enumerate(cuts)
    ]


@dataclass
class _Cut:
    """A chunk as the range [first, last] of words."""

    first: int
    last: int
    path: tuple[str, ...]
    key: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def _cut_entries(extracted: Extracted, cutter: _Cutter) -> Iterator[_Cut]:
    for entry in extracted.entries:
        path = tuple(title for title in (extracted.title, entry.title) if title)
        first, stop = cutter.words.within(entry.start, entry.end)
        if cutter.words.tokens(first, stop) <= ENTRY_TOKENS:
            yield _Cut(first, stop - 1, path, entry.key, dict(entry.metadata))
            continue
        for number, cut in enumerate(cutter.cut(entry.start, entry.end), start=1):
            key = entry.key if number == 1 else f"{entry.key}/{number}"
            yield _Cut(cut.first, cut.last, path + cut.path, key, {**entry.metadata, **cut.metadata})


class _Words:
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
class _Block:
    """Lines that belong together; [first, stop) are its words, headings in front of it included.

    body is the first word after those headings; header the text of a table's header row.
    """

    kind: str
    first: int
    stop: int
    body: int
    path: tuple[str, ...]
    header: str | None = None


@dataclass
class _Piece:
    """What is not taken apart any more: a block, or a part of one that is too long."""

    first: int
    stop: int
    block: _Block


class _Cutter:
    def __init__(self, words: _Words, *, chunk_size: int, overlap: int) -> None:
        self.words = words
        self.size = chunk_size
        self.overlap = overlap

    def cut(self, start: int, end: int) -> Iterator[_Cut]:
        """Yield the cuts of text[start:end]."""
        for group in self._groups(_blocks(self.words, start, end)):
            yield from self._pack([piece for block in group for piece in self._pieces(block)])

    def _groups(self, blocks: Iterable[_Block]) -> Iterator[list[_Block]]:
        """Blocks of one section each, tiny sections joined with the next one at their level or below."""
        group: list[_Block] = []
        for section in _sections(blocks):
            if group:
                tokens = self.words.tokens(group[0].first, group[-1].stop)
                more = self.words.tokens(section[0].first, section[-1].stop)
                parent = group[-1].path[:-1]
                related = section[0].path[: len(parent)] == parent
                if tokens < TINY_TOKENS and related and tokens + more <= self.size:
                    group += section
                    continue
                yield group
            group = section
        if group:
            yield group

    def _pieces(self, block: _Block) -> Iterator[_Piece]:
        """The block as one piece if it fits, else its parts."""
        if self.words.tokens(block.first, block.stop) <= self.size:
            yield _Piece(block.first, block.stop, block)
            return
        first = block.first
        for stop in [*self._parts(block), block.stop]:
            while first < stop:
                if self.words.tokens(first, stop) <= self.size:
                    yield _Piece(first, stop, block)
                    first = stop
                else:
                    middle = self._sentence_or_word(first, stop) if block.kind != "paragraph" else 0
                    middle = middle or self.words.stop_after(first, self.size)
                    yield _Piece(first, middle, block)
                    first = middle

    def _parts(self, block: _Block) -> Iterator[int]:
        """Words at which a block that is too long may be cut."""
        text, words = self.words.text, self.words
        start, end = words.starts[block.body], words.ends[block.stop - 1]
        if block.kind == "paragraph":
            offsets: Iterable[int] = sentence_starts(text, start, end)
        else:
            offsets = _line_starts(text, start, end, items_only=block.kind == "list")
        if block.header:
            offsets = itertools.islice(offsets, 2, None)  # header and rule go with the first row
        previous = block.body
        for offset in offsets:
            index = bisect_left(words.starts, offset)
            if previous < index < block.stop:
                yield index
                previous = index

    def _sentence_or_word(self, first: int, stop: int) -> int:
        """The last sentence start in a part that is too long, such that what is before it fits; 0 if none."""
        limit = self.words.stop_after(first, self.size)
        last = 0
        for offset in sentence_starts(self.words.text, self.words.starts[first], self.words.ends[limit - 1]):
            index = bisect_left(self.words.starts, offset)
            if first < index < limit:
                last = index
        return last

    def _pack(self, pieces: list[_Piece]) -> Iterator[_Cut]:
        """Fill chunks with pieces, each beginning with the overlap that there is room for."""
        first = 0
        held: list[_Piece] = []
        for piece in pieces:
            if held and self.words.tokens(first, piece.stop) > self.size:
                yield self._cut_of(first, held)
                first = self._overlap_start(first, held, piece)
                held = []
            elif not held:
                first = piece.first
            held.append(piece)
        if held:
            yield self._cut_of(first, held)

    def _overlap_start(self, first: int, held: list[_Piece], upcoming: _Piece) -> int:
        """The word at which the next chunk begins: that of upcoming, or an earlier start of a sentence."""
        words = self.words
        budget = min(self.overlap, self.size - words.tokens(upcoming.first, upcoming.stop))
        if budget <= 0 or upcoming.first < upcoming.block.body:  # a heading comes first
            return upcoming.first
        lowest = bisect_left(words.sums, words.sums[upcoming.first] - budget)
        best = upcoming.first
        for piece in reversed(held):
            if piece.block.kind in ("table", "code"):
                break
            floor = max(first + 1, piece.first, piece.block.body, lowest)
            if floor < piece.stop:
                scan_from = max(words.starts[max(piece.first, piece.block.body)], words.starts[floor] - 300)
                starts = [words.starts[max(piece.first, piece.block.body)]]
                starts += sentence_starts(words.text, scan_from, words.ends[piece.stop - 1])
                inside = [
                    i for i in (bisect_left(words.starts, offset) for offset in starts) if floor <= i < best
                ]
                best = min(inside, default=best)
            if piece.first < piece.block.body or floor > piece.first:
                break
        return best

    def _cut_of(self, first: int, held: list[_Piece]) -> _Cut:
        metadata: dict[str, Any] = {}
        for piece in held:
            if piece.block.header and piece.block.body < first:
                metadata["table_header"] = piece.block.header
                break
        return _Cut(
            first, held[-1].stop - 1, _common_path([piece.block.path for piece in held]), None, metadata
        )


def _common_path(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    """What the paths begin with alike, or the first that is not empty if that is nothing."""
    common = paths[0]
    for path in paths[1:]:
        while path[: len(common)] != common:
            common = common[:-1]
    return common or next((path for path in paths if path), ())


def _sections(blocks: Iterable[_Block]) -> Iterator[list[_Block]]:
    section: list[_Block] = []
    for block in blocks:
        if section and block.first < block.body:  # headings in front
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _line_starts(text: str, start: int, end: int, *, items_only: bool) -> Iterator[int]:
    """Offsets of the lines in (start, end), or of those that begin a list item."""
    at = text.find("\n", start, end) + 1
    while at > 0:
        if not items_only or ITEM.match(text, at, end):
            yield at
        at = text.find("\n", at, end) + 1


def _blocks(words: _Words, start: int, end: int) -> Iterator[_Block]:
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
        yield _Block(kind, first, stop, body, tuple(title for _, title in path if title), header)
        pending = None
    if pending is not None:  # headings with nothing after them
        first, stop = words.within(pending, end)
        yield _Block("list", first, stop, first, tuple(title for _, title in path if title))


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
