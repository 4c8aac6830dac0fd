"""The playground: what a query finds by each signal, and why one passage is not there."""

import pytest

from knowledge.archiving import archive
from knowledge.models import Chunk, Document
from knowledge.retrieval.search import retrieve
from knowledge.scopes import scope_of
from tests.admin.conftest import SECRET

PLAYGROUND = "/admin/knowledge/chunk/"
QUERY = "Wann wird die Monstera gegossen?"


@pytest.fixture
def base(tenant, upload, run_jobs):
    """Two global documents, one of the tenant in two versions, and one in English."""
    scope = scope_of(tenant)
    upload("monstera.md", "# Monstera\n\nDie Monstera wird einmal in der Woche gegossen.\n")
    upload("kaktus.md", "# Kaktus\n\nKakteen brauchen im Winter fast kein Wasser.\n")
    upload("fern.md", "# Fern\n\nThe sword fern likes its soil moist and never dry.\n", scope=scope)
    upload("plan.md", "# Plan\n\nErik gießt die Monstera am Montag.\n", scope=scope)
    run_jobs()
    upload("plan.md", "# Plan\n\nAdam gießt die Monstera am Freitag.\n", scope=scope)
    run_jobs()
    return scope


def asked(client, scope, query: str = QUERY, **fields):
    return client.post(PLAYGROUND, {"query": query, "scope": scope.pk, **fields})


def titles(page, place: int) -> list[str]:
    return [passage.title for passage in page.context["columns"][place].passages]


def chunk_of(source_key: str, number: int = 1) -> Chunk:
    return Chunk.objects.get(
        segment__version__document__source_key=source_key, segment__version__number=number
    )


def test_each_signal_alone_and_both_fused_as_a_search_finds_it(editor, base, tenant):
    page = asked(editor, base)
    assert page.status_code == 200
    keyword, vector, fused = page.context["columns"]
    assert set(titles(page, 0)) == {"Monstera", "Plan"}, "the others have no word of the query"
    assert set(titles(page, 1)) == {"Monstera", "Plan", "Kaktus", "Fern"}
    assert [passage.keyword for passage in keyword.passages] == sorted(
        (passage.keyword for passage in keyword.passages), reverse=True
    )
    assert [passage.vector for passage in vector.passages] == sorted(
        (passage.vector for passage in vector.passages), reverse=True
    )
    found = retrieve(QUERY, tenant=tenant, top_k=10).passages
    assert [(p.chunk_id, p.score) for p in fused.passages] == [(p.chunk_id, p.score) for p in found]
    for passage in found:
        assert f"/sources/{passage.version_id}/?chunk={passage.chunk_id}" in page.text


def test_the_links_to_the_source_lead_somewhere(editor, base):
    passage = asked(editor, base).context["columns"][2].passages[0]
    assert editor.get(f"/sources/{passage.version_id}/?chunk={passage.chunk_id}").status_code == 200


def test_the_global_scope_leaves_the_tenants_documents_out(editor, base):
    assert set(titles(asked(editor, scope_of(None)), 1)) == {"Monstera", "Kaktus"}


def test_filters_and_the_number_of_an_index_version_apply_to_every_column(editor, base):
    english = asked(editor, base, language="en")
    assert [set(titles(english, place)) for place in (1, 2)] == [{"Fern"}, {"Fern"}]
    kind = chunk_of("monstera.md").source_type
    assert len(titles(asked(editor, base, source_type=kind), 2)) == 4
    earlier = asked(editor, base, as_of="2").context["columns"]
    assert all("Adam" not in passage.text for column in earlier for passage in column.passages)
    assert any("Erik" in passage.text for passage in earlier[2].passages)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"query": ""}, "A query needs 1 to 4000 characters."),
        ({"query": "   "}, "A query needs 1 to 4000 characters."),
        ({"query": "x" * 4001}, "A query needs 1 to 4000 characters."),
        ({"query": "a\x00b"}, "Null characters are not allowed."),
        ({"as_of": "77"}, "There is no index version 77."),
        ({"as_of": "0"}, "greater than or equal to 1"),
        ({"as_of": "x"}, "Enter a whole number."),
        ({"as_of": "9" * 30}, "less than or equal to"),
        ({"language": "xx"}, "is not one of the available choices"),
        ({"source_type": "unheard-of"}, "is not one of the available choices"),
        ({"chunk": "\x00"}, "Null characters are not allowed."),
    ],
)
def test_what_cannot_be_searched_is_a_sentence(editor, base, fields, sentence):
    page = editor.post(PLAYGROUND, {"query": QUERY, "scope": base.pk, **fields})
    assert page.status_code == 200
    assert sentence in page.text
    assert "columns" not in page.context


@pytest.mark.parametrize(
    "query", ["?!…", "😀", "<script>alert(1)</script>", "'; DROP TABLE x; --", "\ud7ff", "%s %(x)s"]
)
def test_odd_queries_are_searched_like_any_other(editor, base, query):
    page = asked(editor, base, query)
    assert page.status_code == 200
    assert len(page.context["columns"]) == 3
    assert "<script>alert(1)" not in page.text


def test_where_nothing_is_indexed_it_says_so(editor, tenant):
    page = asked(editor, scope_of(tenant))
    assert "nothing: no index here yet" in page.text


class TestWhyAPassageIsNotThere:
    def test_one_that_is_there_has_its_scores_and_ranks(self, editor, base, tenant):
        for passage in retrieve(QUERY, tenant=tenant, top_k=10).passages:
            standing = asked(editor, base, chunk=passage.chunk_id).context["standing"]
            assert standing.absence is None
            assert (standing.rank, standing.score) == (passage.rank, passage.score)
            assert standing.keyword == pytest.approx(passage.keyword)
            assert standing.vector == pytest.approx(passage.vector)
            assert standing.vector_rank == passage.vector_rank
            assert standing.keyword_rank == (passage.keyword_rank if passage.keyword else None)
            assert standing.compared == 4

    def test_one_of_a_scope_that_is_not_searched(self, editor, base):
        page = asked(editor, scope_of(None), chunk=chunk_of("fern.md").chunk_id)
        assert "it belongs to Garten am Hang, which is not searched" in page.text

    def test_one_of_an_archived_document(self, editor, base):
        chunk = chunk_of("fern.md")
        archive(document=Document.objects.get(source_key="fern.md"), user=None)
        for fields in ({}, {"as_of": "1"}):
            page = asked(editor, base, chunk=chunk.chunk_id, **fields)
            assert "its document is archived" in page.text
            assert f"?chunk={chunk.chunk_id}" not in page.text, "its text is withheld too"

    def test_one_of_another_index_version(self, editor, base):
        page = asked(editor, base, chunk=chunk_of("plan.md", 1).chunk_id)
        assert "it is not in the index version that was searched" in page.text
        assert "It is in: 2." in page.text
        page = asked(editor, base, chunk=chunk_of("plan.md", 1).chunk_id, as_of="2")
        assert page.context["standing"].absence is None

    def test_one_that_the_filters_leave_out(self, editor, base):
        page = asked(editor, base, chunk=chunk_of("fern.md").chunk_id, language="de")
        assert "its language is en" in page.text

    def test_one_beyond_those_considered(self, editor, tenant, upload, run_jobs):
        scope = scope_of(tenant)
        for number in range(105):
            upload(f"{number}.md", f"# Monstera\n\nDie Monstera wird gegossen, Tag {number}.\n", scope=scope)
        upload("schrauben.md", "# Schrauben\n\nM6 x 40, verzinkt.\n", scope=scope)
        run_jobs()
        page = asked(editor, scope, chunk=chunk_of("schrauben.md").chunk_id)
        standing = page.context["standing"]
        assert (standing.compared, standing.keyword_rank, standing.rank) == (106, None, None)
        assert standing.vector_rank > 100
        assert "among the 100 best of neither signal" in page.text
        shown = {passage.chunk_id for passage in page.context["columns"][2].passages}
        later = next(
            chunk for chunk in Chunk.objects.filter(text__contains="Monstera") if chunk.chunk_id not in shown
        )
        assert "the first 10 are shown" in asked(editor, scope, chunk=later.chunk_id).text

    @pytest.mark.parametrize("chunk_id", ["0" * 32, "x", "%", "Ä"])
    def test_an_unknown_id(self, editor, base, chunk_id):
        assert "There is no passage with this id" in asked(editor, base, chunk=chunk_id).text

    def test_the_passages_page_leads_there(self, editor, base):
        document = Document.objects.get(source_key="fern.md")
        chunk = chunk_of("fern.md")
        link = f"{PLAYGROUND}?chunk={chunk.chunk_id}&amp;scope={base.pk}"
        assert link in editor.get(f"/admin/knowledge/document/{document.pk}/versions/1/chunks/").text
        assert f'value="{chunk.chunk_id}"' in editor.get(link.replace("&amp;", "&")).text


def test_nothing_of_another_tenant_is_found_named_or_explained(editor, foreign, base):
    page = asked(editor, foreign.document.scope, SECRET)
    assert "columns" not in page.context
    chunk = Chunk.objects.get(segment__version__document=foreign.document)
    page = asked(editor, base, f"{SECRET} kochen", chunk=chunk.chunk_id)
    assert "There is no passage with this id" in page.text
    assert page.text.count(SECRET) == 1, "only in the field it was typed into"
    assert SECRET not in editor.get(f"{PLAYGROUND}?scope={foreign.document.scope_id}").text


def test_the_sidebar_leads_there_and_outsiders_stay_outside(editor, tenant, make_user, enter):
    assert f'href="{PLAYGROUND}"' in editor.get("/admin/").text
    viewer = enter(make_user("vera", tenant, "viewer"))
    assert viewer.post(PLAYGROUND, {"query": "x"}).status_code == 302
