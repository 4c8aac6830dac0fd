"""The hard files of ../shared/data/documents, as their manifest expects; none is in this repository."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from knowledge.errors import Encrypted, ExtractionFailed
from knowledge.extraction import Extracted, extract
from knowledge.ingest.chunking import chunk

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
DOCUMENTS = SHARED / "documents"
GUIDES = SHARED / "kamerplanter" / "knowledge"


def _manifest() -> list[dict[str, str]]:
    path = DOCUMENTS / "manifest.tsv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


ROWS = _manifest()


def _folded(text: str) -> str:
    return " ".join(text.replace("\xa0", " ").split())


def _read(row: dict[str, str], *, password: str | None = None) -> Extracted:
    return extract(path=DOCUMENTS / row["file"], file_name=row["file"], password=password)


def _rows(*kinds: str):
    return [pytest.param(row, id=row["file"]) for row in ROWS if row["expect"] in kinds]


def test_which_of_the_hard_files_are_here() -> None:
    missing = [row["file"] for row in ROWS if not (DOCUMENTS / row["file"]).exists()]
    if not ROWS or missing:
        pytest.skip(f"left out, as they are not here: {missing or DOCUMENTS.name}")
    assert len(ROWS) >= 70


@pytest.mark.parametrize("row", _rows("find"))
def test_the_phrase_is_found(row: dict[str, str]) -> None:
    found = _read(row)
    assert _folded(row["value"]) in _folded(found.text)
    if row["param"].startswith("field:"):
        assert row["param"].split("=")[1] in found.text


@pytest.mark.parametrize("row", _rows("pw"))
def test_only_the_password_opens_it(row: dict[str, str]) -> None:
    with pytest.raises(Encrypted):
        _read(row)
    assert _folded(row["value"]) in _folded(_read(row, password=row["param"]).text)


@pytest.mark.parametrize("row", _rows("error", "empty"))
def test_it_ends_with_a_clear_error(row: dict[str, str]) -> None:
    with pytest.raises(ExtractionFailed) as caught:
        _read(row)
    assert caught.value.code not in ("extraction_failed", "extractor_crashed")


@pytest.mark.parametrize("row", _rows("any"))
def test_it_ends_in_bounds_with_storable_text_or_an_error(row: dict[str, str]) -> None:
    try:
        text, failure = _read(row).text, ""
    except ExtractionFailed as error:
        text, failure = "", error.code
    assert failure != "extractor_crashed"
    assert bool(text) != bool(failure)
    assert "\x00" not in text
    text.encode("utf-8")


@pytest.mark.skipif(not GUIDES.exists(), reason=f"left out: no folder {GUIDES.name} beside the repository")
def test_every_guide_and_page_is_read_and_cut() -> None:
    files = sorted(path for path in GUIDES.rglob("*") if path.suffix in (".md", ".yaml"))
    entries = 0
    for path in files:
        found = extract(path=path, file_name=path.name)
        chunks = chunk(found, count_tokens=lambda word: (len(word) + 3) // 4)
        assert chunks
        assert not found.warnings
        if path.suffix == ".yaml":
            assert [draft.key for draft in chunks] == [entry.key for entry in found.entries]
            entries += len(chunks)
    assert (len(files), entries) == (395, 679)
