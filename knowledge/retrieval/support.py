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
    """The support for an answer in [0, 1]; `coverage` has a value per passage, `language` is the query's.

    Passages that can share words with the question are judged by both signs, the others by nearness.
    """
    sharing = [
        (passage.vector or 0.0, covered)
        for passage, covered in zip(passages, coverage, strict=True)
        if passage.language == language or covered
    ]
    others = [
        passage.vector or 0.0
        for passage, covered in zip(passages, coverage, strict=True)
        if passage.language != language and not covered
    ]
    evidence = []
    if sharing:
        cosine = max(cosine for cosine, _ in sharing)
        covered = max(covered for _, covered in sharing)
        evidence.append(COSINE * cosine + COVERAGE * covered + SAME_LANGUAGE)
    if others:
        evidence.append(CROSS_COSINE * max(others) + CROSS_LANGUAGE)
    return 1 / (1 + exp(-max(evidence))) if evidence else 0.0
