"""What is wrong with an installation, and what to do about it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from knowledge.errors import FileMissing
from knowledge.files import checked_path, path_of
from knowledge.index.settings import IndexSettings
from knowledge.index.state import live_state
from knowledge.index.vectors import table_name
from knowledge.liveness import liveness
from knowledge.models import Document, DocumentVersion, IngestJob, Scope, SegmentSpan
from knowledge.tasks import broker_answers
from knowledge.writer import writer_lock

WAITS_TOO_LONG = timedelta(minutes=10)


class Finding(NamedTuple):
    """A fact with a stable code, as a sentence, and what to do."""

    code: str
    text: str
    advice: str


def examine(*, read_files: bool = True) -> list[Finding]:
    """Everything found, most urgent first. Reading every stored file takes its time; it can be left out."""
    return [*_services(), *_jobs(), *_indexes(), *_files(read=read_files)]


def _services() -> Iterator[Finding]:
    alive = liveness()
    if not broker_answers():
        yield Finding(
            "no_broker",
            _("The broker (Valkey) does not answer."),
            _("Start it, or correct REDIS_URL. Jobs wait meanwhile; none is lost."),
        )
    if not alive.worker_alive:
        yield Finding(
            "no_worker",
            _("No worker is alive."),
            _("Start ./run, or a worker: celery -A kamerplanter worker. Jobs wait meanwhile."),
        )
    if not alive.beat_alive:
        yield Finding(
            "no_beat",
            _("The scheduler is not alive."),
            _("Start ./run, or beat: celery -A kamerplanter beat."),
        )


def _jobs() -> Iterator[Finding]:
    with writer_lock() as fence:
        orphans = (
            list(IngestJob.objects.filter(state=IngestJob.State.RUNNING).values_list("pk", flat=True))
            if fence is not None
            else []
        )
    for pk in orphans:
        yield Finding(
            "stuck_job",
            _("Job %(job)s says that it is running, but no worker runs it.") % {"job": pk},
            _("A worker takes it up again within a minute; or run: ingest run %(job)s.") % {"job": pk},
        )
    oldest = IngestJob.objects.filter(state=IngestJob.State.QUEUED).order_by("pk").first()
    running = IngestJob.objects.filter(state=IngestJob.State.RUNNING).exists()
    if oldest is not None and not running and timezone.now() - oldest.queued_at > WAITS_TOO_LONG:
        yield Finding(
            "waiting_job",
            _("Job %(job)s has been waiting for more than ten minutes.") % {"job": oldest.pk},
            _("See whether a worker is alive; or run: ingest run %(job)s.") % {"job": oldest.pk},
        )


def _indexes() -> Iterator[Finding]:
    for scope in Scope.objects.exclude(live=None).select_related("live__build", "tenant"):
        state = live_state(scope)
        assert state is not None
        assert scope.live is not None
        if state.mismatch:
            yield Finding(
                "mismatch",
                _("The index of %(scope)s was built with other settings: %(names)s.")
                % {"scope": scope, "names": ", ".join(state.mismatch)},
                _("Run index reindex; the old index serves until it is done."),
            )
        missing = _vectors_missing(scope)
        if missing:
            yield Finding(
                "vectors_missing",
                _("%(count)s passages of %(scope)s have no vector.") % {"count": missing, "scope": scope},
                _("Run index reindex."),
            )
        unindexed = _active_but_not_indexed(scope)
        if unindexed:
            yield Finding(
                "active_not_indexed",
                _("%(count)s active versions of %(scope)s are not in the index.")
                % {"count": unindexed, "scope": scope},
                _("Run index reindex."),
            )


def _vectors_missing(scope: Scope) -> int:
    assert scope.live is not None
    dimension = IndexSettings.of(scope.live.build.settings).embedding_dimension
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT count(*) FROM knowledge_segmentspan span
            JOIN knowledge_chunk chunk ON chunk.segment_id = span.segment_id
            WHERE span.build_id = %s AND span.departed IS NULL AND NOT EXISTS (
                SELECT FROM {table_name(dimension)} vector WHERE vector.chunk_number = chunk.number)
            """,
            [scope.live.build_id],
        )
        return int(cursor.fetchone()[0])


def _active_but_not_indexed(scope: Scope) -> int:
    assert scope.live is not None
    indexed = SegmentSpan.objects.filter(build=scope.live.build, departed=None).values("segment__version_id")
    return (
        DocumentVersion.objects.filter(
            document__scope=scope, document__state=Document.State.LISTED, active=True
        )
        .exclude(pk__in=indexed)
        .count()
    )


def _files(*, read: bool) -> Iterator[Finding]:
    known: dict[str, str] = dict(
        DocumentVersion.objects.order_by("pk").values_list("content_hash", "document__source_key")
    )
    for content_hash, source_key in known.items():
        try:
            if read:
                checked_path(content_hash)
            elif not path_of(content_hash).is_file():
                raise FileMissing
        except FileMissing:
            yield Finding(
                "file_missing",
                _("The stored file of %(source_key)s is missing or is not what it was.")
                % {"source_key": source_key},
                _("Restore the files folder from a backup, or upload the file again."),
            )
    root = settings.KNOWLEDGE_FILES
    for path in sorted(root.rglob("*")) if root.is_dir() else []:
        if path.is_file() and not path.name.startswith(".upload-") and path.name not in known:
            yield Finding(
                "orphan_file",
                _("The file %(name)s belongs to no version.") % {"name": path.name},
                _("It can be deleted; erasing was interrupted, or an upload was."),
            )
