"""What who governs an index may ask for."""

from accounts.models import User
from knowledge.jobs import enqueue
from knowledge.models import IngestJob, Scope


def request_reindex(*, scope: Scope, user: User | None, reason: str = "") -> IngestJob:
    """Queue the job that builds the scope's index anew with the desired settings, aside from the live one.

    Where such a job waits already, it is that one.
    """
    waiting = IngestJob.objects.filter(
        scope=scope, type=IngestJob.Type.GLOBAL_REINDEX, state=IngestJob.State.QUEUED
    ).first()
    return waiting or enqueue(type=IngestJob.Type.GLOBAL_REINDEX, scope=scope, user=user, reason=reason)
