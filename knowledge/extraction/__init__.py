"""Files -> text, in a process of their own.

`extract` is all that others need; `knowledge.errors` has the errors it raises.
"""

from __future__ import annotations

from pathlib import Path

from knowledge.extraction.extracted import DEFAULT, Entry, Extracted, ExtractionLimits
from knowledge.extraction.process import read_in_child

__all__ = ["DEFAULT", "Entry", "Extracted", "ExtractionLimits", "extract"]


def extract(
    *, path: Path, file_name: str, password: str | None = None, limits: ExtractionLimits = DEFAULT
) -> Extracted:
    """Return the text of a file with what is known about it.

    What the file is follows from its content; file_name (which need not be that of path) decides
    only between kinds of text and enters the keys of a guide's entries. The same bytes under the
    same name give the same result. Raises a child of knowledge.errors.ExtractionFailed; OSError if
    path cannot be opened.
    """
    return read_in_child(path=path, file_name=file_name, password=password, limits=limits)
