"""Making the next IndexVersion: everything in one transaction, checked against the writer's fence."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext_noop
from numpy.typing import NDArray

from accounts.models import User
from knowledge.errors import DocumentArchived, VectorsMissing, WriterReplaced
from knowledge.index import vectors as live_vectors
from knowledge.index.segments import SegmentDraft
from knowledge.index.settings import IndexSettings
from knowledge.models import (
    Chunk,
    Document,
    DocumentVersion,
    ExtractedText,
    IndexBuild,
    IndexVersion,
    IngestJob,
    JobLogEntry,
    Scope,
    Segment,
    SegmentSpan,
)
from knowledge.writer import require_fence


@dataclass(frozen=True)
class Prepared:
    """A segment ready to be stored, with its vectors, shape (chunks, dimension)."""

    draft: SegmentDraft
    vectors: NDArray[np.float16]
    extracted: ExtractedText


def store_segment(*, build: IndexBuild, version: DocumentVersion, prepared: Prepared) -> Segment:
    """Write a segment with its chunks and live vectors; it is in no index version yet."""
    draft = prepared.draft
    segment = Segment.objects.create(
        build=build,
        version=version,
        segment_hash=draft.segment_hash,
        chunk_count=len(draft.chunks),
        postings=draft.inverted.encode(),
    )
    rows = Chunk.objects.bulk_create(
        Chunk(
            segment=segment,
            ordinal=chunk.ordinal,
            chunk_id=chunk_id,
            text=chunk.text,
            heading_path=list(chunk.heading_path),
            start=chunk.start,
            end=chunk.end,
            page=chunk.page,
            key=(chunk.key or "")[:400],
            token_count=chunk.token_count,
            language=prepared.extracted.language,
            source_type=prepared.extracted.source_type,
            metadata=chunk.metadata,
            embedding_hash=embedding_hash,
        )
        for chunk, chunk_id, embedding_hash in zip(
            draft.chunks, draft.chunk_ids, draft.embedding_hashes, strict=True
        )
    )
    live_vectors.insert(
        build_id=build.pk,
        dimension=IndexSettings.of(build.settings).embedding_dimension,
        numbers=[row.number for row in rows],
        vectors=prepared.vectors,
    )
    return segment


def publish_activation(
    *, job: IngestJob, fence: int, version: DocumentVersion, build: IndexBuild, prepared: Prepared | None
) -> None:
    """Make the version its document's active one, in the next index version of its scope; completes the job.

    `prepared` is None where the build has the version's segment already. A version that is active and in the
    live index already is left as it is, and no index version made. Raises WriterReplaced, or
    DocumentArchived if it was archived meanwhile.
    """
    with publishing(fence):
        scope = Scope.objects.select_for_update().get(pk=build.scope_id)
        document = Document.objects.select_for_update().get(pk=version.document_id)
        if document.state != Document.State.LISTED:
            raise DocumentArchived()
        live_span = SegmentSpan.objects.filter(build=build, document=document, departed=None).first()
        if prepared is None:
            segment = Segment.objects.get(build=build, version=version)
            is_live = scope.live is not None and scope.live.build_id == build.pk
            if is_live and live_span is not None and live_span.segment_id == segment.pk:
                _make_active(version)
                complete(job, index_version=None)
                return
        number = next_number(scope)
        if live_span is not None:
            depart(build, [live_span.segment_id], number)
        if prepared is None:
            restore_vectors(build, [segment.pk])
        else:
            segment = store_segment(build=build, version=version, prepared=prepared)
            _name_document(document, prepared.extracted)
        SegmentSpan.objects.create(segment=segment, build=build, document=document, entered=number)
        _make_active(version)
        index_version = close_version(
            scope=scope, build=build, number=number, user=job.requested_by, reason=job.reason
        )
        complete(job, index_version=index_version)


@contextmanager
def publishing(fence: int) -> Iterator[None]:
    """The transaction that publishes: durable, and only for the latest writer (else WriterReplaced)."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = on")
        require_fence(fence)
        yield


def complete(job: IngestJob, *, index_version: IndexVersion | None) -> None:
    """Complete the job in the transaction that has its effect, so that the two are never apart."""
    if index_version is None:
        JobLogEntry.objects.create(
            job=job, sentence=gettext_noop("Nothing to change: the version is active already")
        )
    completed = IngestJob.objects.filter(pk=job.pk, state=IngestJob.State.RUNNING).update(
        state=IngestJob.State.COMPLETED,
        stage=IngestJob.Stage.DONE,
        finished_at=timezone.now(),
        index_version=index_version,
    )
    if not completed:
        raise WriterReplaced()


def next_number(scope: Scope) -> int:
    newest = IndexVersion.objects.filter(scope=scope).aggregate(newest=Max("number"))["newest"]
    return (newest or 0) + 1


def close_version(
    *, scope: Scope, build: IndexBuild, number: int, user: User | None, reason: str
) -> IndexVersion:
    """Write the IndexVersion over the build's open spans and make it the live one."""
    root_hash, documents, chunks = root_of_open_spans(build)
    index_version = IndexVersion.objects.create(
        scope=scope,
        number=number,
        build=build,
        root_hash=root_hash,
        document_count=documents,
        chunk_count=chunks,
        made_by=user,
        reason=reason[:300],
    )
    Scope.objects.filter(pk=scope.pk).update(live=index_version)
    return index_version


def root_of_open_spans(build: IndexBuild) -> tuple[str, int, int]:
    """The root hash of what the build holds now, with the counts of documents and chunks.

    SHA-256 over the digest of the settings and, by source key in byte order, each document's source key
    and segment hash.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT encode(sha256(convert_to(%s || coalesce(string_agg(
                       E'\\n' || document.source_key || E'\\t' || segment.segment_hash, ''
                       ORDER BY document.source_key COLLATE "C"), ''), 'UTF8')), 'hex'),
                   count(*), coalesce(sum(segment.chunk_count), 0)
            FROM knowledge_segmentspan span
            JOIN knowledge_segment segment ON segment.id = span.segment_id
            JOIN knowledge_document document ON document.id = span.document_id
            WHERE span.build_id = %s AND span.departed IS NULL
            """,
            [IndexSettings.of(build.settings).digest, build.pk],
        )
        root_hash, documents, chunks = cursor.fetchone()
    return root_hash, int(documents), int(chunks)


def depart(build: IndexBuild, segment_ids: Sequence[int], number: int) -> None:
    """Close the open spans of these segments at `number`, and take their vectors out of the live table."""
    SegmentSpan.objects.filter(build=build, segment_id__in=segment_ids, departed=None).update(departed=number)
    live_vectors.remove(
        dimension=IndexSettings.of(build.settings).embedding_dimension, segment_ids=segment_ids
    )


def restore_vectors(build: IndexBuild, segment_ids: Sequence[int]) -> None:
    """Bring the vectors of these segments back into the live table; VectorsMissing if some are not kept."""
    index_settings = IndexSettings.of(build.settings)
    restored = live_vectors.restore(
        build_id=build.pk,
        dimension=index_settings.embedding_dimension,
        model=index_settings.embedding_model,
        segment_ids=segment_ids,
    )
    wanted = Chunk.objects.filter(segment_id__in=segment_ids).count()
    if restored < wanted:
        raise VectorsMissing(count=wanted - restored)


def _make_active(version: DocumentVersion) -> None:
    # Retire before promoting: the one-active index is checked row by row, at once,
    # and a partial unique index cannot be deferred.
    siblings = DocumentVersion.objects.filter(document_id=version.document_id)
    siblings.filter(active=True).exclude(pk=version.pk).update(active=False)
    siblings.filter(pk=version.pk, active=False).update(
        state=DocumentVersion.State.INDEXED, active=True, activated_at=timezone.now()
    )


def _name_document(document: Document, extracted: ExtractedText) -> None:
    """A document that was named after its file takes the title found in it."""
    file_names = document.versions.values_list("file_name", flat=True)
    if extracted.title and document.title in set(file_names):
        Document.objects.filter(pk=document.pk).update(title=extracted.title)
