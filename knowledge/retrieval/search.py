"""The one search: query -> keyword and vector candidates -> fused, filtered, cited passages.

Filters apply before ranking, so they never leave fewer passages than there are matching chunks. Everything is
read in one snapshot of the database, so a search sees exactly one index version of each scope.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accounts.models import Tenant
from knowledge.analysis import detect_language
from knowledge.embedding.base import embedder_named
from knowledge.errors import QueryUnusable
from knowledge.models import Chunk, Scope
from knowledge.retrieval.filters import allowed_numbers, hidden_numbers
from knowledge.retrieval.fusion import KEYWORD_WEIGHT, POOL, fuse, scale
from knowledge.retrieval.keyword import KeywordScores, score_keywords
from knowledge.retrieval.loading import load_passages
from knowledge.retrieval.passages import Passage, Retrieval
from knowledge.retrieval.support import THRESHOLD, support_of
from knowledge.retrieval.vector import nearest, similarities
from knowledge.retrieval.view import ScopeView, snapshot, view_scopes
from knowledge.scopes import scopes_seen_by

LONGEST_QUERY = 4_000


class Signal(StrEnum):
    """One of the two signals, for looking at it alone."""

    KEYWORD = "keyword"
    VECTOR = "vector"


class _Clock:
    """Milliseconds per stage."""

    def __init__(self) -> None:
        self.timings: dict[str, float] = {}
        self._began = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.timings[name] = round((time.perf_counter() - began) * 1000, 3)

    def stop(self) -> dict[str, float]:
        self.timings["total"] = round((time.perf_counter() - self._began) * 1000, 3)
        return self.timings


def retrieve(
    query: str,
    *,
    tenant: Tenant | None,
    top_k: int = 5,
    source_types: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    language: str | None = None,
    as_of: int | None = None,
    signal: Signal | None = None,
) -> Retrieval:
    """The best passages for a query among what somebody of `tenant` may see.

    `metadata` must be contained in a chunk's metadata. `as_of` is the number of an index version of the
    tenant's scope (of the global one without a tenant). Below the support threshold the passages are merely
    what is nearest. Raises QueryUnusable or IndexVersionUnknown.
    """
    query = query.strip()
    if not 0 < len(query) <= LONGEST_QUERY:
        raise QueryUnusable(most=LONGEST_QUERY)
    scopes = scopes_seen_by(tenant)
    return search_scopes(
        query,
        scopes=scopes,
        top_k=top_k,
        source_types=source_types,
        metadata=metadata,
        language=language,
        as_of={scopes[-1].key: as_of} if as_of is not None else None,
        signal=signal,
    )


def search_scopes(
    query: str,
    *,
    scopes: Sequence[Scope],
    top_k: int,
    source_types: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    language: str | None = None,
    as_of: dict[str, int] | None = None,
    signal: Signal | None = None,
) -> Retrieval:
    """As `retrieve`, over these scopes."""
    clock = _Clock()
    with snapshot():
        with clock.stage("view"):
            views = view_scopes(scopes, as_of=as_of)
            hidden = hidden_numbers(scopes)
            allowed = allowed_numbers(views, source_types=source_types, metadata=metadata, language=language)
        with clock.stage("embed"):
            embedded = _embed(query, views)
        with clock.stage("keyword"):
            query_language = detect_language(query)
            keywords = score_keywords(query, views, language=query_language)
            keyword = _best_keywords(keywords, views, allowed=allowed, hidden=hidden)
        with clock.stage("vector"):
            vector: dict[int, float] = {}
            for model, group in _by_model(views).items():
                vector |= nearest(embedded[model], views=group, most=POOL, allowed=allowed, hidden=hidden)
            vector_pool = list(vector.values())
            lacking = sorted(keyword.keys() - vector.keys())
            for model, group in _by_model(views).items():
                vector |= similarities(embedded[model], views=group, numbers=lacking)
        with clock.stage("fuse"):
            keyword_pool = list(keyword.values())
            keyword |= _keywords_of(keywords, views, sorted(vector.keys() - keyword.keys()))
            weight = keyword_weight(keywords.known_share, signal)
            fused = fuse(
                scale(keyword, pool=[*keyword_pool, 0.0]),
                scale(vector, pool=vector_pool),
                keyword_weight=weight,
                foreign=_foreign(keyword, language=query_language) if signal is None else set(),
            )
        with clock.stage("load"):
            passages = load_passages(fused, keyword, vector, top_k=top_k)
    coverage = _keywords_coverage(keywords, views, passages)
    support = support_of(passages, coverage=coverage, language=query_language)
    return Retrieval(
        query=query,
        passages=passages,
        supported=support >= THRESHOLD,
        support=support,
        coverage=max(coverage, default=0.0),
        index_versions={view.scope_key: view.number for view in views},
        timings_ms=clock.stop(),
    )


def keyword_weight(known_share: float, signal: Signal | None) -> float:
    if signal is not None:
        return float(signal is Signal.KEYWORD)
    return KEYWORD_WEIGHT * known_share**2


def _foreign(keyword: dict[int, float], *, language: str) -> set[int]:
    """The candidates that share no word with the query and are in another language than it is."""
    wordless = [number for number, score in keyword.items() if not score]
    return set(
        Chunk.objects.filter(number__in=wordless).exclude(language=language).values_list("number", flat=True)
    )


def _by_model(views: Sequence[ScopeView]) -> dict[str, list[ScopeView]]:
    groups: dict[str, list[ScopeView]] = {}
    for view in views:
        groups.setdefault(view.index_settings.embedding_model, []).append(view)
    return groups


def _embed(query: str, views: Sequence[ScopeView]) -> dict[str, NDArray[np.float32]]:
    """The query's vector by each model that one of the views was built with."""
    return {model: embedder_named(model).embed([query])[0] for model in _by_model(views)}


def _row_of_numbers(views: Sequence[ScopeView]) -> NDArray[np.int32]:
    return np.concatenate([view.numbers for view in views]) if views else np.empty(0, dtype=np.int32)


def _best_keywords(
    keywords: KeywordScores,
    views: Sequence[ScopeView],
    *,
    allowed: NDArray[np.int32] | None,
    hidden: NDArray[np.int32],
) -> dict[int, float]:
    """The POOL best chunks by keyword that pass the filters (more where the last ones tie), by number."""
    places = np.flatnonzero(keywords.scores)
    numbers = _row_of_numbers(views)[places]
    passing = ~np.isin(numbers, hidden)
    if allowed is not None:
        passing &= np.isin(numbers, allowed)
    numbers, scores = numbers[passing], keywords.scores[places][passing]
    if len(scores) > POOL:
        last = np.partition(scores, len(scores) - POOL)[len(scores) - POOL]
        numbers, scores = numbers[scores >= last], scores[scores >= last]
    return dict(zip(numbers.tolist(), scores.tolist(), strict=True))


def _keywords_of(
    keywords: KeywordScores, views: Sequence[ScopeView], numbers: Sequence[int]
) -> dict[int, float]:
    return _looked_up(keywords.scores, views, numbers)


def _keywords_coverage(
    keywords: KeywordScores, views: Sequence[ScopeView], passages: Sequence[Passage]
) -> list[float]:
    numbers = [passage.chunk_number for passage in passages]
    found = _looked_up(keywords.coverage, views, numbers)
    return [found[number] for number in numbers]


def _looked_up(
    values: NDArray[np.float64], views: Sequence[ScopeView], numbers: Sequence[int]
) -> dict[int, float]:
    row = _row_of_numbers(views)
    places = np.flatnonzero(np.isin(row, np.array(numbers, dtype=np.int32)))
    return dict(zip(row[places].tolist(), values[places].tolist(), strict=True))
