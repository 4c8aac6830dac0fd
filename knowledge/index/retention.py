"""Forgetting old index versions: beyond a number kept per scope, with all that only they needed."""

import logging

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max

from knowledge.models import IndexBuild, IndexVersion, Scope, Segment
from knowledge.writer import require_fence

logger = logging.getLogger(__name__)

# Pruning reads every span of a scope, so it waits until there is something to be gained.
_SLACK = 1.2


def prune_where_due(*, fence: int) -> None:
    """Prune every scope that has clearly more index versions than settings.KNOWLEDGE_KEEP_VERSIONS."""
    keep: int = settings.KNOWLEDGE_KEEP_VERSIONS
    for scope in Scope.objects.exclude(live=None):
        if IndexVersion.objects.filter(scope=scope).count() > keep * _SLACK:
            prune(scope, keep=keep, fence=fence)


def prune(scope: Scope, *, keep: int, fence: int) -> int:
    """Forget all but the `keep` newest index versions of the scope; returns how many went.

    Spans, segments and builds that no version left needs go with them. The live version is always kept.
    """
    with transaction.atomic():
        require_fence(fence)
        kept = IndexVersion.objects.filter(scope=scope).order_by("-number").values_list("pk", flat=True)
        old = IndexVersion.objects.filter(scope=scope).exclude(pk__in=list(kept[: max(keep, 1)]))
        gone = old.count()
        old.delete()
        with connection.cursor() as cursor:
            # An open span of a build that has no version left is not needed either.
            cursor.execute(
                """
                DELETE FROM knowledge_segmentspan span USING knowledge_indexbuild build
                WHERE build.id = span.build_id AND build.scope_id = %s AND NOT EXISTS (
                    SELECT FROM knowledge_indexversion version
                    WHERE version.build_id = span.build_id AND version.number >= span.entered
                      AND (span.departed IS NULL OR version.number < span.departed))
                """,
                [scope.pk],
            )
        # Newer builds than any version's belong to a reindex that is not finished.
        published = IndexVersion.objects.filter(scope=scope).aggregate(newest=Max("build_id"))["newest"]
        builds = IndexBuild.objects.filter(scope=scope, pk__lte=published)
        Segment.objects.filter(build__in=builds, spans=None).delete()
        builds.filter(versions=None, segments=None).delete()
    logger.info("index_versions_pruned scope=%s gone=%s", scope.pk, gone)
    return gone
