"""The admin site: who gets in, and what becomes of those who don't.

What a person sees inside is decided by each app's own admin classes.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.template.response import TemplateResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from unfold.sites import UnfoldAdminSite

from accounts.models import Membership, User
from accounts.permissions import EDITING, is_platform_staff, tenants_of


def may_enter(user: User | AnonymousUser) -> bool:
    """Whether the user reaches the cockpit: the platform's staff, and editors and admins of a tenant."""
    return is_platform_staff(user) or tenants_of(user, roles=EDITING).exists()


def sees_users(request: HttpRequest) -> bool:
    """Users belong to the whole platform, so only its staff looks after them."""
    return is_platform_staff(request.user)


def sees_tenants(request: HttpRequest) -> bool:
    """Tenants are looked after by the platform's staff, and each by its own admins."""
    user = request.user
    return is_platform_staff(user) or tenants_of(user, roles=(Membership.Role.ADMIN,)).exists()


class Cockpit(UnfoldAdminSite):
    """The one admin site of the project."""

    site_title = _("Kamerplanter")
    index_title = _("Overview")
    enable_nav_sidebar = True

    def has_permission(self, request: HttpRequest) -> bool:
        return may_enter(request.user)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        """As usual, but no address with a NUL in it reaches a filter: PostgreSQL takes none in a text."""
        guarded = super().admin_view(view, cacheable)

        @wraps(guarded)
        def without_nul(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if any("\x00" in value for values in request.GET.lists() for value in values[1]):
                raise Http404
            return guarded(request, *args, **kwargs)

        return without_nul

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Send the unknown to the site's one login page, and tell the others why they can't enter."""
        target = request.GET.get("next", "")
        if not url_has_allowed_host_and_scheme(
            target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        ):
            target = resolve_url("admin:index")
        if not request.user.is_authenticated:
            return redirect_to_login(target, resolve_url(settings.LOGIN_URL))
        if self.has_permission(request):
            return redirect(target)
        context = {**self.each_context(request), "title": _("Not for you yet")}
        return TemplateResponse(request, "admin/no_access.html", context, status=403)

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Not offered: each list has its own search, filtered to what the person may see."""
        raise Http404
