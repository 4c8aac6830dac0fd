"""A job's page, its live state, cancelling and retrying."""

from datetime import timedelta

import pytest
from django.utils import timezone

from knowledge.liveness import note_alive
from knowledge.models import Document, Heartbeat, IngestJob
from knowledge.scopes import scope_of

LIVE = "/admin/knowledge/ingestjob/live/"


def page_of(job: IngestJob) -> str:
    return f"/admin/knowledge/ingestjob/{job.pk}/change/"


@pytest.fixture
def waiting(tenant, upload) -> list[IngestJob]:
    """Two jobs of the tenant, in the queue."""
    scope = scope_of(tenant)
    return [upload(f"{name}.md", f"# {name}\n\nText.\n", scope=scope).job for name in ("eins", "zwei")]


def test_a_waiting_job_shows_its_place_and_that_no_worker_is_alive(editor, waiting):
    page = editor.get(page_of(waiting[1])).text
    assert "Place in the queue:" in page
    live = editor.get(f"{LIVE}?ids={waiting[1].pk}").json()["jobs"][str(waiting[1].pk)]
    assert (live["queue_position"], live["waiting_for_worker"], live["state"]) == (2, True, "QUEUED")
    note_alive(Heartbeat.Kind.WORKER)
    live = editor.get(f"{LIVE}?ids={waiting[1].pk}").json()["jobs"][str(waiting[1].pk)]
    assert live["waiting_for_worker"] is False


def test_a_worker_silent_for_a_minute_counts_as_dead(editor, waiting):
    Heartbeat.objects.create(kind=Heartbeat.Kind.WORKER, seen_at=timezone.now() - timedelta(minutes=1))
    live = editor.get(f"{LIVE}?ids={waiting[0].pk}").json()["jobs"][str(waiting[0].pk)]
    assert live["waiting_for_worker"] is True


def test_live_tells_of_several_jobs_and_is_never_kept_by_a_cache(editor, waiting, run_jobs):
    run_jobs()
    answer = editor.get(f"{LIVE}?ids={waiting[0].pk},{waiting[1].pk}")
    assert "no-store" in answer["Cache-Control"]
    jobs = answer.json()["jobs"]
    assert {job["state"] for job in jobs.values()} == {"COMPLETED"}
    assert all(job["percent"] == 100 and job["log"] for job in jobs.values())


def test_live_speaks_the_readers_language(editor, waiting, run_jobs):
    run_jobs()
    editor.cookies["django_language"] = "de"
    job = editor.get(f"{LIVE}?ids={waiting[0].pk}").json()["jobs"][str(waiting[0].pk)]
    assert job["state_label"] == "fertig"
    assert any("Zeichen gelesen" in entry["text"] for entry in job["log"])


def test_a_finished_job_leads_to_what_it_made(editor, waiting, run_jobs):
    run_jobs()
    job = IngestJob.objects.get(pk=waiting[0].pk)
    page = editor.get(page_of(job)).text
    assert f"/admin/knowledge/indexversion/{job.index_version_id}/change/" in page
    assert "Cancel the job" not in page
    assert "Try again" not in page


def test_a_waiting_job_is_cancelled_and_tried_again(editor, waiting, run_jobs):
    job = waiting[0]
    cancelled = editor.post(f"/admin/knowledge/ingestjob/{job.pk}/cancel/", follow=True)
    assert "cancelled" in cancelled.text
    assert "Try again" in cancelled.text
    run_jobs()
    assert not Document.objects.get(source_key="eins.md").versions.filter(active=True).exists()
    answer = editor.post(f"/admin/knowledge/ingestjob/{job.pk}/retry/")
    again = IngestJob.objects.latest("pk")
    assert answer["Location"] == page_of(again)
    run_jobs()
    assert Document.objects.get(source_key="eins.md").versions.filter(active=True).exists()


def test_what_the_jobs_state_forbids_is_said_and_not_done(editor, waiting, run_jobs):
    run_jobs()
    answer = editor.post(f"/admin/knowledge/ingestjob/{waiting[0].pk}/cancel/", follow=True)
    assert "the job is completed" in answer.text
    answer = editor.post(f"/admin/knowledge/ingestjob/{waiting[0].pk}/retry/", follow=True)
    assert "the job is completed" in answer.text
    assert IngestJob.objects.count() == 2


def test_a_reindex_is_steered_by_those_who_govern_only(tenant, make_user, enter, upload, run_jobs):
    from knowledge.governance import request_reindex

    upload("a.md", "# A\n\nText.\n", scope=scope_of(tenant))
    run_jobs()
    job = request_reindex(scope=scope_of(tenant), user=None)
    editor = enter(make_user("edith", tenant, "editor"))
    assert "Cancel the job" not in editor.get(page_of(job)).text
    refused = editor.post(f"/admin/knowledge/ingestjob/{job.pk}/cancel/", follow=True)
    assert "You may look at this job, but not steer it." in refused.text
    assert IngestJob.objects.get(pk=job.pk).state == IngestJob.State.QUEUED
    governor = enter(make_user("adam", tenant, "admin"))
    governor.post(f"/admin/knowledge/ingestjob/{job.pk}/cancel/")
    assert IngestJob.objects.get(pk=job.pk).state == IngestJob.State.ABORTED


def test_the_list_filters_by_state_and_type(editor, waiting, run_jobs, tenant, upload):
    run_jobs()
    upload("leer.txt", "", scope=scope_of(tenant))
    run_jobs()
    for state, number in (("COMPLETED", 2), ("FAILED", 1), ("QUEUED", 0)):
        rows = editor.get(f"/admin/knowledge/ingestjob/?state__exact={state}").context["cl"].result_list
        assert len(rows) == number, state
