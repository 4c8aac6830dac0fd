"""Proving an index: everything is made again from the stored texts, and compared with what is live.

Neither live chunks nor postings nor stored hashes go into what they are compared with. Texts are cut, counted
and (unless told not to) embedded anew.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from knowledge.embedding.base import embedder_named
from knowledge.errors import KnowledgeError
from knowledge.index.postings import FREQUENCY, INT, InvertedSegment
from knowledge.index.segments import SegmentDraft
from knowledge.index.settings import IndexSettings
from knowledge.index.vectors import table_name, vector_cursor
from knowledge.ingest.pipeline import read_text
from knowledge.models import Chunk, ExtractedText, IndexVersion, Segment

# Halves keep 11 bits; another machine's product may differ in the last bits of single precision.
LEAST_COSINE = 0.9995


@dataclass
class Verification:
    """What came of it. `differences` names document and chunk, and what about them is not as it should be."""

    number: int
    live_root: str
    rebuilt_root: str = ""
    documents: int = 0
    chunks: int = 0
    vectors_checked: bool = True
    differences: list[str] = field(default_factory=list)

    @property
    def is_proven(self) -> bool:
        return self.live_root == self.rebuilt_root and not self.differences


def verify(
    version: IndexVersion,
    *,
    with_vectors: bool = True,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Verification:
    """Make the live index version again from stored texts and compare; nothing is written."""
    result = Verification(version.number, version.root_hash, vectors_checked=with_vectors)
    build = version.build
    spans = version.spans().select_related("document", "segment")
    root = hashlib.sha256(IndexSettings.of(build.settings).digest.encode())
    terms_expected: dict[int, int] = {}
    ordered = sorted(spans, key=lambda span: span.document.source_key.encode())
    for done, span in enumerate(ordered, start=1):
        source_key = span.document.source_key
        try:
            stored = ExtractedText.objects.select_related("version__document").get(
                version_id=span.segment.version_id
            )
            draft = read_text(stored, build=build).draft
        except (ExtractedText.DoesNotExist, KnowledgeError) as error:
            result.differences.append(f"{source_key}: can't be made again ({type(error).__name__})")
            continue
        if hashlib.sha256(stored.text.encode()).hexdigest() != stored.text_hash:
            result.differences.append(f"{source_key}: the stored text is not what was extracted")
        root.update(f"\n{source_key}\t{draft.segment_hash}".encode())
        result.documents += 1
        result.chunks += len(draft.chunks)
        result.differences += [f"{source_key}{what}" for what in _segment_differences(span.segment, draft)]
        rows = Chunk.objects.filter(segment=span.segment).order_by("ordinal")
        numbers = list(rows.values_list("number", flat=True))
        if span.segment.block_id is not None:
            for number, counted in zip(numbers, _term_sums(draft.inverted), strict=False):
                terms_expected[number] = counted
        if with_vectors:
            vectors = _vector_differences(numbers, draft, IndexSettings.of(build.settings))
            result.differences += [f"{source_key}{what}" for what in vectors]
        on_progress(done)
    result.rebuilt_root = root.hexdigest()
    for number in _block_differences(build.pk, terms_expected):
        chunk = Chunk.objects.select_related("segment__version__document").get(number=number)
        source_key = chunk.segment.version.document.source_key
        result.differences.append(f"{source_key}, passage {chunk.ordinal + 1}: its merged postings differ")
    return result


def _segment_differences(segment: Segment, draft: SegmentDraft) -> Iterator[str]:
    if segment.segment_hash != draft.segment_hash:
        yield ": the segment's hash differs"
    if InvertedSegment.decode(bytes(segment.postings)).encode() != draft.inverted.encode():
        yield ": its postings differ"
    rows = list(Chunk.objects.filter(segment=segment).order_by("ordinal"))
    if len(rows) != len(draft.chunks):
        yield f": {len(rows)} passages are stored, {len(draft.chunks)} should be"
        return
    for row, chunk, chunk_id, embedding_hash in zip(
        rows, draft.chunks, draft.chunk_ids, draft.embedding_hashes, strict=True
    ):
        expected = {
            "chunk_id": chunk_id,
            "text": chunk.text,
            "heading_path": list(chunk.heading_path),
            "start": chunk.start,
            "end": chunk.end,
            "page": chunk.page,
            "token_count": chunk.token_count,
            "metadata": chunk.metadata,
            "embedding_hash": embedding_hash,
        }
        for name, value in expected.items():
            stored = getattr(row, name)
            if (bytes(stored) if name == "embedding_hash" else stored) != value:
                yield f", passage {row.ordinal + 1}: its {name.replace('_', ' ')} differs"


def _vector_differences(
    numbers: list[int], draft: SegmentDraft, index_settings: IndexSettings
) -> Iterator[str]:
    embedder = embedder_named(index_settings.embedding_model)
    expected = embedder.embed(draft.indexed_texts)
    with vector_cursor() as cursor:
        cursor.execute(
            f"SELECT chunk_number, embedding FROM {table_name(index_settings.embedding_dimension)}"
            " WHERE chunk_number = ANY(%s)",
            [numbers],
        )
        live: dict[int, NDArray[np.float32]] = {
            number: vector.to_numpy().astype(np.float32) for number, vector in cursor.fetchall()
        }
    for ordinal, (number, vector) in enumerate(zip(numbers, expected, strict=False), start=1):
        if number not in live:
            yield f", passage {ordinal}: it has no vector"
        elif float(vector @ live[number]) < LEAST_COSINE:
            yield f", passage {ordinal}: its vector differs"


def _term_sums(inverted: InvertedSegment) -> list[int]:
    """A sum over each chunk's terms and frequencies that any change of one would change."""
    sums = Counter[int]()
    for term, ordinals, frequencies in inverted.postings():
        weight = _weight(term)
        for ordinal, frequency in zip(ordinals.tolist(), frequencies.tolist(), strict=True):
            sums[ordinal] = (sums[ordinal] + weight * frequency) % 2**64
    return [sums[ordinal] for ordinal in range(len(inverted.lengths))]


def _weight(term: str) -> int:
    return int.from_bytes(hashlib.sha256(term.encode()).digest()[:8], "little")


def _block_differences(build_id: int, expected: dict[int, int]) -> list[int]:
    """The chunks whose merged postings don't add up to what is expected."""
    wrong: list[int] = []
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, chunk_numbers FROM knowledge_postingblock WHERE build_id = %s", [build_id])
        blocks = [(pk, np.frombuffer(numbers, dtype=INT)) for pk, numbers in cursor.fetchall()]
    for block_id, numbers in blocks:
        sums = np.zeros(len(numbers), dtype=np.uint64)
        with connection.chunked_cursor() as cursor:
            cursor.execute(
                "SELECT term, ordinals, frequencies FROM knowledge_posting WHERE block_id = %s", [block_id]
            )
            for term, ordinals, frequencies in cursor:
                weight = np.uint64(_weight(term))
                counts = np.frombuffer(frequencies, dtype=FREQUENCY).astype(np.uint64)
                sums[np.frombuffer(ordinals, dtype=INT)] += weight * counts
        for number, found in zip(numbers.tolist(), sums.tolist(), strict=True):
            if number in expected and expected.pop(number) != found:
                wrong.append(number)
    return wrong + sorted(expected)
