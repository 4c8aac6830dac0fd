"""BM25 over what a query sees.

Score of a chunk: the sum over terms of weight * idf * tf / (tf + k1 * (1 - b + b * length / average)), with
idf = ln(1 + (N - df + 0.5) / (df + 0.5)): the variant of Lucene, see Kamphuis et al., "Which BM25 do you
mean?" (ECIR 2020). N, df and the average length are those of everything the asker may see, before filters.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knowledge.retrieval.query import candidate_terms, weigh, words_of
from knowledge.retrieval.reading import Postings, read_postings
from knowledge.retrieval.view import ScopeView

K1 = 1.5
B = 0.75


class KeywordScores(NamedTuple):
    """BM25 of every chunk of the views, one after another, shape (chunks,).

    `known_share` is the share of the query's words that the index knows; `coverage` the share, by idf, of
    what the query asks for that a chunk has, in [0, 1].
    """

    scores: NDArray[np.float64]
    coverage: NDArray[np.float64]
    known_share: float


def score_keywords(query: str, views: Sequence[ScopeView], *, language: str) -> KeywordScores:
    words = words_of(query, language=language)
    candidates = sorted(candidate_terms(words))
    offsets = np.cumsum([0, *(len(view.numbers) for view in views)])
    scores = np.zeros(int(offsets[-1]))
    covered = np.zeros(int(offsets[-1]))
    found: dict[str, list[Postings]] = {}
    for view, offset in zip(views, offsets, strict=False):
        for term, postings in read_postings(view, candidates).items():
            found.setdefault(term, []).append(Postings(postings.places + offset, postings.frequencies))
    frequency = {term: sum(len(postings.places) for postings in lists) for term, lists in found.items()}
    weighed = weigh(words, lambda term: frequency.get(term, 0))

    lengths = np.concatenate([view.lengths for view in views]) if views else np.empty(0)
    live = np.concatenate([view.live for view in views]) if views else np.empty(0, dtype=bool)
    chunk_count = int(live.sum())
    average = float(lengths[live].mean()) if chunk_count else 1.0
    # Terms in one order, so that sums come out the same to the last bit whatever the layout of postings.
    for term in sorted(weighed.weights):
        df = frequency[term]
        idf = np.log1p((chunk_count - df + 0.5) / (df + 0.5))
        for postings in found[term]:
            tf = postings.frequencies.astype(np.float64)
            norm = K1 * (1 - B + B * lengths[postings.places] / average)
            scores[postings.places] += weighed.weights[term] * idf * tf / (tf + norm)
            covered[postings.places] += weighed.weights[term] * idf
    unknown_idf = np.log1p((chunk_count + 0.5) / 0.5)
    asked = sum(
        weighed.weights[term]
        * float(np.log1p((chunk_count - frequency[term] + 0.5) / (frequency[term] + 0.5)))
        for term in weighed.weights
    )
    plain = [word for word in words if not word.joined]
    unknown = round((1 - weighed.known_share) * len(plain))
    total = asked + unknown * float(unknown_idf)
    return KeywordScores(scores, covered / total if total else covered, weighed.known_share)
