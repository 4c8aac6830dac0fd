"""What a search returns."""

from typing import Any, NamedTuple


class Passage(NamedTuple):
    """A quotable stretch of an active version, with its scores.

    `text` is [start, end) of the version's extracted text. `keyword` is its BM25 score (0 if no query term
    occurs), `vector` its cosine in [-1, 1] (None if the query was not embedded), `rerank` the score of a
    cross-encoder (None without one), `score` what it was ranked by, in [0, 1]. Ranks count from 1 and are
    None outside the candidates of that signal. `page` counts from 1, or is None for formats without pages.
    """

    rank: int
    chunk_id: str
    chunk_number: int
    document_id: int
    version_id: int
    version_number: int
    scope_key: str
    source_key: str
    title: str
    heading_path: tuple[str, ...]
    text: str
    start: int
    end: int
    page: int | None
    language: str
    source_type: str
    metadata: dict[str, Any]
    score: float
    keyword: float
    keyword_rank: int | None
    vector: float | None
    vector_rank: int | None
    rerank: float | None

    @property
    def heading(self) -> str:
        return " › ".join(self.heading_path)


class Retrieval(NamedTuple):
    """The passages found for a query, best first, and what they were found in.

    `supported` says whether the best passage clears the support threshold; `support` is the value it was
    decided on, in [0, 1], and `coverage`, part of it, the largest share of the question that a passage has.
    `index_versions` maps each scope's key to the number that was searched. `timings_ms` has
    the stages view, embed, keyword, vector, fuse, load and total. `warnings` holds codes.
    """

    query: str
    passages: tuple[Passage, ...]
    supported: bool
    support: float
    coverage: float
    index_versions: dict[str, int]
    timings_ms: dict[str, float]
    warnings: tuple[str, ...] = ()
