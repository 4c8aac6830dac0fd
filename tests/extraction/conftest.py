from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge.extraction import DEFAULT, Extracted, ExtractionLimits, extract

Read = Callable[..., Extracted]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write bytes to a file and extract it: read(data, "name.md", password=..., limits=...)."""

    def write_and_extract(
        data: bytes | str, name: str, *, password: str | None = None, limits: ExtractionLimits = DEFAULT
    ) -> Extracted:
        path = tmp_path / "upload"  # the name within the store says nothing
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return extract(path=path, file_name=name, password=password, limits=limits)

    return write_and_extract
