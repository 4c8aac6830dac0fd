"""Writing an answer: a task of its own in a web process, bound to no request and no socket."""

import asyncio
import contextvars
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass

import structlog
from redis.exceptions import RedisError

from accounts.models import Tenant, User
from assistant import stream
from assistant.answering import answer
from assistant.conversations import begin_turn, streaming_turn_of
from assistant.errors import Interrupted
from assistant.events import Delta, Done, Failed, Source, Sources
from assistant.following import settle
from assistant.models import Turn
from assistant.providers.registry import provider_of
from assistant.threads import in_thread
from assistant.turns import end_turn, keep_sources, keep_text, last_event

SAVE_EVERY_S = 1.0

log = structlog.get_logger(__name__)
# The loop itself only keeps weak references to its tasks.
_running: set[asyncio.Task[None]] = set()


class _Ended(Exception):
    """Somebody else ended the turn, or deleted it; there is nobody left to write for."""


@dataclass
class _Draft:
    turn_id: int
    text: str = ""
    sources: tuple[Source, ...] = ()


async def ask(
    *, user: User, tenant: Tenant | None, question: str, language: str, conversation_id: int | None = None
) -> Turn:
    """Begin a turn and start to answer it; returns before the answer is there. Follow it to read it.

    Raises EmptyQuestion, QuestionTooLong, NotFound, NotMember, AlreadyAnswering.
    """
    if conversation_id is not None:
        unfinished = await in_thread(streaming_turn_of)(user=user, conversation_id=conversation_id)
        if unfinished is not None:
            await settle(turn_id=unfinished)
    turn = await in_thread(begin_turn)(
        user=user, tenant=tenant, question=question, language=language, conversation_id=conversation_id
    )
    try:
        await stream.begin(turn.pk)
    except RedisError as error:
        log.error("turn_failed", turn=turn.pk, error=type(error).__name__)
        await in_thread(end_turn)(
            turn_id=turn.pk, state=Turn.State.FAILED, text="", error_code=Interrupted.code
        )
        return turn
    # An empty context: what belongs to the request (its threads, its language) ends with it.
    task = asyncio.get_running_loop().create_task(_produce(turn), context=contextvars.Context())
    _running.add(task)
    task.add_done_callback(_running.discard)
    return turn


async def interrupt_all() -> None:
    """End the answers that this process is writing, as failed; returns when that is written down."""
    tasks = list(_running)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _produce(turn: Turn) -> None:
    """Write until the answer ends, fails or is stopped, with a heartbeat beside it."""
    draft = _Draft(turn.pk)
    started = time.perf_counter()
    writer = asyncio.create_task(_write(turn, draft))
    watcher = asyncio.create_task(_beat_until_stopped(turn.pk))
    try:
        await asyncio.wait({writer, watcher}, return_when=asyncio.FIRST_COMPLETED)
        if not writer.done():
            await _cancel(writer)
            await _end(draft, state=Turn.State.STOPPED)
        else:
            writer.result()
    except _Ended:
        with suppress(RedisError):
            await stream.forget(turn.pk)
    except asyncio.CancelledError:
        # The process is being shut down.
        await _cancel(writer)
        await _end(draft, state=Turn.State.FAILED, error_code=Interrupted.code)
        raise
    except Exception as error:
        # Whatever it was, the person must learn that no more will come. Its text could quote the question.
        log.error("turn_failed", turn=turn.pk, error=type(error).__name__)
        await _end(draft, state=Turn.State.FAILED, error_code=Interrupted.code)
    finally:
        await _cancel(watcher)
        with suppress(RedisError):  # it expires by itself
            await stream.end(turn.pk)
        log.info(
            "turn_ended",
            turn=turn.pk,
            chars=len(draft.text),
            ms=round((time.perf_counter() - started) * 1000),
        )


async def _write(turn: Turn, draft: _Draft) -> None:
    """Send each event on, keeping the text about once a second."""
    saved_at = time.monotonic()
    events = answer(
        question=turn.question,
        tenant=turn.conversation.tenant,
        language=turn.language,
        provider=provider_of(turn.provider),
    )
    async with aclosing(events):
        async for event in events:
            kept = True
            match event:
                case Sources():
                    draft.sources = event.sources
                    kept = await in_thread(keep_sources)(turn_id=turn.pk, event=event)
                case Delta():
                    draft.text += event.text
                    if time.monotonic() - saved_at >= SAVE_EVERY_S:
                        saved_at = time.monotonic()
                        kept = await in_thread(keep_text)(turn_id=turn.pk, text=draft.text)
                case Done():
                    kept = await in_thread(end_turn)(
                        turn_id=turn.pk, state=Turn.State.DONE, text=draft.text, timings_ms=event.timings_ms
                    )
                case Failed():
                    kept = await in_thread(end_turn)(
                        turn_id=turn.pk, state=Turn.State.FAILED, text=draft.text, error_code=event.code
                    )
            if not kept:
                raise _Ended
            await stream.append(turn.pk, event)


async def _end(draft: _Draft, *, state: Turn.State, error_code: str = "") -> None:
    """End the turn with what there is, and tell its readers, unless it has ended already."""
    if await in_thread(end_turn)(turn_id=draft.turn_id, state=state, text=draft.text, error_code=error_code):
        event = await in_thread(last_event)(turn_id=draft.turn_id)
        if event is not None:
            with suppress(
                RedisError
            ):  # the database has said it; readers look there where the stream is silent
                await stream.append(draft.turn_id, event)


async def _beat_until_stopped(turn_id: int) -> None:
    """Keep the heartbeat; returns when somebody asks to stop."""
    while True:
        try:
            await stream.beat(turn_id)
            if await stream.wait_for_stop(turn_id, wait_s=stream.BEAT_S):
                return
        except RedisError:
            await asyncio.sleep(stream.BEAT_S)  # the writer finds out by itself whether it can go on


async def _cancel(task: "asyncio.Task[None]") -> None:
    """Cancel a task and wait until it has cleaned up."""
    task.cancel()
    await asyncio.wait({task})
