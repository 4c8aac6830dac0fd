"""An index as two files: the same bytes for the same documents and settings, on any machine."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from knowledge.index.segments import canonical_chunk, chunk_meta
from knowledge.models import Chunk, IndexVersion

NDJSON = "index.ndjson"
META = "index_meta.json"


def export_index(
    version: IndexVersion, folder: Path, *, on_progress: Callable[[int], None] = lambda done: None
) -> int:
    """Write index.ndjson, a chunk a line, and index_meta.json; returns the number of chunks.

    Lines are ordered by source key in byte order, then ordinal; both files appear whole or not at all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    spans = version.spans().select_related("document", "segment__version")
    digest = hashlib.sha256()
    count = 0
    partial = folder / f".{NDJSON}.part"
    with partial.open("wb") as lines:
        for done, span in enumerate(sorted(spans, key=lambda span: span.document.source_key.encode()), 1):
            for chunk in Chunk.objects.filter(segment=span.segment).order_by("ordinal"):
                line = canonical_line(
                    chunk, source_key=span.document.source_key, content_hash=span.segment.version.content_hash
                )
                lines.write(line)
                digest.update(line)
                count += 1
            on_progress(done)
    meta = {
        "index_version": version.number,
        "root_hash": version.root_hash,
        "settings": version.build.settings,
        "documents": version.document_count,
        "chunks": count,
        "sha256": digest.hexdigest(),
    }
    partial.replace(folder / NDJSON)
    part = folder / f".{META}.part"
    part.write_text(json.dumps(meta, sort_keys=True, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(folder / META)
    return count


def canonical_line(chunk: Chunk, *, source_key: str, content_hash: str) -> bytes:
    """A stored chunk as its line of the export; the segment's hash is over the same bytes."""
    meta = chunk_meta(
        heading_path=chunk.heading_path,
        start=chunk.start,
        end=chunk.end,
        page=chunk.page,
        key=chunk.key,
        language=chunk.language,
        source_type=chunk.source_type,
        metadata=chunk.metadata,
    )
    return (
        canonical_chunk(
            chunk_id=chunk.chunk_id,
            source_key=source_key,
            content_hash=content_hash,
            text=chunk.text,
            meta=meta,
        )
        + b"\n"
    )
