"""Which membership a request acts through."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AnonymousUser

from accounts.models import Membership, User

SESSION_KEY = "tenant_id"


def current_membership(*, user: User | AnonymousUser, session: Mapping[str, Any]) -> Membership | None:
    """The membership chosen in this session, else the user's first one, else None."""
    if not user.is_authenticated:
        return None
    memberships = Membership.objects.select_related("tenant").filter(user_id=user.pk).order_by("pk")
    chosen = session.get(SESSION_KEY)
    if chosen is not None:
        membership = memberships.filter(tenant_id=chosen).first()
        if membership is not None:
            return membership
    return memberships.first()
