"""From an extracted text to a segment: chunks with derived ids, postings, and a hash over them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from knowledge.analysis import terms_of_text
from knowledge.extraction import Entry, Extracted
from knowledge.index.postings import InvertedSegment, invert
from knowledge.index.settings import IndexSettings, canonical_json
from knowledge.ingest.chunking import ChunkDraft
from knowledge.models import DocumentVersion, ExtractedText


@dataclass(frozen=True)
class SegmentDraft:
    """A segment before it is stored. All sequences have one item per chunk."""

    chunks: Sequence[ChunkDraft]
    chunk_ids: Sequence[str]
    indexed_texts: Sequence[str]
    embedding_hashes: Sequence[bytes]
    inverted: InvertedSegment
    segment_hash: str


def extracted_of(stored: ExtractedText) -> Extracted:
    """The stored text in the shape that the chunker takes."""
    return Extracted(
        text=stored.text,
        media_type=stored.media_type,
        extractor=stored.extractor,
        extractor_version=stored.extractor_version,
        title=stored.title or None,
        language=stored.language,
        source_type=stored.source_type,
        metadata=stored.metadata,
        pages=tuple(stored.pages),
        entries=tuple(Entry(*entry) for entry in stored.entries),
        warnings=tuple(stored.warnings),
    )


def draft_segment(
    *,
    version: DocumentVersion,
    scope_key: str,
    stored: ExtractedText,
    chunks: Sequence[ChunkDraft],
    index_settings: IndexSettings,
) -> SegmentDraft:
    """Derive all of a segment but its vectors. Pure: equal input, equal segment, on any machine.

    A chunk's metadata is what is known of the document, and over it what is known of the chunk.
    """
    chunks = [replace(chunk, metadata={**stored.metadata, **chunk.metadata}) for chunk in chunks]
    indexed = [indexed_text(stored.title, chunk) for chunk in chunks]
    digest = index_settings.digest
    source_key = version.document.source_key
    ids = [
        chunk_id(
            scope_key=scope_key,
            source_key=source_key,
            content_hash=version.content_hash,
            settings_digest=digest,
            ordinal=chunk.ordinal,
        )
        for chunk in chunks
    ]
    return SegmentDraft(
        chunks=chunks,
        chunk_ids=ids,
        indexed_texts=indexed,
        embedding_hashes=[hashlib.sha256(text.encode()).digest() for text in indexed],
        inverted=invert([terms_of_text(text, stored.language) for text in indexed]),
        segment_hash=hash_chunks(
            [
                canonical_chunk(
                    chunk_id=identity,
                    source_key=source_key,
                    content_hash=version.content_hash,
                    text=chunk.text,
                    meta=chunk_meta(
                        heading_path=chunk.heading_path,
                        start=chunk.start,
                        end=chunk.end,
                        page=chunk.page,
                        key=chunk.key or "",
                        language=stored.language,
                        source_type=stored.source_type,
                        metadata=chunk.metadata,
                    ),
                )
                for identity, chunk in zip(ids, chunks, strict=True)
            ]
        ),
    )


def indexed_text(title: str, chunk: ChunkDraft) -> str:
    """What of a chunk is searched and embedded: its headings, then its text."""
    headings = (
        chunk.heading_path if title in chunk.heading_path or not title else (title, *chunk.heading_path)
    )
    lines = [" › ".join(headings)] if headings else []
    if "table_header" in chunk.metadata:
        # Rows cut off from their header are found by its words too.
        lines.append(chunk.metadata["table_header"])
    return "\n".join((*lines, chunk.text))


def chunk_id(
    *, scope_key: str, source_key: str, content_hash: str, settings_digest: str, ordinal: int
) -> str:
    """The derived id: the same on every machine for the same chunk, 32 hex digits."""
    parts = "\0".join((scope_key, source_key, content_hash, settings_digest, str(ordinal)))
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def chunk_meta(
    *,
    heading_path: Sequence[str],
    start: int,
    end: int,
    page: int | None,
    key: str,
    language: str,
    source_type: str,
    metadata: dict[str, Any],
) -> dict[str, Any]:
    return {
        "heading_path": list(heading_path),
        "start": start,
        "end": end,
        "page": page,
        "key": key,
        "language": language,
        "source_type": source_type,
        "metadata": metadata,
    }


def canonical_chunk(
    *, chunk_id: str, source_key: str, content_hash: str, text: str, meta: dict[str, Any]
) -> bytes:
    """A chunk as the hashes see it: nothing that depends on the machine or on when it came."""
    return canonical_json(
        {
            "chunk_id": chunk_id,
            "document_id": source_key,
            "document_version_id": content_hash,
            "text": text,
            "meta": meta,
        }
    )


def hash_chunks(chunks: Sequence[bytes]) -> str:
    """SHA-256 over canonical chunks in their order, each ended by a line feed, in hex."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        digest.update(b"\n")
    return digest.hexdigest()
