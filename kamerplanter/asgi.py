"""The ASGI application: pages by Django, sockets by Channels."""

import os
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator, WebsocketDenier
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kamerplanter.settings")

pages = get_asgi_application()

from assistant.lifespan import lifespan  # noqa: E402
from assistant.routing import websocket_urlpatterns  # noqa: E402  (needs the apps that the line above loads)

# At any other address the handshake is refused, where Channels would raise.
elsewhere = re_path(r"", WebsocketDenier.as_asgi())  # type: ignore[arg-type]
routes: list[Any] = [*websocket_urlpatterns, elsewhere]

application = ProtocolTypeRouter(
    {
        "http": pages,
        "lifespan": lifespan,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(routes))),
    }
)
