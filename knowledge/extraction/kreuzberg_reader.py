"""Office files, books, mails and HTML, through kreuzberg."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from typing import Any

import kreuzberg

from knowledge.errors import Damaged, Encrypted
from knowledge.extraction.formats import DOCX, HTML, XLSX
from knowledge.extraction.markup import plain_markdown, unescape_markdown

KEPT_METADATA = (
    "title",
    "subject",
    "authors",
    "created_at",
    "modified_at",
    "language",
    "keywords",
    "sheet_names",
)


def read(data: bytes, media_type: str) -> tuple[str, dict[str, Any]]:
    """Return (Markdown, metadata); the text is not cleaned yet. Raises Damaged or Encrypted."""
    config = kreuzberg.ExtractionConfig(
        use_cache=False,
        output_format="markdown",
        enable_quality_processing=False,
        concurrency=kreuzberg.ConcurrencyConfig(max_threads=1),
    )
    try:
        result = kreuzberg.extract_bytes_sync(data, media_type, config=config)
    except kreuzberg.KreuzbergError as error:
        if "password" in str(error).lower() or "encrypt" in str(error).lower():
            raise Encrypted() from error
        raise Damaged() from error
    except OSError as error:  # how it tells of broken compression
        raise Damaged() from error
    text = result.content
    # "[Red](0)" in a cell is a number format and not a link.
    text = unescape_markdown(text) if media_type == XLSX else plain_markdown(text)
    if media_type == DOCX:
        text = "\n\n".join([text, *_read_alternative_parts(data)])
    known: dict[str, Any] = dict(result.metadata)
    return text, {key: known[key] for key in KEPT_METADATA if known.get(key)}


def _read_alternative_parts(data: bytes) -> list[str]:
    """HTML that a Word file takes in as a whole ("altChunk"), which its reader leaves out."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if b"altChunk" not in archive.read("word/document.xml"):
                return []
            names = [name for name in archive.namelist() if re.search(r"\.x?html?$", name, re.IGNORECASE)]
            parts = [archive.read(name) for name in sorted(names)]
    except KeyError:
        return []
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise Damaged() from error
    return [read(part, HTML)[0] for part in parts]
