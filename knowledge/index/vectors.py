"""The live vectors, in one lean table per dimension.

Exact search reads every vector of the builds asked for, so a row holds nothing else, is never toasted, and
only the chunks of each build's newest index version are here. Vectors of the past are in CachedEmbedding.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import numpy as np
from django.db import connection
from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg import Connection, Cursor

_registered: WeakSet[Connection] = WeakSet()


@contextmanager
def vector_cursor() -> Iterator[Cursor[tuple[Any, ...]]]:
    """A cursor of Django's connection that sends and reads halfvec in binary.

    Django's own would write each vector into the statement as text, which costs more than the search does.
    """
    connection.ensure_connection()
    session = connection.connection
    if session not in _registered:
        register_vector(session)
        _registered.add(session)
    with connection.wrap_database_errors, Cursor(session) as cursor:
        yield cursor


def half_vector(vector: NDArray[np.floating]) -> Any:
    """A vector as a parameter of a `vector_cursor`, rounded to half precision."""
    return HalfVector(vector)


def table_name(dimension: int) -> str:
    return f"knowledge_vector_{int(dimension)}"


def ensure_table(*, dimension: int) -> None:
    """Create the table for vectors of this dimension, if it isn't there."""
    table = table_name(dimension)
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [table])
        if cursor.fetchone()[0]:
            return
        cursor.execute(
            f"""
            CREATE TABLE IF NOT EXISTS {table} (
                chunk_number integer PRIMARY KEY REFERENCES knowledge_chunk ON DELETE CASCADE,
                build_id bigint NOT NULL,
                embedding halfvec({int(dimension)}) NOT NULL
            ) WITH (autovacuum_vacuum_scale_factor = 0.05);
            ALTER TABLE {table} ALTER embedding SET STORAGE PLAIN;
            CREATE INDEX IF NOT EXISTS {table}_build ON {table} (build_id);
            """
        )


def insert(*, build_id: int, dimension: int, numbers: Sequence[int], vectors: NDArray[np.float16]) -> None:
    """Add one vector per chunk number, shape (len(numbers), dimension)."""
    with (
        vector_cursor() as cursor,
        cursor.copy(
            f"COPY {table_name(dimension)} (chunk_number, build_id, embedding) FROM STDIN (FORMAT BINARY)"
        ) as copy,
    ):
        copy.set_types(["int4", "int8", "halfvec"])
        for number, vector in zip(numbers, vectors, strict=True):
            copy.write_row((number, build_id, half_vector(vector)))


def remove(*, dimension: int, segment_ids: Iterable[int]) -> None:
    """Take the vectors of these segments out of the live table."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {table_name(dimension)} WHERE chunk_number IN"
            " (SELECT number FROM knowledge_chunk WHERE segment_id = ANY(%s))",
            [list(segment_ids)],
        )


def restore(*, build_id: int, dimension: int, model: str, segment_ids: Iterable[int]) -> int:
    """Bring the vectors of these segments back from the embeddings that were kept; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table_name(dimension)} (chunk_number, build_id, embedding)"
            " SELECT chunk.number, %s, cached.vector FROM knowledge_chunk chunk"
            " JOIN knowledge_cachedembedding cached"
            "   ON cached.model = %s AND cached.text_hash = chunk.embedding_hash"
            " WHERE chunk.segment_id = ANY(%s)",
            [build_id, model, list(segment_ids)],
        )
        return int(cursor.rowcount)
