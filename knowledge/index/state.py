"""What is live in a scope, and whether it is what the settings ask for."""

from typing import Any, NamedTuple

from knowledge.index.settings import IndexSettings
from knowledge.models import Scope


class LiveState(NamedTuple):
    number: int
    root_hash: str
    chunk_count: int
    document_count: int
    settings: dict[str, Any]
    desired: dict[str, Any]
    mismatch: tuple[str, ...]


def live_state(scope: Scope) -> LiveState | None:
    """The live index version of the scope, or None where nothing is indexed yet."""
    live = scope.live
    if live is None:
        return None
    built_with = IndexSettings.of(live.build.settings)
    desired = IndexSettings.desired()
    return LiveState(
        number=live.number,
        root_hash=live.root_hash,
        chunk_count=live.chunk_count,
        document_count=live.document_count,
        settings=built_with.as_dict(),
        desired=desired.as_dict(),
        mismatch=built_with.differing_from(desired),
    )
