"""How tests talk to a running server: logged in over HTTP, and over the socket."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
from websockets import Origin
from websockets.sync.client import ClientConnection, connect

from tests.conftest import PASSWORD


def log_in(site: str, username: str) -> httpx.Client:
    """A client with the session of that user."""
    client = httpx.Client(base_url=site, follow_redirects=True, timeout=30)
    client.get("/login/")
    answer = post(client, "/login/", username=username, password=PASSWORD)
    assert answer.url.path == "/", answer.text
    return client


def post(client: httpx.Client, path: str, **fields: str) -> httpx.Response:
    return client.post(
        path,
        data={**fields, "csrfmiddlewaretoken": client.cookies["csrftoken"]},
        headers={"Referer": f"{client.base_url}"},
    )


class Talk:
    """A socket that speaks JSON."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def send(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def next(self, *, seconds: float = 30) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.socket.recv(timeout=seconds))
        return message

    def until(self, kind: str) -> list[dict[str, Any]]:
        """The messages up to and with the first of that type."""
        messages = [self.next()]
        while messages[-1]["type"] != kind:
            messages.append(self.next())
        return messages

    def ask(self, question: str, **fields: Any) -> int:
        """The id of the turn."""
        self.send(type="ask", question=question, **fields)
        asked = self.next()
        assert asked["type"] == "asked", asked
        return int(asked["turn"])


@contextmanager
def talk(site: str, client: httpx.Client | None, *, origin: str | None = None) -> Iterator[Talk]:
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items()) if client else ""
    address = f"ws://{urlsplit(site).netloc}/ws/assistant/?language=de"
    headers = {"Cookie": cookies} if cookies else {}
    with connect(address, origin=Origin(origin or site), additional_headers=headers) as socket:
        yield Talk(socket)


def text_of(messages: list[dict[str, Any]]) -> str:
    return "".join(message["text"] for message in messages if message["type"] == "delta")
