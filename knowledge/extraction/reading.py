"""Bytes -> Extracted: tells the format, reads it, cleans it. Runs in a child process."""

from __future__ import annotations

import csv
import io
from functools import cache
from importlib.metadata import version
from typing import Any

from knowledge.errors import EmptyFile, NoText, TooLarge, UnsupportedFormat
from knowledge.errors import translatable as _
from knowledge.extraction import kreuzberg_reader, pdf
from knowledge.extraction.cleaning import clean
from knowledge.extraction.encoding import decode
from knowledge.extraction.extracted import Extracted, ExtractionLimits
from knowledge.extraction.formats import (
    BY_MIMETYPE_MEMBER,
    CSV,
    DOCX,
    EML,
    ENCRYPTED_OFFICE,
    HTML,
    MARKDOWN,
    MSG,
    PDF,
    PPTX,
    TSV,
    XLSX,
    YAML,
    sniff,
    sniff_text,
)
from knowledge.extraction.guides import read_guide, split_front_matter
from knowledge.extraction.markup import declared_encoding, split_html
from knowledge.extraction.unlocking import unlock

# Raise it whenever the same bytes would give another text.
READER_VERSION = "1"
csv.field_size_limit(50_000_000)  # the limit on characters is kept elsewhere
THROUGH_KREUZBERG = {
    DOCX,
    PPTX,
    XLSX,
    MSG,
    "application/rtf",
    "application/msword",
    "application/vnd.ms-powerpoint",
    "application/vnd.ms-excel",
    *BY_MIMETYPE_MEMBER,
}


def read(data: bytes, *, file_name: str, password: str | None, limits: ExtractionLimits) -> Extracted:
    """Return what is in the file; raises a child of ExtractionFailed."""
    if not data:
        raise EmptyFile()
    media_type = sniff(data, limits=limits)
    if media_type == ENCRYPTED_OFFICE:
        data = unlock(data, password=password)
        media_type = sniff(data, limits=limits)
    if media_type == PDF:
        text, pages, metadata = pdf.read(data, password=password, max_chars=limits.max_chars)
        return _extracted(
            text, media_type, "pypdfium2", metadata=metadata, title=metadata.get("title"), pages=pages
        )
    if media_type in THROUGH_KREUZBERG:
        return _read_office(data, media_type, limits=limits)
    if media_type is not None:
        raise UnsupportedFormat(media_type=media_type)
    return _read_text(data, file_name=file_name, limits=limits)


def _read_office(data: bytes, media_type: str, *, limits: ExtractionLimits) -> Extracted:
    text, metadata = kreuzberg_reader.read(data, media_type)
    text = _bounded(clean(text), limits=limits)
    if not text.strip():
        raise NoText()
    language = metadata.pop("language", None)
    return _extracted(
        text,
        media_type,
        "kreuzberg",
        metadata=metadata,
        title=metadata.get("title"),
        language=language[:2].lower() if isinstance(language, str) and language else None,
    )


def _read_text(data: bytes, *, file_name: str, limits: ExtractionLimits) -> Extracted:
    decoded = decode(data, declared=declared_encoding(data))
    if decoded is None:
        raise UnsupportedFormat(media_type="application/octet-stream")
    raw, encoding, warnings = decoded
    media_type = sniff_text(raw, file_name=file_name)
    if media_type == EML:
        return _read_office(data, EML, limits=limits)
    if media_type == HTML:
        page, title, language = split_html(raw)
        text, _ = kreuzberg_reader.read(page.encode("utf-8", "replace"), HTML)
        text = _bounded(clean(text), limits=limits)
        if not text.strip():
            raise NoText()
        return _extracted(
            text,
            HTML,
            "kreuzberg",
            metadata={"encoding": encoding},
            title=title,
            language=language,
            warnings=warnings,
        )
    text = _bounded(clean(raw), limits=limits)
    if not text.strip():
        raise NoText()
    if media_type == YAML:
        return read_guide(raw, file_name=file_name, extractor_version=_version_of("guide"))
    front: dict[str, Any] = {}
    if media_type == MARKDOWN:
        front, text, more = split_front_matter(text)
        warnings += more
        if not text.strip():
            raise NoText()
    elif media_type in (CSV, TSV):
        text, more = _read_table(text, delimiters="\t" if media_type == TSV else ",;\t|")
        warnings += more
    front = {**front, "encoding": encoding} if encoding != "utf-8" else front
    return _extracted(
        text,
        media_type,
        "text",
        metadata=front,
        title=_string(front.get("title")),
        language=_string(front.get("language") or front.get("lang")),
        source_type=_string(front.get("source_type") or front.get("type")),
        warnings=warnings,
    )


def _read_table(text: str, *, delimiters: str) -> tuple[str, tuple[str, ...]]:
    """Return a Markdown table; where no delimiter gives rows of one length, the text, with a warning."""
    best: list[list[str]] = []
    for delimiter in delimiters:
        try:
            rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
        except csv.Error:
            continue
        widths = {len(row) for row in rows}
        if len(widths) == 1 and widths.pop() > len(best[0] if best else [""]):
            best = rows
    if not best:
        return text, ("the rows of the table differ in length; kept as text",)
    cells = [[" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in best]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    lines.insert(1, "| " + " | ".join(["---"] * len(best[0])) + " |")
    return "\n".join(lines), ()


def _extracted(
    text: str,
    media_type: str,
    extractor: str,
    *,
    metadata: dict[str, Any],
    title: str | None = None,
    language: str | None = None,
    source_type: str | None = None,
    pages: tuple[int, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Extracted:
    return Extracted(
        text=text,
        media_type=media_type,
        extractor=extractor,
        extractor_version=_version_of(extractor),
        title=_first_heading(text) if not title else " ".join(title.split()),
        language=language,
        source_type=source_type or SOURCE_TYPES.get(media_type, "document"),
        metadata=metadata,
        pages=pages,
        entries=(),
        warnings=warnings,
    )


SOURCE_TYPES = {
    HTML: "article",
    MARKDOWN: "article",
    EML: "mail",
    MSG: "mail",
    CSV: "table",
    TSV: "table",
    XLSX: "table",
}


def _first_heading(text: str) -> str | None:
    """The title that a Markdown text gives itself: its first heading, if nothing stands before it."""
    first = text.lstrip("\n").split("\n", 1)[0]
    return first.lstrip("#").strip() or None if first.startswith("#") else None


def _bounded(text: str, *, limits: ExtractionLimits) -> str:
    if len(text) > limits.max_chars:
        raise TooLarge(limit=_("%(amount)s characters"), amount=limits.max_chars)
    return text


def _string(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


@cache
def _version_of(extractor: str) -> str:
    """Our own version, with that of the library that reads, e.g. "1+kreuzberg.4.10.4"."""
    library = {"pypdfium2": "pypdfium2", "kreuzberg": "kreuzberg", "guide": "PyYAML"}.get(extractor)
    return f"{READER_VERSION}+{library.lower()}.{version(library)}" if library else READER_VERSION
