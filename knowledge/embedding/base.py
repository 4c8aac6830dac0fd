"""What an embedder is, and how one is found by its name."""

import logging
from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np
from django.conf import settings
from django.utils.module_loading import import_string
from numpy.typing import NDArray

from knowledge.errors import UnknownEmbedder

logger = logging.getLogger(__name__)


class Embedder(Protocol):
    """Turns texts into unit vectors. Implementations are safe to call from several threads."""

    name: str
    dimension: int
    tokenizer_version: str
    """Changes whenever token counts, and so the cuts between chunks, could change."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit-length row per text, shape (len(texts), dimension), in the order given.

        A text's vector does not depend on its neighbours. Empty input gives shape (0, dimension).
        """
        ...

    def count_tokens(self, text: str) -> int:
        """The number of tokens of a text; additive over words separated by white space."""
        ...


@cache
def embedder_named(name: str) -> Embedder:
    """The embedder that settings.KNOWLEDGE_EMBEDDERS has under this name, loaded once per process.

    Raises UnknownEmbedder for a name that is not there: never another model instead.
    """
    known: dict[str, str] = settings.KNOWLEDGE_EMBEDDERS
    if name not in known:
        raise UnknownEmbedder(name=name, known=", ".join(sorted(known)))
    embedder: Embedder = import_string(known[name])()
    return embedder


def warm_up() -> None:
    """Load the embedder that settings ask for, so that the first question needn't wait for it."""
    name = str(settings.KNOWLEDGE_INDEX["embedding_model"])
    try:
        embedder_named(name).embed([name])
    except UnknownEmbedder as error:
        # Whoever needs it gets the same error, with what to do; pages that don't are served.
        logger.error("embedder_unknown %s", error)
