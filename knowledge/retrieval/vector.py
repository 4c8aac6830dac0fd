"""Cosine similarity, exact: every vector that the query may see is compared."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from knowledge.index.vectors import half_vector, table_name, vector_cursor
from knowledge.retrieval.view import ScopeView


def nearest(
    query: NDArray[np.float32],
    *,
    views: Sequence[ScopeView],
    most: int,
    allowed: NDArray[np.int32] | None,
    hidden: NDArray[np.int32],
) -> dict[int, float]:
    """The cosine of the `most` nearest chunks (more where the last ones tie), by chunk number.

    The views are of one embedding model. `allowed` restricts to these chunk numbers, `hidden` leaves some
    out.
    """
    found: dict[int, float] = {}
    newest = [view for view in views if view.is_newest]
    if newest:
        found |= _nearest_live(query, newest, most, allowed, hidden)
    for view in views:
        if not view.is_newest:
            numbers = view.numbers[view.live]
            if allowed is not None:
                numbers = numbers[np.isin(numbers, allowed)]
            found |= _nearest_past(query, view, most, numbers[~np.isin(numbers, hidden)])
    return found


def similarities(
    query: NDArray[np.float32], *, views: Sequence[ScopeView], numbers: Sequence[int]
) -> dict[int, float]:
    """The cosine of these chunks of the views, by chunk number."""
    wanted = np.array(sorted(numbers), dtype=np.int32)
    found: dict[int, float] = {}
    for view in views:
        mine = wanted[np.isin(wanted, view.numbers)]
        if len(mine):
            found |= _nearest_past(query, view, len(mine), mine)
    return found


def _nearest_live(
    query: NDArray[np.float32],
    views: Sequence[ScopeView],
    most: int,
    allowed: NDArray[np.int32] | None,
    hidden: NDArray[np.int32],
) -> dict[int, float]:
    dimension = views[0].index_settings.embedding_dimension
    conditions = ["build_id = ANY(%s)"]
    parameters: list[list[int]] = [[view.build_id for view in views]]
    if allowed is not None:
        conditions.append("chunk_number = ANY(%s)")
        parameters.append(allowed.tolist())
    if len(hidden):
        conditions.append("chunk_number <> ALL(%s)")
        parameters.append(hidden.tolist())
    with vector_cursor() as cursor:
        cursor.execute(
            f"SELECT chunk_number, 1 - (embedding <=> %s) FROM {table_name(dimension)}"
            f" WHERE {' AND '.join(conditions)}"
            " ORDER BY embedding <=> %s FETCH FIRST %s ROWS WITH TIES",
            [half_vector(query), *parameters, half_vector(query), most],
        )
        return dict(cursor.fetchall())


def _nearest_past(
    query: NDArray[np.float32], view: ScopeView, most: int, numbers: NDArray[np.int32]
) -> dict[int, float]:
    # The kept embeddings have the same halves as the live table, so the cosines are the same too.
    with vector_cursor() as cursor:
        cursor.execute(
            "SELECT chunk.number, 1 - (cached.vector <=> %s) FROM knowledge_chunk chunk"
            " JOIN knowledge_cachedembedding cached"
            "   ON cached.model = %s AND cached.text_hash = chunk.embedding_hash"
            " WHERE chunk.number = ANY(%s)"
            " ORDER BY cached.vector <=> %s FETCH FIRST %s ROWS WITH TIES",
            [
                half_vector(query),
                view.index_settings.embedding_model,
                numbers.tolist(),
                half_vector(query),
                most,
            ],
        )
        return dict(cursor.fetchall())
