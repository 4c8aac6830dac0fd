"""What a query sees: one index version of each scope the asker may see, as one row of chunks.

A view is made of immutable things only (a version's segments, blocks, loose segments), so it is kept in the
process under their ids and never goes stale.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from knowledge.errors import IndexVersionUnknown
from knowledge.index.postings import INT, InvertedSegment
from knowledge.index.settings import IndexSettings
from knowledge.models import Chunk, IndexVersion, Scope, Segment

T = TypeVar("T")


class Recent:
    """The most recently used values, by key; safe for several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                value: T = self._values[key]
                return value
        value = make()
        self.put(key, value)
        return value

    def peek(self, key: Hashable) -> Any | None:
        with self._lock:
            return self._values.get(key)

    def put(self, key: Hashable, value: object) -> None:
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)


class BlockHead(NamedTuple):
    """The chunks of a posting block, shape (chunks,) each."""

    numbers: NDArray[np.int32]
    lengths: NDArray[np.int32]
    segments: NDArray[np.int32]


class LooseSegment(NamedTuple):
    """A segment that is in no block, with the numbers of its chunks and the place of each of its terms."""

    numbers: NDArray[np.int32]
    inverted: InvertedSegment
    places: dict[str, int]


class Part(NamedTuple):
    """A block or loose segment at `offset` in the view's row of chunks."""

    offset: int
    block_id: int | None
    loose: LooseSegment | None


class ScopeView(NamedTuple):
    """One scope at one index version.

    `live` says for each chunk of the parts whether it is in this version: blocks may hold some that have
    left. `is_newest` says whether the live vector table shows just this version's chunks.
    """

    scope_key: str
    index_version_id: int
    number: int
    build_id: int
    index_settings: IndexSettings
    is_newest: bool
    parts: tuple[Part, ...]
    numbers: NDArray[np.int32]
    lengths: NDArray[np.int32]
    live: NDArray[np.bool_]


_heads = Recent(64)
_loose = Recent(4_000)
_views = Recent(64)


@contextmanager
def snapshot() -> Iterator[None]:
    """Everything read within sees the database at one moment. An open transaction is used as it is."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def view_scopes(scopes: Sequence[Scope], *, as_of: dict[str, int] | None = None) -> list[ScopeView]:
    """The views of those scopes that have an index, within a snapshot; `as_of` maps scope keys to numbers.

    Raises IndexVersionUnknown for a number that a scope doesn't have.
    """
    views = []
    for scope in (
        Scope.objects.filter(pk__in=[scope.pk for scope in scopes])
        .select_related("live__build")
        .order_by("pk")
    ):
        if scope.live is None:
            continue
        version = scope.live
        if as_of and scope.key in as_of:
            version = _version_numbered(scope, as_of[scope.key])
        views.append(_view(scope, version))
    return views


def _version_numbered(scope: Scope, number: int) -> IndexVersion:
    version = IndexVersion.objects.select_related("build").filter(scope=scope, number=number).first()
    if version is None:
        raise IndexVersionUnknown(number=number)
    return version


def _view(scope: Scope, version: IndexVersion) -> ScopeView:
    block_ids = tuple(version.build.blocks.order_by("pk").values_list("pk", flat=True))
    is_newest = version.pk == scope.live_id
    return _views.get(
        (version.pk, block_ids, is_newest), lambda: _make_view(scope, version, block_ids, is_newest)
    )


def _make_view(scope: Scope, version: IndexVersion, block_ids: tuple[int, ...], is_newest: bool) -> ScopeView:
    segments = _segments_of(version)
    parts: list[Part] = []
    numbers: list[NDArray[np.int32]] = []
    lengths: list[NDArray[np.int32]] = []
    live: list[NDArray[np.bool_]] = []
    offset = 0
    seen = np.array([pk for pk, _ in segments], dtype=INT)
    for block_id in block_ids:
        head = _heads.get(block_id, partial(_load_head, block_id))
        parts.append(Part(offset=offset, block_id=block_id, loose=None))
        numbers.append(head.numbers)
        lengths.append(head.lengths)
        live.append(np.isin(head.segments, seen))
        offset += len(head.numbers)
    for loose in _load_loose([pk for pk, block_id in segments if block_id is None]):
        parts.append(Part(offset=offset, block_id=None, loose=loose))
        numbers.append(loose.numbers)
        lengths.append(loose.inverted.lengths)
        live.append(np.ones(len(loose.numbers), dtype=bool))
        offset += len(loose.numbers)
    return ScopeView(
        scope_key=scope.key,
        index_version_id=version.pk,
        number=version.number,
        build_id=version.build_id,
        index_settings=IndexSettings.of(version.build.settings),
        is_newest=is_newest,
        parts=tuple(parts),
        numbers=_joined(numbers, INT),
        lengths=_joined(lengths, INT),
        live=_joined(live, np.dtype(bool)),
    )


def _segments_of(version: IndexVersion) -> list[tuple[int, int | None]]:
    """The segments of an index version, each with the block that its postings are in."""
    return list(version.spans().order_by("segment_id").values_list("segment_id", "segment__block_id"))


def _load_head(block_id: int) -> BlockHead:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT chunk_numbers, lengths, segments FROM knowledge_postingblock WHERE id = %s", [block_id]
        )
        return BlockHead(*(np.frombuffer(column, dtype=INT) for column in cursor.fetchone()))


def _load_loose(segment_ids: Sequence[int]) -> list[LooseSegment]:
    found: dict[int, LooseSegment] = {}
    missing = []
    for pk in segment_ids:
        loose: LooseSegment | None = _loose.peek(pk)
        if loose is None:
            missing.append(pk)
        else:
            found[pk] = loose
    for begin in range(0, len(missing), 500):
        batch = missing[begin : begin + 500]
        numbers: dict[int, list[int]] = {pk: [] for pk in batch}
        for number, pk in (
            Chunk.objects.filter(segment_id__in=batch)
            .order_by("segment_id", "ordinal")
            .values_list("number", "segment_id")
        ):
            numbers[pk].append(number)
        for pk, blob in Segment.objects.filter(pk__in=batch).values_list("pk", "postings"):
            inverted = InvertedSegment.decode(bytes(blob))
            loose = LooseSegment(
                numbers=np.array(numbers[pk], dtype=INT),
                inverted=inverted,
                places={term: place for place, term in enumerate(inverted.terms)},
            )
            _loose.put(pk, loose)
            found[pk] = loose
    return [found[pk] for pk in segment_ids]


def _joined(arrays: Sequence[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)
