"""Whatever happened before: the same documents make the same index."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge.activation import request_activation
from knowledge.archiving import archive, list_again
from knowledge.governance import request_reindex, request_rollback
from knowledge.index.verification import verify
from knowledge.models import Document, DocumentVersion, IndexVersion, Scope
from knowledge.scopes import scope_of

pytestmark = pytest.mark.django_db(transaction=True)

KEYS = ("a.md", "b.md")
TEXTS = ("# Farn\n\nDer Farn mag es feucht.", "# Kaktus\n\nDer Kaktus mag es trocken.")

operations = st.lists(
    st.one_of(
        st.tuples(st.just("upload"), st.sampled_from(KEYS), st.sampled_from(TEXTS)),
        st.tuples(st.just("activate"), st.sampled_from(KEYS), st.integers(0, 1)),
        st.tuples(st.just("archive"), st.sampled_from(KEYS), st.none()),
        st.tuples(st.just("list"), st.sampled_from(KEYS), st.none()),
        st.tuples(st.just("reindex"), st.none(), st.none()),
        st.tuples(st.just("rollback"), st.none(), st.integers(0, 9)),
        st.tuples(st.just("work"), st.none(), st.none()),
    ),
    min_size=1,
    max_size=8,
)


def perform(operation, upload, run_jobs) -> None:
    """Do one of the operations, where the state allows it."""
    kind, key, value = operation
    document = Document.objects.filter(source_key=key).first()
    listed = document if document is not None and document.state == Document.State.LISTED else None
    scope = scope_of(None)
    if kind == "upload" and (document is None or listed is not None):
        upload(key, value)
    elif kind == "activate" and listed is not None:
        versions = list(listed.versions.order_by("number"))
        request_activation(version=versions[value % len(versions)], user=None)
    elif kind == "archive" and listed is not None:
        archive(document=listed, user=None)
    elif kind == "list" and document is not None and document.state == Document.State.ARCHIVED:
        list_again(document=document, user=None)
    elif kind == "reindex" and scope.live is not None:
        request_reindex(scope=scope, user=None)
    elif kind == "rollback" and scope.live is not None:
        numbers = list(IndexVersion.objects.filter(scope=scope).values_list("number", flat=True))
        request_rollback(scope=scope, number=numbers[value % len(numbers)], user=None)
    elif kind == "work":
        run_jobs()


def test_any_history_that_ends_in_the_same_documents_ends_in_the_same_root_hash(upload, run_jobs):
    roots: dict[frozenset[tuple[str, str]], str] = {}

    @settings(
        max_examples=25,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(history=operations)
    def histories(history) -> None:
        for operation in history:
            perform(operation, upload, run_jobs)
        run_jobs()
        live = Scope.objects.get(key="global").live
        if live is None:
            return
        result = verify(live, with_vectors=False)
        assert result.is_proven, result.differences
        active = DocumentVersion.objects.filter(active=True, document__state=Document.State.LISTED)
        documents = frozenset(active.values_list("document__source_key", "content_hash"))
        assert live.document_count == len(documents)
        assert roots.setdefault(documents, live.root_hash) == live.root_hash

    histories()
    assert len(roots) > 2
