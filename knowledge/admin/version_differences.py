"""Two versions of a document beside each other: their texts, and the passages that came, went or stayed."""

from collections import defaultdict
from typing import Any, NamedTuple

from knowledge.admin.differences import compare_texts
from knowledge.models import Chunk, Document, DocumentVersion, ExtractedText, Segment

PASSAGES_SHOWN = 50
VIEWS = ("side", "unified")


class PassageDifference(NamedTuple):
    """Passages of both versions, as one build cut them. `stayed` has the old and the new chunk of each."""

    came: list[Chunk]
    went: list[Chunk]
    stayed: list[tuple[Chunk, Chunk]]


def differences_context(document: Document, *, wanted: dict[str, str]) -> dict[str, Any]:
    """What differences.html shows for the numbers `from` and `to`; the newest two where none are given.

    `problem` names what stands in the way: "single", "same", "unknown", or empty.
    """
    versions = list(document.versions.order_by("number"))
    by_number = {version.number: version for version in versions}
    after = _picked(by_number, wanted.get("to", ""), versions[-1])
    earlier = [version for version in versions if after is not None and version.number < after.number]
    before = _picked(by_number, wanted.get("from", ""), earlier[-1] if earlier else versions[0])
    view = wanted.get("view", "")
    context = {
        "document": document,
        "versions": versions,
        "before": before,
        "after": after,
        "view": view if view in VIEWS else VIEWS[0],
        "problem": "",
    }
    if len(versions) < 2:
        return {**context, "problem": "single"}
    if before is None or after is None:
        return {**context, "problem": "unknown"}
    if before == after:
        return {**context, "problem": "same"}
    texts = dict(ExtractedText.objects.filter(version__in=[before, after]).values_list("version_id", "text"))
    unread = [version.number for version in (before, after) if version.pk not in texts]
    return {
        **context,
        "unread": unread,
        "text": None if unread else compare_texts(texts[before.pk], texts[after.pk]),
        "passages": compare_passages(before, after),
        "passages_shown": PASSAGES_SHOWN,
    }


def compare_passages(before: DocumentVersion, after: DocumentVersion) -> PassageDifference | None:
    """Passages are the same if heading and text are; None where no build has cut both versions."""
    segments: dict[int, dict[int, Segment]] = defaultdict(dict)
    for segment in Segment.objects.filter(version__in=[before, after]).defer("postings"):
        segments[segment.build_id][segment.version_id] = segment
    live = before.document.scope.live
    whole = [build_id for build_id, cut in segments.items() if len(cut) == 2]
    if not whole:
        return None
    build_id = live.build_id if live is not None and live.build_id in whole else max(whole)
    old, new = (
        list(Chunk.objects.filter(segment=segments[build_id][version.pk]).order_by("ordinal"))
        for version in (before, after)
    )
    waiting: dict[tuple[Any, ...], list[Chunk]] = defaultdict(list)
    for chunk in reversed(old):
        waiting[_said(chunk)].append(chunk)
    came, stayed = [], []
    for chunk in new:
        if waiting[_said(chunk)]:
            stayed.append((waiting[_said(chunk)].pop(), chunk))
        else:
            came.append(chunk)
    kept = {earlier.pk for earlier, _later in stayed}
    return PassageDifference(came, [chunk for chunk in old if chunk.pk not in kept], stayed)


def _said(chunk: Chunk) -> tuple[Any, ...]:
    return (*chunk.heading_path, chunk.text)


def _picked(
    by_number: dict[int, DocumentVersion], text: str, otherwise: DocumentVersion
) -> DocumentVersion | None:
    """The version of the number typed, None if there is none such, or `otherwise` for an empty text."""
    if not text:
        return otherwise
    return by_number.get(int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else None
