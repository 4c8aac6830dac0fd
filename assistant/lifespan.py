"""The server's coming and going: answers that are being written end with a word when it is asked to go."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from assistant.producing import interrupt_all
from knowledge.embedding.base import warm_up

Message = dict[str, Any]


async def lifespan(
    scope: Mapping[str, Any],
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """The ASGI application for the protocol `lifespan`."""
    warming: asyncio.Task[None]
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            # The first question need not wait for the embedder to load, nor the first page.
            warming = asyncio.create_task(asyncio.to_thread(warm_up))
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await warming
            await interrupt_all()
            await send({"type": "lifespan.shutdown.complete"})
            return
