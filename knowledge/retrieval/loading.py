"""From scored chunk numbers to passages."""

from knowledge.models import Chunk
from knowledge.retrieval.passages import Passage


def load_passages(
    fused: dict[int, float], keyword: dict[int, float], vector: dict[int, float], *, top_k: int
) -> tuple[Passage, ...]:
    """The top_k passages; equal scores are ordered by chunk id, which is the same on every machine."""
    ranked = sorted(fused.items(), key=lambda item: -item[1])
    if len(ranked) > top_k:
        ranked = [item for item in ranked if item[1] >= ranked[top_k - 1][1]]
    chunks = {
        chunk.number: chunk
        for chunk in Chunk.objects.filter(number__in=[number for number, _ in ranked]).select_related(
            "segment__version__document__scope"
        )
    }
    ranked.sort(key=lambda item: (-item[1], chunks[item[0]].chunk_id))
    keyword_ranks, vector_ranks = _ranks(keyword), _ranks(vector)
    passages = []
    for rank, (number, score) in enumerate(ranked[:top_k], start=1):
        chunk = chunks[number]
        version = chunk.segment.version
        document = version.document
        passages.append(
            Passage(
                rank=rank,
                chunk_id=chunk.chunk_id,
                chunk_number=number,
                document_id=document.pk,
                version_id=version.pk,
                version_number=version.number,
                scope_key=document.scope.key,
                source_key=document.source_key,
                title=document.title,
                heading_path=tuple(chunk.heading_path),
                text=chunk.text,
                start=chunk.start,
                end=chunk.end,
                page=chunk.page,
                language=chunk.language,
                source_type=chunk.source_type,
                metadata=chunk.metadata,
                score=score,
                keyword=keyword.get(number, 0.0),
                keyword_rank=keyword_ranks.get(number),
                vector=vector.get(number),
                vector_rank=vector_ranks.get(number),
                rerank=None,
            )
        )
    return tuple(passages)


def _ranks(scores: dict[int, float]) -> dict[int, int]:
    """Ranks from 1; equal scores share the best of their ranks, and a score of 0 has none."""
    ranks: dict[int, int] = {}
    last, rank = None, 0
    for place, (number, score) in enumerate(sorted(scores.items(), key=lambda item: -item[1]), start=1):
        if score != last:
            last, rank = score, place
        if score != 0:
            ranks[number] = rank
    return ranks
