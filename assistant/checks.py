"""Checks at start-up: a provider that does not exist is found before anybody asks."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from assistant.errors import UnknownProvider
from assistant.providers.registry import provider_of


def check_providers(**_: Any) -> list[CheckMessage]:
    """E001: a dotted path leads nowhere. E002: AI_DEFAULT_PROVIDER is of no known kind."""
    problems: list[CheckMessage] = []
    for kind, path in settings.AI_PROVIDERS.items():
        try:
            provider_of(kind)
        except ImportError as error:
            problems.append(Error(f"AI_PROVIDERS[{kind!r}] = {path!r}: {error}", id="assistant.E001"))
    try:
        if settings.AI_DEFAULT_PROVIDER not in settings.AI_PROVIDERS:
            provider_of(settings.AI_DEFAULT_PROVIDER)
    except UnknownProvider as error:
        problems.append(
            Error(str(error), hint="Set AI_DEFAULT_PROVIDER to one of the known kinds.", id="assistant.E002")
        )
    return problems
