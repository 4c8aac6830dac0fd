"""Merging the postings of segments into blocks, so that reading stays fast. No result depends on it."""

import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from django.db import connection, transaction
from django.db.models import QuerySet
from numpy.typing import NDArray

from knowledge.index.postings import FREQUENCY, INT, InvertedSegment
from knowledge.models import Chunk, IndexBuild, Posting, PostingBlock, Scope, Segment
from knowledge.writer import require_fence

logger = logging.getLogger(__name__)

MOST_LOOSE_SEGMENTS = 64
# A block is merged along with those that came after it once these have grown to a part of its size; so
# each posting is rewritten a logarithmic number of times.
_GROWTH = 2


class _Rows(NamedTuple):
    """Postings one after another: all arrays have one item per posting."""

    terms: NDArray[np.int64]
    ordinals: NDArray[np.int32]
    frequencies: NDArray[np.uint8]


def merge_where_due(*, fence: int) -> None:
    """Merge in every live build that has gathered many loose segments."""
    for scope in Scope.objects.exclude(live=None).select_related("live__build"):
        assert scope.live is not None
        loose = _loose_segments(scope.live.build).count()
        if loose > MOST_LOOSE_SEGMENTS:
            merge_build(scope.live.build, fence=fence)


def merge_build(build: IndexBuild, *, fence: int) -> None:
    """Merge the build's loose segments, and the blocks they have outgrown, into one block.

    Segments that have left the index are dropped from it; their own postings stay with them.
    """
    with transaction.atomic():
        require_fence(fence)
        loose = list(_loose_segments(build).values_list("pk", "chunk_count"))
        size = sum(chunk_count for _, chunk_count in loose)
        outgrown: list[PostingBlock] = []
        for block in build.blocks.order_by("chunk_count"):
            if block.chunk_count > size * _GROWTH:
                break
            outgrown.append(block)
            size += block.chunk_count
        if not loose:
            return
        kept = list(
            Segment.objects.filter(block__in=outgrown)
            .exclude(spans__isnull=False, spans__departed__isnull=False)
            .values_list("pk", flat=True)
        )
        write_block(build, segment_ids=[pk for pk, _ in loose] + kept)
        # Segments that were in an outgrown block and have left are loose again (SET NULL).
        PostingBlock.objects.filter(pk__in=[block.pk for block in outgrown]).delete()
    logger.info("postings_merged build=%s segments=%s blocks=%s", build.pk, len(loose), len(outgrown))


def rewrite_blocks_without(build: IndexBuild, *, segment_ids: Sequence[int]) -> None:
    """Write the blocks that hold these segments anew without them, so that no term of theirs is left."""
    for block in build.blocks.filter(members__in=segment_ids).distinct():
        staying = list(block.members.exclude(pk__in=segment_ids).values_list("pk", flat=True))
        if staying:
            write_block(build, segment_ids=staying)
        block.delete()


def _loose_segments(build: IndexBuild) -> QuerySet[Segment]:
    return Segment.objects.filter(build=build, block=None).exclude(spans__departed__isnull=False)


def write_block(build: IndexBuild, *, segment_ids: Sequence[int]) -> None:
    numbers, owners = [], []
    for number, segment_id in (
        Chunk.objects.filter(segment_id__in=segment_ids)
        .order_by("segment_id", "ordinal")
        .values_list("number", "segment_id")
        .iterator(chunk_size=10_000)
    ):
        numbers.append(number)
        owners.append(segment_id)
    terms: dict[str, int] = {}
    parts, lengths = [], []
    offset = 0
    for blob in (
        Segment.objects.filter(pk__in=segment_ids)
        .order_by("pk")
        .values_list("postings", flat=True)
        .iterator(chunk_size=200)
    ):
        inverted = InvertedSegment.decode(bytes(blob))
        parts.append(_rows(inverted, terms, offset))
        lengths.append(inverted.lengths)
        offset += len(inverted.lengths)
    block = PostingBlock.objects.create(
        build=build,
        chunk_count=len(numbers),
        chunk_numbers=np.array(numbers, dtype=INT).tobytes(),
        lengths=np.concatenate(lengths).astype(INT).tobytes(),
        segments=np.array(owners, dtype=INT).tobytes(),
    )
    _copy_postings(block.pk, terms, parts)
    Segment.objects.filter(pk__in=segment_ids).update(block=block)


def _rows(inverted: InvertedSegment, terms: dict[str, int], offset: int) -> _Rows:
    ids = np.fromiter(
        (terms.setdefault(term, len(terms)) for term in inverted.terms),
        dtype=np.int64,
        count=len(inverted.terms),
    )
    return _Rows(
        terms=np.repeat(ids, np.diff(inverted.starts)),
        ordinals=inverted.ordinals + INT.type(offset),
        frequencies=inverted.frequencies,
    )


def _copy_postings(block_id: int, terms: dict[str, int], parts: Sequence[_Rows]) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(
            f"COPY {Posting._meta.db_table} (block_id, term, ordinals, frequencies)"
            " FROM STDIN (FORMAT BINARY)"
        ) as copy,
    ):
        copy.set_types(["int8", "varchar", "bytea", "bytea"])
        for term, ordinals, frequencies in _by_term(terms, parts):
            copy.write_row((block_id, term, ordinals, frequencies))


def _by_term(terms: dict[str, int], parts: Sequence[_Rows]) -> Iterator[tuple[str, bytes, bytes]]:
    if not terms:
        return
    all_terms = np.concatenate([part.terms for part in parts])
    # Stable, so ordinals stay ascending within a term.
    order = np.argsort(all_terms, kind="stable")
    ordinals = np.concatenate([part.ordinals for part in parts])[order].astype(INT)
    frequencies = np.concatenate([part.frequencies for part in parts])[order].astype(FREQUENCY)
    bounds = np.searchsorted(all_terms[order], np.arange(len(terms) + 1))
    for term, number in terms.items():
        stretch = slice(bounds[number], bounds[number + 1])
        yield term, ordinals[stretch].tobytes(), frequencies[stretch].tobytes()
