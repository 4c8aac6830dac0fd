"""Which of the three languages a text or a query is in."""

from importlib.metadata import version
from threading import Lock

from py3langid.langid import classify, set_languages

from knowledge.analysis.languages import LANGUAGES

DETECTOR_VERSION = f"py3langid-{version('py3langid')}"
_SAMPLE_CHARS = 20_000
_lock = Lock()
_ready = False


def detect_language(text: str) -> str:
    """ "de", "en" or "ru", whichever is likeliest; a few words are enough."""
    global _ready
    with _lock:
        if not _ready:
            set_languages(list(LANGUAGES))
            _ready = True
    language: str = classify(text[:_SAMPLE_CHARS])[0]
    return language
