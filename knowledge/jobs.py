"""Jobs as their askers see them: queueing, cancelling, retrying, describing. See `knowledge.running` too."""

import logging
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from knowledge.errors import JobStateForbids
from knowledge.liveness import liveness
from knowledge.models import Document, DocumentVersion, IngestJob, Scope

logger = logging.getLogger(__name__)


def enqueue(
    *,
    type: IngestJob.Type,
    scope: Scope,
    document: Document | None = None,
    version: DocumentVersion | None = None,
    target_number: int | None = None,
    user: User | None,
    reason: str = "",
) -> IngestJob:
    """Write a QUEUED job and, once that is committed, wake a worker.

    Where no worker can be woken (the broker is away), the job stays queued and beat's next round finds it.
    """
    job = IngestJob.objects.create(
        type=type,
        scope=scope,
        document=document,
        version=version,
        target_number=target_number,
        requested_by=user,
        reason=reason[:300],
    )
    transaction.on_commit(partial(wake_worker, job_id=job.pk))
    return job


def wake_worker(*, job_id: int | None = None) -> None:
    from knowledge.tasks import work_queue

    try:
        work_queue.delay()
    except work_queue.OperationalError:
        logger.warning("broker_unreachable job=%s", job_id)


def request_cancel(*, job: IngestJob, user: User | None) -> IngestJob:
    """Cancel a job: at once while it waits, at its next step while it runs.

    Raises JobStateForbids if it has finished.
    """
    aborted = IngestJob.objects.filter(pk=job.pk, state=IngestJob.State.QUEUED).update(
        state=IngestJob.State.ABORTED, finished_at=timezone.now(), cancel_requested=True
    )
    if not aborted:
        asked = IngestJob.objects.filter(pk=job.pk, state=IngestJob.State.RUNNING).update(
            cancel_requested=True
        )
        if not asked:
            job.refresh_from_db()
            raise JobStateForbids(state=job.get_state_display())
    logger.info("job_cancel_requested job=%s user=%s", job.pk, user.pk if user else None)
    job.refresh_from_db()
    return job


def retry(*, job: IngestJob, user: User | None) -> IngestJob:
    """Queue a new job that does what a failed or cancelled one did not.

    Raises JobStateForbids in any other state.
    """
    if job.state not in {IngestJob.State.FAILED, IngestJob.State.ABORTED}:
        raise JobStateForbids(state=job.get_state_display())
    return enqueue(
        type=IngestJob.Type(job.type),
        scope=job.scope,
        document=job.document,
        version=job.version,
        target_number=job.target_number,
        user=user,
        reason=job.reason,
    )


def describe_job(job: IngestJob) -> dict[str, Any]:
    """The job's state in the reader's language, JSON-able, for the live page and REST."""
    queued = job.state == IngestJob.State.QUEUED
    return {
        "id": job.pk,
        "type": job.type,
        "type_label": job.get_type_display(),
        "state": job.state,
        "state_label": job.get_state_display(),
        "stage": job.stage,
        "stage_label": job.get_stage_display(),
        "percent": job.percent,
        "progress_done": job.progress_done,
        "progress_total": job.progress_total,
        "attempt": job.attempt,
        "cancel_requested": job.cancel_requested,
        "finished": job.is_finished,
        "queue_position": _queue_position(job) if queued else None,
        "waiting_for_worker": not job.is_finished and not liveness().worker_alive,
        "log": [
            {"at": f"{timezone.localtime(entry.at):%H:%M:%S}", "text": str(entry)} for entry in job.log.all()
        ],
        "error": {"code": job.error_code, "text": job.error_text} if job.error_code else None,
        "index_version": job.index_version.number if job.index_version else None,
    }


def _queue_position(job: IngestJob) -> int:
    return IngestJob.objects.filter(state=IngestJob.State.QUEUED, pk__lt=job.pk).count() + 1
