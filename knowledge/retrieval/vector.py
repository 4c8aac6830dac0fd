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
    nothing = np.empty(0, dtype=np.int32)
    for view in views:
        mine = wanted[np.isin(wanted, view.numbers)]
        if not len(mine):
            continue
        if view.is_newest:
            found |= _nearest_live(query, [view], len(mine), mine, nothing)
        else:
            found |= _nearest_past(query, view, len(mine), mine)
    return found


def _nearest_live(
    query: NDArray[np.float32],
    views: Sequence[ScopeView],
    most: int,
    allowed: NDArray[np.int32] | None,
    hidden: NDArray[np.int32],
) -> dict[int, float]:
    table = table_name(views[0].index_settings.embedding_dimension)
    conditions = ["build_id = ANY(%s)"]
    parameters: list[list[int]] = [[view.build_id for view in views]]
    if allowed is not None:
        conditions.append("chunk_number = ANY(%s)")
        parameters.append(allowed.tolist())
    if len(hidden):
        conditions.append("chunk_number <> ALL(%s)")
        parameters.append(hidden.tolist())
    rows = f"SELECT chunk_number AS number, embedding FROM {table} WHERE {' AND '.join(conditions)}"
    return _ranked(query, rows, parameters, most)


def _nearest_past(
    query: NDArray[np.float32], view: ScopeView, most: int, numbers: NDArray[np.int32]
) -> dict[int, float]:
    # The kept embeddings have the same halves as the live table, so the cosines are the same too.
    rows = (
        "SELECT chunk.number, cached.vector AS embedding FROM knowledge_chunk chunk"
        " JOIN knowledge_cachedembedding cached"
        "   ON cached.model = %s AND cached.text_hash = chunk.embedding_hash"
        " WHERE chunk.number = ANY(%s)"
    )
    return _ranked(query, rows, [view.index_settings.embedding_model, numbers.tolist()], most)


def _ranked(
    query: NDArray[np.float32], rows: str, parameters: Sequence[str | list[int]], most: int
) -> dict[int, float]:
    """The best of `rows`, a query that yields (number, embedding)."""
    # The vectors are of unit length, so their inner product is the cosine, and costs a third less.
    ranked = f"SELECT number, -(embedding <#> %s) FROM ({rows}) AS rows ORDER BY embedding <#> %s "
    half = half_vector(query)
    with vector_cursor() as cursor:
        cursor.execute(f"{ranked} LIMIT %s", [half, *parameters, half, most + 1])
        found = cursor.fetchall()
        if len(found) > most and found[most][1] == found[most - 1][1]:
            # WITH TIES sorts all rows instead of keeping the best, so it is only used where there are any.
            cursor.execute(f"{ranked} FETCH FIRST %s ROWS WITH TIES", [half, *parameters, half, most])
            return dict(cursor.fetchall())
    return dict(found[:most])
