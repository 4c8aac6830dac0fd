"""From an upload to the index: what is published, what fails, what never changes."""

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction

from knowledge.activation import request_activation
from knowledge.embedding.base import embedder_named
from knowledge.governance import request_reindex
from knowledge.jobs import request_cancel, retry
from knowledge.models import (
    CachedEmbedding,
    Chunk,
    Document,
    DocumentVersion,
    IndexVersion,
    IngestJob,
    Segment,
    SegmentSpan,
)
from knowledge.retrieval.search import retrieve
from knowledge.scopes import scope_of
from knowledge.uploads import Outcome

pytestmark = pytest.mark.django_db(transaction=True)

GUIDE = """
title: Farne im Bad
language: de
category: pflege
tags: [farn]
chunks:
  - id: feuchte
    title: Luftfeuchte
    content: Der Schwertfarn mag sechzig Prozent Luftfeuchte und steht gern im Bad.
  - id: wasser
    title: Giessen
    content: Der Ballen bleibt immer leicht feucht; Staunässe lässt die Wurzeln faulen.
"""


def test_an_upload_becomes_searchable_only_once_its_job_has_run(upload, run_jobs):
    accepted = upload("farne.yaml", GUIDE)
    assert accepted.outcome is Outcome.NEW_DOCUMENT
    assert accepted.version.state == DocumentVersion.State.PENDING
    assert retrieve("Schwertfarn", tenant=None).passages == ()

    run_jobs()

    accepted.job.refresh_from_db()
    accepted.version.refresh_from_db()
    assert (accepted.job.state, accepted.version.state, accepted.version.active) == (
        "COMPLETED",
        "INDEXED",
        True,
    )
    found = retrieve("Welche Luftfeuchte mag der Schwertfarn?", tenant=None)
    assert found.passages[0].heading.endswith("Luftfeuchte")
    assert found.index_versions == {"global": 1}
    text = accepted.version.extracted.text
    assert text[found.passages[0].start : found.passages[0].end] == found.passages[0].text
    assert Document.objects.get().title == "Farne im Bad"


def test_the_same_bytes_make_no_second_version(upload, run_jobs):
    first = upload("farne.yaml", GUIDE)
    assert upload("farne.yaml", GUIDE).job == first.job
    run_jobs()
    again = upload("farne.yaml", GUIDE)
    assert (again.outcome, again.version, again.job) == (Outcome.UNCHANGED, first.version, None)
    assert DocumentVersion.objects.count() == 1
    assert IngestJob.objects.count() == 1


def test_a_new_version_takes_the_place_of_the_old_and_the_old_can_come_back(upload, run_jobs):
    first = upload("notiz.md", "# Notiz\n\nDie Kentiapalme steht am Nordfenster.")
    run_jobs()
    root_of_first = IndexVersion.objects.get().root_hash
    second = upload("notiz.md", "# Notiz\n\nDie Goldfruchtpalme steht am Ostfenster.")
    run_jobs()
    assert "Goldfruchtpalme" in retrieve("Palme am Fenster", tenant=None).passages[0].text
    assert {passage.version_id for passage in retrieve("Palme", tenant=None).passages} == {second.version.pk}

    segments = Segment.objects.count()
    request_activation(version=first.version, user=None)
    run_jobs()
    assert {passage.version_id for passage in retrieve("Palme", tenant=None).passages} == {first.version.pk}
    newest = IndexVersion.objects.latest("number")
    assert (newest.number, newest.root_hash) == (3, root_of_first)
    assert Segment.objects.count() == segments
    old = retrieve("Palme", tenant=None, as_of=2)
    assert {passage.version_id for passage in old.passages} == {second.version.pk}
    assert old.passages[0].vector is not None


def test_a_search_of_the_past_ranks_as_it_did_then(upload, run_jobs):
    for number in range(4):
        upload(f"{number}.md", f"# Pflanze {number}\n\nDie Pflanze {number} braucht Licht und etwas Wasser.")
    run_jobs()
    then = retrieve("Wie viel Licht braucht die Pflanze?", tenant=None)
    upload("1.md", "# Pflanze 1\n\nGanz anders: diese hier mag Schatten.")
    upload("9.md", "# Pflanze 9\n\nDie Pflanze 9 braucht sehr viel Licht.")
    run_jobs()
    past = retrieve("Wie viel Licht braucht die Pflanze?", tenant=None, as_of=4)
    assert [(passage.chunk_id, passage.score) for passage in past.passages] == [
        (passage.chunk_id, passage.score) for passage in then.passages
    ]


def test_a_failed_job_leaves_the_live_version_and_the_next_job_runs(upload, run_jobs):
    good = upload("farne.yaml", GUIDE)
    run_jobs()
    bad = upload("farne.yaml", "title: Farne\nchunks: []\n")
    after = upload("anderes.md", "# Anderes\n\nEtwas ganz anderes über Kakteen.")
    run_jobs()
    bad.job.refresh_from_db()
    bad.version.refresh_from_db()
    good.version.refresh_from_db()
    after.version.refresh_from_db()
    assert (bad.job.state, bad.job.error_code, bad.version.state) == ("FAILED", "invalid_guide", "FAILED")
    assert bad.job.error_texts["en"]
    assert good.version.active
    assert after.version.active
    assert retrieve("Schwertfarn", tenant=None).passages[0].version_id == good.version.pk


def test_a_retry_embeds_nothing_anew(upload, run_jobs, monkeypatch):
    accepted = upload("farne.yaml", GUIDE)
    publish = "knowledge.running.publish_activation"
    with monkeypatch.context() as broken:
        broken.setattr(publish, lambda **kwargs: 1 / 0)
        run_jobs()
    accepted.job.refresh_from_db()
    assert accepted.job.error_code == "internal_error"
    assert CachedEmbedding.objects.count() == 2
    assert Chunk.objects.count() == 0

    embedder = embedder_named("use-multilingual-v3")
    embedded: list[str] = []
    monkeypatch.setattr(type(embedder), "embed", lambda self, texts: embedded.extend(texts))
    again = retry(job=accepted.job, user=None)
    run_jobs()
    again.refresh_from_db()
    assert again.state == IngestJob.State.COMPLETED
    assert embedded == []


def test_a_queued_job_is_cancelled_at_once(upload, run_jobs):
    accepted = upload("farne.yaml", GUIDE)
    assert request_cancel(job=accepted.job, user=None).state == IngestJob.State.ABORTED
    run_jobs()
    assert IndexVersion.objects.count() == 0


def test_reindexing_gives_the_same_root_hash_and_ids(upload, run_jobs):
    upload("farne.yaml", GUIDE)
    upload("notiz.md", "# Notiz\n\nDie Kentiapalme steht am Nordfenster.")
    run_jobs()
    before = IndexVersion.objects.latest("number")
    found = [passage.chunk_id for passage in retrieve("Palme und Farn", tenant=None).passages]
    request_reindex(scope=scope_of(None), user=None)
    run_jobs()
    after = IndexVersion.objects.latest("number")
    assert after.number == before.number + 1
    assert after.build_id != before.build_id
    assert after.root_hash == before.root_hash
    assert [passage.chunk_id for passage in retrieve("Palme und Farn", tenant=None).passages] == found


def test_what_is_archived_is_gone_from_every_search_at_once(upload, run_jobs):
    accepted = upload("farne.yaml", GUIDE)
    upload("notiz.md", "# Notiz\n\nDie Kentiapalme steht am Nordfenster.")
    run_jobs()
    Document.objects.filter(pk=accepted.document.pk).update(state=Document.State.ARCHIVED)
    for as_of in (None, 2):
        found = retrieve("Schwertfarn Luftfeuchte", tenant=None, as_of=as_of)
        assert accepted.document.pk not in {passage.document_id for passage in found.passages}
        assert found.passages


class TestTheDatabaseRefuses:
    def test_a_change_of_a_versions_content(self, upload):
        version = upload("farne.yaml", GUIDE).version
        with pytest.raises(ProgrammingError, match="Cannot update"):
            DocumentVersion.objects.filter(pk=version.pk).update(content_hash="0" * 64)

    def test_a_second_active_version(self, upload, run_jobs):
        first = upload("a.md", "# A\n\nEins.")
        second = upload("a.md", "# A\n\nZwei.")
        run_jobs()
        with pytest.raises(IntegrityError, match="version_one_active"):
            DocumentVersion.objects.filter(pk__in=[first.version.pk, second.version.pk]).update(active=True)

    def test_an_active_version_that_is_not_indexed(self, upload):
        version = upload("farne.yaml", GUIDE).version
        with pytest.raises(IntegrityError, match="version_active_is_indexed"):
            DocumentVersion.objects.filter(pk=version.pk).update(active=True)

    def test_a_second_running_job(self, upload):
        upload("a.md", "# A\n\nEins.")
        upload("b.md", "# B\n\nZwei.")
        with pytest.raises(IntegrityError, match="job_one_running"):
            IngestJob.objects.update(state=IngestJob.State.RUNNING)

    def test_an_illegal_change_of_state(self, upload):
        upload("a.md", "# A\n\nEins.")
        with pytest.raises(ProgrammingError, match="Invalid transition"):
            IngestJob.objects.update(state=IngestJob.State.COMPLETED)

    def test_a_changed_chunk(self, upload, run_jobs):
        upload("a.md", "# A\n\nEins.")
        run_jobs()
        with pytest.raises(ProgrammingError, match="Cannot update"):
            Chunk.objects.update(text="anders")

    def test_a_changed_index_version(self, upload, run_jobs):
        upload("a.md", "# A\n\nEins.")
        run_jobs()
        with pytest.raises(ProgrammingError, match="Cannot update"):
            IndexVersion.objects.update(root_hash="0" * 64)

    def test_two_segments_of_a_document_in_one_index_version(self, upload, run_jobs):
        upload("a.md", "# A\n\nEins.")
        run_jobs()
        span = SegmentSpan.objects.get()
        with pytest.raises(IntegrityError, match="span_one_segment_of_a_document"), transaction.atomic():
            SegmentSpan.objects.create(
                segment=span.segment, build=span.build, document=span.document, entered=5
            )

    def test_an_empty_source_key(self, upload):
        document = upload("a.md", "# A\n\nEins.").document
        with pytest.raises(IntegrityError):
            Document.objects.create(scope=document.scope, source_key="", title="x")


def test_running_jobs_leaves_no_connection_open(upload, run_jobs):
    for number in range(3):
        upload(f"{number}.md", f"# {number}\n\nText {number}.")
    run_jobs()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend'"
        )
        assert cursor.fetchone() == (1,)
