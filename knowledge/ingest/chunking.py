"""Extracted text -> chunks: stretches of it that are embedded, found and cited.

Cut at headings first, then between blocks (paragraphs, lists, tables, code), then sentences, items,
rows or lines, then words, then within words. All is measured in tokens through prefix sums over the
words, so that the cost is linear and no text is tokenised twice.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from knowledge.extraction import Extracted
from knowledge.ingest.blocks import Block, Words, blocks_of, line_starts, sections_of
from knowledge.ingest.sentences import sentence_starts

# Raise it whenever the same text would be cut otherwise; it is part of index_format.
CHUNKER_VERSION = 1
ENTRY_TOKENS = 2048  # up to which an entry of a guide stays whole
TINY_TOKENS = 64  # below which a section is joined with what follows


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
    words = Words(extracted.text, count_tokens=count_tokens, chunk_size=chunk_size)
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


@dataclass
class _Piece:
    """What is not taken apart any more: a block, or a part of one that is too long."""

    first: int
    stop: int
    block: Block


class _Cutter:
    def __init__(self, words: Words, *, chunk_size: int, overlap: int) -> None:
        self.words = words
        self.size = chunk_size
        self.overlap = overlap

    def cut(self, start: int, end: int) -> Iterator[_Cut]:
        """Yield the cuts of text[start:end]."""
        for group in self._groups(blocks_of(self.words, start, end)):
            yield from self._pack([piece for block in group for piece in self._pieces(block)])

    def _groups(self, blocks: Iterable[Block]) -> Iterator[list[Block]]:
        """Blocks of one section each, tiny sections joined with the next one at their level or below."""
        group: list[Block] = []
        for section in sections_of(blocks):
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

    def _pieces(self, block: Block) -> Iterator[_Piece]:
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

    def _parts(self, block: Block) -> Iterator[int]:
        """Words at which a block that is too long may be cut."""
        text, words = self.words.text, self.words
        start, end = words.starts[block.body], words.ends[block.stop - 1]
        if block.kind == "paragraph":
            offsets: Iterable[int] = sentence_starts(text, start, end)
        else:
            offsets = line_starts(text, start, end, items_only=block.kind == "list")
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
