"""Vectors kept by model and text, so that no text is embedded twice."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from knowledge.embedding.base import Embedder
from knowledge.errors import EmbeddingUnusable
from knowledge.index.vectors import half_vector, vector_cursor

BATCH = 32


def kept_vectors(*, model: str, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float16]]:
    """The vectors there are, by the hash of their text."""
    with vector_cursor() as cursor:
        cursor.execute(
            "SELECT text_hash, vector FROM knowledge_cachedembedding"
            " WHERE model = %s AND text_hash = ANY(%s)",
            [model, list(hashes)],
        )
        return {
            bytes(text_hash): vector.to_numpy().astype(np.float16) for text_hash, vector in cursor.fetchall()
        }


def embed_cached(
    *,
    embedder: Embedder,
    texts: Sequence[str],
    hashes: Sequence[bytes],
    on_progress: Callable[[int], None],
    keep_new: bool = True,
) -> NDArray[np.float16]:
    """One row per text, shape (len(texts), dimension), rounded to half precision as they are stored.

    Only texts without a kept vector are embedded; each batch is kept at once, so a retry goes on from there
    (unless `keep_new` is false). `on_progress` gets the number of texts done so far. Raises
    EmbeddingUnusable naming the first bad text.
    """
    kept = kept_vectors(model=embedder.name, hashes=hashes)
    first = {text_hash: index for index, text_hash in reversed(list(enumerate(hashes)))}
    missing = sorted(index for text_hash, index in first.items() if text_hash not in kept)
    done = len(texts) - len(missing)
    on_progress(done)
    for begin in range(0, len(missing), BATCH):
        batch = missing[begin : begin + BATCH]
        vectors = embedder.embed([texts[index] for index in batch])
        require_usable(vectors, dimension=embedder.dimension, ordinals=batch)
        halves = vectors.astype(np.float16)
        fresh = {hashes[index]: half for index, half in zip(batch, halves, strict=True)}
        if keep_new:
            keep(model=embedder.name, fresh=fresh)
        kept |= fresh
        done += len(batch)
        on_progress(done)
    return np.stack([kept[text_hash] for text_hash in hashes])


def require_usable(vectors: NDArray[np.float32], *, dimension: int, ordinals: Sequence[int]) -> None:
    """Raise EmbeddingUnusable for a wrong shape, or naming the first row that isn't a finite unit vector."""
    if vectors.shape != (len(ordinals), dimension):
        raise EmbeddingUnusable(ordinal=ordinals[0] + 1)
    norms = np.linalg.norm(vectors, axis=1)
    unusable = np.flatnonzero(~np.isfinite(norms) | (np.abs(norms - 1) > 1e-2))
    if unusable.size:
        raise EmbeddingUnusable(ordinal=ordinals[int(unusable[0])] + 1)


def keep(*, model: str, fresh: dict[bytes, NDArray[np.float16]]) -> None:
    with vector_cursor() as cursor:
        cursor.executemany(
            "INSERT INTO knowledge_cachedembedding (model, text_hash, vector) VALUES (%s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            [(model, text_hash, half_vector(vector)) for text_hash, vector in fresh.items()],
        )
