"""Making a version the active one."""

from accounts.models import User
from knowledge.errors import DocumentArchived
from knowledge.jobs import enqueue
from knowledge.models import Document, DocumentVersion, IngestJob


def request_activation(*, version: DocumentVersion, user: User | None, reason: str = "") -> IngestJob:
    """Queue the job that indexes the version, if it isn't yet, and makes it the active one.

    Raises DocumentArchived unless the document is listed.
    """
    document = version.document
    if document.state != Document.State.LISTED:
        raise DocumentArchived()
    return enqueue(
        type=IngestJob.Type.DOCUMENT_VERSION_ACTIVATE,
        scope=document.scope,
        document=document,
        version=version,
        user=user,
        reason=reason,
    )
