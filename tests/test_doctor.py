"""The doctor names what is wrong."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from knowledge.doctor import examine
from knowledge.models import DocumentVersion, Heartbeat, IngestJob

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "# Farne\n\nDer Schwertfarn mag es feucht."


@pytest.fixture
def healthy(upload, run_jobs):
    """An installation with one document, with worker and beat alive."""
    for kind in Heartbeat.Kind:
        Heartbeat.objects.create(kind=kind, seen_at=timezone.now())
    accepted = upload("farne.md", TEXT)
    run_jobs()
    return accepted


def codes() -> list[str]:
    return [finding.code for finding in examine()]


def test_a_sound_installation_has_no_findings(healthy, capsys):
    assert codes() == []
    call_command("doctor", "--json")
    assert json.loads(capsys.readouterr().out) == {"findings": []}


def test_dead_worker_and_scheduler(healthy):
    Heartbeat.objects.all().delete()
    assert codes() == ["no_worker", "no_beat"]
    with pytest.raises(CommandError):
        call_command("doctor")


def test_no_broker(healthy, monkeypatch):
    from kamerplanter.celery import app

    monkeypatch.setattr(app.conf, "broker_read_url", "redis://127.0.0.1:1/0")
    assert codes() == ["no_broker"]


def test_a_job_that_no_worker_runs(healthy, upload):
    accepted = upload("anderes.md", "# Anderes\n\nKakteen.")
    IngestJob.objects.filter(pk=accepted.job.pk).update(state=IngestJob.State.RUNNING)
    assert codes() == ["stuck_job"]


def test_a_job_that_waits_too_long(healthy, upload):
    accepted = upload("anderes.md", "# Anderes\n\nKakteen.")
    IngestJob.objects.filter(pk=accepted.job.pk).update(queued_at=timezone.now() - timedelta(minutes=11))
    assert codes() == ["waiting_job"]


def test_other_settings(healthy, settings):
    settings.KNOWLEDGE_INDEX = {**settings.KNOWLEDGE_INDEX, "chunk_overlap": 32}
    (finding,) = examine()
    assert finding.code == "mismatch"
    assert "chunk_overlap" in finding.text


def test_missing_vectors_and_active_versions_outside_the_index(healthy):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM knowledge_vector_512")
    assert codes() == ["vectors_missing"]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM knowledge_segmentspan")
    assert codes() == ["active_not_indexed"]


def test_files_missing_changed_and_orphaned(healthy, files_folder):
    content_hash = DocumentVersion.objects.get().content_hash
    path = files_folder / content_hash[:2] / content_hash
    path.write_text("anders")
    assert codes() == ["file_missing"]
    path.unlink()
    (files_folder / "ab").mkdir(exist_ok=True)
    (files_folder / "ab" / ("ab" * 32)).write_text("niemandes")
    assert codes() == ["file_missing", "orphan_file"]
