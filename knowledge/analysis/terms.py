"""Tokens and terms.

A term is written "language:stem", so that the German and the English reading of one word do not meet.
German umlauts and their spellings with e are one (ä = ae, ß = ss); the stemmer then folds them, which also
joins singular and plural (Laus, Läuse). Numbers are the same in every language and keep their digits:
"5,8" is "5.8", and what hyphens join ("7-3-6", "5,8–6,2") is a term beside its parts.

What one text says never changes another's terms: compounds are taken apart when searching.
"""

import re
import threading
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import Stemmer

from knowledge.analysis.detection import DETECTOR_VERSION
from knowledge.analysis.stopwords import STOPWORDS

ANALYSER_VERSION = f"1/snowball-{Stemmer.version()}/{DETECTOR_VERSION}"
_ALGORITHMS = {"de": "german", "en": "english", "ru": "russian"}
_LONGEST_TERM = 60

_PIECE = r"(?:\d+(?:[.,]\d+)*|[^\W\d_]+)"
_JOINED = re.compile(rf"{_PIECE}(?:[-‐‑–]{_PIECE})*")
_PIECES = re.compile(_PIECE)
_UMLAUT_WITH_E = re.compile(r"ae|oe|(?<![aeiouäöüq])ue")
_UMLAUTS = {"ae": "ä", "oe": "ö", "ue": "ü"}

_local = threading.local()


class Token(NamedTuple):
    """A word or number as written, lower case; `joined` if it stands for parts that hyphens join."""

    text: str
    joined: bool = False

    @property
    def is_number(self) -> bool:
        return self.text[0].isdigit()


def tokenize(text: str) -> list[Token]:
    """The tokens of a text in order; what hyphens join is followed by its parts."""
    tokens: list[Token] = []
    for match in _JOINED.finditer(unicodedata.normalize("NFKC", text).lower()):
        written = match[0]
        if written.isalpha():
            tokens.append(Token(written[:_LONGEST_TERM]))
            continue
        pieces = [_plain(piece) for piece in _PIECES.findall(written)]
        if len(pieces) > 1:
            has_number = any(piece[0].isdigit() for piece in pieces)
            tokens.append(Token(("-" if has_number else "").join(pieces)[:_LONGEST_TERM], joined=True))
        tokens.extend(Token(piece[:_LONGEST_TERM]) for piece in pieces)
    return tokens


def term(token: str, language: str) -> str | None:
    """The term of a token in a language, or None for a stopword."""
    if token[0].isdigit():
        return f"#:{token}"
    return _word_term(token, language)


def terms_of_text(text: str, language: str) -> Counter[str]:
    """How often each term occurs in a text of this language."""
    counted: Counter[str] = Counter()
    for token, count in Counter(token.text for token in tokenize(text)).items():
        found = term(token, language)
        if found is not None:
            counted[found] += count
    return counted


def canonical(word: str, language: str) -> str:
    """One spelling for words that are spelt in several ways."""
    if language == "de":
        return _UMLAUT_WITH_E.sub(lambda match: _UMLAUTS[match[0]], word.replace("ß", "ss"))
    if language == "ru":
        return word.replace("ё", "е")
    return word


@lru_cache(maxsize=200_000)
def _word_term(word: str, language: str) -> str | None:
    spelt = canonical(word, language)
    if spelt in STOPWORDS[language]:
        return None
    return f"{language}:{stem(spelt, language)}"


@lru_cache(maxsize=200_000)
def stem(word: str, language: str) -> str:
    """The stem of a word in its canonical spelling."""
    found: str = _stemmer(language).stemWord(word)
    return found


def _plain(piece: str) -> str:
    return piece.replace(",", ".") if piece[0].isdigit() else piece


def _stemmer(language: str) -> Stemmer.Stemmer:
    # A stemmer keeps the word it works on in itself, so each thread has its own.
    stemmers: dict[str, Stemmer.Stemmer] | None = getattr(_local, "stemmers", None)
    if stemmers is None:
        stemmers = _local.stemmers = {
            name: Stemmer.Stemmer(algorithm) for name, algorithm in _ALGORITHMS.items()
        }
    return stemmers[language]
