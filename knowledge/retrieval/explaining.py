"""Where one passage stands for a query among all that could be found, or why it can't be found at all."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knowledge.analysis import detect_language
from knowledge.embedding.base import embedder_named
from knowledge.models import Chunk, Scope
from knowledge.retrieval.filters import allowed_numbers, hidden_numbers
from knowledge.retrieval.fusion import POOL
from knowledge.retrieval.keyword import score_keywords
from knowledge.retrieval.search import search_scopes
from knowledge.retrieval.vector import nearest
from knowledge.retrieval.view import ScopeView, snapshot, view_scopes


class Absence(StrEnum):
    """Why a passage can't be found, whatever is asked."""

    OTHER_SCOPE = "other_scope"
    WITHHELD = "withheld"
    OTHER_VERSION = "other_version"
    FILTERED = "filtered"


class Standing(NamedTuple):
    """A passage's scores and ranks for a query; `absence` says why it has none.

    `keyword` is its BM25 score, `vector` its cosine (None where the index lacks it). Ranks count from 1 among
    the `compared` passages that pass the filters; `keyword_rank` is None where no word of the query occurs,
    `rank` where the passage is among the POOL best of neither signal.
    """

    chunk: Chunk
    absence: Absence | None
    compared: int = 0
    keyword: float = 0.0
    keyword_rank: int | None = None
    vector: float | None = None
    vector_rank: int | None = None
    score: float | None = None
    rank: int | None = None


def explain(
    chunks: Sequence[Chunk],
    query: str,
    *,
    scopes: Sequence[Scope],
    source_types: Sequence[str] | None = None,
    language: str | None = None,
    as_of: dict[str, int] | None = None,
) -> Standing:
    """Where a passage stands; `chunks` are its rows, one for each build that has it (at least one).

    They come with segment, version, document. Raises IndexVersionUnknown.
    """
    with snapshot():
        views = view_scopes(scopes, as_of=as_of)
        seen = [view.numbers[view.live] for view in views]
        row = np.concatenate(seen) if seen else np.empty(0, dtype=np.int32)
        chunk = next((chunk for chunk in chunks if chunk.number in row), chunks[-1])
        hidden = hidden_numbers(scopes)
        allowed = allowed_numbers(views, source_types=source_types, metadata=None, language=language)
        absence = _absence(chunk, scopes, row, hidden=hidden, allowed=allowed)
        if absence is not None:
            return Standing(chunk, absence)
        standing = _ranked(Standing(chunk, None), query, views, hidden=hidden, allowed=allowed)
        found = search_scopes(
            query, scopes=scopes, top_k=10 * POOL, source_types=source_types, language=language, as_of=as_of
        )
        for passage in found.passages:
            if passage.chunk_number == chunk.number:
                return standing._replace(rank=passage.rank, score=passage.score)
        return standing


def _absence(
    chunk: Chunk,
    scopes: Sequence[Scope],
    row: NDArray[np.int32],
    *,
    hidden: NDArray[np.int32],
    allowed: NDArray[np.int32] | None,
) -> Absence | None:
    if chunk.segment.version.document.scope_id not in {scope.pk for scope in scopes}:
        return Absence.OTHER_SCOPE
    if chunk.number in hidden:
        return Absence.WITHHELD
    if chunk.number not in row:
        return Absence.OTHER_VERSION
    if allowed is not None and chunk.number not in allowed:
        return Absence.FILTERED
    return None


def _ranked(
    standing: Standing,
    query: str,
    views: Sequence[ScopeView],
    *,
    hidden: NDArray[np.int32],
    allowed: NDArray[np.int32] | None,
) -> Standing:
    number = standing.chunk.number
    numbers = np.concatenate([view.numbers for view in views])
    passing = np.concatenate([view.live for view in views]) & ~np.isin(numbers, hidden)
    if allowed is not None:
        passing &= np.isin(numbers, allowed)
    scores = score_keywords(query, views, language=detect_language(query)).scores[passing]
    keyword = float(scores[numbers[passing] == number][0])
    vectors: dict[int, float] = {}
    for view in views:
        embedded = embedder_named(view.index_settings.embedding_model).embed([query])[0]
        most = max(int(view.live.sum()), 1)
        vectors |= nearest(embedded, views=[view], most=most, allowed=allowed, hidden=hidden)
    vector = vectors.get(number)
    return standing._replace(
        compared=int(passing.sum()),
        keyword=keyword,
        keyword_rank=int((scores > keyword).sum()) + 1 if keyword else None,
        vector=vector,
        vector_rank=None if vector is None else sum(other > vector for other in vectors.values()) + 1,
    )
