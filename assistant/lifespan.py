"""The server's coming and going: answers that are being written end with a word when it is asked to go."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from assistant.producing import interrupt_all

Message = dict[str, Any]


async def lifespan(
    scope: Mapping[str, Any],
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """The ASGI application for the protocol `lifespan`."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await interrupt_all()
            await send({"type": "lifespan.shutdown.complete"})
            return
