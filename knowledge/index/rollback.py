"""Going back: the next index version has the segments of an earlier one, and its active versions."""

from knowledge.errors import IndexVersionUnknown
from knowledge.index.publication import (
    close_version,
    complete,
    depart,
    next_number,
    publishing,
    restore_vectors,
)
from knowledge.models import (
    Document,
    DocumentVersion,
    IndexVersion,
    IngestJob,
    Scope,
    Segment,
    SegmentSpan,
)


def roll_back(*, job: IngestJob, fence: int) -> None:
    """Append an index version with the segments of the job's target; completes the job.

    What has been archived since stays out. Only what differs is written: nothing but the new index version
    where the target is the newest of another build. Raises IndexVersionUnknown or WriterReplaced.
    """
    target_number = job.target_number
    assert target_number is not None, "held by job_rollback_names_a_version"
    with publishing(fence):
        scope = Scope.objects.select_for_update().get(pk=job.scope_id)
        target = (
            IndexVersion.objects.select_related("build").filter(scope=scope, number=target_number).first()
        )
        if target is None:
            raise IndexVersionUnknown(number=target_number)
        build = target.build
        number = next_number(scope)
        wanted = set(
            target.spans()
            .filter(document__state=Document.State.LISTED)
            .values_list("segment_id", "document_id")
        )
        now = set(
            SegmentSpan.objects.filter(build=build, departed=None).values_list("segment_id", "document_id")
        )
        leaving = [segment_id for segment_id, _ in now - wanted]
        if leaving:
            depart(build, leaving, number)
        coming = sorted(wanted - now)
        if coming:
            restore_vectors(build, [segment_id for segment_id, _ in coming])
            SegmentSpan.objects.bulk_create(
                SegmentSpan(segment_id=segment_id, build=build, document_id=document_id, entered=number)
                for segment_id, document_id in coming
            )
        _activate_versions_of(scope, build_id=build.pk)
        index_version = close_version(
            scope=scope, build=build, number=number, user=job.requested_by, reason=job.reason
        )
        complete(job, index_version=index_version)


def _activate_versions_of(scope: Scope, *, build_id: int) -> None:
    """Make exactly the versions active whose segments the build's open spans hold."""
    indexed = Segment.objects.filter(spans__build_id=build_id, spans__departed=None).values("version_id")
    versions = DocumentVersion.objects.filter(document__scope=scope)
    versions.filter(active=True).exclude(pk__in=indexed).update(active=False)
    versions.filter(active=False, pk__in=indexed).update(active=True, state=DocumentVersion.State.INDEXED)
