"""Finding a provider by its kind, as named in settings.AI_PROVIDERS."""

from django.conf import settings
from django.utils.module_loading import import_string

from assistant.errors import UnknownProvider
from assistant.providers.base import Provider


def provider_of(kind: str) -> Provider:
    """A provider of that kind; raises UnknownProvider, never answers with another one instead."""
    path = settings.AI_PROVIDERS.get(kind)
    if path is None:
        raise UnknownProvider(kind=kind, known=", ".join(sorted(settings.AI_PROVIDERS)))
    provider: Provider = import_string(path)()
    return provider
