"""200,000 chunks: what searching, activating, merging and hashing cost.

Texts are made of a Zipf-like vocabulary of real shape (German stems with endings), vectors are random unit
vectors; both are stored by the product's own functions, in a tenant of its own that is removed at the end.

    python -m bench.large_base [--documents 10000] [--keep]
"""

import argparse
import hashlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import django
import numpy as np

django.setup()

from django.db import connection, transaction  # noqa: E402

from bench.tenants import bench_tenant  # noqa: E402
from knowledge.embedding import cache  # noqa: E402
from knowledge.index.builds import live_or_new_build  # noqa: E402
from knowledge.index.merging import write_block  # noqa: E402
from knowledge.index.publication import (  # noqa: E402
    Prepared,
    close_version,
    publish_activation,
    root_of_open_spans,
    store_segment,
)
from knowledge.index.rollback import roll_back  # noqa: E402
from knowledge.index.segments import draft_segment  # noqa: E402
from knowledge.index.settings import IndexSettings  # noqa: E402
from knowledge.ingest.chunking import ChunkDraft  # noqa: E402
from knowledge.models import (  # noqa: E402
    Document,
    DocumentVersion,
    ExtractedText,
    IndexBuild,
    IngestJob,
    Scope,
    Segment,
    SegmentSpan,
)
from knowledge.retrieval.search import search_scopes  # noqa: E402
from knowledge.writer import writer_lock  # noqa: E402

CHUNKS_PER_DOCUMENT = 20
WORDS_PER_CHUNK = 180
VOCABULARY = 60_000
DIMENSION = 512
SLUG = "bench-large-base"

random = np.random.default_rng(7)


def words() -> np.ndarray[Any, Any]:
    """A vocabulary of pronounceable words, most of them compounds, none a stopword."""
    syllables = [
        a + b
        for a in ("bl", "st", "kr", "m", "w", "sp", "f", "tr", "l", "g")
        for b in ("att", "aub", "ind", "ost", "urz", "elk")
    ]
    made: set[str] = set()
    while len(made) < VOCABULARY:
        made.add("".join(random.choice(syllables, size=random.integers(2, 5))))
    return np.array(sorted(made))


def make_document(
    scope: Scope, number: int, vocabulary: np.ndarray[Any, Any], *, edition: int = 1
) -> tuple[DocumentVersion, ExtractedText, list[ChunkDraft]]:
    ranks = np.minimum(random.zipf(1.15, size=(CHUNKS_PER_DOCUMENT, WORDS_PER_CHUNK)) - 1, VOCABULARY - 1)
    texts = [" ".join(vocabulary[row]) for row in ranks]
    text = "\n\n".join(texts)
    document, _ = Document.objects.get_or_create(
        scope=scope, source_key=f"bench/{number:06}.md", defaults={"title": f"Document {number}"}
    )
    version = DocumentVersion.objects.create(
        document=document,
        number=edition,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        file_name=f"{number}.md",
        size=len(text),
    )
    stored = ExtractedText.objects.create(
        version=version,
        text=text,
        text_hash=hashlib.sha256(text.encode()).hexdigest(),
        extractor="bench",
        extractor_version="1",
        media_type="text/plain",
        language="de",
        source_type="document",
        metadata={},
    )
    chunks, start = [], 0
    for ordinal, piece in enumerate(texts):
        chunks.append(
            ChunkDraft(
                ordinal=ordinal,
                start=start,
                end=start + len(piece),
                text=piece,
                heading_path=(),
                token_count=WORDS_PER_CHUNK,
                page=None,
                key=None,
                metadata={"tenth": number % 10, "hundredth": number % 100},
            )
        )
        start += len(piece) + 2
    return version, stored, chunks


def prepare(
    version: DocumentVersion, stored: ExtractedText, chunks: list[ChunkDraft], build: IndexBuild
) -> Prepared:
    draft = draft_segment(
        version=version,
        scope_key=build.scope.key,
        stored=stored,
        chunks=chunks,
        index_settings=IndexSettings.of(build.settings),
    )
    vectors = random.standard_normal((len(chunks), DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    halves = vectors.astype(np.float16)
    cache.keep(
        model=IndexSettings.of(build.settings).embedding_model,
        fresh=dict(zip(draft.embedding_hashes, halves, strict=True)),
    )
    return Prepared(draft=draft, vectors=halves, extracted=stored)


def fill(scope: Scope, build: IndexBuild, count: int, vocabulary: np.ndarray[Any, Any]) -> None:
    segments = []
    for begin in range(0, count, 100):
        with transaction.atomic():
            for number in range(begin, min(begin + 100, count)):
                version, stored, chunks = make_document(scope, number, vocabulary)
                segment = store_segment(
                    build=build, version=version, prepared=prepare(version, stored, chunks, build)
                )
                DocumentVersion.objects.filter(pk=version.pk).update(state="INDEXED", active=True)
                segments.append((segment, version.document))
        print(f"\rfilled {begin + 100}/{count}", end="", flush=True)
    print()
    with transaction.atomic():
        SegmentSpan.objects.bulk_create(
            SegmentSpan(segment=segment, build=build, document=document, entered=1)
            for segment, document in segments
        )
        close_version(scope=scope, build=build, number=1, user=None, reason="bench")


def timed(do: Callable[[], object], repeat: int = 1) -> list[float]:
    """Milliseconds of each run."""
    taken = []
    for _ in range(repeat):
        began = time.perf_counter()
        do()
        taken.append((time.perf_counter() - began) * 1000)
    return sorted(taken)


def row(label: str, taken: list[float]) -> None:
    p95 = taken[min(len(taken) - 1, int(len(taken) * 0.95))]
    print(f"{label:48} {len(taken):5} {statistics.median(taken):10.1f} {p95:10.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--keep", action="store_true", help="leave the tenant's base in place")
    options = parser.parse_args()
    vocabulary = words()
    with bench_tenant(SLUG, keep=options.keep) as scope:
        measure(scope, options.documents, vocabulary)
    if not options.keep:
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM knowledge_cachedembedding cached WHERE NOT EXISTS"
                " (SELECT FROM knowledge_chunk chunk WHERE chunk.embedding_hash = cached.text_hash)"
            )


def measure(scope: Scope, count: int, vocabulary: np.ndarray[Any, Any]) -> None:
    build = live_or_new_build(scope)
    began = time.perf_counter()
    if scope.live is None:
        fill(scope, build, count, vocabulary)
    scope.refresh_from_db()
    assert scope.live is not None
    filled = time.perf_counter() - began
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")

    def ask(**filters: Any) -> None:
        picked = random.zipf(1.15, size=6)
        query = " ".join(vocabulary[np.minimum(picked + 20, VOCABULARY - 1)])
        assert search_scopes(query, scopes=[scope], top_k=10, **filters).passages

    print(f"{scope.live.document_count} documents, {scope.live.chunk_count} chunks, filled in {filled:.0f} s")
    print(f"{'':48} {'runs':>5} {'p50 ms':>10} {'p95 ms':>10}")
    segment_ids = list(Segment.objects.filter(build=build, block=None).values_list("pk", flat=True))
    if segment_ids:
        with transaction.atomic():
            row(
                "merge all postings into one block",
                timed(lambda: write_block(build, segment_ids=segment_ids)),
            )
        with connection.cursor() as cursor:
            cursor.execute("VACUUM (ANALYZE)")
    row("first search of a process (loads the view)", timed(ask))
    row("search, 6 words", timed(ask, 100))
    row("search, filter that matches 1 %", timed(lambda: ask(metadata={"hundredth": 7}), 50))
    row("search, filter that matches 10 %", timed(lambda: ask(metadata={"tenth": 7}), 50))
    row("root hash", timed(lambda: root_of_open_spans(build), 5))

    edition = int(time.time())

    def activate() -> None:
        nonlocal edition
        edition += 1
        version, stored, chunks = make_document(
            scope, int(random.integers(count)), vocabulary, edition=edition
        )
        prepared = prepare(version, stored, chunks, build)
        job = IngestJob.objects.create(
            type="DOCUMENT_VERSION_ACTIVATE", scope=scope, document=version.document, version=version
        )
        with writer_lock() as fence:
            assert fence is not None, "another writer is at work"
            IngestJob.objects.filter(pk=job.pk).update(state="RUNNING")
            began = time.perf_counter()
            publish_activation(job=job, fence=fence, version=version, build=build, prepared=prepared)
            published.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        ask()
        searched.append((time.perf_counter() - began) * 1000)

    published: list[float] = []
    searched: list[float] = []
    for _ in range(20):
        activate()
    row("publish one document of 20 chunks", sorted(published))
    row("the first search after it", sorted(searched))
    row("search, with 20 loose segments", timed(ask, 50))

    def go_back() -> None:
        job = IngestJob.objects.create(type="ROLLBACK", scope=scope, target_number=1)
        with writer_lock() as fence:
            assert fence is not None, "another writer is at work"
            IngestJob.objects.filter(pk=job.pk).update(state="RUNNING")
            roll_back(job=job, fence=fence)

    row("go back to version 1, over 20 changed documents", timed(go_back))
    row("the first search after it", timed(ask))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class"
            " WHERE relname LIKE 'knowledge_%%' AND relkind = 'r'"
            " ORDER BY pg_total_relation_size(oid) DESC LIMIT 8"
        )
        for name, size in cursor.fetchall():
            print(f"  {name:40} {size}")


if __name__ == "__main__":
    main()
