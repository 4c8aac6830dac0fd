"""The history of an index, drawn as SVG on the server: numbers in order, and arcs where it went back."""

from itertools import pairwise
from typing import NamedTuple

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext

from knowledge.models import IndexVersion, IngestJob, Scope

SHOWN = 40
STEP = 44
MARGIN = 26
_LOWEST_ARC, _ARC_STEP, _HIGHEST_ARC = 26, 9, 84
_BELOW = 34
RADIUS = 7


class Node(NamedTuple):
    """An index version at (x, y) of the drawing; `kind` is "reindex", "back" or ""."""

    version: IndexVersion
    x: int
    kind: str
    is_live: bool
    is_current: bool
    title: str


class Line(NamedTuple):
    """The way from a version to the next one; dashed where the build changes."""

    x1: int
    x2: int
    rebuilt: bool


class Arc(NamedTuple):
    """From a version back to the one it took up again: an SVG path, and the numbers it joins."""

    path: str
    source: int
    target: int
    title: str


class History(NamedTuple):
    """The drawing. `left_out` counts the index versions on either side that are not shown."""

    nodes: list[Node]
    lines: list[Line]
    arcs: list[Arc]
    width: int
    height: int
    y: int
    left_out: int


def history_of(scope: Scope, *, around: int | None = None) -> History:
    """The newest index versions of the scope, or those about the number `around`; two queries and a count."""
    every = IndexVersion.objects.filter(scope=scope)
    shown = every.order_by("-number")
    if around is not None:
        shown = shown.filter(number__lte=around + SHOWN // 2)
    versions = sorted(shown[:SHOWN], key=lambda version: version.number)
    jobs = {
        job.index_version_id: job
        for job in IngestJob.objects.filter(index_version__in=versions).order_by("-pk")
        if job.index_version_id is not None
    }
    xs = {version.number: MARGIN + place * STEP for place, version in enumerate(versions)}
    arcs_wanted = [
        (version.number, job.target_number)
        for version in versions
        if (job := jobs.get(version.pk)) is not None and job.target_number is not None
    ]
    highest = max((_height(xs, *pair) for pair in arcs_wanted), default=0)
    y = highest + RADIUS + 12
    return History(
        nodes=[
            Node(
                version=version,
                x=xs[version.number],
                kind=_kind(jobs.get(version.pk)),
                is_live=version.pk == scope.live_id,
                is_current=version.number == around,
                title=_title(version, jobs.get(version.pk)),
            )
            for version in versions
        ],
        lines=[
            Line(xs[one.number] + RADIUS, xs[other.number] - RADIUS, one.build_id != other.build_id)
            for one, other in pairwise(versions)
        ],
        arcs=[_arc(xs, y, *pair) for pair in arcs_wanted],
        width=2 * MARGIN + STEP * max(len(versions) - 1, 0),
        height=y + _BELOW,
        y=y,
        left_out=every.count() - len(versions),
    )


def _kind(job: IngestJob | None) -> str:
    if job is None:
        return ""
    return {IngestJob.Type.GLOBAL_REINDEX: "reindex", IngestJob.Type.ROLLBACK: "back"}.get(
        IngestJob.Type(job.type), ""
    )


def _title(version: IndexVersion, job: IngestJob | None) -> str:
    parts = [str(version.number), date_format(localtime(version.created_at), "SHORT_DATETIME_FORMAT")]
    if job is not None:
        parts.append(job.get_type_display())
    return " · ".join([*parts, version.reason] if version.reason else parts)


def _height(xs: dict[int, int], source: int, target: int) -> int:
    return min(_LOWEST_ARC + _ARC_STEP * ((xs[source] - xs.get(target, 0)) // STEP), _HIGHEST_ARC)


def _arc(xs: dict[int, int], y: int, source: int, target: int) -> Arc:
    """An arc over the line, ending above the target, or at the left edge where that is not shown."""
    begin, end = xs[source], xs.get(target, 4)
    top = y - RADIUS - 2
    # A cubic curve rises to three quarters of its handles' height.
    handle = top - _height(xs, source, target) * 4 // 3
    sentence = gettext("%(source)s goes back to %(target)s") % {"source": source, "target": target}
    return Arc(f"M{begin} {top}C{begin} {handle} {end} {handle} {end} {top - 3}", source, target, sentence)
