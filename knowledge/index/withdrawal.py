"""Taking a document out of the index: for as long as it is archived, or for good."""

from functools import partial
from pathlib import Path

from django.db import connection, transaction
from django.utils.translation import gettext_noop

from knowledge.files import path_of
from knowledge.index.merging import rewrite_blocks_without
from knowledge.index.publication import close_version, complete, depart, next_number, publishing
from knowledge.models import (
    Document,
    DocumentVersion,
    IndexBuild,
    IndexVersion,
    IngestJob,
    JobLogEntry,
    Scope,
    Segment,
    SegmentSpan,
)


def withdraw(*, job: IngestJob, fence: int) -> None:
    """Bring the index in line with a document that is no longer listed; completes the job.

    Archived: the next index version lacks it; earlier ones keep it, though no read shows it. Being erased:
    nothing of it is left, and index versions that held it are pruned, since they can't be proven any more.
    Raises WriterReplaced.
    """
    document_id = job.document_id
    assert document_id is not None, "held by job_document_names_a_document"
    with publishing(fence):
        scope = Scope.objects.select_for_update().get(pk=job.scope_id)
        document = Document.objects.select_for_update().get(pk=document_id)
        if document.state == Document.State.LISTED:
            complete(job, index_version=None)
            return
        index_version = _leave_live_index(scope, document, job)
        document.versions.filter(active=True).update(active=False)
        if document.state == Document.State.ERASING:
            _erase(document, job)
        complete(job, index_version=index_version)


def _leave_live_index(scope: Scope, document: Document, job: IngestJob) -> IndexVersion | None:
    if scope.live is None:
        return None
    build = scope.live.build
    live = SegmentSpan.objects.filter(build=build, document=document, departed=None).first()
    if live is None:
        return None
    number = next_number(scope)
    depart(build, [live.segment_id], number)
    return close_version(scope=scope, build=build, number=number, user=job.requested_by, reason=job.reason)


def _erase(document: Document, job: IngestJob) -> None:
    pruned = _prune_versions_that_held(document)
    if pruned:
        JobLogEntry.objects.create(
            job=job,
            sentence=gettext_noop("Index versions that held it are pruned: %(numbers)s"),
            values={"numbers": ", ".join(map(str, pruned))},
        )
    segments = Segment.objects.filter(version__document=document)
    segment_ids = list(segments.values_list("pk", flat=True))
    for build in IndexBuild.objects.filter(segments__in=segment_ids).distinct():
        rewrite_blocks_without(build, segment_ids=segment_ids)
    with connection.cursor() as cursor:
        # Kept vectors whose text no other document has.
        cursor.execute(
            """
            DELETE FROM knowledge_cachedembedding WHERE text_hash IN (
                SELECT embedding_hash FROM knowledge_chunk WHERE segment_id = ANY(%s)
                EXCEPT SELECT embedding_hash FROM knowledge_chunk WHERE segment_id <> ALL(%s))
            """,
            [segment_ids, segment_ids],
        )
    document.spans.all().delete()
    segments.delete()
    hashes = list(document.versions.values_list("content_hash", flat=True))
    document.jobs.exclude(pk=job.pk).delete()
    document.delete()
    elsewhere = set(
        DocumentVersion.objects.filter(content_hash__in=hashes).values_list("content_hash", flat=True)
    )
    for content_hash in set(hashes) - elsewhere:
        transaction.on_commit(partial(_remove_file, path_of(content_hash)))


def _prune_versions_that_held(document: Document) -> list[int]:
    numbers: list[int] = []
    for span in document.spans.all():
        held = IndexVersion.objects.filter(build_id=span.build_id, number__gte=span.entered)
        if span.departed is not None:
            held = held.filter(number__lt=span.departed)
        numbers += held.values_list("number", flat=True)
        held.delete()
    return sorted(numbers)


def _remove_file(path: Path) -> None:
    path.unlink(missing_ok=True)
