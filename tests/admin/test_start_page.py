"""The start page says at a glance what is live, what runs and what is broken."""

from datetime import timedelta

from django.utils import timezone

from knowledge.liveness import note_alive
from knowledge.models import Heartbeat, IngestJob
from knowledge.scopes import scope_of


def test_an_empty_base_invites_to_upload(editor):
    page = editor.get("/admin/").text
    assert "nothing indexed yet" in page
    assert "Upload a document to begin" in page


def test_it_counts_what_is_live_in_the_persons_scopes_only(editor, staff, tenant, foreign, upload, run_jobs):
    scope = scope_of(tenant)
    upload("a.md", "# Gießen\n\nMontags wird mit Regenwasser gegossen, nicht zu viel.\n", scope=scope)
    upload("b.md", "# Watering\n\nThe plants are watered with rain water on Mondays.\n", scope=scope)
    upload("leer.txt", "", scope=scope)
    run_jobs()
    upload("warten.md", "# Warten\n\nNoch nicht.\n", scope=scope)
    seen = editor.get("/admin/").context
    assert (seen["document_count"], seen["chunk_count"], seen["queued"], seen["failed_documents"]) == (
        2,
        2,
        1,
        1,
    )
    assert seen["last_failure"].document.source_key == "leer.txt"
    assert [(str(share.label), share.amount) for share in seen["languages"]] == [
        ("German", 1),
        ("English", 1),
    ]
    assert seen["bars"][-1].title.endswith("2 completed, 1 failed")
    assert staff.get("/admin/").context["document_count"] == 3


def test_a_failure_is_named_with_its_advice_and_a_link(editor, tenant, upload, run_jobs):
    upload("leer.txt", "", scope=scope_of(tenant))
    run_jobs()
    page = editor.get("/admin/").text
    assert "The file is empty (0 bytes)." in page
    assert f"/admin/knowledge/ingestjob/{IngestJob.objects.get().pk}/change/" in page


def test_the_dead_are_named_and_the_living_are_not(editor):
    page = editor.get("/admin/").text
    assert "No worker is alive." in page
    assert "The scheduler is not alive." in page
    note_alive(Heartbeat.Kind.WORKER)
    note_alive(Heartbeat.Kind.BEAT)
    page = editor.get("/admin/").text
    assert "No worker is alive." not in page
    assert "The scheduler is not alive." not in page
    Heartbeat.objects.update(seen_at=timezone.now() - timedelta(minutes=5))
    page = editor.get("/admin/").text
    assert "silent for 5" in page


def test_a_running_job_is_shown_with_its_progress(editor, tenant, upload):
    job = upload("a.md", "# A\n\nText.\n", scope=scope_of(tenant)).job
    IngestJob.objects.filter(pk=job.pk).update(
        state="RUNNING", stage="EMBED", progress_done=30, progress_total=120, started_at=timezone.now()
    )
    page = editor.get("/admin/").text
    assert "30 / 120" in page
    assert 'aria-valuenow="25"' in page


def test_it_costs_the_same_whatever_there_is(editor, tenant, upload, run_jobs, django_assert_max_num_queries):
    for number in range(8):
        upload(f"{number}.md", f"# Nummer {number}\n\nText.\n", scope=scope_of(tenant))
    run_jobs()
    editor.get("/admin/")
    with django_assert_max_num_queries(22):
        editor.get("/admin/")
