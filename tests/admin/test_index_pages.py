"""Index versions, the reindex button, and the banner where settings differ."""

import pytest

from knowledge.models import IndexVersion, IngestJob
from knowledge.scopes import scope_of


@pytest.fixture
def governor(tenant, make_user, enter):
    return enter(make_user("adam", tenant, "admin"))


@pytest.fixture
def indexed(tenant, upload, run_jobs) -> IndexVersion:
    """The tenant's second index version: a document whose first version gave way to its second."""
    scope = scope_of(tenant)
    upload("plan.md", "# Plan\n\nErster Stand.\n", scope=scope)
    run_jobs()
    upload("plan.md", "# Plan\n\nZweiter Stand.\n", scope=scope, note="neuer Stand")
    run_jobs()
    return IndexVersion.objects.get(scope=scope, number=2)


def test_the_list_marks_what_is_live(editor, indexed):
    rows = editor.get("/admin/knowledge/indexversion/").context["cl"].result_list
    assert [(row.number, row.pk == row.live_id) for row in rows] == [(2, True), (1, False)]


def test_an_index_version_shows_what_it_was_built_with_and_what_changed(editor, indexed):
    page = editor.get(f"/admin/knowledge/indexversion/{indexed.pk}/change/").text
    for expected in (indexed.root_hash, "embedding_model", "chunk_size", "neuer Stand"):
        assert expected in page
    changes = page[page.index("What changed with it") :]
    assert changes.count('data-kind="in"') == 1
    assert changes.count('data-kind="out"') == 1


def test_a_reindex_says_what_it_costs_and_only_then_is_queued(governor, indexed, tenant):
    address = f"/admin/knowledge/indexversion/reindex/{indexed.scope_id}/"
    asked = governor.get(address)
    assert "documents: 1, passages: 1" in asked.text
    before = IngestJob.objects.count()
    answer = governor.post(address, {"reason": "zur Probe"})
    job = IngestJob.objects.latest("pk")
    assert IngestJob.objects.count() == before + 1
    assert (job.type, job.reason, job.state) == ("GLOBAL_REINDEX", "zur Probe", "QUEUED")
    assert answer["Location"] == f"/admin/knowledge/ingestjob/{job.pk}/change/"
    twice = governor.post(address, {})
    assert twice["Location"] == answer["Location"], "asked for twice, it is the same job"


def test_editors_may_look_but_not_reindex(editor, indexed):
    page = editor.get("/admin/knowledge/indexversion/").text
    assert "/reindex/" not in page
    address = f"/admin/knowledge/indexversion/reindex/{indexed.scope_id}/"
    assert editor.get(address).status_code == 404
    assert editor.post(address).status_code == 404
    assert not IngestJob.objects.filter(type="GLOBAL_REINDEX").exists()


def test_other_settings_are_announced_on_every_page_until_a_reindex(governor, indexed, settings, run_jobs):
    calm = "Built with other index settings"
    assert calm not in governor.get("/admin/").text
    settings.KNOWLEDGE_INDEX = {**settings.KNOWLEDGE_INDEX, "chunk_size": 256}
    for address in (
        "/admin/",
        "/admin/knowledge/document/",
        "/admin/knowledge/document/add/",
        f"/admin/knowledge/indexversion/{indexed.pk}/change/",
        "/admin/accounts/tenant/",
    ):
        page = governor.get(address).text
        assert calm in page, address
        assert "(chunk_size)" in page
    governor.post(f"/admin/knowledge/indexversion/reindex/{indexed.scope_id}/")
    run_jobs()
    assert calm not in governor.get("/admin/").text


def test_settings_that_cannot_be_used_are_named_instead_of_breaking_the_pages(staff, indexed, settings):
    settings.KNOWLEDGE_INDEX = {**settings.KNOWLEDGE_INDEX, "embedding_model": "no-such-model"}
    for address in (
        "/admin/",
        f"/admin/knowledge/indexversion/{indexed.pk}/change/",
        f"/admin/knowledge/indexversion/reindex/{indexed.scope_id}/",
    ):
        page = staff.get(address)
        assert page.status_code == 200, address
        assert "no-such-model" in page.text
        assert "AI_EMBEDDING_MODEL" in page.text
