"""The addresses of the assistant's sockets."""

from django.urls import path

from assistant.consumers import AssistantConsumer

websocket_urlpatterns = [path("ws/assistant/", AssistantConsumer.as_asgi())]  # type: ignore[arg-type]
