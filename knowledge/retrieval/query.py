"""A query's words as terms, with compounds taken apart and joined against what the index knows.

German writes compounds in one word: "Blattläuse" is to be found by "Läuse am Blatt" and the other way
round. Both are done here, when searching, so that no document changes another's terms.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import sqrt
from typing import NamedTuple

from knowledge.analysis.languages import LANGUAGES
from knowledge.analysis.stopwords import STOPWORDS
from knowledge.analysis.terms import canonical, stem, term, tokenize

_SHORTEST_PART = 4
_LONGEST_SPLIT_WORD = 40
_LINKS = ("", "s", "n", "en", "es", "er", "e")
_PART_WEIGHT = 0.5
_JOIN_WEIGHT = 1.0


class Word(NamedTuple):
    """A word of the query with its term in each language (none for a stopword of that language)."""

    text: str
    joined: bool
    terms: tuple[str, ...]


class Split(NamedTuple):
    left: str
    right: str


class Weighed(NamedTuple):
    """The terms to score, each with its weight, and the share of the query's words that the index knows."""

    weights: dict[str, float]
    known_share: float


def words_of(query: str, *, language: str) -> list[Word]:
    """The words of a query that carry a topic, in order: all but the small words of its language."""
    words = []
    for token in tokenize(query):
        if canonical(token.text, language) in STOPWORDS[language]:
            continue
        terms = dict.fromkeys(found for known in LANGUAGES if (found := term(token.text, known)) is not None)
        if terms:
            words.append(Word(token.text, token.joined, tuple(terms)))
    return words


def candidate_terms(words: list[Word]) -> set[str]:
    """Every term that could matter to the query, to be looked up at once."""
    candidates = {found for word in words for found in word.terms}
    for word in words:
        for split in splits_of(word):
            candidates.update(split)
    for joined, _, _ in joins_of(words):
        candidates.add(joined)
    return candidates


def weigh(words: list[Word], frequency: Callable[[str], int]) -> Weighed:
    """Choose the terms to score. `frequency` is the number of visible chunks that a candidate occurs in."""
    weights: dict[str, float] = {}

    def add(found: str, weight: float) -> None:
        weights[found] = max(weights.get(found, 0.0), weight)

    known: Counter[int] = Counter()
    for place, word in enumerate(words):
        for found in word.terms:
            if frequency(found):
                add(found, 1.0)
                known[place] = 1
        split = _best_split(word, frequency)
        if split is not None:
            add(split.left, _PART_WEIGHT)
            add(split.right, _PART_WEIGHT)
            known[place] = 1
    for joined, left, right in joins_of(words):
        if frequency(joined):
            add(joined, _JOIN_WEIGHT)
            known[left] = known[right] = 1
    counted = [place for place, word in enumerate(words) if not word.joined or known[place]]
    share = sum(known[place] for place in counted) / len(counted) if counted else 0.0
    return Weighed(weights, share)


def splits_of(word: Word) -> Iterator[Split]:
    """The ways in which a German word might be two, the first with or without a linking element."""
    text = canonical(word.text, "de")
    if not 2 * _SHORTEST_PART <= len(text) <= _LONGEST_SPLIT_WORD or not text.isalpha() or _is_cyrillic(text):
        return
    for cut in range(_SHORTEST_PART, len(text) - _SHORTEST_PART + 1):
        right = f"de:{stem(text[cut:], 'de')}"
        left = text[:cut]
        stems = {stem(left, "de")}
        stems.update(
            stem(left.removesuffix(link), "de")
            for link in _LINKS
            if link and left.endswith(link) and len(left) - len(link) >= _SHORTEST_PART - 1
        )
        for found in sorted(stems):
            yield Split(f"de:{found}", right)


def joins_of(words: list[Word]) -> Iterator[tuple[str, int, int]]:
    """The compounds that two neighbouring words might make, in either order, with the places of the two."""
    plain = [(place, word) for place, word in enumerate(words) if not word.joined and word.text.isalpha()]
    for (place, word), (next_place, following) in pairwise(plain):
        if _is_cyrillic(word.text) or _is_cyrillic(following.text):
            continue
        for left, right in ((word, following), (following, word)):
            head = canonical(right.text, "de")
            spelt = canonical(left.text, "de")
            for begin in sorted({spelt, *(stem(spelt, "de") + link for link in _LINKS)}):
                yield f"de:{stem(begin + head, 'de')}", place, next_place


def _best_split(word: Word, frequency: Callable[[str], int]) -> Split | None:
    """The split whose parts are both known and, taken together, the most frequent."""
    best: tuple[float, Split] | None = None
    for split in splits_of(word):
        score = sqrt(frequency(split.left) * frequency(split.right))
        if score and (best is None or (score, split) > best):
            best = (score, split)
    return best[1] if best else None


def _is_cyrillic(text: str) -> bool:
    return any("\u0400" <= letter <= "\u04ff" for letter in text)
