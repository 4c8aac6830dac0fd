"""A version on its way into the index: extract -> chunk -> analyse -> embed -> publish.

No transaction is open while files are read or texts embedded; publishing is one transaction. Each step keeps
what it made (extracted text, vectors), so that a retry goes on from there.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple, Protocol

from django.utils.translation import gettext_noop

from knowledge.analysis import LANGUAGES, detect_language
from knowledge.embedding.base import embedder_named
from knowledge.embedding.cache import embed_cached
from knowledge.errors import NoText
from knowledge.extraction import extract
from knowledge.files import checked_path
from knowledge.index.publication import Prepared
from knowledge.index.segments import SegmentDraft, draft_segment, extracted_of
from knowledge.index.settings import IndexSettings
from knowledge.ingest.chunking import chunk
from knowledge.models import DocumentVersion, ExtractedText, IndexBuild, IngestJob, Segment

Stage = IngestJob.Stage


class Reporter(Protocol):
    """Where the pipeline says how far it is. `stage` and `progress` raise JobCancelled if so asked."""

    def stage(self, stage: IngestJob.Stage, total: int = 0) -> None: ...

    def progress(self, done: int) -> None: ...

    def log(self, sentence: str, **values: object) -> None: ...


class Reading(NamedTuple):
    """A text cut into chunks, before these are embedded."""

    extracted: ExtractedText
    draft: SegmentDraft


class Silent:
    """A reporter for work that nobody watches."""

    def stage(self, stage: IngestJob.Stage, total: int = 0) -> None:
        return None

    def progress(self, done: int) -> None:
        return None

    def log(self, sentence: str, **values: object) -> None:
        return None


def prepare_segment(version: DocumentVersion, *, build: IndexBuild, report: Reporter) -> Prepared | None:
    """Make the version's segment for this build, with its vectors, but store nothing of it yet.

    Returns None if the build has the segment. Raises ExtractionFailed, FileMissing, EmbeddingUnusable or
    JobCancelled.
    """
    if Segment.objects.filter(build=build, version=version).exists():
        return None
    report.stage(Stage.EXTRACT)
    stored = read_version(version)
    for warning in stored.warnings:
        report.log(gettext_noop("Warning: %(warning)s"), warning=warning)
    report.stage(Stage.CHUNK)
    return embed_reading(read_text(stored, build=build), build=build, report=report)


def read_version(version: DocumentVersion) -> ExtractedText:
    """The version's text: the stored one, or read from its file now."""
    stored = ExtractedText.objects.filter(version=version).first()
    return stored or store_extracted(version, path=checked_path(version.content_hash))


def store_extracted(version: DocumentVersion, *, path: Path) -> ExtractedText:
    """Read the version's file and store its text, once and for all. Raises ExtractionFailed."""
    extracted = extract(path=path, file_name=version.file_name)
    if not extracted.text.strip():
        raise NoText()
    language = extracted.language if extracted.language in LANGUAGES else None
    return ExtractedText.objects.create(
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


def read_text(stored: ExtractedText, *, build: IndexBuild) -> Reading:
    """Cut the stored text and count its terms: all that an index is made of starts here. Raises NoText."""
    index_settings = IndexSettings.of(build.settings)
    chunks = chunk(
        extracted_of(stored),
        count_tokens=embedder_named(index_settings.embedding_model).count_tokens,
        chunk_size=index_settings.chunk_size,
        overlap=index_settings.chunk_overlap,
    )
    if not chunks:
        raise NoText()
    draft = draft_segment(
        version=stored.version,
        scope_key=build.scope.key,
        stored=stored,
        chunks=chunks,
        index_settings=index_settings,
    )
    return Reading(extracted=stored, draft=draft)


def embed_reading(
    reading: Reading, *, build: IndexBuild, report: Reporter, keep_new: bool = True
) -> Prepared:
    """Embed what was never embedded before, and keep it (unless told not to).

    Raises EmbeddingUnusable or JobCancelled.
    """
    draft = reading.draft
    report.stage(Stage.EMBED, total=len(draft.chunks))
    vectors = embed_cached(
        embedder=embedder_named(IndexSettings.of(build.settings).embedding_model),
        texts=draft.indexed_texts,
        hashes=draft.embedding_hashes,
        on_progress=report.progress,
        keep_new=keep_new,
    )
    report.log(
        gettext_noop("%(characters)s characters read by %(extractor)s, %(passages)s passages embedded"),
        characters=len(reading.extracted.text),
        extractor=reading.extracted.extractor,
        passages=len(draft.chunks),
    )
    return Prepared(draft=draft, vectors=vectors, extracted=reading.extracted)
