"""An index that can be proven, exported, and gone back in."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from knowledge.archiving import archive, erase, list_again
from knowledge.errors import DocumentStateForbids, IndexVersionUnknown
from knowledge.governance import request_reindex, request_rollback
from knowledge.index.exporting import META, NDJSON, export_index
from knowledge.index.merging import merge_build
from knowledge.index.verification import verify
from knowledge.models import (
    CachedEmbedding,
    Chunk,
    Document,
    DocumentVersion,
    IndexBuild,
    IndexVersion,
    IngestJob,
    Scope,
)
from knowledge.retrieval.search import retrieve
from knowledge.scopes import scope_of
from knowledge.writer import writer_lock

pytestmark = pytest.mark.django_db(transaction=True)

FIRST = "# Notiz\n\nDie Kentiapalme steht am Nordfenster."
SECOND = "# Notiz\n\nDie Goldfruchtpalme steht am Ostfenster."
OTHER = "# Farne\n\nDer Schwertfarn mag es feucht und steht im Bad."


def live() -> IndexVersion:
    version = Scope.objects.get(key="global").live
    assert version is not None
    return version


def found(query: str) -> list[tuple[str, float]]:
    return [(passage.chunk_id, passage.score) for passage in retrieve(query, tenant=None).passages]


def roll_back_to(number: int, run_jobs) -> IngestJob:
    job = request_rollback(scope=scope_of(None), number=number, user=None)
    run_jobs()
    job.refresh_from_db()
    return job


class TestGoingBack:
    def test_appends_a_version_with_the_earlier_segments_and_active_versions(self, upload, run_jobs):
        first = upload("notiz.md", FIRST)
        run_jobs()
        then = found("Palme am Fenster")
        second = upload("notiz.md", SECOND)
        other = upload("farne.md", OTHER)
        run_jobs()
        job = roll_back_to(1, run_jobs)
        assert job.state == IngestJob.State.COMPLETED
        assert (live().number, live().root_hash) == (4, IndexVersion.objects.get(number=1).root_hash)
        assert found("Palme am Fenster") == then
        active = set(DocumentVersion.objects.filter(active=True).values_list("pk", flat=True))
        assert active == {first.version.pk}
        roll_back_to(3, run_jobs)
        active = set(DocumentVersion.objects.filter(active=True).values_list("pk", flat=True))
        assert active == {second.version.pk, other.version.pk}
        assert live().root_hash == IndexVersion.objects.get(number=3).root_hash

    def test_works_across_a_reindex_and_changes_go_on_from_there(self, upload, run_jobs, settings):
        upload("notiz.md", FIRST)
        upload("farne.md", OTHER)
        run_jobs()
        then = found("Palme am Fenster")
        settings.KNOWLEDGE_INDEX = {**settings.KNOWLEDGE_INDEX, "chunk_size": 128}
        request_reindex(scope=scope_of(None), user=None)
        run_jobs()
        assert live().build.settings["chunk_size"] == 128
        roll_back_to(2, run_jobs)
        assert live().build.settings["chunk_size"] == 512
        assert found("Palme am Fenster") == then
        upload("notiz.md", SECOND)
        run_jobs()
        assert live().number == 5
        assert "Goldfruchtpalme" in retrieve("Palme am Fenster", tenant=None).passages[0].text
        roll_back_to(3, run_jobs)
        assert live().build.settings["chunk_size"] == 128
        assert verify(live()).is_proven

    def test_leaves_what_was_archived_out(self, upload, run_jobs):
        accepted = upload("notiz.md", FIRST)
        upload("farne.md", OTHER)
        run_jobs()
        Document.objects.filter(pk=accepted.document.pk).update(state=Document.State.ARCHIVED)
        roll_back_to(2, run_jobs)
        assert live().document_count == 1

    def test_touches_no_other_scope(self, upload, run_jobs, tenant):
        upload("eigen.md", OTHER, scope=scope_of(tenant))
        upload("notiz.md", FIRST)
        upload("notiz.md", SECOND)
        run_jobs()
        roll_back_to(1, run_jobs)
        assert retrieve("Farn", tenant=tenant).index_versions == {"global": 3, "tenant:garten": 1}

    def test_to_a_version_that_is_not_there_is_refused(self, upload, run_jobs):
        upload("notiz.md", FIRST)
        run_jobs()
        with pytest.raises(IndexVersionUnknown):
            request_rollback(scope=scope_of(None), number=9, user=None)


class TestProof:
    def test_the_incremental_way_and_the_rebuild_agree(self, upload, run_jobs):
        upload("notiz.md", FIRST)
        upload("farne.md", OTHER)
        upload("notiz.md", SECOND)
        run_jobs()
        result = verify(live())
        assert (result.documents, result.chunks, result.differences) == (2, 2, [])
        assert result.is_proven

    def test_it_covers_merged_postings_too(self, upload, run_jobs):
        upload("notiz.md", FIRST)
        upload("farne.md", OTHER)
        run_jobs()
        with writer_lock() as fence:
            assert fence is not None
            merge_build(live().build, fence=fence)
        assert verify(live()).is_proven
        with connection.cursor() as cursor:
            cursor.execute("UPDATE knowledge_posting SET frequencies = '\\x07' WHERE term = 'de:schwertfarn'")
        assert verify(live()).differences == ["farne.md, passage 1: its merged postings differ"]

    @pytest.mark.parametrize(
        ("statement", "difference"),
        [
            (
                "UPDATE knowledge_chunk SET text = replace(text, 'feucht', 'trocken') WHERE number ="
                " (SELECT max(number) FROM knowledge_chunk)",
                "farne.md, passage 1: its text differs",
            ),
            (
                "UPDATE knowledge_vector_512 SET embedding = (SELECT embedding FROM knowledge_vector_512"
                " ORDER BY chunk_number LIMIT 1)",
                "farne.md, passage 1: its vector differs",
            ),
            (
                "DELETE FROM knowledge_vector_512 WHERE chunk_number ="
                " (SELECT max(number) FROM knowledge_chunk)",
                "farne.md, passage 1: it has no vector",
            ),
        ],
    )
    def test_what_was_tampered_with_is_named(self, upload, run_jobs, statement, difference):
        upload("notiz.md", FIRST)
        upload("farne.md", OTHER)
        run_jobs()
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE knowledge_chunk DISABLE TRIGGER USER")
            cursor.execute(statement)
            cursor.execute("ALTER TABLE knowledge_chunk ENABLE TRIGGER USER")
        result = verify(live())
        assert result.differences == [difference]
        assert not result.is_proven

    def test_a_forged_segment_hash_does_not_help(self, upload, run_jobs):
        upload("farne.md", OTHER)
        run_jobs()
        with connection.cursor() as cursor:
            cursor.execute("UPDATE knowledge_segment SET segment_hash = repeat('0', 64)")
        assert verify(live()).differences == ["farne.md: the segment's hash differs"]


class TestExport:
    def test_equal_documents_give_equal_bytes_whatever_the_order(self, upload, run_jobs, tmp_path):
        texts = {
            f"{name}.md": f"# {name}\n\nÜber {name}: Licht, Wasser, Erde." for name in ("b", "Ä", "a", "c")
        }
        for name, text in texts.items():
            upload(name, text)
        run_jobs()
        export_index(live(), tmp_path / "one")
        first_root = live().root_hash
        Scope.objects.update(live=None)
        connection.cursor().execute("TRUNCATE knowledge_indexversion, knowledge_document CASCADE")
        upload("a.md", "# Vorher\n\nEtwas anderes.")
        run_jobs()
        for name in sorted(texts):
            upload(name, texts[name])
            run_jobs()
        export_index(live(), tmp_path / "two")
        assert live().root_hash == first_root
        assert (tmp_path / "one" / NDJSON).read_bytes() == (tmp_path / "two" / NDJSON).read_bytes()
        one, two = (json.loads((tmp_path / side / META).read_text()) for side in ("one", "two"))
        assert (one.pop("index_version"), two.pop("index_version")) == (4, 5)
        assert one == two
        lines = [json.loads(line) for line in (tmp_path / "one" / NDJSON).read_text().splitlines()]
        assert [line["document_id"] for line in lines] == ["a.md", "b.md", "c.md", "Ä.md"]
        assert set(lines[0]) == {"chunk_id", "document_id", "document_version_id", "text", "meta"}


class TestCommands:
    def test_verify_succeeds_and_fails_by_its_exit_status(self, upload, run_jobs, capsys):
        upload("farne.md", OTHER)
        run_jobs()
        call_command("index", "verify", "--json")
        assert json.loads(capsys.readouterr().out)["is_proven"] is True
        Chunk.objects.all().delete()
        with pytest.raises(CommandError):
            call_command("index", "verify", "--json")

    def test_rollback_and_export(self, upload, run_jobs, capsys, tmp_path):
        upload("notiz.md", FIRST)
        upload("notiz.md", SECOND)
        run_jobs()
        call_command("index", "rollback", "1", "--json")
        assert json.loads(capsys.readouterr().out)["index_version"] == 3
        call_command("index", "export", str(tmp_path / "out"), "--json")
        assert json.loads(capsys.readouterr().out)["chunks"] == 1
        assert "Kentiapalme" in (tmp_path / "out" / NDJSON).read_text()
        with pytest.raises(CommandError, match="99"):
            call_command("index", "rollback", "99")
        (tmp_path / "file").write_text("")
        with pytest.raises(CommandError, match="Name another folder"):
            call_command("index", "export", str(tmp_path / "file"))

    @pytest.mark.parametrize("top_k", ["0", "-3", "many"])
    def test_a_search_for_no_passages_is_refused(self, top_k):
        with pytest.raises(CommandError, match="1 or more"):
            call_command("search", "Palme", "--top-k", top_k)


class TestTakingOut:
    def test_an_archived_document_leaves_the_index_and_can_come_back(self, upload, run_jobs):
        accepted = upload("notiz.md", FIRST)
        upload("farne.md", OTHER)
        run_jobs()
        root = live().root_hash
        archive(document=accepted.document, user=None)
        assert accepted.document.pk not in {p.document_id for p in retrieve("Palme", tenant=None).passages}
        run_jobs()
        assert live().document_count == 1
        with pytest.raises(DocumentStateForbids):
            archive(document=accepted.document, user=None)
        list_again(document=accepted.document, user=None)
        run_jobs()
        assert live().root_hash == root
        assert verify(live()).is_proven

    @pytest.mark.parametrize("merged", [False, True])
    def test_an_erased_document_leaves_no_row_vector_term_or_byte(
        self, upload, run_jobs, files_folder, merged
    ):
        kept = upload("farne.md", OTHER)
        accepted = upload("notiz.md", FIRST)
        run_jobs()
        upload("notiz.md", SECOND)
        run_jobs()
        if merged:
            with writer_lock() as fence:
                assert fence is not None
                merge_build(live().build, fence=fence)
        job = erase(document=accepted.document, user=None, reason="Wunsch")
        run_jobs()
        job.refresh_from_db()
        assert (job.state, job.document) == (IngestJob.State.COMPLETED, None)
        assert "2, 3" in str(job.log.first())
        assert list(IndexVersion.objects.values_list("number", flat=True)) == [4, 1]
        assert list(Document.objects.all()) == [kept.document]
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM knowledge_vector_512")
            assert cursor.fetchone() == (1,)
            cursor.execute("SELECT count(*) FROM knowledge_posting WHERE term LIKE '%palme%'")
            assert cursor.fetchone() == (0,)
        assert (Chunk.objects.count(), CachedEmbedding.objects.count()) == (1, 1)
        assert [path.name for path in files_folder.rglob("*") if path.is_file()] == [
            kept.version.content_hash
        ]
        assert verify(live()).is_proven

    def test_a_document_whose_job_failed_can_be_erased(self, upload, run_jobs, files_folder):
        accepted = upload("leer.yaml", "title: Leer\nchunks: []\n")
        run_jobs()
        erase(document=accepted.document, user=None)
        run_jobs()
        assert not Document.objects.exists()
        assert not [path for path in files_folder.rglob("*") if path.is_file()]

    def test_bytes_that_another_document_has_stay(self, upload, run_jobs, files_folder):
        accepted = upload("a.md", FIRST)
        other = upload("b.md", FIRST)
        run_jobs()
        erase(document=accepted.document, user=None)
        run_jobs()
        assert [path.name for path in files_folder.rglob("*") if path.is_file()] == [
            other.version.content_hash
        ]
        assert CachedEmbedding.objects.count() == Chunk.objects.count() == 1
        assert verify(live()).is_proven


class TestForgetting:
    def test_old_versions_go_with_what_only_they_needed(self, upload, run_jobs, settings):
        for number in range(6):
            upload("notiz.md", f"# Notiz\n\nFassung {number} der Notiz über Palmen.")
            run_jobs()
        kept = upload("farne.md", OTHER)
        run_jobs()
        settings.KNOWLEDGE_KEEP_VERSIONS = 2
        run_jobs()
        assert list(IndexVersion.objects.values_list("number", flat=True)) == [7, 6]
        assert Chunk.objects.count() == 2
        assert retrieve("Farn", tenant=None).passages[0].document_id == kept.document.pk
        assert len(retrieve("Palmen", tenant=None, as_of=6).passages) == 1
        with pytest.raises(IndexVersionUnknown):
            retrieve("Palmen", tenant=None, as_of=5)
        assert verify(live()).is_proven

    def test_a_build_that_no_version_shows_any_more_goes_whole(self, upload, run_jobs, settings):
        upload("farne.md", OTHER)
        run_jobs()
        settings.KNOWLEDGE_INDEX = {**settings.KNOWLEDGE_INDEX, "chunk_size": 128}
        request_reindex(scope=scope_of(None), user=None)
        run_jobs()
        settings.KNOWLEDGE_KEEP_VERSIONS = 1
        run_jobs()
        assert IndexBuild.objects.count() == Chunk.objects.count() == 1
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM knowledge_vector_512")
            assert cursor.fetchone() == (1,)
        assert verify(live()).is_proven


def test_a_version_whose_kept_vectors_are_gone_does_not_come_back_without_them(upload, run_jobs):
    upload("notiz.md", FIRST)
    run_jobs()
    upload("notiz.md", SECOND)
    run_jobs()
    CachedEmbedding.objects.all().delete()
    job = roll_back_to(1, run_jobs)
    assert (job.state, job.error_code) == (IngestJob.State.FAILED, "vectors_missing")
    assert live().number == 2
    request_reindex(scope=scope_of(None), user=None)
    run_jobs()
    assert verify(live()).is_proven
