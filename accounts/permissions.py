"""What a person may do, asked in one place.

The platform's staff (superusers) look after global documents and may do all; others act through
their memberships.
"""

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.models import Membership, Tenant, User

EDITING = (Membership.Role.EDITOR, Membership.Role.ADMIN)


def is_platform_staff(user: User | AnonymousUser) -> bool:
    return bool(user.is_active and user.is_superuser)


def tenants_of(user: User | AnonymousUser, *, roles: tuple[str, ...] | None = None) -> QuerySet[Tenant]:
    """The tenants the user belongs to (with one of `roles`, if given); all of them for platform staff."""
    if is_platform_staff(user):
        return Tenant.objects.all()
    if not user.is_active or user.pk is None:
        return Tenant.objects.none()
    memberships = Membership.objects.filter(user_id=user.pk)
    if roles is not None:
        memberships = memberships.filter(role__in=roles)
    return Tenant.objects.filter(pk__in=memberships.values("tenant_id"))


def may_edit(user: User | AnonymousUser, tenant: Tenant | None) -> bool:
    """Whether the user may upload to and activate documents of the tenant; None stands for global ones."""
    if is_platform_staff(user):
        return True
    return tenant is not None and tenants_of(user, roles=EDITING).filter(pk=tenant.pk).exists()


def may_govern(user: User | AnonymousUser, tenant: Tenant | None) -> bool:
    """Whether the user may roll back and reindex the tenant's index; None stands for the global one."""
    if is_platform_staff(user):
        return True
    return (
        tenant is not None and tenants_of(user, roles=(Membership.Role.ADMIN,)).filter(pk=tenant.pk).exists()
    )
