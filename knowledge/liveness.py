"""Whether a worker and beat are alive: each leaves a sign in the database every few seconds."""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils import timezone

from knowledge.models import Heartbeat

SILENCE_MEANS_DEAD = timedelta(seconds=45)


class Liveness(NamedTuple):
    worker_seen_at: datetime | None
    beat_seen_at: datetime | None

    @property
    def worker_alive(self) -> bool:
        return _is_recent(self.worker_seen_at)

    @property
    def beat_alive(self) -> bool:
        return _is_recent(self.beat_seen_at)


def liveness() -> Liveness:
    seen: dict[str, datetime] = dict(Heartbeat.objects.values_list("kind", "seen_at"))
    return Liveness(seen.get(Heartbeat.Kind.WORKER), seen.get(Heartbeat.Kind.BEAT))


def note_alive(kind: Heartbeat.Kind) -> None:
    Heartbeat.objects.update_or_create(kind=kind, defaults={"seen_at": timezone.now()})


def _is_recent(seen_at: datetime | None) -> bool:
    return seen_at is not None and timezone.now() - seen_at < SILENCE_MEANS_DEAD
