"""The files of a folder that are to be imported."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from knowledge.errors import NothingToImport
from knowledge.uploads import source_key_for


class FolderFile(NamedTuple):
    path: Path
    source_key: str


def files_of(path: Path, *, include: Sequence[str] = ()) -> list[FolderFile]:
    """The files below a folder (or the one file), by source key; hidden ones are left out.

    With `include`, only those whose name or path within the folder matches one of the glob patterns.
    Raises NothingToImport.
    """
    if path.is_file():
        if include and not any(path.match(pattern) for pattern in include):
            raise NothingToImport(path=str(path))
        return [FolderFile(path, source_key_for(path.name))]
    found = []
    for file in path.rglob("*"):
        relative = file.relative_to(path)
        if not file.is_file() or any(part.startswith(".") for part in relative.parts):
            continue
        if include and not any(relative.match(pattern) for pattern in include):
            continue
        found.append(FolderFile(file, source_key_for(relative.as_posix())))
    if not found:
        raise NothingToImport(path=str(path))
    return sorted(found, key=lambda file: file.source_key)
