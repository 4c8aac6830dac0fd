"""Filtering a list by scope, among the scopes the person edits."""

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from knowledge.admin.access import scopes_edited_by


class ScopeFilter(SimpleListFilter):
    title = _("scope")
    parameter_name = "scope"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        scopes = list(scopes_edited_by(request.user))
        return [(str(scope.pk), str(scope)) for scope in scopes] if len(scopes) > 1 else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        known = {key for key, _label in self.lookup_choices}
        return queryset.filter(scope_id=int(value)) if value in known else queryset.none()
