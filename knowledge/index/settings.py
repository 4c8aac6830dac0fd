"""The settings an index is built with, and whether the live ones are those desired."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from django.conf import settings

from knowledge.analysis import ANALYSER_VERSION
from knowledge.embedding.base import embedder_named
from knowledge.errors import UnknownSetting
from knowledge.ingest.chunking import CHUNKER_VERSION

SCORING_VERSION = "1"
VECTOR_BACKENDS = ("exact",)


@dataclass(frozen=True)
class IndexSettings:
    """Two indexes with equal settings and equal documents are the same, on any machine."""

    embedding_model: str
    embedding_dimension: int
    chunk_size: int
    chunk_overlap: int
    scoring_version: str
    index_format: str
    vector_backend: str

    @classmethod
    def desired(cls) -> Self:
        """What Django's settings ask for; raises UnknownEmbedder or UnknownSetting."""
        wanted: dict[str, Any] = settings.KNOWLEDGE_INDEX
        embedder = embedder_named(wanted["embedding_model"])
        if wanted["vector_backend"] not in VECTOR_BACKENDS:
            raise UnknownSetting(
                name="vector_backend", value=wanted["vector_backend"], known=", ".join(VECTOR_BACKENDS)
            )
        return cls(
            embedding_model=embedder.name,
            embedding_dimension=embedder.dimension,
            chunk_size=wanted["chunk_size"],
            chunk_overlap=wanted["chunk_overlap"],
            scoring_version=SCORING_VERSION,
            index_format=(
                f"1 chunker={CHUNKER_VERSION} analyser={ANALYSER_VERSION}"
                f" tokenizer={embedder.tokenizer_version}"
            ),
            vector_backend=wanted["vector_backend"],
        )

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Self:
        """The settings as an IndexBuild stores them."""
        return cls(**stored)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hex."""
        return hashlib.sha256(canonical_json(self.as_dict())).hexdigest()

    def differing_from(self, other: "IndexSettings") -> tuple[str, ...]:
        """The names of the settings that are not the same."""
        mine, theirs = self.as_dict(), other.as_dict()
        return tuple(name for name in mine if mine[name] != theirs[name])


def canonical_json(value: Any) -> bytes:
    """One spelling for equal values: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
