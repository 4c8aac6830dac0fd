"""Running what blocks, the ORM above all, in a thread of the pool, so that the event loop goes on."""

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from channels.db import DatabaseSyncToAsync

P = ParamSpec("P")
R = TypeVar("R")


def in_thread(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """`function` as a coroutine function; stale database connections of the thread are closed around it.

    Not thread-sensitive: what runs here shares no connection and no transaction with the request, so an
    answer never waits for somebody else's request, nor ends with its own.
    """
    return DatabaseSyncToAsync(function, thread_sensitive=False)
