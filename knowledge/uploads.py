"""Taking in uploads: bytes become a version of a document, and a job that will index it."""

import unicodedata
from enum import StrEnum
from pathlib import PurePosixPath
from typing import BinaryIO, NamedTuple

from django.db import transaction
from django.db.models import Max

from accounts.models import User
from knowledge.activation import request_activation
from knowledge.errors import DocumentArchived, SourceKeyInvalid
from knowledge.files import store
from knowledge.models import Document, DocumentVersion, IngestJob, Scope


class Outcome(StrEnum):
    NEW_DOCUMENT = "new_document"
    NEW_VERSION = "new_version"
    AGAIN = "again"
    UNCHANGED = "unchanged"


class Accepted(NamedTuple):
    """What came of an upload. `job` is None if the bytes are those of the active version already."""

    document: Document
    version: DocumentVersion
    job: IngestJob | None
    outcome: Outcome


def source_key_for(file_name: str) -> str:
    """The source key proposed for a file: its path as given, in one spelling."""
    parts = PurePosixPath(unicodedata.normalize("NFC", file_name).replace("\\", "/")).parts
    return "/".join(part for part in parts if part not in {"/", ".", ".."})


def accept_upload(
    *,
    scope: Scope,
    source_key: str,
    file_name: str,
    content: BinaryIO,
    title: str = "",
    note: str = "",
    user: User | None,
) -> Accepted:
    """Store the bytes and queue the job that activates them; nothing is read or indexed here.

    Bytes that the document has had are that version again, and the active version's bytes change nothing.
    Raises UploadTooLarge, SourceKeyInvalid or DocumentArchived.
    """
    key = _checked_key(source_key)
    stored = store(content)
    with transaction.atomic():
        document, is_new = Document.objects.get_or_create(
            scope=scope,
            source_key=key,
            defaults={"title": (title or PurePosixPath(file_name).name)[:300], "created_by": user},
        )
        # Two uploads to one document wait for each other here.
        document = Document.objects.select_for_update().get(pk=document.pk)
        if document.state != Document.State.LISTED:
            raise DocumentArchived()
        version = document.versions.filter(content_hash=stored.content_hash).first()
        if version is not None:
            return _accept_again(document, version, note=note, user=user)
        newest = document.versions.aggregate(newest=Max("number"))["newest"] or 0
        version = DocumentVersion.objects.create(
            document=document,
            number=newest + 1,
            content_hash=stored.content_hash,
            file_name=PurePosixPath(file_name).name[:255],
            size=stored.size,
            note=note[:300],
            created_by=user,
        )
        job = request_activation(version=version, user=user, reason=note)
    return Accepted(document, version, job, Outcome.NEW_DOCUMENT if is_new else Outcome.NEW_VERSION)


def _accept_again(document: Document, version: DocumentVersion, *, note: str, user: User | None) -> Accepted:
    waiting = version.jobs.filter(state__in=[IngestJob.State.QUEUED, IngestJob.State.RUNNING]).first()
    if waiting is not None:
        return Accepted(document, version, waiting, Outcome.AGAIN)
    if version.active:
        return Accepted(document, version, None, Outcome.UNCHANGED)
    job = request_activation(version=version, user=user, reason=note)
    return Accepted(document, version, job, Outcome.AGAIN)


def _checked_key(source_key: str) -> str:
    key = unicodedata.normalize("NFC", source_key).strip()
    if not 0 < len(key) <= 400 or any(unicodedata.category(character) == "Cc" for character in key):
        raise SourceKeyInvalid(source_key=key)
    return key
