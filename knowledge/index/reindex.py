"""Building a scope's index anew, aside, and going over to it at once."""

from django.db import transaction

from knowledge.index.builds import unpublished_build
from knowledge.index.merging import merge_build
from knowledge.index.publication import close_version, complete, next_number, publishing, store_segment
from knowledge.index.settings import IndexSettings
from knowledge.index.vectors import ensure_table
from knowledge.ingest.pipeline import Reporter, prepare_segment
from knowledge.models import Document, DocumentVersion, IngestJob, Scope, Segment, SegmentSpan
from knowledge.writer import require_fence


class _Quiet:
    """Passes on nothing of the single documents but a cancel."""

    def __init__(self, report: Reporter, done: int) -> None:
        self._report = report
        self._done = done

    def stage(self, stage: IngestJob.Stage, total: int = 0) -> None:
        self._report.progress(self._done)

    def progress(self, done: int) -> None:
        self._report.progress(self._done)

    def log(self, sentence: str, **values: object) -> None:
        return None


def reindex_scope(*, job: IngestJob, fence: int, report: Reporter) -> None:
    """Make every active version's segment in a new build, then switch to it in one transaction.

    The old build serves until then. A crash or cancel keeps what was made; the next run goes on from it.
    """
    scope = job.scope
    build = unpublished_build(scope)
    ensure_table(dimension=IndexSettings.of(build.settings).embedding_dimension)
    versions = DocumentVersion.objects.filter(
        document__scope=scope, active=True, document__state=Document.State.LISTED
    ).select_related("document")
    report.stage(IngestJob.Stage.EMBED, total=versions.count())
    for done, version in enumerate(versions.order_by("document__source_key").iterator(chunk_size=100)):
        prepared = prepare_segment(version, build=build, report=_Quiet(report, done))
        if prepared is not None:
            with transaction.atomic():
                require_fence(fence)
                store_segment(build=build, version=version, prepared=prepared)
        report.progress(done + 1)
    report.stage(IngestJob.Stage.PUBLISH)
    merge_build(build, fence=fence)
    with publishing(fence):
        scope = Scope.objects.select_for_update().get(pk=scope.pk)
        number = next_number(scope)
        segments = Segment.objects.filter(
            build=build, version__active=True, version__document__state=Document.State.LISTED
        ).select_related("version")
        SegmentSpan.objects.bulk_create(
            SegmentSpan(segment=segment, build=build, document_id=segment.version.document_id, entered=number)
            for segment in segments
        )
        index_version = close_version(
            scope=scope, build=build, number=number, user=job.requested_by, reason=job.reason
        )
        complete(job, index_version=index_version)
