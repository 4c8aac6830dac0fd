"""Which build a change goes into."""

from knowledge.index.settings import IndexSettings
from knowledge.models import IndexBuild, Scope


def live_or_new_build(scope: Scope) -> IndexBuild:
    """The live build, with the settings it was begun with; without an index, one with those desired."""
    scope.refresh_from_db()
    if scope.live is not None:
        return scope.live.build
    return unpublished_build(scope)


def unpublished_build(scope: Scope) -> IndexBuild:
    """A build with the desired settings that no index version shows yet: one begun before, or a new one."""
    desired = IndexSettings.desired().as_dict()
    begun = IndexBuild.objects.filter(scope=scope, versions=None, settings=desired).order_by("-pk").first()
    return begun or IndexBuild.objects.create(scope=scope, settings=desired)
