"""Taking documents out of the base: archived (to be listed again), or erased for good."""

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from knowledge.activation import request_activation
from knowledge.errors import DocumentStateForbids
from knowledge.jobs import enqueue
from knowledge.models import Document, DocumentVersion, IngestJob


def archive(*, document: Document, user: User | None, reason: str = "") -> IngestJob:
    """Withhold a listed document from every read at once, and queue the job that takes it out of the index.

    Raises DocumentStateForbids unless it is listed.
    """
    with transaction.atomic():
        _change_state(document, allowed=[Document.State.LISTED], to=Document.State.ARCHIVED)
        return _enqueue(document, user=user, reason=reason)


def list_again(*, document: Document, user: User | None, reason: str = "") -> IngestJob | None:
    """List an archived document again, and queue the activation of its newest indexed version, if it has one.

    Raises DocumentStateForbids unless it is archived.
    """
    with transaction.atomic():
        _change_state(document, allowed=[Document.State.ARCHIVED], to=Document.State.LISTED)
        version = (
            document.versions.filter(state=DocumentVersion.State.INDEXED).order_by("-activated_at").first()
        )
        return request_activation(version=version, user=user, reason=reason) if version else None


def erase(*, document: Document, user: User | None, reason: str = "") -> IngestJob:
    """Withhold the document at once, and queue the job that leaves no row, vector or byte of it.

    Its waiting jobs are cancelled. Raises DocumentStateForbids if it is being erased already.
    """
    with transaction.atomic():
        _change_state(
            document,
            allowed=[Document.State.LISTED, Document.State.ARCHIVED],
            to=Document.State.ERASING,
        )
        document.jobs.filter(state=IngestJob.State.QUEUED).update(
            state=IngestJob.State.ABORTED, finished_at=timezone.now(), cancel_requested=True
        )
        document.jobs.filter(state=IngestJob.State.RUNNING).update(cancel_requested=True)
        return _enqueue(document, user=user, reason=reason)


def _change_state(document: Document, *, allowed: list[Document.State], to: Document.State) -> None:
    if not Document.objects.filter(pk=document.pk, state__in=allowed).update(state=to):
        document.refresh_from_db()
        raise DocumentStateForbids(state=document.get_state_display())
    document.refresh_from_db()


def _enqueue(document: Document, *, user: User | None, reason: str) -> IngestJob:
    return enqueue(
        type=IngestJob.Type.DOCUMENT, scope=document.scope, document=document, user=user, reason=reason
    )
