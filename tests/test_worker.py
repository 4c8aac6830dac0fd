"""Real workers on real jobs: dying, racing, outdated."""

import io
import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from knowledge.errors import WriterReplaced
from knowledge.index.publication import publishing
from knowledge.models import CachedEmbedding, DocumentVersion, IndexVersion, IngestJob, Segment
from knowledge.retrieval.search import retrieve
from knowledge.scopes import scope_of
from knowledge.tasks import work_queue
from knowledge.uploads import accept_upload
from knowledge.writer import writer_lock
from tests.conftest import WORKER, running, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def long_text(sections: int) -> str:
    """Text whose embedding takes some seconds: no two sections alike."""
    chance = random.Random(3)
    words = ["Wurzel", "Blatt", "Erde", "Licht", "Wasser", "Topf", "Dünger", "Trieb", "Knospe", "Ranke"]
    return "\n\n".join(
        f"## Abschnitt {number}\n\n"
        + " ".join(f"{chance.choice(words)}{chance.randrange(999)}" for _ in range(150))
        for number in range(sections)
    )


def job_reached(job: IngestJob, stage: str, *, done: int = 0) -> bool:
    job.refresh_from_db()
    return job.stage == stage and job.progress_done >= done


def finished(job: IngestJob) -> bool:
    job.refresh_from_db()
    return job.is_finished


def test_a_worker_indexes_what_is_uploaded(upload, worker):
    accepted = upload("a.md", "# Kakteen\n\nDer Bischofsmützenkaktus braucht volle Sonne.")
    wait_until(lambda: finished(accepted.job), what="job finished")
    assert accepted.job.state == IngestJob.State.COMPLETED
    assert retrieve("Bischofsmützenkaktus", tenant=None).passages


def test_a_killed_workers_job_is_taken_up_again_and_takes_effect_once(upload, files_folder, tmp_path):
    before = upload("vorher.md", "# Vorher\n\nDie Zimmerlinde blüht weiss.")
    with running(*WORKER, log=tmp_path / "first.log") as first:
        wait_until(lambda: finished(before.job), what="first job finished")
        accepted = upload("lang.md", long_text(400))
        wait_until(lambda: job_reached(accepted.job, "EMBED", done=64), what="embedding under way")
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    accepted.job.refresh_from_db()
    assert accepted.job.state == IngestJob.State.RUNNING
    assert Segment.objects.count() == 1
    assert retrieve("Zimmerlinde", tenant=None).index_versions == {"global": 1}
    kept = CachedEmbedding.objects.count()
    assert kept > 64

    with running(*WORKER, log=tmp_path / "second.log"):
        work_queue.delay()
        wait_until(lambda: finished(accepted.job), seconds=60, what="job finished by the second worker")
    assert accepted.job.state == IngestJob.State.COMPLETED
    assert accepted.job.attempt == 2
    assert IndexVersion.objects.count() == 2
    assert Segment.objects.count() == 2
    assert CachedEmbedding.objects.count() > kept


# What stops the worker at each stage while a test holds it: a barrier that needs nothing in the product.
BARRIERS = {
    "EXTRACT": "LOCK TABLE knowledge_extractedtext IN SHARE ROW EXCLUSIVE MODE",
    "EMBED": "LOCK TABLE knowledge_cachedembedding IN ACCESS EXCLUSIVE MODE",
    "PUBLISH": "LOCK TABLE knowledge_segment IN SHARE ROW EXCLUSIVE MODE",
}


@pytest.mark.parametrize("stage", BARRIERS)
def test_a_worker_killed_at_any_stage_leaves_nothing_half_done(stage, upload, files_folder, tmp_path):
    accepted = upload("a.md", "# Kakteen\n\nDer Bischofsmützenkaktus braucht volle Sonne.")
    with running(*WORKER, log=tmp_path / "first.log") as first:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(BARRIERS[stage])
            work_queue.delay()
            # Read in this transaction, which the worker's own commits reach: READ COMMITTED.
            wait_until(lambda: job_reached(accepted.job, stage), seconds=60, what=f"stage {stage}")
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
        wait_until(_lock_is_free, what="the dead worker's lock freed")
    accepted.job.refresh_from_db()
    assert (accepted.job.state, accepted.job.stage) == (IngestJob.State.RUNNING, stage)
    assert not Segment.objects.exists()
    assert not IndexVersion.objects.exists()
    assert retrieve("Bischofsmützenkaktus", tenant=None).passages == ()

    with running(*WORKER, log=tmp_path / "second.log"):
        work_queue.delay()
        wait_until(lambda: finished(accepted.job), seconds=60, what="job finished by the second worker")
    assert (accepted.job.state, accepted.job.attempt) == (IngestJob.State.COMPLETED, 2)
    assert (IndexVersion.objects.count(), Segment.objects.count()) == (1, 1)


def test_a_job_that_kills_its_worker_every_time_fails_with_a_reason(upload, run_jobs):
    accepted = upload("a.md", "# A\n\nEins.")
    IngestJob.objects.filter(pk=accepted.job.pk).update(state="RUNNING", attempt=3)
    after = upload("b.md", "# B\n\nZwei.")
    run_jobs()
    assert finished(accepted.job)
    assert finished(after.job)
    assert (accepted.job.state, accepted.job.error_code) == (IngestJob.State.FAILED, "worker_lost")
    assert after.job.state == IngestJob.State.COMPLETED


def test_a_cancel_stops_a_running_job(upload, worker, client, make_staff):
    accepted = upload("lang.md", long_text(400))
    wait_until(lambda: job_reached(accepted.job, "EMBED", done=1), what="embedding under way")
    IngestJob.objects.filter(pk=accepted.job.pk).update(cancel_requested=True)
    wait_until(lambda: finished(accepted.job), what="job stopped")
    assert accepted.job.state == IngestJob.State.ABORTED
    assert not Segment.objects.exists()


def test_messages_delivered_twice_change_nothing(upload, worker):
    accepted = upload("a.md", "# A\n\nEins.")
    for _ in range(5):
        work_queue.delay()
    wait_until(lambda: finished(accepted.job), what="job finished")
    after = upload("b.md", "# B\n\nZwei.")
    wait_until(lambda: finished(after.job), what="second job finished")
    assert list(IndexVersion.objects.values_list("number", flat=True)) == [2, 1]


def test_eight_uploads_of_the_same_bytes_make_one_version(transactional_db, files_folder, run_jobs):
    def upload_once(_: int) -> int:
        try:
            accepted = accept_upload(
                scope=scope_of(None),
                source_key="a.md",
                file_name="a.md",
                content=io.BytesIO(b"# A\n\nEins."),
                user=None,
            )
            return accepted.version.pk
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        versions = set(pool.map(upload_once, range(8)))
    assert len(versions) == 1
    assert DocumentVersion.objects.count() == 1
    assert IngestJob.objects.count() == 1


def test_only_one_writer_holds_the_lock_and_an_outdated_one_cannot_publish(transactional_db):
    with writer_lock() as first, writer_lock() as second:
        assert first is not None
        assert second is None
    with writer_lock() as third:
        assert third is not None
        assert third > first
        with pytest.raises(WriterReplaced), publishing(first):
            pass
        with publishing(third):
            pass


def test_a_writers_lock_ends_with_its_session(transactional_db):
    """What a severed connection does: the server ends the session, and the next writer may begin."""
    with connection.cursor() as cursor, writer_lock() as first:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'kamerplanter-writer' AND datname = current_database()"
        )
        assert first is not None
        wait_until(_lock_is_free, what="lock freed")
        with writer_lock() as second:
            assert second is not None
            assert second > first


def _lock_is_free() -> bool:
    with writer_lock() as fence:
        return fence is not None
