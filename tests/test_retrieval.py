"""Searching: who sees what, umlauts, compounds, languages, filters, ties."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Tenant
from knowledge.analysis import terms_of_text
from knowledge.errors import IndexVersionUnknown, QueryUnusable
from knowledge.index.merging import merge_build
from knowledge.models import IndexBuild, PostingBlock
from knowledge.retrieval.fusion import POOL, fuse, scale
from knowledge.retrieval.search import Signal, retrieve
from knowledge.scopes import scope_of
from knowledge.writer import writer_lock

pytestmark = pytest.mark.django_db(transaction=True)

scores = st.dictionaries(st.integers(0, 500), st.floats(0.001, 50), min_size=1, max_size=60)


@pytest.fixture
def base(upload, run_jobs):
    upload("laus.md", "# Läuse\n\nBlattläuse sitzen an jungen Trieben und saugen Saft.")
    upload("groesse.md", "# Maße\n\nDie Größe des Topfes richtet sich nach dem Ballen.")
    upload("werte.md", "# Werte\n\nIn Kokos: EC 1.4 mS/cm, pH 5,8–6,2, Dünger NPK 7-3-6.")
    upload("mites.md", "# Spider mites\n\nFine webbing under the leaves is the sign of spider mites.")
    upload("fikus.md", "# Фикус\n\nЛистья фикуса желтеют, когда корни стоят в воде.")
    run_jobs()


def first(query: str, **options) -> str:
    return retrieve(query, tenant=None, **options).passages[0].source_key


@pytest.mark.parametrize("query", ["Größe", "Groesse", "GRÖSSE", "Gro\u0308ße", "größe"])
def test_umlauts_are_found_however_they_are_spelt(base, query):
    assert first(query, signal=Signal.KEYWORD) == "groesse.md"


@pytest.mark.parametrize("query", ["Blattläuse", "Blattlaus", "Läuse am Blatt", "Blatt Läuse"])
def test_compounds_are_found_apart_and_together(base, query):
    assert first(query, signal=Signal.KEYWORD) == "laus.md"


def test_a_compound_in_the_query_finds_its_parts_in_the_text(upload, run_jobs):
    upload("a.md", "# A\n\nEine Laus sitzt auf dem Blatt.")
    upload("b.md", "# B\n\nDer Topf steht am Fenster.")
    run_jobs()
    assert first("Blattläuse", signal=Signal.KEYWORD) == "a.md"


@pytest.mark.parametrize("query", ["EC 1,4", "pH 5.8-6.2", "NPK 7-3-6"])
def test_codes_win_where_they_occur(base, query):
    assert first(query) == "werte.md"


@pytest.mark.parametrize(
    ("query", "source_key"),
    [
        ("Spinnmilben erkennen", "mites.md"),
        ("leaves turn yellow", "fikus.md"),
        ("aphids sit on the young shoots", "laus.md"),
    ],
)
def test_a_question_finds_its_answer_in_another_language(base, query, source_key):
    assert first(query) == source_key


def test_filters_never_shrink_the_result(upload, run_jobs):
    for number in range(30):
        language = "en" if number % 10 == 0 else "de"
        upload(
            f"{number:02}.md",
            f"---\nlanguage: {language}\ntags: [t{number % 10}]\n---\n"
            f"# Nr {number}\n\nDie Monstera {number} mag Licht.",
        )
    run_jobs()
    assert len(retrieve("Monstera Licht", tenant=None, top_k=3, language="en").passages) == 3
    tagged = retrieve("Monstera Licht", tenant=None, top_k=10, metadata={"tags": ["t7"]}).passages
    assert {passage.source_key for passage in tagged} == {"07.md", "17.md", "27.md"}


def test_a_tenants_documents_are_its_own(upload, run_jobs, tenant):
    other = Tenant.objects.create(slug="andere", name="Andere")
    upload("global.md", "# Alle\n\nDie Zimmerlinde gehört allen.")
    upload("eigen.md", "# Eigen\n\nDie Zimmerlinde am Hang ist geheim.", scope=scope_of(tenant))
    run_jobs()

    def seen(who):
        return {passage.source_key for passage in retrieve("Zimmerlinde", tenant=who).passages}

    assert seen(tenant) == {"global.md", "eigen.md"}
    assert seen(other) == {"global.md"}
    assert seen(None) == {"global.md"}
    assert retrieve("Zimmerlinde", tenant=tenant).index_versions == {"global": 1, "tenant:garten": 1}


def test_another_tenants_words_do_not_change_the_scores(upload, run_jobs, tenant):
    upload("global.md", "# Alle\n\nDie Zimmerlinde mag es hell.")
    run_jobs()
    before = [(p.chunk_id, p.score, p.keyword) for p in retrieve("Zimmerlinde hell", tenant=None).passages]
    upload("eigen.md", "# Eigen\n\nZimmerlinde Zimmerlinde hell hell hell.", scope=scope_of(tenant))
    run_jobs()
    after = [(p.chunk_id, p.score, p.keyword) for p in retrieve("Zimmerlinde hell", tenant=None).passages]
    assert before == after


def test_the_layout_of_postings_never_shows(base, upload, run_jobs):
    upload("laus.md", "# Läuse\n\nSchildläuse und Blattläuse saugen an den Blättern der Palme.")
    run_jobs()
    queries = ["Läuse am Blatt", "Größe des Topfes", "EC 1.4", "Palme"]
    loose = [retrieve(query, tenant=None).passages for query in queries]
    build = IndexBuild.objects.get()
    with writer_lock() as fence:
        assert fence is not None
        merge_build(build, fence=fence)
    assert PostingBlock.objects.count() == 1
    assert [retrieve(query, tenant=None).passages for query in queries] == loose


def test_a_score_does_not_depend_on_how_many_are_asked_for(base):
    few = retrieve("Läuse am Blatt", tenant=None, top_k=2).passages
    many = retrieve("Läuse am Blatt", tenant=None, top_k=5).passages
    assert many[:2] == few


def test_equal_texts_are_ordered_by_their_chunk_ids(upload, run_jobs):
    for name in ("b", "a", "d", "c"):
        upload(f"{name}.md", "# Gleich\n\nDie Kentiapalme steht am Fenster.")
    run_jobs()
    found = retrieve("Kentiapalme", tenant=None).passages
    assert len({passage.score for passage in found}) == 1
    assert [passage.chunk_id for passage in found] == sorted(passage.chunk_id for passage in found)


@pytest.mark.parametrize("query", ["", "   ", "x" * 4001])
def test_an_unusable_query_is_refused(query):
    with pytest.raises(QueryUnusable):
        retrieve(query, tenant=None)


def test_an_index_version_that_is_not_there_is_an_error(base):
    with pytest.raises(IndexVersionUnknown):
        retrieve("Laus", tenant=None, as_of=99)


@pytest.mark.parametrize("query", ["NPK 7-3-6", "VPD"])
def test_an_exact_code_that_occurs_is_supported_whatever_language_it_seems(base, upload, run_jobs, query):
    upload("vpd.md", "# Sättigungsdefizit\n\nDas VPD sagt, wie stark die Luft den Blättern Wasser entzieht.")
    run_jobs()
    assert retrieve(query, tenant=None).supported


def test_punctuation_only_finds_nothing_by_keyword_and_does_not_break(base):
    assert not retrieve("?!", tenant=None).supported


def test_a_base_without_an_index_has_no_support():
    found = retrieve("Zimmerlinde", tenant=None)
    assert (found.passages, found.supported, found.index_versions) == ((), False, {})


@given(found=scores, extra=scores)
def test_scaling_keeps_the_order_and_ignores_what_is_below_the_pool(found, extra):
    scaled = scale(found, pool=found.values())
    assert all(0 <= value <= 1 for value in scaled.values())
    ordered = sorted(found, key=found.__getitem__)
    assert all(scaled[a] <= scaled[b] for a, b in pairwise(ordered))
    assert len(found) <= POOL


@given(keyword=scores, vector=scores, weight=st.floats(0, 1))
def test_fusion_lies_between_its_signals(keyword, vector, weight):
    a, b = scale(keyword, pool=keyword.values()), scale(vector, pool=vector.values())
    for key, value in fuse(a, b, keyword_weight=weight).items():
        signals = (a.get(key, 0.0), b.get(key, 0.0))
        assert min(signals) - 1e-9 <= value <= max(signals) + 1e-9


@given(st.text(max_size=80), st.sampled_from(["de", "en", "ru"]))
def test_any_text_has_terms_or_none(text, language):
    counted = terms_of_text(text, language)
    assert all(count > 0 and "\n" not in term for term, count in counted.items())
