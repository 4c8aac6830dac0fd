"""Which chunks a search leaves out before it ranks any."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge.models import Chunk, Document, Scope
from knowledge.retrieval.view import ScopeView


def hidden_numbers(scopes: Sequence[Scope]) -> NDArray[np.int32]:
    """Chunks of documents that are withheld: archived or being erased, but still in an index version."""
    withheld = Document.objects.filter(scope__in=scopes).exclude(state=Document.State.LISTED)
    ids = list(withheld.values_list("pk", flat=True))
    if not ids:
        return np.empty(0, dtype=np.int32)
    numbers = Chunk.objects.filter(segment__version__document_id__in=ids).values_list("number", flat=True)
    return np.array(list(numbers), dtype=np.int32)


def allowed_numbers(
    views: Sequence[ScopeView],
    *,
    source_types: Sequence[str] | None,
    metadata: Mapping[str, Any] | None,
    language: str | None,
) -> NDArray[np.int32] | None:
    """The chunks that pass the filters, or None without any."""
    if source_types is None and not metadata and language is None:
        return None
    chunks = Chunk.objects.filter(segment__build_id__in=[view.build_id for view in views])
    if source_types is not None:
        chunks = chunks.filter(source_type__in=source_types)
    if metadata:
        chunks = chunks.filter(metadata__contains=dict(metadata))
    if language is not None:
        chunks = chunks.filter(language=language)
    return np.array(list(chunks.values_list("number", flat=True)), dtype=np.int32)
