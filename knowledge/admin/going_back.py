"""What going back to an index version would change, across builds too."""

from dataclasses import dataclass

from knowledge.models import Document, IndexVersion

SHOWN = 50


@dataclass(frozen=True)
class DocumentChange:
    """A document with its version number now and then; None where it is not in the index."""

    document: Document
    now: int | None
    then: int | None


@dataclass(frozen=True)
class Changes:
    """Documents of one kind of change: the first of them, and how many there are in all."""

    rows: list[DocumentChange]
    count: int

    @property
    def more(self) -> int:
        return self.count - len(self.rows)


@dataclass(frozen=True)
class Difference:
    """From the live index version to another. `withheld` were in it, but are archived now and stay out.

    `settings` has the name, live value and value then of each setting that differs.
    """

    coming: Changes
    going: Changes
    changing: Changes
    withheld: Changes
    settings: list[tuple[str, object, object]]

    @property
    def is_empty(self) -> bool:
        return not (self.coming.count or self.going.count or self.changing.count or self.settings)


def compare(live: IndexVersion, target: IndexVersion) -> Difference:
    """What changes by going from `live` back to `target`; three queries, whatever their sizes."""
    now = _numbers(live)
    all_then = _numbers(target)
    withheld = set(
        Document.objects.filter(scope=target.scope_id)
        .exclude(state=Document.State.LISTED)
        .values_list("pk", flat=True)
    )
    then = {pk: number for pk, number in all_then.items() if pk not in withheld}
    both = now.keys() & then.keys()
    names = sorted(live.build.settings.keys() | target.build.settings.keys())
    pairs = [(name, live.build.settings.get(name), target.build.settings.get(name)) for name in names]
    return Difference(
        coming=_changes(then.keys() - now.keys(), now, then),
        going=_changes(now.keys() - then.keys(), now, then),
        changing=_changes({pk for pk in both if now[pk] != then[pk]}, now, then),
        withheld=_changes(all_then.keys() & withheld, now, all_then),
        settings=[(name, before, after) for name, before, after in pairs if before != after],
    )


def _numbers(version: IndexVersion) -> dict[int, int]:
    """The version number of each document in an index version, by the document's id."""
    return dict(version.spans().values_list("document_id", "segment__version__number"))


def _changes(ids: set[int], now: dict[int, int], then: dict[int, int]) -> Changes:
    documents = Document.objects.filter(pk__in=ids).order_by("title", "pk")[:SHOWN] if ids else []
    return Changes([DocumentChange(row, now.get(row.pk), then.get(row.pk)) for row in documents], len(ids))
