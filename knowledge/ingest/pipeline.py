"""A version on its way into the index: extract -> chunk -> analyse -> embed -> publish.

No transaction is open while files are read or texts embedded; publishing is one transaction. Each step keeps
what it made (extracted text, vectors), so that a retry goes on from there.
"""

import hashlib
from typing import Protocol

from django.utils.translation import gettext_noop

from knowledge.analysis import detect_language
from knowledge.embedding.base import embedder_named
from knowledge.embedding.cache import embed_cached
from knowledge.errors import NoText
from knowledge.extraction import extract
from knowledge.files import checked_path
from knowledge.index.publication import Prepared
from knowledge.index.segments import draft_segment, extracted_of
from knowledge.index.settings import IndexSettings
from knowledge.ingest.chunking import chunk
from knowledge.models import DocumentVersion, ExtractedText, IndexBuild, IngestJob, Segment

Stage = IngestJob.Stage


class Reporter(Protocol):
    """Where the pipeline says how far it is. `stage` and `progress` raise JobCancelled if so asked."""

    def stage(self, stage: IngestJob.Stage, total: int = 0) -> None: ...

    def progress(self, done: int) -> None: ...

    def log(self, sentence: str, **values: object) -> None: ...


def extract_version(version: DocumentVersion, *, report: Reporter) -> ExtractedText:
    """The version's text: the stored one, or read from its file and stored now.

    Raises ExtractionFailed or FileMissing.
    """
    stored = ExtractedText.objects.filter(version=version).first()
    if stored is not None:
        return stored
    extracted = extract(path=checked_path(version.content_hash), file_name=version.file_name)
    if not extracted.text.strip():
        raise NoText()
    for warning in extracted.warnings:
        report.log(gettext_noop("Warning: %(warning)s"), warning=warning)
    language = extracted.language if extracted.language in {"de", "en", "ru"} else None
    stored = ExtractedText.objects.create(
        version=version,
        text=extracted.text,
        text_hash=hashlib.sha256(extracted.text.encode()).hexdigest(),
        extractor=extracted.extractor,
        extractor_version=extracted.extractor_version,
        media_type=extracted.media_type,
        title=(extracted.title or "")[:300],
        language=language or detect_language(extracted.text),
        source_type=extracted.source_type[:60],
        metadata=extracted.metadata,
        pages=list(extracted.pages),
        entries=[list(entry) for entry in extracted.entries],
        warnings=list(extracted.warnings),
    )
    report.log(
        gettext_noop("%(count)s characters read by %(extractor)s"),
        count=len(stored.text),
        extractor=stored.extractor,
    )
    return stored


def prepare_segment(version: DocumentVersion, *, build: IndexBuild, report: Reporter) -> Prepared | None:
    """Make the version's segment for this build, with its vectors, but store nothing of it yet.

    Returns None if the build has it. Raises ExtractionFailed, FileMissing, EmbeddingUnusable or JobCancelled.
    """
    if Segment.objects.filter(build=build, version=version).exists():
        return None
    report.stage(Stage.EXTRACT)
    stored = extract_version(version, report=report)
    index_settings = IndexSettings.of(build.settings)
    embedder = embedder_named(index_settings.embedding_model)

    report.stage(Stage.CHUNK)
    chunks = chunk(
        extracted_of(stored),
        count_tokens=embedder.count_tokens,
        chunk_size=index_settings.chunk_size,
        overlap=index_settings.chunk_overlap,
    )
    if not chunks:
        raise NoText()
    draft = draft_segment(
        version=version,
        scope_key=build.scope.key,
        stored=stored,
        chunks=chunks,
        index_settings=index_settings,
    )
    report.stage(Stage.EMBED, total=len(chunks))
    vectors = embed_cached(
        embedder=embedder,
        texts=draft.indexed_texts,
        hashes=draft.embedding_hashes,
        on_progress=report.progress,
    )
    report.log(gettext_noop("%(count)s passages embedded"), count=len(chunks))
    return Prepared(draft=draft, vectors=vectors, extracted=stored)
