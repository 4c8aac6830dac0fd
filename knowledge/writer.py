"""The one writer: a lock that a dead worker gives up at once, and a number that outdates its holder.

The lock belongs to a PostgreSQL session of its own, apart from Django's connection, so that it ends with the
process and no connection pooler can hand it to somebody else. Whoever takes it gets the next fence number;
publication checks it, so a worker that lost the lock without noticing can't publish.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection

from knowledge.errors import WriterReplaced
from knowledge.models import WriterFence

logger = logging.getLogger(__name__)

_LOCK = 0x4B414D45  # any constant that is ours


@contextmanager
def writer_lock() -> Iterator[int | None]:
    """Hold the writer's lock; yields this writer's fence number, or None if another one has the lock."""
    parameters = connection.get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(name, None)
    with psycopg.connect(**parameters, autocommit=True, application_name="kamerplanter-writer") as session:
        row = session.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK]).fetchone()
        if row is None or not row[0]:
            yield None
            return
        row = session.execute(
            "INSERT INTO knowledge_writerfence (id, fence) VALUES (1, 1)"
            " ON CONFLICT (id) DO UPDATE SET fence = knowledge_writerfence.fence + 1 RETURNING fence"
        ).fetchone()
        assert row is not None
        yield int(row[0])


def require_fence(fence: int) -> None:
    """Within the publishing transaction: nobody may take over until it has ended.

    Raises WriterReplaced if somebody has.
    """
    current = WriterFence.objects.select_for_update().values_list("fence", flat=True).get(id=1)
    if current != fence:
        raise WriterReplaced()
