"""Small charts, drawn as SVG on the server, so that they need no script and print as they look."""

from collections.abc import Sequence
from typing import NamedTuple

WIDTH = 420
HEIGHT = 96
_TOP = 6


class Day(NamedTuple):
    """Jobs that ended on a day, by how they ended."""

    label: str
    completed: int
    failed: int


class Bar(NamedTuple):
    """A stacked bar in user units of the drawing; y counts from the top."""

    x: float
    width: float
    completed_y: float
    completed_height: float
    failed_y: float
    failed_height: float
    title: str
    label: str


def stacked_bars(days: Sequence[Day], *, sentence: str) -> list[Bar]:
    """Bars for the days, the failed on top of the completed, scaled to the highest.

    `sentence` names a bar for a screen reader and takes label, completed and failed.
    """
    highest = max((day.completed + day.failed for day in days), default=0) or 1
    step = WIDTH / max(len(days), 1)
    scale = (HEIGHT - _TOP) / highest
    bars = []
    for position, day in enumerate(days):
        completed, failed = day.completed * scale, day.failed * scale
        bars.append(
            Bar(
                x=round(position * step + step * 0.15, 2),
                width=round(step * 0.7, 2),
                completed_y=round(HEIGHT - completed, 2),
                completed_height=round(completed, 2),
                failed_y=round(HEIGHT - completed - failed, 2),
                failed_height=round(failed, 2),
                title=sentence % day._asdict(),
                label=day.label,
            )
        )
    return bars


class Share(NamedTuple):
    """A labelled part of a whole; percent of the largest part, for the length of its bar."""

    label: str
    amount: int
    percent: int


def shares(counted: Sequence[tuple[str, int]]) -> list[Share]:
    largest = max((count for _label, count in counted), default=0) or 1
    return [Share(label, count, round(100 * count / largest)) for label, count in counted]
