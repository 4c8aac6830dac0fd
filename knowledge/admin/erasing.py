"""What goes with a document that is erased for good, counted before anybody confirms it."""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from django.db.models import Sum

from knowledge.models import Document, DocumentVersion, IndexVersion, Segment


class Loss(NamedTuple):
    """Counts of what disappears; `pruned` has the index versions that held it, "1–4, 7" or empty.

    `files` counts stored files that no other document has.
    """

    versions: int
    passages: int
    files: int
    jobs: int
    pruned: str
    pruned_count: int


def loss_of(document: Document) -> Loss:
    """What erasing the document takes away; nothing is changed."""
    segments = Segment.objects.filter(version__document=document)
    hashes = set(document.versions.values_list("content_hash", flat=True))
    shared = DocumentVersion.objects.filter(content_hash__in=hashes).exclude(document=document)
    numbers = sorted(_numbers_that_hold(document))
    return Loss(
        versions=document.versions.count(),
        passages=segments.aggregate(sum=Sum("chunk_count"))["sum"] or 0,
        files=len(hashes - set(shared.values_list("content_hash", flat=True))),
        jobs=document.jobs.count(),
        pruned=as_ranges(numbers),
        pruned_count=len(numbers),
    )


def is_named(document: Document, typed: str) -> bool:
    """Whether somebody typed the document's source key, however their keyboard composes its letters."""
    return _composed(typed) == _composed(document.source_key)


def as_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers for reading: [1, 2, 3, 7] as "1–3, 7"."""
    runs = []
    for _offset, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _place, number in run]
        runs.append(f"{members[0]}–{members[-1]}" if len(members) > 1 else f"{members[0]}")
    return ", ".join(runs)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def _numbers_that_hold(document: Document) -> set[int]:
    numbers: set[int] = set()
    for span in document.spans.all():
        held: Iterable[int] = (
            IndexVersion.objects.filter(build=span.build_id, number__gte=span.entered)
            .exclude(number__gte=span.departed or 2**31 - 1)
            .values_list("number", flat=True)
        )
        numbers.update(held)
    return numbers
