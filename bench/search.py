"""Search over a base of 10,000 chunks, stage by stage, query embedding included.

The base is the sample's own texts, repeated with other numbers and names; the questions are the sample's.

    python -m bench.search [--chunks 10000]
"""

import argparse
import hashlib
import statistics
import time

import django
import numpy as np

django.setup()

import yaml  # noqa: E402
from django.conf import settings  # noqa: E402
from django.db import transaction  # noqa: E402

from bench.tenants import bench_tenant  # noqa: E402
from knowledge.embedding.base import embedder_named  # noqa: E402
from knowledge.extraction import extract  # noqa: E402
from knowledge.folders import files_of  # noqa: E402
from knowledge.index.builds import live_or_new_build  # noqa: E402
from knowledge.index.merging import write_block  # noqa: E402
from knowledge.index.publication import Prepared, close_version, store_segment  # noqa: E402
from knowledge.index.settings import IndexSettings  # noqa: E402
from knowledge.ingest.pipeline import read_text  # noqa: E402
from knowledge.models import Document, DocumentVersion, ExtractedText, Scope, SegmentSpan  # noqa: E402
from knowledge.retrieval.search import search_scopes  # noqa: E402

STAGES = ("view", "embed", "keyword", "vector", "fuse", "load", "total")


def fill(scope: Scope, wanted: int) -> int:
    """Store copies of the sample until there are enough chunks; vectors are random, texts are real."""
    random = np.random.default_rng(5)
    build = live_or_new_build(scope)
    dimension = IndexSettings.of(build.settings).embedding_dimension
    read = [extract(path=file.path, file_name=file.path.name) for file in files_of(settings.KNOWLEDGE_SAMPLE)]
    count, copy = 0, 0
    segment_ids: list[int] = []
    while count < wanted:
        extracted = read[copy % len(read)]
        text = extracted.text.replace("Pflanze", f"Pflanze Nr. {copy}").replace("plant", f"plant no. {copy}")
        document = Document.objects.create(scope=scope, source_key=f"{copy:05}.md", title=f"Copy {copy}")
        version = DocumentVersion.objects.create(
            document=document,
            number=1,
            content_hash=hashlib.sha256(f"{copy}{text}".encode()).hexdigest(),
            file_name=f"{copy}.md",
            size=len(text),
        )
        stored = ExtractedText.objects.create(
            version=version,
            text=text,
            text_hash="",
            extractor="bench",
            extractor_version="1",
            media_type="text/plain",
            language=extracted.language or "de",
            source_type="document",
        )
        reading = read_text(stored, build=build)
        vectors = random.standard_normal((len(reading.draft.chunks), dimension), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        prepared = Prepared(draft=reading.draft, vectors=vectors.astype(np.float16), extracted=stored)
        segment = store_segment(build=build, version=version, prepared=prepared)
        SegmentSpan.objects.create(segment=segment, build=build, document=document, entered=1)
        segment_ids.append(segment.pk)
        count += segment.chunk_count
        copy += 1
    write_block(build, segment_ids=segment_ids)
    close_version(scope=scope, build=build, number=1, user=None, reason="bench")
    return count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=10_000)
    options = parser.parse_args()
    sample = settings.KNOWLEDGE_SAMPLE.parent
    questions = [
        entry["question"]
        for name in ("questions.yaml", "answerable.yaml", "unanswerable.yaml")
        for entry in yaml.safe_load((sample / name).read_text())["questions"]
    ]
    with bench_tenant("bench-search") as scope:
        with transaction.atomic():
            count = fill(scope, options.chunks)
        embedder_named(IndexSettings.desired().embedding_model).embed(["warm"])
        search_scopes(questions[0], scopes=[scope], top_k=5)
        taken: dict[str, list[float]] = {stage: [] for stage in STAGES}
        began = time.perf_counter()
        for question in questions * 2:
            for stage, milliseconds in search_scopes(question, scopes=[scope], top_k=5).timings_ms.items():
                taken[stage].append(milliseconds)
        wall = (time.perf_counter() - began) * 1000 / len(questions) / 2
    print(f"{count} chunks, {len(questions)} questions, twice; {wall:.1f} ms each by the wall clock")
    print(f"{'stage':10} {'p50 ms':>8} {'p95 ms':>8}")
    for stage in STAGES:
        ordered = sorted(taken[stage])
        print(f"{stage:10} {statistics.median(ordered):8.1f} {ordered[int(len(ordered) * 0.95)]:8.1f}")


if __name__ == "__main__":
    main()
