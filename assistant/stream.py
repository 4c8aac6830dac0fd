"""The events of a turn, in Valkey: written by one process, read by any number, from wherever each of them is.

Keys of a turn: `events` (the append-only stream), `alive` (the producer's heartbeat), `control` (a list by
which any process reaches the producer). All of them expire.
"""

import asyncio
import json
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import Redis

from assistant.events import Event

EVENTS_KEPT_S = 3600
ALIVE_S = 8
BEAT_S = 2.0
BEGINNING = "0-0"
STOP = "stop"

# A connection belongs to the event loop it was made on.
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, "Redis"] = WeakKeyDictionary()


class Recorded(NamedTuple):
    """An event as it is in the stream; `id` is where a reader resumes."""

    id: str
    event: dict[str, Any]


def valkey() -> "Redis":
    """The client of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        # Longer than the longest blocking read, so that only a dead server is taken for one.
        _clients[loop] = Redis.from_url(
            settings.REDIS_URL, protocol=2, socket_timeout=3 * BEAT_S, socket_connect_timeout=3
        )
    return _clients[loop]


async def begin(turn_id: int) -> None:
    """Set up for a producer that is about to start; nothing of an earlier database's turn is left."""
    async with valkey().pipeline(transaction=True) as pipe:
        pipe.delete(_key(turn_id, "events"), _key(turn_id, "control"))
        pipe.set(_key(turn_id, "alive"), "1", ex=ALIVE_S)
        await pipe.execute()


async def append(turn_id: int, event: Event) -> str:
    """Add an event, and return its id."""
    async with valkey().pipeline(transaction=True) as pipe:
        pipe.xadd(_key(turn_id, "events"), {"event": json.dumps(event.to_json(), ensure_ascii=False)})
        pipe.expire(_key(turn_id, "events"), EVENTS_KEPT_S)
        event_id, _ = await pipe.execute()
    return str(event_id.decode())


async def read(turn_id: int, *, after: str, wait_s: float) -> list[Recorded]:
    """The events after an id in order; waits up to `wait_s` seconds for the next where there are none."""
    answer: Any = await valkey().xread(
        {_key(turn_id, "events"): after},
        count=200,
        block=int(wait_s * 1000) or None,  # 0 would be for ever
    )
    entries = answer[0][1] if answer else []
    return [Recorded(entry_id.decode(), json.loads(fields[b"event"])) for entry_id, fields in entries]


async def beat(turn_id: int) -> None:
    """Say that the turn's producer lives."""
    await valkey().set(_key(turn_id, "alive"), "1", ex=ALIVE_S)


async def is_alive(turn_id: int) -> bool:
    return bool(await valkey().exists(_key(turn_id, "alive")))


async def send_stop(turn_id: int) -> None:
    """Ask the producer, wherever it is, to stop."""
    async with valkey().pipeline(transaction=True) as pipe:
        pipe.rpush(_key(turn_id, "control"), STOP)
        pipe.expire(_key(turn_id, "control"), EVENTS_KEPT_S)
        await pipe.execute()


async def wait_for_stop(turn_id: int, *, wait_s: float) -> bool:
    """Whether somebody asked to stop; waits up to `wait_s` seconds for it."""
    answer = await valkey().blpop([_key(turn_id, "control")], timeout=wait_s)
    return answer is not None


async def end(turn_id: int) -> None:
    """The producer is done: readers need its heartbeat no longer."""
    await valkey().delete(_key(turn_id, "alive"), _key(turn_id, "control"))


async def forget(turn_id: int) -> None:
    """Delete what the turn has said; a wish to stop stays until its producer has seen it."""
    await valkey().delete(_key(turn_id, "events"), _key(turn_id, "alive"))


def _key(turn_id: int, name: str) -> str:
    return f"assistant:turn:{turn_id}:{name}"
