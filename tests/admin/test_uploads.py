"""Uploading through the cockpit, up to the job that a worker runs."""

import io

import pytest

from knowledge.models import Document, DocumentVersion, IngestJob
from knowledge.scopes import scope_of

ADD = "/admin/knowledge/document/add/"
GUIDE = b"# Tomaten\n\nTomaten brauchen viel Sonne und wenig Regen auf den Blaettern.\n"


def named(name: str, content: bytes = GUIDE) -> io.BytesIO:
    file = io.BytesIO(content)
    file.name = name
    return file


def test_one_file_leads_to_its_job_and_becomes_live(editor, tenant, run_jobs):
    scope = scope_of(tenant)
    answer = editor.post(ADD, {"scope": scope.pk, "uploads": named("tomaten.md"), "note": "Frühling"})
    job = IngestJob.objects.get()
    assert answer.status_code == 302
    assert answer["Location"] == f"/admin/knowledge/ingestjob/{job.pk}/change/"
    assert job.state == IngestJob.State.QUEUED, "nothing is indexed within the request"
    assert job.requested_by is not None
    assert job.requested_by.username == "edith"
    assert job.document is not None
    assert job.version is not None
    assert (job.document.source_key, job.version.note) == ("tomaten.md", "Frühling")
    run_jobs()
    version = DocumentVersion.objects.get()
    assert version.active
    page = editor.get(f"/admin/knowledge/document/{version.document_id}/change/").text
    assert "Tomaten" in page
    assert "Frühling" in page


def test_several_files_each_get_their_own_row(editor, tenant, run_jobs, settings):
    settings.KNOWLEDGE_MAX_UPLOAD_BYTES = 1000
    files = [named(f"{number}.md", GUIDE + str(number).encode()) for number in range(4)]
    files.insert(1, named("bomb.txt", b"x" * 5000))
    files.append(named("leer.txt", b""))
    answer = editor.post(ADD, {"scope": scope_of(tenant).pk, "uploads": files}, follow=True)
    assert "One file was refused" in answer.text
    assert "bomb.txt" in answer.text
    assert "Split the file" in answer.text
    assert IngestJob.objects.count() == 5
    run_jobs()
    later = editor.get(answer.redirect_chain[-1][0]).text
    assert later.count('data-state="COMPLETED"') == 4
    assert "The file is empty (0 bytes)." in later
    assert Document.objects.filter(versions__active=True).count() == 4


def test_sent_twice_it_is_one_version_and_one_job(editor, tenant, run_jobs):
    values = {"scope": scope_of(tenant).pk}
    first = editor.post(ADD, {**values, "uploads": named("tomaten.md")})
    second = editor.post(ADD, {**values, "uploads": named("tomaten.md")})
    assert first["Location"] == second["Location"]
    assert IngestJob.objects.count() == 1
    run_jobs()
    third = editor.post(ADD, {**values, "uploads": named("tomaten.md")}, follow=True)
    assert "unchanged: this content is live already" in third.text
    assert DocumentVersion.objects.count() == 1


def test_the_script_sends_one_by_one_and_ends_on_a_page_with_all(editor, tenant):
    values = {"scope": scope_of(tenant).pk, "batch": "ab" * 16}
    as_json = {"headers": {"Accept": "application/json"}}
    first = editor.post(ADD, {**values, "uploads": named("a.md")}, **as_json).json()
    assert first["rows"] == [{"file_name": "a.md", "accepted": True, "text": "new document"}]
    second = editor.post(ADD, {**values, "uploads": named("b.md", GUIDE + b"b")}, **as_json).json()
    assert second["next"] == f"{ADD}results/{'ab' * 16}/"
    page = editor.get(second["next"]).text
    assert "a.md" in page
    assert "b.md" in page
    refused = editor.post(ADD, {**values, "title": "x" * 301, "uploads": named("c.md")}, **as_json)
    assert refused.status_code == 400
    assert refused.json()["errors"]


def test_a_scope_that_is_not_theirs_is_refused(editor, foreign):
    before = Document.objects.count()
    for scope in (foreign.document.scope, scope_of(None)):
        answer = editor.post(ADD, {"scope": scope.pk, "uploads": named("a.md")})
        assert answer.status_code == 200
        assert "Select a valid choice" in answer.text
    assert Document.objects.count() == before


def test_an_editor_is_offered_their_own_tenants_only(editor, staff, tenant, foreign):
    form = editor.get(ADD).context["form"]
    assert [str(scope) for scope in form.fields["scope"].queryset] == [tenant.name]
    everything = staff.get(ADD).context["form"].fields["scope"].queryset
    assert everything.count() == 3


@pytest.mark.parametrize("values", [{}, {"scope": "abc"}, {"source_key": "a"}, {"batch": "../../etc"}])
def test_a_form_that_lacks_something_comes_back_with_a_sentence(editor, tenant, values):
    answer = editor.post(ADD, {"scope": scope_of(tenant).pk, **values})
    assert answer.status_code == 200
    assert "Choose at least one file." in answer.text


def test_a_title_for_several_files_is_refused(editor, tenant):
    files = [named("a.md"), named("b.md", GUIDE + b"b")]
    answer = editor.post(ADD, {"scope": scope_of(tenant).pk, "title": "T", "uploads": files})
    assert "Leave this empty when you upload several files." in answer.text
    assert not Document.objects.exists()


def test_a_source_key_that_cannot_be_one_is_refused_with_the_reason(editor, tenant):
    answer = editor.post(
        ADD,
        {"scope": scope_of(tenant).pk, "source_key": "a\tb", "uploads": named("a.md")},
        follow=True,
    )
    assert "source key" in answer.text
    assert "without a line break" in answer.text
    assert not Document.objects.exists()


def test_the_next_version_comes_in_on_the_documents_page(editor, tenant, upload, run_jobs):
    document = upload("a.md", "# A\n\nErster Stand.\n", scope=scope_of(tenant)).document
    run_jobs()
    address = f"/admin/knowledge/document/{document.pk}/upload/"
    answer = editor.post(address, {"file": named("neu.md", b"# A\n\nZweiter Stand.\n"), "note": "besser"})
    assert answer["Location"] == f"/admin/knowledge/ingestjob/{IngestJob.objects.latest('pk').pk}/change/"
    run_jobs()
    assert document.versions.get(active=True).number == 2
    again = editor.post(address, {"file": named("neu.md", b"# A\n\nZweiter Stand.\n")}, follow=True)
    assert "Nothing to do" in again.text
    assert editor.post(address, {}).status_code == 400


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("de", "Die Datei ist leer (0 Bytes). Die Datei erneut hochladen"),
        ("en", "The file is empty (0 bytes)."),
    ],
)
def test_a_bad_file_says_what_to_do_on_the_jobs_page(editor, tenant, run_jobs, language, sentence):
    editor.post(ADD, {"scope": scope_of(tenant).pk, "uploads": named("leer.txt", b"")})
    run_jobs()
    editor.cookies["django_language"] = language
    page = editor.get(f"/admin/knowledge/ingestjob/{IngestJob.objects.get().pk}/change/").text
    assert sentence in page
    assert f'lang="{language}"' in page
