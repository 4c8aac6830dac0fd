"""Two signals into one score: a convex combination of scaled scores, in which a gate weighs the keywords.

Scaling runs from the score of the POOL-th best (0) to that of the best (1), and the pool has one size
however many passages are asked for, so a score does not depend on how many are. See Bruch et al., "An
Analysis of Fusion Functions for Hybrid Retrieval" (TOIS 2023) for convex combination against ranks.

The gate is the square of the share of the query's words that the index knows: a query in another language,
whose few known words say little, leaves the lead to the vectors.
"""

from collections.abc import Collection, Iterable

POOL = 100
KEYWORD_WEIGHT = 0.6
FOREIGN_DISCOUNT = 0.8


def scale(scores: dict[int, float], *, pool: Iterable[float]) -> dict[int, float]:
    """Scores scaled to [0, 1] by the best and the last of the pool; all 1 where these are equal."""
    ordered = sorted(pool, reverse=True)[:POOL]
    if not ordered:
        return dict.fromkeys(scores, 0.0)
    best, last = ordered[0], ordered[-1]
    if best == last:
        return {key: float(score >= best) for key, score in scores.items()}
    return {key: min(1.0, max(0.0, (score - last) / (best - last))) for key, score in scores.items()}


def fuse(
    keyword: dict[int, float],
    vector: dict[int, float],
    *,
    keyword_weight: float,
    foreign: Collection[int] = (),
) -> dict[int, float]:
    """The convex combination of scaled scores; a chunk that one signal lacks counts 0 there.

    A chunk of `foreign` can't share words with the query, being in another language. That it has none says
    nothing about it, so its vector counts alone, at a discount.
    """
    return {
        key: FOREIGN_DISCOUNT * vector.get(key, 0.0)
        if key in foreign and keyword_weight
        else keyword_weight * keyword.get(key, 0.0) + (1 - keyword_weight) * vector.get(key, 0.0)
        for key in keyword.keys() | vector.keys()
    }
