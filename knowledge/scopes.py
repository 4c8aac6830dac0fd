"""Finding scopes: the global one and each tenant's."""

from accounts.models import Tenant
from knowledge.models import Scope


def scope_of(tenant: Tenant | None) -> Scope:
    """The tenant's scope, or the global one for None; made when it is first asked for."""
    if tenant is None:
        return Scope.objects.get_or_create(key=Scope.GLOBAL, tenant=None)[0]
    return Scope.objects.get_or_create(tenant=tenant, defaults={"key": f"tenant:{tenant.slug}"})[0]


def scopes_seen_by(tenant: Tenant | None) -> list[Scope]:
    """The scopes whose documents somebody of this tenant (None: of no tenant) may see, global first."""
    scopes = [scope_of(None)]
    if tenant is not None:
        scopes.append(scope_of(tenant))
    return scopes
