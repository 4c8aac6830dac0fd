"""What every page of the cockpit says on top: where the live index is not what the settings ask for."""

from typing import Any, NamedTuple

from django.http import HttpRequest

from knowledge.admin.access import may_govern_scope, scopes_edited_by
from knowledge.errors import KnowledgeError
from knowledge.index.settings import IndexSettings
from knowledge.models import Scope


class Mismatch(NamedTuple):
    """A scope whose live index was built with other settings than those desired now."""

    scope: Scope
    differing: tuple[str, ...]
    may_reindex: bool


def mismatches(request: HttpRequest) -> dict[str, Any]:
    """Context for all pages; one query, and nothing for those who are outside."""
    if not request.user.is_authenticated:
        return {}
    try:
        desired = IndexSettings.desired()
    except KnowledgeError as error:
        return {"index_settings_error": error}
    found = []
    for scope in scopes_edited_by(request.user).filter(live__isnull=False).select_related("live__build"):
        assert scope.live is not None
        differing = desired.differing_from(IndexSettings.of(scope.live.build.settings))
        if differing:
            found.append(Mismatch(scope, differing, may_govern_scope(request.user, scope)))
    return {"index_mismatches": found}
