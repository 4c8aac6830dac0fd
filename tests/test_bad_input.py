"""Files that can't be indexed: a sentence for the editor, and nothing else happens."""

import pytest
from django.utils import translation

from knowledge.models import DocumentVersion, IndexVersion, IngestJob
from knowledge.retrieval.search import retrieve
from tests.extraction.samples import docx, paragraph, pdf, pdf_bomb, zipped

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = "# Farne\n\nDer Schwertfarn mag es feucht."
TWIN_GUIDE = """
title: Zwillinge
chunks:
  - {id: eins, title: Eins, content: Erster Text.}
  - {id: eins, title: Zwei, content: Zweiter Text.}
"""

BAD = {
    "empty.md": (b"", "empty_file"),
    "no-pages.pdf": (pdf([]), "no_text"),
    "locked.pdf": (pdf([["Geheim"]], user_password="sesam"), "encrypted"),
    "pictures.pdf": (pdf([[], []], pictures=True), "image_only"),
    "cut.docx": (docx(paragraph("Ein Satz. ") * 500)[:900], "damaged"),
    "bomb.docx": (zipped({"word/document.xml": b"<w:p>" + b" " * 200_000_000}), "too_large"),
    "no-chunks.yaml": (b"title: Leer\nchunks: []\n", "invalid_guide"),
    "twins.yaml": (TWIN_GUIDE.encode(), "invalid_guide"),
    "program.md": (b"\x7fELF\x02\x01\x01" + bytes(200), "unsupported_format"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_fails_with_a_sentence_and_the_next_job_runs(name, upload, run_jobs):
    content, code = BAD[name]
    upload("farne.md", GOOD)
    run_jobs()
    live = IndexVersion.objects.get()
    bad = upload(name, content)
    after = upload("danach.md", "# Danach\n\nKakteen stehen trocken.")
    run_jobs()

    bad.job.refresh_from_db()
    after.job.refresh_from_db()
    assert (bad.job.state, bad.job.error_code) == (IngestJob.State.FAILED, code)
    bad.version.refresh_from_db()
    assert (bad.version.state, bad.version.active) == (DocumentVersion.State.FAILED, False)
    texts = {}
    for language in ("de", "en"):
        with translation.override(language):
            texts[language] = bad.job.error_text
    assert texts["de"] != texts["en"]
    assert all(len(text) > 20 for text in texts.values())
    assert after.job.state == IngestJob.State.COMPLETED
    assert list(IndexVersion.objects.values_list("number", flat=True)) == [live.number + 1, live.number]
    assert retrieve("Schwertfarn", tenant=None).passages[0].title == "Farne"


def test_a_flate_bomb_ends_within_its_limits(upload, run_jobs):
    accepted = upload("bomb.pdf", pdf_bomb(200))
    run_jobs()
    accepted.job.refresh_from_db()
    assert accepted.job.state == IngestJob.State.FAILED
    assert accepted.job.error_text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-16", "Größe und Höhe der Zimmerlinde: zwei Meter, dazu süße Blüten."),
        ("cp1252", "Die Blätter der Zimmerlinde sind größer als die der Efeutute, süß."),
        ("koi8-r", "Листья фикуса желтеют, если корни стоят в воде слишком долго."),
        ("cp866", "Листья фикуса желтеют, если корни стоят в воде слишком долго."),
    ],
)
def test_text_in_any_encoding_is_read_right(encoding, text, upload, run_jobs):
    accepted = upload("text.txt", text.encode(encoding))
    run_jobs()
    accepted.version.refresh_from_db()
    assert accepted.version.extracted.text.strip() == text


def test_nul_bytes_are_dropped(upload, run_jobs):
    accepted = upload("nul.txt", b"vor\x00her und\x00 nachher\n")
    run_jobs()
    accepted.version.refresh_from_db()
    assert accepted.version.extracted.text.strip() == "vorher und nachher"


def test_a_pdf_named_text_is_read_as_the_pdf_it_is(upload, run_jobs):
    accepted = upload("notiz.txt", pdf([["Die Kentiapalme steht hell."]]))
    run_jobs()
    accepted.version.refresh_from_db()
    assert accepted.version.extracted.media_type == "application/pdf"
    assert "Kentiapalme" in accepted.version.extracted.text
