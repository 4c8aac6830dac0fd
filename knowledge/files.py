"""Uploaded bytes, stored once under their hash."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from django.conf import settings

from knowledge.errors import FileMissing, UploadTooLarge

_BLOCK = 1 << 20


class StoredFile(NamedTuple):
    content_hash: str
    size: int


def path_of(content_hash: str) -> Path:
    root: Path = settings.KNOWLEDGE_FILES
    return root / content_hash[:2] / content_hash


def store(content: BinaryIO) -> StoredFile:
    """Write the bytes below their SHA-256, whole or not at all; the same bytes are stored once.

    Raises UploadTooLarge past settings.KNOWLEDGE_MAX_UPLOAD_BYTES, and leaves nothing behind then.
    """
    root: Path = settings.KNOWLEDGE_FILES
    root.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    size = 0
    allowed: int = settings.KNOWLEDGE_MAX_UPLOAD_BYTES
    with tempfile.NamedTemporaryFile(dir=root, prefix=".upload-", delete=False) as temporary:
        try:
            while block := content.read(_BLOCK):
                size += len(block)
                if size > allowed:
                    raise UploadTooLarge(size=size, allowed=allowed)
                digest.update(block)
                temporary.write(block)
            temporary.flush()
            os.fsync(temporary.fileno())
            target = path_of(digest.hexdigest())
            target.parent.mkdir(exist_ok=True)
            os.replace(temporary.name, target)
        except BaseException:
            os.unlink(temporary.name)
            raise
    return StoredFile(content_hash=digest.hexdigest(), size=size)


def checked_path(content_hash: str) -> Path:
    """The path of stored bytes, after reading them once to see that they still have this hash.

    Raises FileMissing if they are gone or changed.
    """
    path = path_of(content_hash)
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stored:
            for block in _blocks(stored):
                digest.update(block)
    except OSError:
        raise FileMissing() from None
    if digest.hexdigest() != content_hash:
        raise FileMissing()
    return path


def _blocks(stored: BinaryIO) -> Iterator[bytes]:
    while block := stored.read(_BLOCK):
        yield block
