"""The list of documents, and a document's page with its versions."""

import pytest

from knowledge.models import Document, IngestJob
from knowledge.scopes import scope_of


@pytest.fixture
def document(tenant, upload, run_jobs) -> Document:
    """A document of the tenant with two versions, of which the second is live."""
    scope = scope_of(tenant)
    upload("plan.md", "# Gießplan\n\nMontags gießt Erik.\n", scope=scope)
    run_jobs()
    upload("plan.md", "# Gießplan\n\nMontags gießt Erik, freitags Adam.\n", scope=scope, note="Adam hilft")
    run_jobs()
    return Document.objects.get()


def test_the_list_shows_where_each_document_stands(editor, document, tenant, upload, run_jobs):
    upload("leer.txt", "", scope=scope_of(tenant))
    run_jobs()
    upload("neu.md", "# Neu\n\nNoch nicht.\n", scope=scope_of(tenant))
    page = editor.get("/admin/knowledge/document/")
    assert [(row.title, row.live_number) for row in page.context["cl"].result_list] == [
        ("Gießplan", 2),
        ("leer.txt", None),
        ("neu.md", None),
    ]
    for standing, title in (("live", "Gießplan"), ("failed", "leer.txt"), ("waiting", "neu.md")):
        rows = editor.get(f"/admin/knowledge/document/?standing={standing}").context["cl"].result_list
        assert [row.title for row in rows] == [title]
    found = editor.get("/admin/knowledge/document/?q=plan.md").context["cl"].result_list
    assert [row.title for row in found] == ["Gießplan"]


def test_the_list_costs_the_same_for_many_documents(
    editor, tenant, upload, run_jobs, django_assert_max_num_queries
):
    for number in range(12):
        upload(f"{number}.md", f"# Nummer {number}\n\nText.\n", scope=scope_of(tenant))
    run_jobs()
    editor.get("/admin/knowledge/document/")
    with django_assert_max_num_queries(14):
        editor.get("/admin/knowledge/document/")


def test_the_timeline_tells_who_when_why_and_what_is_live(editor, document):
    page = editor.get(f"/admin/knowledge/document/{document.pk}/change/").text
    assert page.index("Version 2") < page.index("Version 1")
    assert "Adam hilft" in page
    assert page.count("Activate this version …") == 1, "only the one that is not live"


def test_an_older_version_is_activated_by_a_job_with_a_reason(editor, document, run_jobs):
    address = f"/admin/knowledge/document/{document.pk}/versions/1/activate/"
    answer = editor.post(address, {"reason": "Adam ist im Urlaub\x00"})
    job = IngestJob.objects.latest("pk")
    assert answer["Location"] == f"/admin/knowledge/ingestjob/{job.pk}/change/"
    assert job.reason == "Adam ist im Urlaub"
    assert document.versions.get(active=True).number == 2, "not within the request"
    run_jobs()
    assert document.versions.get(active=True).number == 1


def test_text_and_passages_of_every_version_can_be_read(editor, document):
    base = f"/admin/knowledge/document/{document.pk}/versions"
    assert "Montags gießt Erik." in editor.get(f"{base}/1/text/").text
    assert "freitags Adam" in editor.get(f"{base}/2/chunks/").text
    chunks = editor.get(f"{base}/1/chunks/")
    assert "Montags gießt Erik." in chunks.text
    assert chunks.context["page"].paginator.count == 1
    assert editor.get(f"{base}/2/text/?from=99999999999999999").status_code == 200
    assert editor.get(f"{base}/2/text/?from=-5").status_code == 200
    assert editor.get(f"{base}/2/chunks/?page=77").status_code == 200
    assert editor.get(f"{base}/3/text/").status_code == 404


def test_a_version_not_read_yet_says_so(editor, tenant, upload):
    document = upload("neu.md", "# Neu\n\nText.\n", scope=scope_of(tenant)).document
    base = f"/admin/knowledge/document/{document.pk}/versions/1"
    assert "No text yet" in editor.get(f"{base}/text/").text
    assert "No passages yet" in editor.get(f"{base}/chunks/").text


def test_the_original_comes_back_as_a_download_that_no_browser_runs(editor, tenant, upload, files_folder):
    page = b"<html><script>alert(1)</script>Gie\xc3\x9fen</html>"
    accepted = upload("gießen.html", page, scope=scope_of(tenant))
    address = f"/admin/knowledge/document/{accepted.document.pk}/versions/1/file/"
    answer = editor.get(address)
    assert b"".join(answer.streaming_content) == page
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff"
    stored = next(path for path in files_folder.rglob("*") if path.is_file())
    stored.write_bytes(b"changed on disk")
    assert editor.get(address).status_code == 404, "what is stored is checked, not trusted"


def test_a_text_that_looks_like_markup_stays_text(editor, tenant, upload, run_jobs):
    accepted = upload(
        "a.txt", "Vor <script>alert(1)</script> nach\n", scope=scope_of(tenant), title="<b>T</b>"
    )
    run_jobs()
    document = accepted.document.pk
    for address in ("change/", "versions/1/text/", "versions/1/chunks/"):
        page = editor.get(f"/admin/knowledge/document/{document}/{address}").text
        assert "<script>alert(1)" not in page
        assert "<b>T</b>" not in page


def test_nothing_can_be_edited_or_deleted_in_place(staff, document):
    base = f"/admin/knowledge/document/{document.pk}"
    staff.post(f"{base}/change/", {"title": "Anders", "source_key": "x", "state": "ARCHIVED"})
    assert staff.post(f"{base}/delete/", {"post": "yes"}).status_code == 403
    document.refresh_from_db()
    assert (document.title, document.state) == ("Gießplan", "LISTED")


def test_an_archived_document_says_why_nothing_can_be_activated(editor, document):
    document.state = Document.State.ARCHIVED
    document.save()
    base = f"/admin/knowledge/document/{document.pk}"
    assert "Activate this version" not in editor.get(f"{base}/change/").text
    answer = editor.post(f"{base}/versions/1/activate/", {}, follow=True)
    assert "The document is archived" in answer.text
