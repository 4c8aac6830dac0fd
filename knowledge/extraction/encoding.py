"""Bytes of a text file -> str.

The order: byte order mark, UTF-16/32 by how they use zero bytes, valid UTF-8, then the legacy
code pages. Detectors err on short texts and mix up KOI8-R, cp866 and cp1251, so among the code
pages German, English and Russian come in, each reading is judged as text (`strangeness`), and
charset-normalizer is asked where none of them reads well (Arabic, Japanese, EBCDIC, ...).
"""

from __future__ import annotations

import codecs
import math
import re

from charset_normalizer import from_bytes

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# In order of preference where two read equally well.
CODE_PAGES = ("cp1252", "cp1251", "koi8-r", "cp866", "cp1250", "iso8859-5", "cp850")
WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
SAMPLE_BYTES = 65_536
# Mean strangeness above which no reading of CODE_PAGES is believed; natural German has about 1.5,
# Russian about 3, Russian in the wrong code page 8 and more.
READS_BADLY = 5.0

# Frequency of letters per 1000 in running Russian.
RUSSIAN = {
    "о": 110,
    "е": 85,
    "а": 80,
    "и": 74,
    "н": 67,
    "т": 63,
    "с": 55,
    "р": 47,
    "в": 45,
    "л": 44,
    "к": 35,
    "м": 32,
    "д": 30,
    "п": 28,
    "у": 26,
    "я": 20,
    "ы": 19,
    "ь": 17,
    "г": 17,
    "з": 16,
    "б": 16,
    "ч": 14,
    "й": 12,
    "х": 10,
    "ж": 9,
    "ш": 7,
    "ю": 6,
    "ц": 5,
    "щ": 4,
    "э": 3,
    "ф": 3,
    "ъ": 1,
    "ё": 1,
}
GERMAN = frozenset("äöüß")
WESTERN = frozenset("éèêëàâáçñíîïóôúûùæøåãõœìòÿ")
CENTRAL = frozenset("ąćčďęěłńňőřśšťůűźżžýđ")
PUNCTUATION = frozenset("„“”‚‘’–—…«»€§°±²³·•©®™µ×½¼¾№¿¡´\xa0")
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
WORD_OR_MARKS = re.compile(r"[^\W\d_]+|[^\x00-\x7f\w]+|[^\x00-\x7f]")


def decode(data: bytes, *, declared: str | None = None) -> tuple[str, str] | None:
    """Return (text, encoding), or None where the bytes are no text in any encoding.

    declared is the encoding that the file itself names (HTML meta, XML prolog); it is taken if
    the bytes agree with it. Zero bytes within text are kept here; cleaning drops them.
    """
    for mark, encoding in BOMS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding), encoding
            except UnicodeDecodeError:
                if encoding != "utf-8":
                    return data[len(mark) :].decode(encoding, "ignore"), encoding
                data = data[len(mark) :]  # a wrong mark in front of a code page
    wide = _decode_wide(data)
    if wide is not None:
        return wide
    text = _decode_utf8(data)
    if text is not None:
        return None if _is_binary(text) else (text, "utf-8")
    if declared:
        text = _decode_strictly(data, _web_name(declared))
        if text is not None and not _is_binary(text) and strangeness(_sample(text)) < 2 * READS_BADLY:
            return text, _web_name(declared)
    return _decode_code_page(data)


def strangeness(text: str) -> float:
    """Mean cost of a reading per character beyond ASCII; lower is more like real text, 0.0 for ASCII.

    Letters cost the negative logarithm of how common they are; added are costs for what does not
    happen in text: scripts mixed in a word, capitals after small letters, Latin words without a
    plain letter, marks between letters, control characters.
    """
    cost = 0.0
    count = 0
    for match in WORD_OR_MARKS.finditer(text):
        word = match.group()
        if word.isascii():
            continue
        foreign = sum(character > "\x7f" for character in word)
        count += foreign
        if not word[0].isalpha():
            cost += _cost_of_marks(text, match.start(), word)
            continue
        cost += sum(_cost_of_letter(character) for character in word if character > "\x7f")
        cyrillic = sum("Ѐ" <= character <= "ӿ" for character in word)
        if cyrillic and cyrillic < len(word):
            cost += 8.0 * foreign
        elif not cyrillic and foreign == len(word) > 1 and "À" <= word[0] <= "ſ":
            cost += 4.0 * foreign
        if len(word) > 1 and not word.islower():
            if word.isupper():
                cost += 1.2 * foreign
            elif not word[1:].islower():
                cost += 5.0 * foreign
    return cost / count if count else 0.0


def _cost_of_letter(character: str) -> float:
    small = character.lower()
    if small in RUSSIAN:
        return _RUSSIAN_COST[small]
    if small in GERMAN:
        return 1.3
    if small in WESTERN:
        return 3.0
    if small in CENTRAL:
        return 3.8
    return 7.0


_RUSSIAN_COST: dict[str, float] = {
    letter: 6.9 - 1.0 * (per_mille**0.5) / 2.2 for letter, per_mille in RUSSIAN.items()
}


def _cost_of_marks(text: str, start: int, marks: str) -> float:
    """Cost of a run of characters that are neither ASCII nor letters."""
    before = text[start - 1] if start else " "
    after = text[start + len(marks)] if start + len(marks) < len(text) else " "
    if CONTROL.search(marks):
        return 12.0 * len(marks)
    if any("─" <= mark <= "▟" for mark in marks):
        # Box drawing: DOS tables are made of it, in long lines and beside blanks.
        drawn = not (before.isalpha() or after.isalpha()) and (
            re.search(r"(.)\1", marks) is not None or marks in "│║┃"
        )
        return (3.0 if drawn else 9.0) * len(marks)
    if marks == "\xa0":  # stands where a blank could stand
        return 2.0 if not before.isspace() and not after.isspace() else 7.0
    if all(mark in PUNCTUATION for mark in marks):
        if len(marks) > 3:
            return 7.0 * len(marks)
        between = before.isalpha() and after.isalpha() and marks not in ("’", "‘", "–", "—", "·", "´")
        return (7.0 if between else 2.0) * len(marks)
    return 7.0 * len(marks)


def _decode_utf8(data: bytes) -> str | None:
    """UTF-8, also where a few bytes of it are broken; code pages hardly ever make its sequences."""
    text = _decode_strictly(data, "utf-8")
    if text is None:
        damaged = data.decode("utf-8", "replace")
        broken = damaged.count("\ufffd")
        whole = sum(character > "\x7f" for character in damaged) - broken
        text = damaged if whole > 20 * broken else None
    return text


def _decode_wide(data: bytes) -> tuple[str, str] | None:
    """UTF-16 or UTF-32 without a mark: there, bytes below 0x20 are the halves of letters."""
    if not re.search(rb"[\x00-\x06\x0e-\x1a]", data[:SAMPLE_BYTES]):
        return None
    narrow = sum(byte < 0x07 for byte in data[:SAMPLE_BYTES]) / min(len(data), SAMPLE_BYTES)
    if narrow < 0.25:
        return None
    readings = []
    for encoding in WIDE:
        width = 4 if "32" in encoding else 2
        if len(data) % width and len(data) < SAMPLE_BYTES:
            continue
        usable = len(data) - len(data) % width
        text = _decode_strictly(data[:usable], encoding)
        if text is None or CONTROL.search(text[:SAMPLE_BYTES]):
            continue
        sample = text[:SAMPLE_BYTES]
        plain = sum(c < "\x80" or "\xa0" <= c <= "ӿ" or "‐" <= c <= "⋿" for c in sample) / len(sample)
        readings.append((plain, text, encoding))
    if not readings:
        return None
    plain, text, encoding = max(readings, key=lambda reading: reading[0])
    return (text, encoding) if plain > 0.7 else None


def _decode_code_page(data: bytes) -> tuple[str, str] | None:
    readings: list[tuple[float, str, str]] = []
    for encoding in CODE_PAGES:
        text = _decode_strictly(data, encoding)
        if text is None and encoding == "cp1252":
            # The five bytes that cp1252 leaves undefined are dropped where they are rare.
            text = data.decode(encoding, "ignore")
            if len(data) - len(text) > len(data) // 200:
                continue
        if text is None or _is_binary(text):
            continue
        readings.append((strangeness(_sample(text)), text, encoding))
    cost, reading, encoding = min(readings, key=lambda reading: reading[0], default=(math.inf, "", ""))
    if cost <= READS_BADLY:
        return reading, encoding
    guess = from_bytes(data[:SAMPLE_BYTES]).best()
    if guess is not None and guess.encoding not in ("utf_8", "ascii"):
        text = data.decode(guess.encoding, "ignore")
        if not _is_binary(text):
            return text, codecs.lookup(guess.encoding).name
    return (reading, encoding) if cost <= 2 * READS_BADLY else None


def _sample(text: str) -> str:
    """At most SAMPLE_BYTES characters, from the lines that have some beyond ASCII first."""
    if len(text) <= SAMPLE_BYTES:
        return text
    lines = [line for line in text.splitlines() if not line.isascii()]
    return "\n".join(lines)[:SAMPLE_BYTES]


def _decode_strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _web_name(declared: str) -> str:
    """Browsers read what calls itself Latin-1 or ASCII as cp1252, and so do authors mean it."""
    name = declared.strip().strip("\"'").lower()
    return "cp1252" if name in ("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii") else name


def _is_binary(text: str) -> bool:
    sample = text[:SAMPLE_BYTES]
    controls = len(CONTROL.findall(sample)) - sample.count("\x00")
    return controls > max(2, len(sample) // 50) or sample.count("\x00") > max(4, len(sample) // 10)
