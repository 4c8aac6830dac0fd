"""Reading a turn while it is answered, from any process, from the beginning or from where one was."""

from collections.abc import AsyncGenerator
from contextlib import suppress

from redis.exceptions import RedisError

from assistant import stream
from assistant.events import LAST
from assistant.stream import BEGINNING, Recorded
from assistant.threads import in_thread
from assistant.turns import fail_abandoned, last_event


async def follow(*, turn_id: int, after: str = BEGINNING) -> AsyncGenerator[Recorded, None]:
    """Yield the events after an id, as they come, up to the last one.

    A turn whose stream has expired, or whose producer has gone, ends with the last event that the database
    knows of; it has the whole text, so nothing is lost.
    """
    wait_s = 0.0
    while True:
        recorded = await stream.read(turn_id, after=after, wait_s=wait_s)
        for entry in recorded:
            yield entry
            after = entry.id
            if entry.event["type"] in LAST:
                return
        wait_s = stream.BEAT_S
        if recorded or await stream.is_alive(turn_id):
            continue
        await in_thread(fail_abandoned)(turn_id=turn_id)
        event = await in_thread(last_event)(turn_id=turn_id)
        if event is not None:
            yield Recorded(after, event.to_json())
            return


async def settle(*, turn_id: int) -> None:
    """Mark the turn as failed if its producer has gone; without Valkey nobody can tell."""
    with suppress(RedisError):
        if not await stream.is_alive(turn_id):
            await in_thread(fail_abandoned)(turn_id=turn_id)


async def stop(*, turn_id: int) -> None:
    """Have the answer stopped, whichever process writes it."""
    await stream.send_stop(turn_id)
    await settle(turn_id=turn_id)
