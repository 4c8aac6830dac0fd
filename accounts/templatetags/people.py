"""What templates ask about a person."""

from django import template
from django.contrib.auth.models import AnonymousUser

from accounts.cockpit import may_enter
from accounts.models import User

register = template.Library()


@register.filter
def enters_cockpit(user: User | AnonymousUser) -> bool:
    """Whether to offer the way into the admin."""
    return may_enter(user)
