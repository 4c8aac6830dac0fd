"""What every extracted text goes through, so that it can be stored, searched and cited."""

from __future__ import annotations

import re
import unicodedata

# C0 and C1 controls but tab and newline, surrogates, noncharacters, byte order mark, zero width
# space and word joiner, Arabic and bidi marks that only steer rendering.
UNWANTED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\ufeff\u200b\u2060\u200e\u200f\u202a-\u202e]"
)
NEWLINES = re.compile("\r\n?|\x0b|\x85|\u2028|\u2029")
PAGE_FEED = re.compile("\n?\x0c\n?")
SOFT_HYPHEN = re.compile("\u00ad[ \t]*\n?[ \t]*(?=[a-zäöüßа-яё])|\u00ad")
BLANKS = re.compile("[\u00a0\u2007\u202f]")
BLANKS_BEFORE_NEWLINE = re.compile(r"[ \t]+(?=\n)")
EMPTY_LINES = re.compile(r"\n{4,}")
LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}  # not NFKC: ² stays
)


def clean(text: str) -> str:
    """Return text as NFC with "\\n" newlines and without what no reader sees.

    Surrogate pairs are put together, lone surrogates dropped; soft hyphens are joined, ligatures
    taken apart, blanks at line ends removed, leading and trailing empty lines as well.
    """
    if re.search("[\ud800-\udfff]", text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    text = NEWLINES.sub("\n", text)
    text = PAGE_FEED.sub("\n\n", text)
    text = SOFT_HYPHEN.sub("", text)
    text = UNWANTED.sub("", text)
    text = BLANKS.sub(" ", text.translate(LIGATURES))
    text = BLANKS_BEFORE_NEWLINE.sub("", text)
    text = EMPTY_LINES.sub("\n\n\n", text)
    return unicodedata.normalize("NFC", text.strip("\n").rstrip())


def join_pages(pages: list[str]) -> tuple[str, tuple[int, ...]]:
    """Return the pages' texts joined by an empty line, and the offset of each page."""
    offsets = []
    at = 0
    for page in pages:
        offsets.append(at)
        at += len(page) + 2
    text = "\n\n".join(pages)
    return text, tuple(min(offset, len(text)) for offset in offsets)
