"""Archiving a document, listing it again, and erasing it for good."""

import pytest

from knowledge.admin.erasing import as_ranges
from knowledge.jobs import request_cancel
from knowledge.models import Chunk, Document, DocumentVersion, IndexVersion, IngestJob
from knowledge.scopes import scope_of

KEY = "notizen/älter.md"


@pytest.fixture
def document(tenant, upload, run_jobs) -> Document:
    """A document with two versions, in an index with another one; index versions 1 to 3."""
    scope = scope_of(tenant)
    upload("bleibt.md", "# Bleibt\n\nImmer.\n", scope=scope)
    run_jobs()
    upload("a.md", "# Notizen\n\nErster Stand.\n", scope=scope, source_key=KEY)
    run_jobs()
    upload("a.md", "# Notizen\n\nZweiter Stand.\n", scope=scope, source_key=KEY)
    run_jobs()
    return Document.objects.get(source_key=KEY)


def address_of(document: Document, what: str) -> str:
    return f"/admin/knowledge/document/{document.pk}/{what}/"


def listed(client, standing: str) -> list[str]:
    rows = client.get(f"/admin/knowledge/document/?standing={standing}").context["cl"].result_list
    return [row.title for row in rows]


def test_archiving_withholds_at_once_and_a_job_takes_it_out(editor, document, run_jobs):
    answer = editor.post(address_of(document, "archive"), {"reason": "veraltet"})
    job = IngestJob.objects.latest("pk")
    assert answer["Location"] == f"/admin/knowledge/ingestjob/{job.pk}/change/"
    assert (job.type, job.reason, job.state) == ("DOCUMENT", "veraltet", "QUEUED")
    document.refresh_from_db()
    assert document.state == Document.State.ARCHIVED
    run_jobs()
    assert not document.versions.filter(active=True).exists()
    assert listed(editor, "archived") == ["Notizen"]
    assert listed(editor, "live") == ["Bleibt"]
    assert 'data-state="ARCHIVED"' in editor.get("/admin/knowledge/document/").text
    page = editor.get(address_of(document, "change")).text
    assert "List again" in page
    assert "New version" not in page
    assert "Archive …" not in page


def test_listing_again_brings_the_newest_indexed_version_back(editor, document, run_jobs):
    editor.post(address_of(document, "archive"))
    run_jobs()
    answer = editor.post(address_of(document, "list-again"), {"reason": "doch gebraucht"})
    job = IngestJob.objects.latest("pk")
    assert answer["Location"] == f"/admin/knowledge/ingestjob/{job.pk}/change/"
    assert (job.type, job.reason) == ("DOCUMENT_VERSION_ACTIVATE", "doch gebraucht")
    run_jobs()
    assert document.versions.get(active=True).number == 2


def test_listing_again_what_was_never_indexed_needs_no_job(editor, tenant, upload, run_jobs):
    failed = upload("leer.txt", "", scope=scope_of(tenant)).document
    run_jobs()
    assert listed(editor, "failed") == ["leer.txt"]
    editor.post(address_of(failed, "archive"))
    run_jobs()
    assert listed(editor, "failed") == [], "archived, it is nobody's concern"
    before = IngestJob.objects.count()
    answer = editor.post(address_of(failed, "list-again"), follow=True)
    assert "None of its versions was ever indexed" in answer.text
    assert IngestJob.objects.count() == before


def test_what_the_state_forbids_is_said(editor, document):
    answer = editor.post(address_of(document, "list-again"), follow=True)
    assert "the document is listed" in answer.text
    editor.post(address_of(document, "archive"))
    answer = editor.post(address_of(document, "archive"), follow=True)
    assert "the document is archived" in answer.text
    editor.post(address_of(document, "erase"), {"source_key": KEY})
    for what in ("archive", "list-again", "erase"):
        answer = editor.post(address_of(document, what), {"source_key": KEY}, follow=True)
        assert "the document is being erased" in answer.text, what
    assert "the document is being erased" in editor.get(address_of(document, "erase"), follow=True).text
    assert listed(editor, "erasing") == ["Notizen"]


def test_the_confirmation_says_what_disappears(editor, document):
    asked = editor.get(address_of(document, "erase"))
    loss = asked.context["loss"]
    assert (loss.versions, loss.passages, loss.files, loss.jobs, loss.pruned) == (2, 2, 2, 2, "2–3")
    assert "the index versions that held it: 2–3" in asked.text
    assert KEY in asked.text
    document.refresh_from_db()
    assert document.state == Document.State.LISTED, "looking changes nothing"


def test_a_file_that_another_document_has_too_is_not_counted(editor, document, upload):
    upload("kopie.md", "# Notizen\n\nErster Stand.\n", scope=scope_of(None))
    asked = editor.get(address_of(document, "erase"))
    assert asked.context["loss"].files == 1
    assert "stay for it" in asked.text


@pytest.mark.parametrize("typed", ["", "notizen", "NOTIZEN/ÄLTER.MD", "\x00", "x" * 5000])
def test_without_the_source_key_nothing_is_erased(editor, document, typed):
    answer = editor.post(address_of(document, "erase"), {"source_key": typed, "reason": "weg"})
    assert answer.status_code == 400
    assert "Nothing was erased" in answer.text
    assert 'value="weg"' in answer.text
    document.refresh_from_db()
    assert document.state == Document.State.LISTED


def test_erasing_leaves_only_its_job_and_every_page_goes_on(editor, document, run_jobs):
    composed_otherwise = " notizen/a\u0308lter.md "
    answer = editor.post(
        address_of(document, "erase"), {"source_key": composed_otherwise, "reason": "auf Wunsch"}
    )
    job = IngestJob.objects.latest("pk")
    assert answer["Location"] == f"/admin/knowledge/ingestjob/{job.pk}/change/"
    page = editor.get(address_of(document, "change")).text
    assert "being erased" in page
    assert "Erase for good" not in page
    run_jobs()
    assert not DocumentVersion.objects.filter(document_id=document.pk).exists()
    assert Chunk.objects.count() == 1
    assert [version.number for version in IndexVersion.objects.order_by("number")] == [1, 4]
    for what in ("change", "erase", "versions/1/text", "versions/1/chunks", "versions/1/file"):
        assert editor.get(address_of(document, what)).status_code == 404, what
    assert editor.post(address_of(document, "archive")).status_code == 404
    page = editor.get(answer["Location"])
    assert page.status_code == 200
    for expected in (
        "The document has been erased",
        "auf Wunsch",
        "Index versions that held it are pruned: 2, 3",
    ):
        assert expected in page.text
    assert KEY not in page.text
    live = editor.get(f"/admin/knowledge/ingestjob/live/?ids={job.pk}").json()["jobs"][str(job.pk)]
    assert (live["state"], live["index_version"]) == ("COMPLETED", 4)
    for address in (
        "/admin/",
        "/admin/knowledge/ingestjob/",
        "/admin/knowledge/indexversion/",
        f"/admin/knowledge/indexversion/{job.scope.__class__.objects.get(pk=job.scope_id).live_id}/change/",
    ):
        assert editor.get(address).status_code == 200, address


def test_the_results_of_an_upload_say_what_was_erased_since(editor, tenant, run_jobs):
    from django.core.files.uploadedfile import SimpleUploadedFile

    files = [SimpleUploadedFile(f"{name}.md", f"# {name}\n".encode()) for name in ("eins", "zwei")]
    scope = scope_of(tenant)
    results = editor.post("/admin/knowledge/document/add/", {"scope": scope.pk, "uploads": files})["Location"]
    run_jobs()
    document = Document.objects.get(source_key="eins.md")
    editor.post(address_of(document, "erase"), {"source_key": "eins.md"})
    run_jobs()
    page = editor.get(results).text
    assert page.count("erased since") == 1
    assert address_of(document, "change") not in page
    assert page.count('data-state="COMPLETED"') == 1


def test_a_cancelled_erasing_is_taken_up_again_from_its_job(editor, document, run_jobs):
    editor.post(address_of(document, "erase"), {"source_key": KEY})
    job = IngestJob.objects.latest("pk")
    request_cancel(job=job, user=None)
    page = editor.get(address_of(document, "change")).text
    assert "did not get to its end" in page
    assert f"/admin/knowledge/ingestjob/{job.pk}/change/" in page
    editor.post(f"/admin/knowledge/ingestjob/{job.pk}/retry/")
    run_jobs()
    assert not Document.objects.filter(pk=document.pk).exists()


def test_only_who_edits_may_take_out_and_only_by_a_post(editor, foreign, document):
    for what in ("archive", "list-again", "erase"):
        assert editor.post(address_of(foreign.document, what), {"source_key": "x"}).status_code == 404
    assert editor.get(address_of(foreign.document, "erase")).status_code == 404
    assert editor.get(address_of(document, "archive")).status_code == 405
    assert editor.get(address_of(document, "list-again")).status_code == 405
    foreign.document.refresh_from_db()
    assert foreign.document.state == Document.State.LISTED


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([1, 2], "1–2"), ([1, 2, 3, 7, 9, 10], "1–3, 7, 9–10")]
)
def test_numbers_are_shown_as_ranges(numbers, text):
    assert as_ranges(numbers) == text
