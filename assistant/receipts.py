"""What an answer was made from, as facts without any document's text."""

from dataclasses import asdict, dataclass
from typing import Any

from knowledge.retrieval.passages import Passage, Retrieval

_KEPT = (
    "rank",
    "chunk_id",
    "document_id",
    "version_id",
    "version_number",
    "scope_key",
    "start",
    "end",
    "score",
    "keyword",
    "keyword_rank",
    "vector",
    "vector_rank",
    "rerank",
)


@dataclass(frozen=True)
class ReceiptFacts:
    """The fields of models.Receipt. timings_ms are milliseconds."""

    index_versions: dict[str, int]
    passages: list[dict[str, Any]]
    supported: bool
    support: float
    provider: str
    model: str
    prompt_hash: str
    timings_ms: dict[str, float]
    warnings: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def receipt_of(*, retrieval: Retrieval, provider: str, model: str, prompt_hash: str) -> ReceiptFacts:
    """The facts of a retrieval and of who was asked with it; passages are numbered from 1 in their order."""
    return ReceiptFacts(
        index_versions=dict(retrieval.index_versions),
        passages=[
            {"number": number} | _facts(passage) for number, passage in enumerate(retrieval.passages, start=1)
        ],
        supported=retrieval.supported,
        support=retrieval.support,
        provider=provider,
        model=model,
        prompt_hash=prompt_hash,
        timings_ms=dict(retrieval.timings_ms),
        warnings=list(retrieval.warnings),
    )


def _facts(passage: Passage) -> dict[str, Any]:
    fields = passage._asdict()
    return {name: fields[name] for name in _KEPT}
