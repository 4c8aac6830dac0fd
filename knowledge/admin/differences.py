"""What two texts differ in: by lines first, then by words within the lines that differ.

What is compared is limited, since it happens while a page loads; a result says where it was cut off.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

MOST_LINES = 2_000
MOST_WORDS = 1_500
MOST_CHARACTERS = 120_000
CONTEXT = 2
CONTEXT_CHARACTERS = 400
_LEAST_ALIKE = 0.3
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")

Kind = Literal["same", "gap", "changed", "added", "removed"]


class Piece(NamedTuple):
    """A stretch of text; marked where the other side has something else."""

    text: str
    marked: bool


class Hunk(NamedTuple):
    """Neighbouring lines of one kind. `line` counts from 1 on each side; `lines` is a gap's length."""

    kind: Kind
    before: list[Piece]
    after: list[Piece]
    before_line: int
    after_line: int
    lines: int = 0


@dataclass
class TextDifference:
    """The hunks in order. `is_cut_off` says that what follows them was not compared."""

    hunks: list[Hunk] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    is_cut_off: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.added and not self.removed


def compare_texts(before: str, after: str) -> TextDifference:
    """Compare two texts; `added` and `removed` count lines."""
    old, new = before.split("\n"), after.split("\n")
    result = TextDifference()
    characters = 0
    for kind, old_range, new_range in _line_ranges(old, new, result):
        old_lines, new_lines = old[slice(*old_range)], new[slice(*new_range)]
        if kind == "same":
            result.hunks += _context(new_lines, old_range[0], new_range[0], len(old), old_range[1])
            continue
        text, other = "\n".join(old_lines), "\n".join(new_lines)
        characters += len(text) + len(other)
        if characters > MOST_CHARACTERS:
            result.is_cut_off = True
            text, other = text[:MOST_CHARACTERS], other[:MOST_CHARACTERS]
        result.removed += len(old_lines)
        result.added += len(new_lines)
        pieces = _marked_words(text, other) if kind == "changed" else (_whole(text), _whole(other))
        result.hunks.append(Hunk(kind, *pieces, old_range[0] + 1, new_range[0] + 1))
        if result.is_cut_off and characters > MOST_CHARACTERS:
            break
    return result


def _line_ranges(
    old: Sequence[str], new: Sequence[str], result: TextDifference
) -> Iterator[tuple[Kind, tuple[int, int], tuple[int, int]]]:
    """Ranges of lines by kind, with what both texts begin and end with taken off first."""
    shorter = min(len(old), len(new))
    head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    most_tail = shorter - head
    tail = next((place for place in range(most_tail) if old[-1 - place] != new[-1 - place]), most_tail)
    if head:
        yield "same", (0, head), (0, head)
    old_end, new_end = len(old) - tail, len(new) - tail
    result.is_cut_off = max(old_end, new_end) - head > MOST_LINES
    old_middle = old[head : min(old_end, head + MOST_LINES)]
    new_middle = new[head : min(new_end, head + MOST_LINES)]
    kinds: dict[str, Kind] = {
        "equal": "same",
        "replace": "changed",
        "insert": "added",
        "delete": "removed",
    }
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old_middle, new_middle).get_opcodes():
        yield kinds[tag], (head + i1, head + i2), (head + j1, head + j2)
    if tail and not result.is_cut_off:
        yield "same", (old_end, len(old)), (new_end, len(new))


def _context(
    lines: Sequence[str], old_start: int, new_start: int, old_length: int, old_end: int
) -> list[Hunk]:
    """The lines next to a change, with a gap for those farther away."""
    before_count = CONTEXT if old_start or new_start else 0
    after_count = CONTEXT if old_end < old_length else 0
    if len(lines) <= before_count + after_count + 1:
        return [_same(lines, old_start, new_start)]
    gap = len(lines) - before_count - after_count
    hunks = []
    if before_count:
        hunks.append(_same(lines[:before_count], old_start, new_start))
    place = before_count
    hunks.append(Hunk("gap", [], [], old_start + place + 1, new_start + place + 1, gap))
    if after_count:
        hunks.append(_same(lines[place + gap :], old_start + place + gap, new_start + place + gap))
    return hunks


def _same(lines: Sequence[str], old_start: int, new_start: int) -> Hunk:
    shortened = [
        line if len(line) <= CONTEXT_CHARACTERS else f"{line[:CONTEXT_CHARACTERS]} …" for line in lines
    ]
    text = [Piece("\n".join(shortened), False)]
    return Hunk("same", text, text, old_start + 1, new_start + 1)


def _whole(text: str) -> list[Piece]:
    return [Piece(text, True)]


def _marked_words(before: str, after: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts with the words marked that differ; marked whole where they are too long or too unlike."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return _whole(before), _whole(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return _whole(before), _whole(after)
    old_marks, new_marks = [True] * len(old), [True] * len(new)
    for i, j, length in matcher.get_matching_blocks():
        # A space alone between two changes is no common ground.
        if any(not token.isspace() for token in old[i : i + length]):
            old_marks[i : i + length] = [False] * length
            new_marks[j : j + length] = [False] * length
    return _pieces(old, old_marks), _pieces(new, new_marks)


def _pieces(tokens: Sequence[str], marks: Sequence[bool]) -> list[Piece]:
    pieces: list[Piece] = []
    for token, marked in zip(tokens, marks, strict=True):
        if pieces and pieces[-1].marked == marked:
            pieces[-1] = Piece(pieces[-1].text + token, marked)
        else:
            pieces.append(Piece(token, marked))
    return pieces
