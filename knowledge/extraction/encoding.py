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
from typing import NamedTuple

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

RUSSIAN_BY_FREQUENCY = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
GERMAN = frozenset("äöüß")
WESTERN = frozenset("éèêëàâáçñíîïóôúûùæøåãõœìòÿ")
CENTRAL = frozenset("ąćčďęěłńňőřśšťůűźżžýđ")
PUNCTUATION = frozenset("„“”‚‘’–—…«»€§°±²³·•©®™µ×½¼¾№¿¡´\xa0")
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
WORD_OR_MARKS = re.compile(r"[^\W\d_]+|[^\x00-\x7f\w]+|[^\x00-\x7f]")


class Decoded(NamedTuple):
    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes, *, declared: str | None = None) -> Decoded | None:
    """Return the text and its encoding, or None where the bytes are no text in any encoding.

    declared is the encoding that the file itself names (HTML meta, XML prolog); it is taken if
    the bytes agree with it. Zero bytes within text are kept here; cleaning drops them.
    """
    for mark, encoding in BOMS:
        if data.startswith(mark):
            try:
                return Decoded(data[len(mark) :].decode(encoding), encoding)
            except UnicodeDecodeError:
                if encoding != "utf-8":
                    return Decoded(data[len(mark) :].decode(encoding, "ignore"), encoding)
                data = data[len(mark) :]  # a wrong mark in front of a code page
    wide = _decode_wide(data)
    if wide is not None:
        return wide
    found = _decode_utf8(data)
    if found is not None:
        return None if _is_binary(found.text) else found
    if declared:
        text = _decode_strictly(data, _web_name(declared))
        if text is not None and not _is_binary(text) and strangeness(_sample(text)) < 2 * READS_BADLY:
            return Decoded(text, _web_name(declared))
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
    rank = RUSSIAN_BY_FREQUENCY.find(small)
    if rank >= 0:
        return 2.2 + 0.13 * rank
    if small in GERMAN:
        return 1.3
    if small in WESTERN:
        return 3.0
    if small in CENTRAL:
        return 3.8
    return 7.0


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


def _decode_utf8(data: bytes) -> Decoded | None:
    """UTF-8, also where a few bytes of it are broken; code pages hardly ever make its sequences."""
    text = _decode_strictly(data, "utf-8")
    if text is not None:
        return Decoded(text, "utf-8")
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(character > "\x7f" for character in text) - broken
    if whole <= 5 * broken:
        return None
    return Decoded(text, "utf-8", (f"{broken} bytes were no valid UTF-8",))


def _decode_wide(data: bytes) -> Decoded | None:
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
        sample = (text or "")[:SAMPLE_BYTES]
        if text is None or CONTROL.search(sample.replace("\x00", "")):
            continue
        plain = sum("\x00" < c < "\x80" or "\xa0" <= c <= "ӿ" or "‐" <= c <= "⋿" for c in sample) / len(
            sample
        )
        readings.append((plain, text, encoding))
    if not readings:
        return None
    plain, text, encoding = max(readings, key=lambda reading: reading[0])
    return Decoded(text, encoding) if plain > 0.7 else None


def _decode_code_page(data: bytes) -> Decoded | None:
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
        return Decoded(reading, encoding)
    guess = from_bytes(data[:SAMPLE_BYTES]).best()
    if guess is not None and guess.encoding not in ("utf_8", "ascii"):
        text = data.decode(guess.encoding, "ignore")
        if not _is_binary(text):
            return Decoded(text, codecs.lookup(guess.encoding).name)
    return Decoded(reading, encoding) if cost <= 2 * READS_BADLY else None


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
