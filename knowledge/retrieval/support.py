"""Whether the base has an answer at all.

No list of words decides it, but how near the nearest passage is (cosine) and how much of the question, by the
weight of its words, one passage has (coverage). Where question and passage are in different languages they
share no words, and nearness alone decides.

The coefficients were fitted by logistic regression on sample/answerable.yaml and sample/unanswerable.yaml;
`bench/support.py` fits them again and measures them on other questions. They belong to scoring_version.
"""

from collections.abc import Sequence
from math import exp

from knowledge.retrieval.passages import Passage

THRESHOLD = 0.5

COSINE, COVERAGE, SAME_LANGUAGE = 7.85, 13.6, -7.6
CROSS_COSINE, CROSS_LANGUAGE = 30.0, -8.4


def support_of(passages: Sequence[Passage], *, coverage: Sequence[float], language: str) -> float:
    """The support for an answer in [0, 1]; `coverage` has a value per passage, `language` is the query's."""
    if not passages:
        return 0.0
    nearest = max(passages, key=lambda passage: passage.vector or 0.0)
    cosine = nearest.vector or 0.0
    if nearest.language == language:
        evidence = COSINE * cosine + COVERAGE * max(coverage) + SAME_LANGUAGE
    else:
        evidence = CROSS_COSINE * cosine + CROSS_LANGUAGE
    return 1 / (1 + exp(-evidence))
