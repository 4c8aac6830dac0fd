"""Going back to an earlier index version: the confirmation, the job, and the drawn history."""

import pytest

from knowledge import archiving
from knowledge.governance import request_reindex
from knowledge.models import Document, IndexVersion, IngestJob
from knowledge.scopes import scope_of


@pytest.fixture
def governor(tenant, make_user, enter):
    return enter(make_user("adam", tenant, "admin"))


@pytest.fixture
def history(tenant, upload, run_jobs, settings) -> dict[int, IndexVersion]:
    """Six index versions: a plan, the harvest, the plan's second version, compost, a reindex, plan gone."""
    scope = scope_of(tenant)
    for name, text in (
        ("plan.md", "# Plan\n\nErster Stand.\n"),
        ("ernte.md", "# Ernte\n\nGurken.\n"),
        ("plan.md", "# Plan\n\nZweiter Stand.\n"),
        ("kompost.md", "# Kompost\n\nSchichten.\n"),
    ):
        upload(name, text, scope=scope)
        run_jobs()
    settings.KNOWLEDGE_INDEX = {**settings.KNOWLEDGE_INDEX, "chunk_size": 256}
    request_reindex(scope=scope, user=None)
    run_jobs()
    archiving.archive(document=Document.objects.get(source_key="kompost.md"), user=None)
    run_jobs()
    return {version.number: version for version in IndexVersion.objects.filter(scope=scope)}


def go_back(version: IndexVersion) -> str:
    return f"/admin/knowledge/indexversion/{version.pk}/go-back/"


def titles(changes) -> list[tuple[str, int | None, int | None]]:
    return [(row.document.title, row.now, row.then) for row in changes.rows]


def test_the_confirmation_says_what_changes_across_builds(governor, history):
    asked = governor.get(go_back(history[1]))
    difference = asked.context["difference"]
    assert titles(difference.going) == [("Ernte", 1, None)]
    assert titles(difference.changing) == [("Plan", 2, 1)]
    assert titles(difference.coming) == []
    assert difference.settings == [("chunk_size", 256, 512)]
    for expected in ("Ernte", "version 2 → 1", "256 → 512"):
        assert expected in asked.text
    assert not IngestJob.objects.filter(type="ROLLBACK").exists(), "looking changes nothing"


def test_what_is_archived_is_named_as_staying_out(governor, history):
    difference = governor.get(go_back(history[4])).context["difference"]
    assert titles(difference.withheld) == [("Kompost", None, 1)]
    assert difference.coming.count == difference.going.count == difference.changing.count == 0


def test_going_back_is_a_job_with_a_reason_that_does_what_was_said(governor, history, run_jobs):
    answer = governor.post(go_back(history[1]), {"reason": "Ernte war falsch\x00"})
    job = IngestJob.objects.get(type="ROLLBACK")
    assert answer["Location"] == f"/admin/knowledge/ingestjob/{job.pk}/change/"
    assert (job.target_number, job.reason, job.state) == (1, "Ernte war falsch", "QUEUED")
    assert ": 1</h2>" in governor.get(answer["Location"]).text
    run_jobs()
    job.refresh_from_db()
    live = job.index_version
    assert live is not None
    assert (live.number, live.root_hash) == (7, history[1].root_hash)
    assert Document.objects.get(source_key="plan.md").versions.get(active=True).number == 1
    page = governor.get(f"/admin/knowledge/indexversion/{live.pk}/change/").text
    assert "It went back to index version 1." in page
    assert 'data-from="7" data-to="1"' in page
    assert "Go back to this version" not in page, "it is live"
    job_list = governor.get("/admin/knowledge/ingestjob/").text
    assert f"{job.pk} · go back to an earlier index version · 1" in job_list


def test_what_is_live_already_is_not_gone_back_to(governor, history):
    for ask in (governor.get, governor.post):
        assert "live already" in ask(go_back(history[6]), follow=True).text
    assert not IngestJob.objects.filter(type="ROLLBACK").exists()


def test_editors_neither_go_back_nor_steer_such_a_job(editor, governor, history):
    assert "/go-back/" not in editor.get(f"/admin/knowledge/indexversion/{history[1].pk}/change/").text
    assert editor.get(go_back(history[1])).status_code == 404
    assert editor.post(go_back(history[1])).status_code == 404
    governor.post(go_back(history[1]))
    job = IngestJob.objects.get(type="ROLLBACK")
    page = editor.post(f"/admin/knowledge/ingestjob/{job.pk}/cancel/", follow=True).text
    assert "You may look at this job, but not steer it." in page
    job.refresh_from_db()
    assert job.state == IngestJob.State.QUEUED


def test_another_tenants_index_cannot_be_gone_back_in(governor, foreign):
    assert governor.get(go_back(foreign.index_version)).status_code == 404
    assert governor.post(go_back(foreign.index_version)).status_code == 404
    assert not IngestJob.objects.filter(type="ROLLBACK").exists()
    histories = governor.get("/admin/knowledge/indexversion/").context["histories"]
    assert foreign.document.scope not in [scope for scope, _drawing in histories]


def test_the_history_is_drawn_in_order_with_what_was_built_anew(editor, history):
    page = editor.get("/admin/knowledge/indexversion/")
    [(_scope, drawn)] = page.context["histories"]
    assert [(node.version.number, node.kind) for node in drawn.nodes] == [
        (1, ""),
        (2, ""),
        (3, ""),
        (4, ""),
        (5, "reindex"),
        (6, ""),
    ]
    assert [node.version.number for node in drawn.nodes if node.is_live] == [6]
    assert [line.rebuilt for line in drawn.lines] == [False, False, False, True, False]
    assert drawn.left_out == 0
    assert page.text.count("<circle") == 5


def test_a_pruned_target_still_has_its_arc(governor, history, run_jobs):
    """Erasing prunes index versions that held the document; what went back to one is drawn all the same."""
    governor.post(go_back(history[2]))
    run_jobs()
    archiving.erase(document=Document.objects.get(source_key="kompost.md"), user=None)
    IndexVersion.objects.filter(number=2).delete()
    run_jobs()
    [(_scope, drawn)] = governor.get("/admin/knowledge/indexversion/").context["histories"]
    assert [(arc.source, arc.target) for arc in drawn.arcs] == [(7, 2)]
    assert [node.version.number for node in drawn.nodes] == [1, 3, 6, 7]
