"""Which of the three languages a text is in."""

from collections import Counter

from knowledge.analysis.stopwords import STOPWORDS
from knowledge.analysis.terms import canonical, tokenize

_SAMPLE_CHARS = 20_000
_GERMAN_LETTERS = frozenset("äöüß")


def detect_language(text: str, *, default: str = "de") -> str:
    """"de", "en" or "ru" by script and by the share of each language's small words.

    `default` is the answer where nothing speaks for any of them, for a table of numbers say.
    """
    sample = text[:_SAMPLE_CHARS]
    letters = [character for character in sample if character.isalpha()]
    cyrillic = sum("\u0400" <= character <= "\u04ff" for character in letters)
    if letters and cyrillic > len(letters) / 2:
        return "ru"
    votes: Counter[str] = Counter()
    for token in tokenize(sample):
        for language in ("de", "en"):
            votes[language] += canonical(token.text, language) in STOPWORDS[language]
        votes["de"] += not _GERMAN_LETTERS.isdisjoint(token.text)
    if not votes["de"] and not votes["en"]:
        return default
    return "de" if votes["de"] >= votes["en"] else "en"
