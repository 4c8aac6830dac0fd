"""Choosing what to quote from a passage: the stretch that says most about the question, word for word."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from knowledge.analysis.terms import terms_of_text

_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_ROW = re.compile(r"\s*\|")
_RULE_OF_TABLE = re.compile(r"[\s|:-]+$")
# A sentence ends at a mark that a capital, a digit or an opening sign follows, but not with an abbreviation.
_SENTENCE_END = re.compile(r"[.!?…]+[\"“”»’)\]]*\s+(?=[\"„“«(*\[]*[^\W_a-zäöüßа-яё])")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|z\.\s?B|d\.\s?h|u\.\s?a|bzw|ca|vgl|evtl|ggf|inkl|max|min|Nr|Abb|Tab|Kap|Dr|Prof|St|"
    r"e\.g|i\.e|cf|approx|No|Fig|vs|var|subsp|т\.\s?е|т\.\s?д|т\.\s?п|см|рис|табл|стр)\.\s*$"
)
_SHORTEST_PART = 5  # letters a stem needs to count as part of a compound
_PART_WEIGHT = 0.6
_AGAIN_WEIGHT = 0.1
# The opening of a passage needs no context, that of a paragraph little; so others must say clearly more.
_OPENING_BONUS = 1.3
_PARAGRAPH_BONUS = 1.15
# A passage that is hardly longer than what may be quoted is quoted whole.
_WHOLE = 1.25


class Unit(NamedTuple):
    """[start, end) of a text: a sentence, a list item or a row of a table."""

    start: int
    end: int
    is_item: bool = False
    is_row: bool = False


def units_of(text: str) -> list[Unit]:
    """The quotable units of a text in order; headings and the rules of tables are left out."""
    units: list[Unit] = []
    paragraph: tuple[int, int, bool] | None = None  # start, end, is_item

    def close() -> None:
        nonlocal paragraph
        if paragraph is not None:
            start, end, is_item = paragraph
            units.extend(
                [Unit(start, end, is_item=True)]
                if is_item
                else [Unit(*span) for span in _sentences(text, start, end)]
            )
        paragraph = None

    at = 0
    for line in text.splitlines(keepends=True):
        start, end = at, at + len(line.rstrip())
        at += len(line)
        if not line.strip() or _HEADING.match(line):
            close()
        elif _ROW.match(line):
            close()
            if not _RULE_OF_TABLE.match(line):
                units.append(Unit(start, end, is_row=True))
        elif _ITEM.match(line):
            close()
            paragraph = (start, end, True)
        elif paragraph is not None:
            paragraph = (paragraph[0], end, paragraph[2])
        else:
            paragraph = (start, end, False)
    close()
    return units


def choose_excerpt(*, question: str, text: str, language: str, max_chars: int) -> str:
    """The stretch of whole units of `text` that covers most of the question's terms, rare ones first.

    It has about `max_chars` characters at most (but one unit at least), and is the beginning where no term
    occurs; "" for a text without units.
    """
    units = units_of(text)
    if not units:
        return ""
    if units[-1].end - units[0].start <= _WHOLE * max_chars:
        return text[units[0].start : units[-1].end]
    wanted = terms_of_text(question, language)
    found = [_matches(wanted, terms_of_text(text[unit.start : unit.end], language)) for unit in units]
    weights = _weights(found)
    best, best_gain = (0, 1), -1.0
    for first in range(len(units)):
        last, said, covered = first, 0.0, dict[str, float]()
        while last < len(units) and (last == first or units[last].end - units[first].start <= max_chars):
            for term, share in found[last].items():
                said += weights[term] * (max(0.0, share - covered.get(term, 0.0)) + _AGAIN_WEIGHT * share)
                covered[term] = max(covered.get(term, 0.0), share)
            last += 1
        gain = said * _bonus(text, units, first)
        if gain > best_gain + 1e-9:
            best, best_gain = (first, last), gain
    first, last = _with_lead_in(units, text, *best, max_chars=max_chars)
    return text[units[first].start : units[last - 1].end]


def _bonus(text: str, units: Sequence[Unit], first: int) -> float:
    if first == 0:
        return _OPENING_BONUS
    between = text[units[first - 1].end : units[first].start]
    return _PARAGRAPH_BONUS if "\n\n" in between else 1.0


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    spans = []
    begin = start
    for match in _SENTENCE_END.finditer(text, start, end):
        if _ABBREVIATION.search(text[begin : match.end()]):
            continue
        spans.append((begin, begin + len(text[begin : match.end()].rstrip())))
        begin = match.end()
    if begin < end:
        spans.append((begin, end))
    return spans


def _matches(wanted: Counter[str], there: Counter[str]) -> dict[str, float]:
    """Which of the wanted terms occur: 1 for the term itself, less where one is part of the other."""
    shares: dict[str, float] = {}
    for term in wanted:
        if term in there:
            shares[term] = 1.0
        elif any(_is_part(term, other) for other in there):
            shares[term] = _PART_WEIGHT
    return shares


def _is_part(term: str, other: str) -> bool:
    shorter, longer = sorted((term.partition(":")[2], other.partition(":")[2]), key=len)
    return len(shorter) >= _SHORTEST_PART and shorter in longer


def _weights(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """The rarer a term among the units, the more it says: ln(1 + units / units with it)."""
    counted = Counter(term for shares in found for term in shares)
    return {term: math.log(1 + len(found) / count) for term, count in counted.items()}


def _with_lead_in(
    units: Sequence[Unit], text: str, first: int, last: int, *, max_chars: int
) -> tuple[int, int]:
    """Take the line before a list or the head of a table along, where it fits."""
    lead = first
    while lead > 0 and (units[lead].is_item or units[lead].is_row):
        lead -= 1
        same_table = units[lead].is_row and units[first].is_row
        if not (units[lead].is_item or same_table or text[units[lead].end - 1] == ":"):
            lead += 1
            break
    if units[last - 1].end - units[lead].start <= max_chars * 1.3:
        return lead, last
    return first, last
