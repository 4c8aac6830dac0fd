"""A tenant for the time of a measurement, removed with all it holds."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from accounts.models import Tenant
from knowledge.models import Document, IndexBuild, IngestJob, Scope, Segment


@contextmanager
def bench_tenant(slug: str, *, keep: bool = False) -> Iterator[Scope]:
    """The scope of a new tenant (or of the one that an earlier run kept)."""
    tenant, _ = Tenant.objects.get_or_create(slug=slug, defaults={"name": slug})
    scope, _ = Scope.objects.get_or_create(tenant=tenant, defaults={"key": f"tenant:{slug}"})
    try:
        yield scope
    finally:
        if not keep:
            _remove(scope)


def _remove(scope: Scope) -> None:
    IngestJob.objects.filter(scope=scope).delete()
    Scope.objects.filter(pk=scope.pk).update(live=None)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM knowledge_indexversion WHERE scope_id = %s", [scope.pk])
    Segment.objects.filter(build__scope=scope).delete()
    IndexBuild.objects.filter(scope=scope).delete()
    Document.objects.filter(scope=scope).delete()
    assert scope.tenant is not None
    scope.tenant.delete()
