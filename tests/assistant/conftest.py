"""A small base of its own, and servers whose provider takes its time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from knowledge.models import Document
from tests.conftest import web_server

MITES = """# Spinnmilben

## Woran man sie erkennt

Spinnmilben erkennt man an feinen Gespinsten in den Blattachseln. Helle Punkte auf der Oberseite sind die
ersten Zeichen.

## Was hilft

- Die Pflanze kräftig abduschen, auch die Unterseiten der Blätter.
- Die Luftfeuchte auf 60 Prozent heben.
"""
NITROGEN = """# Stickstoffmangel

Bei Stickstoffmangel werden die unteren Blätter gelb, während die oberen grün bleiben. Ein stickstoffbetonter
Dünger hilft innerhalb von zwei Wochen.
"""
WATER = """# Watering cacti

Water a cactus only when the soil is dry to the bottom. In winter once a month is enough.
"""


@pytest.fixture
def base(upload: Callable[..., object], run_jobs: Callable[[], None]) -> list[Document]:
    """Three documents, active."""
    for name, text in (("spinnmilben.md", MITES), ("stickstoff.md", NITROGEN), ("cacti.md", WATER)):
        upload(name, text)
    run_jobs()
    documents = list(Document.objects.order_by("source_key"))
    assert all(document.versions.get().active for document in documents)
    return documents


@pytest.fixture
def slow_log(tmp_path: Path) -> Path:
    """What the slow provider of `slow_server` did, a word a line."""
    return tmp_path / "slow.log"


@contextmanager
def slow_server(tmp_path: Path, *, piece_s: float = 0.15, port: int | None = None) -> Iterator[str]:
    """The address of a server that writes a piece of about 40 characters each `piece_s` seconds."""
    with web_server(
        tmp_path,
        port=port,
        DJANGO_SETTINGS_MODULE="tests.assistant.slow_settings",
        SLOW_PIECE_S=str(piece_s),
        SLOW_LOG=str(tmp_path / "slow.log"),
    ) as address:
        yield address


@pytest.fixture
def slow_site(transactional_db: None, files_folder: Path, tmp_path: Path) -> Iterator[str]:
    with slow_server(tmp_path) as address:
        yield address
