"""The socket of the chat page. It only speaks; what happens is in `producing` and `following`.

In: `ask {question, conversation?}`, `follow {turn, after?}`, `stop {turn}`.
Out: `asked {turn, number, conversation, url}`, the events of assistant.events with `turn` and `id`,
`error {code, text}`. Close codes: 4401 not logged in, 4403 foreign origin, 4404 not yours or not there.
"""

import asyncio
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs, urlsplit

import structlog
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import get_supported_language_variant, override
from redis.exceptions import RedisError

from accounts.membership import current_membership
from accounts.models import Tenant, User
from assistant.conversations import find_turn
from assistant.errors import AssistantError, NotFound, UnknownMessage
from assistant.following import follow, stop
from assistant.producing import ask
from assistant.stream import BEGINNING
from assistant.threads import in_thread

NOT_LOGGED_IN, FOREIGN_ORIGIN, NOT_FOUND, INTERNAL = 4401, 4403, 4404, 1011
MOST_FOLLOWED = 20

log = structlog.get_logger(__name__)


class AssistantConsumer(AsyncJsonWebsocketConsumer):
    user: User | None = None
    tenant: Tenant | None
    language: str

    async def connect(self) -> None:
        self.following: dict[int, asyncio.Task[None]] = {}
        if not comes_from_our_pages(self.scope):
            await self.close(FOREIGN_ORIGIN)
            return
        await self.accept()
        user = self.scope["user"]
        if user is None or not user.is_authenticated:
            await self.close(NOT_LOGGED_IN)
            return
        self.user = await in_thread(User.objects.get)(pk=user.pk)
        self.language = _language_of(self.scope)
        membership = await in_thread(current_membership)(user=self.user, session=self.scope["session"])
        self.tenant = membership.tenant if membership else None

    async def disconnect(self, code: int) -> None:
        for task in self.following.values():
            task.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **_: Any) -> None:
        if self.user is None:
            return  # sent before the page learnt that the socket is being closed
        if not await in_thread(is_still_logged_in)(self.user, session_key=self.scope["session"].session_key):
            await self.close(NOT_LOGGED_IN)
            return
        try:
            content = await self.decode_json(text_data or "")
            match content:
                case {"type": "ask", "question": str(question)}:
                    await self._ask(
                        self.user, question, conversation_id=_id_or_none(content.get("conversation"))
                    )
                case {"type": "follow", "turn": turn_id}:
                    await self._follow(self.user, _id(turn_id), after=_event_id(content.get("after")))
                case {"type": "stop", "turn": turn_id}:
                    await self._stop(self.user, _id(turn_id))
                case _:
                    raise UnknownMessage
        except (ValueError, RecursionError):  # the latter for JSON that is nested without end
            await self._say_error(UnknownMessage())
        except NotFound:
            await self.close(NOT_FOUND)
        except AssistantError as error:
            await self._say_error(error)
        except RedisError as error:
            log.warning("socket_failed", error=type(error).__name__)
            await self.close(INTERNAL)

    async def _ask(self, user: User, question: str, *, conversation_id: int | None) -> None:
        turn = await ask(
            user=user,
            tenant=self.tenant,
            question=question,
            language=self.language,
            conversation_id=conversation_id,
        )
        await self.send_json(
            {
                "type": "asked",
                "turn": turn.pk,
                "number": turn.number,
                "question": turn.question,
                "conversation": turn.conversation_id,
                "url": reverse("conversation", args=[turn.conversation_id]),
            }
        )
        self._begin_to_follow(turn.pk, after=BEGINNING)

    async def _follow(self, user: User, turn_id: int, *, after: str) -> None:
        await in_thread(find_turn)(user=user, turn_id=turn_id)
        self._begin_to_follow(turn_id, after=after)

    async def _stop(self, user: User, turn_id: int) -> None:
        await in_thread(find_turn)(user=user, turn_id=turn_id)
        await stop(turn_id=turn_id)

    def _begin_to_follow(self, turn_id: int, *, after: str) -> None:
        """Forward the turn's events; following it anew begins where that says."""
        earlier = self.following.pop(turn_id, None)
        if earlier is not None:
            earlier.cancel()
        while len(self.following) >= MOST_FOLLOWED:
            self.following.pop(next(iter(self.following))).cancel()
        self.following[turn_id] = asyncio.create_task(self._forward(turn_id, after=after))

    async def _forward(self, turn_id: int, *, after: str) -> None:
        try:
            async for recorded in follow(turn_id=turn_id, after=after):
                await self.send_json(recorded.event | {"turn": turn_id, "id": recorded.id})
        except RedisError as error:
            # The page comes back and goes on where it was.
            log.warning("following_failed", turn=turn_id, error=type(error).__name__)
            await self.close(INTERNAL)

    async def _say_error(self, error: AssistantError) -> None:
        with override(self.language):
            await self.send_json({"type": "error", "code": error.code, "text": str(error)})


def is_still_logged_in(user: User, *, session_key: str | None) -> bool:
    """Whether a session is still that person's: not ended by logging out, a new password or so."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    return get_user(request).pk == user.pk


def comes_from_our_pages(scope: Mapping[str, Any]) -> bool:
    """Whether the page that opened the socket is of this host and port, or of a trusted origin.

    Cookies are sent to every port of a host, so the host alone does not say whose page it is.
    """
    headers = dict(scope["headers"])
    origin = headers.get(b"origin", b"").decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    return bool(origin) and (urlsplit(origin).netloc == host or origin in settings.CSRF_TRUSTED_ORIGINS)


def _language_of(scope: Mapping[str, Any]) -> str:
    """The language of the page that opened the socket (`?language=`), else the default."""
    asked = parse_qs(scope["query_string"].decode("latin-1")).get("language", [""])[0]
    try:
        return get_supported_language_variant(asked)
    except LookupError:
        return settings.LANGUAGE_CODE


def _id(value: Any) -> int:
    """A positive bigint, else ValueError."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**63:
        raise ValueError("no id")
    return value


def _event_id(value: Any) -> str:
    """The id of an event, the beginning for none, else ValueError."""
    if value is None:
        return BEGINNING
    if not isinstance(value, str) or not re.fullmatch(r"\d{1,18}-\d{1,18}", value):
        raise ValueError("no event id")
    return value


def _id_or_none(value: Any) -> int | None:
    return None if value is None else _id(value)
