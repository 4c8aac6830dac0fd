"""What who governs an index may ask for."""

from accounts.models import User
from knowledge.errors import IndexVersionUnknown
from knowledge.jobs import enqueue
from knowledge.models import IndexVersion, IngestJob, Scope


def request_reindex(*, scope: Scope, user: User | None, reason: str = "") -> IngestJob:
    """Queue the job that builds the scope's index anew with the desired settings, aside from the live one.

    Where such a job waits already, it is that one.
    """
    waiting = IngestJob.objects.filter(
        scope=scope, type=IngestJob.Type.GLOBAL_REINDEX, state=IngestJob.State.QUEUED
    ).first()
    return waiting or enqueue(type=IngestJob.Type.GLOBAL_REINDEX, scope=scope, user=user, reason=reason)


def request_rollback(*, scope: Scope, number: int, user: User | None, reason: str = "") -> IngestJob:
    """Queue the job that goes back to index version `number` of the scope, as a new index version.

    Raises IndexVersionUnknown for a number that the scope doesn't have.
    """
    if not IndexVersion.objects.filter(scope=scope, number=number).exists():
        raise IndexVersionUnknown(number=number)
    return enqueue(type=IngestJob.Type.ROLLBACK, scope=scope, target_number=number, user=user, reason=reason)
