"""Running jobs: one writer takes them in the order they were queued."""

import logging
import time
from collections.abc import Callable

from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone, translation
from django.utils.translation import gettext_noop

from knowledge.errors import JobBroke, JobCancelled, KnowledgeError, WorkerLost, WriterReplaced
from knowledge.index.builds import live_or_new_build
from knowledge.index.merging import merge_where_due
from knowledge.index.publication import publish_activation
from knowledge.index.reindex import reindex_scope
from knowledge.index.retention import prune_where_due
from knowledge.index.rollback import roll_back
from knowledge.index.withdrawal import withdraw
from knowledge.ingest.pipeline import prepare_segment
from knowledge.ingest.reading_ahead import ReadAhead
from knowledge.models import DocumentVersion, IngestJob, JobLogEntry
from knowledge.writer import writer_lock

logger = logging.getLogger(__name__)

MOST_ATTEMPTS = 3
_SECONDS_BETWEEN_SIGNS_OF_PROGRESS = 0.25

State = IngestJob.State


def run_queue(*, seconds: float | None = None, until_job: int | None = None) -> bool:
    """Run waiting jobs until none is left, for about `seconds`, or up to a job; return whether some are left.

    Returns at once, False, if another worker is the writer: that one looks again after letting go.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    while True:
        with writer_lock() as fence, ReadAhead() as ahead:
            if fence is None:
                return False
            _commit_lazily()
            _take_up_orphans(fence)
            while (job := _claim_next(fence)) is not None:
                run_job(job, fence=fence, ahead=ahead)
                if job.pk == until_job or (deadline is not None and time.monotonic() > deadline):
                    break
            else:
                merge_where_due(fence=fence)
                prune_where_due(fence=fence)
            with connection.cursor() as cursor:
                cursor.execute("RESET synchronous_commit")
        if not IngestJob.objects.filter(state=State.QUEUED).exists():
            return False
        if until_job is not None and not IngestJob.objects.filter(pk=until_job, state=State.QUEUED).exists():
            return True
        if deadline is not None and time.monotonic() > deadline:
            return True


def run_job(job: IngestJob, *, fence: int, ahead: ReadAhead) -> None:
    """Run one claimed job to its end; the job's row says how it ended. Only database errors are raised."""
    progress = Progress(job)
    try:
        _RUNNERS[IngestJob.Type(job.type)](job, fence, progress, ahead)
    except JobCancelled:
        _finish(job, State.ABORTED)
    except WriterReplaced:
        logger.warning("job_writer_replaced job=%s fence=%s", job.pk, fence)
    except KnowledgeError as error:
        _fail(job, error)
    except DatabaseError:
        # The job stays RUNNING; whoever is the writer next takes it up again.
        raise
    except Exception as error:
        logger.exception("job_broke job=%s", job.pk)
        _fail(job, JobBroke(kind=type(error).__name__))
    else:
        logger.info("job_completed job=%s", job.pk)


class Progress:
    """Writes a job's stage and progress where its page reads them, and learns there of a cancel."""

    def __init__(self, job: IngestJob) -> None:
        self._job = job
        self._written_at = 0.0
        self._total = 0

    def stage(self, stage: IngestJob.Stage, total: int = 0) -> None:
        self._total = total
        self._write(stage=stage, progress_done=0, progress_total=total)

    def progress(self, done: int) -> None:
        if time.monotonic() - self._written_at > _SECONDS_BETWEEN_SIGNS_OF_PROGRESS:
            self._write(progress_done=done)

    def log(self, sentence: str, **values: object) -> None:
        JobLogEntry.objects.create(job=self._job, sentence=sentence, values=values)

    def _write(self, **changes: object) -> None:
        self._written_at = time.monotonic()
        going_on = IngestJob.objects.filter(pk=self._job.pk, state=State.RUNNING, cancel_requested=False)
        if not going_on.update(**changes):
            raise JobCancelled()


def _commit_lazily() -> None:
    # Progress and kept vectors may be lost with the machine's power: they are made again. What is published
    # may not, see `publishing`.
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")


def _take_up_orphans(fence: int) -> None:
    """Only the lock's holder runs jobs, so one that says RUNNING now belongs to a worker that died."""
    for job in IngestJob.objects.filter(state=State.RUNNING):
        logger.warning("job_orphaned job=%s attempt=%s", job.pk, job.attempt)
        if job.cancel_requested:
            _finish(job, State.ABORTED)
        elif job.attempt >= MOST_ATTEMPTS:
            _fail(job, WorkerLost(attempts=job.attempt))
        else:
            IngestJob.objects.filter(pk=job.pk, state=State.RUNNING).update(
                state=State.QUEUED, stage=IngestJob.Stage.WAITING, progress_done=0, progress_total=0
            )
            Progress(job).log(gettext_noop("The worker died; the job is taken up again"))


def _claim_next(fence: int) -> IngestJob | None:
    job = IngestJob.objects.filter(state=State.QUEUED).order_by("pk").first()
    if job is None:
        return None
    claimed = IngestJob.objects.filter(pk=job.pk, state=State.QUEUED).update(
        state=State.RUNNING, started_at=timezone.now(), attempt=job.attempt + 1, fence=fence
    )
    if not claimed:  # cancelled in between
        return _claim_next(fence)
    job.refresh_from_db()
    return job


def _activate(job: IngestJob, fence: int, progress: Progress, ahead: ReadAhead) -> None:
    assert job.version_id is not None, "the database requires it of this type"
    version = DocumentVersion.objects.select_related("document__scope").get(pk=job.version_id)
    build = live_or_new_build(version.document.scope)
    ahead.wait_for(version)
    ahead.begin()
    prepared = prepare_segment(version, build=build, report=progress)
    progress.stage(IngestJob.Stage.PUBLISH)
    publish_activation(job=job, fence=fence, version=version, build=build, prepared=prepared)


def _reindex(job: IngestJob, fence: int, progress: Progress, ahead: ReadAhead) -> None:
    reindex_scope(job=job, fence=fence, report=progress)


def _roll_back(job: IngestJob, fence: int, progress: Progress, ahead: ReadAhead) -> None:
    progress.stage(IngestJob.Stage.PUBLISH)
    roll_back(job=job, fence=fence)


def _withdraw(job: IngestJob, fence: int, progress: Progress, ahead: ReadAhead) -> None:
    progress.stage(IngestJob.Stage.PUBLISH)
    withdraw(job=job, fence=fence)


_RUNNERS: dict[IngestJob.Type, Callable[[IngestJob, int, Progress, ReadAhead], None]] = {
    IngestJob.Type.DOCUMENT_VERSION_ACTIVATE: _activate,
    IngestJob.Type.DOCUMENT: _withdraw,
    IngestJob.Type.GLOBAL_REINDEX: _reindex,
    IngestJob.Type.ROLLBACK: _roll_back,
}


def _fail(job: IngestJob, error: KnowledgeError) -> None:
    texts = {}
    for language in ("de", "en"):
        with translation.override(language):
            texts[language] = error.told
    _finish(job, State.FAILED, error_code=error.code, error_texts=texts)
    if job.version_id is not None:
        DocumentVersion.objects.filter(pk=job.version_id, state=DocumentVersion.State.PENDING).update(
            state=DocumentVersion.State.FAILED
        )


def _finish(job: IngestJob, state: IngestJob.State, **changes: object) -> None:
    IngestJob.objects.filter(pk=job.pk, state=State.RUNNING).update(
        state=state, finished_at=timezone.now(), **changes
    )
    logger.info("job_finished job=%s state=%s", job.pk, state)
