"""Words to terms: how texts and queries are taken apart for keyword search, language by language."""

from knowledge.analysis.detection import detect_language
from knowledge.analysis.languages import LANGUAGES
from knowledge.analysis.terms import ANALYSER_VERSION, Token, term, terms_of_text, tokenize

__all__ = [
    "ANALYSER_VERSION",
    "LANGUAGES",
    "Token",
    "detect_language",
    "term",
    "terms_of_text",
    "tokenize",
]
