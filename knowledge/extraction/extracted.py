"""What extraction yields, and the limits it keeps to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

MIB = 1024 * 1024


class Entry(NamedTuple):
    """One entry of a YAML guide; [start:end) is its content within the text."""

    key: str
    title: str
    start: int
    end: int
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Extracted:
    """The text of a file, with what is known about it.

    text is Markdown-like: NFC, "\\n" newlines, no control characters but "\\n" and "\\t",
    no lone surrogates. pages holds the offset in text at which each page starts, () where the
    format has no pages; entries is () for all but guides. metadata is JSON-able.
    """

    text: str
    media_type: str
    extractor: str
    extractor_version: str
    title: str | None
    language: str | None
    source_type: str
    metadata: dict[str, Any]
    pages: tuple[int, ...]
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class ExtractionLimits:
    """Bounds for one file, kept by the process that reads it.

    seconds is wall clock; memory_bytes is address space on top of what the warm process has;
    unpacked_bytes is the sum over the members of a zip container.
    """

    seconds: float = 60.0
    memory_bytes: int = 1024 * MIB
    file_bytes: int = 200 * MIB
    unpacked_bytes: int = 150 * MIB
    max_chars: int = 20_000_000


DEFAULT = ExtractionLimits()
