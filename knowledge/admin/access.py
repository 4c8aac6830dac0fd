"""What a person may see in the cockpit: the scopes they edit, and nothing of any other."""

from typing import Any, ClassVar, cast

from django.contrib.auth.models import AnonymousUser
from django.db.models import F, Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin

from accounts.models import User
from accounts.permissions import EDITING, is_platform_staff, may_edit, may_govern, tenants_of
from knowledge.models import Scope
from knowledge.scopes import scope_of


def scopes_edited_by(user: User | AnonymousUser) -> QuerySet[Scope]:
    """The scopes whose documents the user looks after, the global one first."""
    scopes = Scope.objects.select_related("tenant").order_by(F("tenant__name").asc(nulls_first=True))
    if is_platform_staff(user):
        return scopes
    return scopes.filter(tenant__in=tenants_of(user, roles=EDITING))


def upload_scopes(user: User | AnonymousUser) -> list[Scope]:
    """The scopes the user may upload to, with those of new tenants made on the way."""
    scopes = [scope_of(None)] if is_platform_staff(user) else []
    return scopes + [scope_of(tenant) for tenant in tenants_of(user, roles=EDITING)]


def may_edit_scope(user: User | AnonymousUser, scope: Scope) -> bool:
    return may_edit(user, scope.tenant)


def may_govern_scope(user: User | AnonymousUser, scope: Scope) -> bool:
    return may_govern(user, scope.tenant)


def editor(request: HttpRequest) -> User:
    """The person behind a request that the site has let in."""
    return cast(User, request.user)


def reason_given(request: HttpRequest) -> str:
    """Why somebody asks for something: the form's field, as it fits into a job."""
    return request.POST.get("reason", "").replace("\x00", "").strip()[:300]


class ScopedAdmin(ModelAdmin):
    """Base of the cockpit's lists and pages: of the person's scopes only, and without raw forms.

    What belongs to another scope does not exist for the person: every page about it is a 404, and every
    list, search and filter leaves it out.
    """

    actions = None
    page_template: ClassVar[str]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(scope__in=scopes_edited_by(request.user))

    def owned(self, request: HttpRequest, object_id: str | int) -> Any:
        """The object of this id among those the person may see; Http404 for any other id."""
        found = self.get_object(request, str(object_id))
        if found is None:
            raise Http404
        return found

    def page(
        self, request: HttpRequest, template: str, *, title: str, status: int = 200, **context: Any
    ) -> HttpResponse:
        """A page of our own inside the admin's frame."""
        request.current_app = self.admin_site.name
        return TemplateResponse(
            request,
            template,
            {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "title": title,
                **context,
            },
            status=status,
        )

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The admin's own log is not kept: versions, jobs and index versions are the history."""
        raise Http404

    # Whoever gets as far as a view has passed the site's door: the lists are open, filtered to their scopes.

    def has_module_permission(self, request: HttpRequest) -> bool:
        return True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        if obj is None:
            return True
        return scopes_edited_by(request.user).filter(pk=getattr(obj, "scope_id")).exists()  # noqa: B009

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
