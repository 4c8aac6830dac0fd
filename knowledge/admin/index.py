"""Index versions in the cockpit: what is live, how it came about, reindexing and going back."""

from typing import Any, NamedTuple

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from knowledge.admin.access import (
    ScopedAdmin,
    editor,
    may_govern_scope,
    reason_given,
    scopes_edited_by,
)
from knowledge.admin.going_back import compare
from knowledge.admin.history import history_of
from knowledge.admin.jobs import job_link, state_chip
from knowledge.admin.scope_filter import ScopeFilter
from knowledge.errors import KnowledgeError
from knowledge.governance import request_reindex, request_rollback
from knowledge.index.settings import IndexSettings
from knowledge.models import IndexVersion, Scope, SegmentSpan

CHANGES_SHOWN = 50
HISTORIES_SHOWN = 3


class Setting(NamedTuple):
    """A setting as the index was built with it, and as it is desired now."""

    name: str
    built: Any
    desired: Any

    @property
    def differs(self) -> bool:
        return bool(self.built != self.desired)


def settings_compared(built: dict[str, Any]) -> list[Setting]:
    """Each setting of a build against the desired one (None where that can't be known)."""
    try:
        desired = IndexSettings.desired().as_dict()
    except KnowledgeError:
        desired = {}
    return [Setting(name, value, desired.get(name)) for name, value in built.items()]


def changes_in(version: IndexVersion) -> dict[str, Any]:
    """The document versions that entered and left with this index version, as far as they are shown."""
    spans = SegmentSpan.objects.filter(build=version.build_id).select_related("document", "segment__version")
    entered = spans.filter(entered=version.number).order_by("document__title")
    departed = spans.filter(departed=version.number).order_by("document__title")
    before = IndexVersion.objects.filter(scope=version.scope_id, number=version.number - 1).first()
    return {
        "entered": entered[:CHANGES_SHOWN],
        "departed": departed[:CHANGES_SHOWN],
        "entered_more": max(entered.count() - CHANGES_SHOWN, 0),
        "departed_more": max(departed.count() - CHANGES_SHOWN, 0),
        "rebuilt": before is not None and before.build_id != version.build_id,
    }


@admin.register(IndexVersion)
class IndexVersionAdmin(ScopedAdmin):
    """Index versions are made by jobs and never change."""

    list_display = [
        "label",
        "scope",
        "standing",
        "document_count",
        "passages",
        "root",
        "made_by",
        "created_at",
    ]
    list_display_links = ["label"]
    list_filter = [ScopeFilter]
    search_fields = ["root_hash", "reason"]
    list_per_page = 50
    change_list_template = "admin/knowledge/index_list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[IndexVersion]:
        versions: QuerySet[IndexVersion] = super().get_queryset(request)
        return versions.select_related("scope__tenant", "made_by", "build").annotate(
            live_id=F("scope__live_id")
        )

    @admin.display(description=_("number"), ordering="number")
    def label(self, version: IndexVersion) -> str:
        return f"{version.number}"

    @admin.display(description=_("state"))
    def standing(self, version: Any) -> SafeString:
        if version.pk == version.live_id:
            return state_chip("COMPLETED", gettext("live"))
        return state_chip("", gettext("earlier"))

    @admin.display(description=_("passages"), ordering="chunk_count")
    def passages(self, version: IndexVersion) -> int:
        return version.chunk_count

    @admin.display(description=_("root hash"), ordering="root_hash")
    def root(self, version: IndexVersion) -> SafeString:
        return format_html(
            '<code class="k-hash" title="{}">{}</code>', version.root_hash, version.root_hash[:12]
        )

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("reindex/<int:scope_id>/", wrap(self.reindex_view), name="knowledge_indexversion_reindex"),
            path("<int:version_id>/go-back/", wrap(self.go_back_view), name="knowledge_indexversion_go_back"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        extra: dict[str, Any] = dict(extra_context or {})
        scopes = list(scopes_edited_by(request.user))
        extra["governed"] = [scope for scope in scopes if may_govern_scope(editor(request), scope)]
        wanted = request.GET.get("scope")
        drawn = [scope for scope in scopes if scope.live_id and (not wanted or wanted == str(scope.pk))]
        extra["histories"] = [(scope, history_of(scope)) for scope in drawn[:HISTORIES_SHOWN]]
        return super().changelist_view(request, extra)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        version: IndexVersion = self.owned(request, object_id)
        return self.page(
            request,
            "admin/knowledge/index_version.html",
            title=f"{version.scope} · {version.number}",
            original=version,
            version=version,
            is_live=version.scope.live_id == version.pk,
            job=version.jobs.select_related("requested_by").order_by("pk").first(),
            compared=settings_compared(version.build.settings),
            may_govern=may_govern_scope(editor(request), version.scope),
            history=history_of(version.scope, around=version.number),
            **changes_in(version),
        )

    def reindex_view(self, request: HttpRequest, scope_id: int) -> HttpResponse:
        """Say what a reindex costs, and queue it when that is confirmed."""
        scope: Scope = get_object_or_404(scopes_edited_by(request.user), pk=scope_id)
        if not may_govern_scope(editor(request), scope):
            raise Http404
        if request.method == "POST":
            try:
                job = request_reindex(scope=scope, user=editor(request), reason=reason_given(request))
            except KnowledgeError as error:
                messages.error(request, error.told)
                return HttpResponseRedirect(reverse("admin:knowledge_indexversion_changelist"))
            return HttpResponseRedirect(job_link(job))
        live = scope.live
        return self.page(
            request,
            "admin/knowledge/reindex.html",
            title=gettext("Reindex"),
            scope=scope,
            live=live,
            compared=settings_compared(live.build.settings) if live else [],
        )

    def go_back_view(self, request: HttpRequest, version_id: int) -> HttpResponse:
        """Say what going back to an index version changes, and queue it when that is confirmed."""
        version: IndexVersion = self.owned(request, version_id)
        scope = version.scope
        if not may_govern_scope(editor(request), scope):
            raise Http404
        live = scope.live
        assert live is not None, "a scope that has index versions has a live one"
        if version.pk == live.pk:
            messages.info(request, gettext("This index version is live already."))
            return HttpResponseRedirect(reverse("admin:knowledge_indexversion_change", args=[version.pk]))
        if request.method == "POST":
            try:
                job = request_rollback(
                    scope=scope, number=version.number, user=editor(request), reason=reason_given(request)
                )
            except KnowledgeError as error:
                messages.error(request, error.told)
                return HttpResponseRedirect(reverse("admin:knowledge_indexversion_changelist"))
            return HttpResponseRedirect(job_link(job))
        return self.page(
            request,
            "admin/knowledge/go_back.html",
            title=gettext("Go back"),
            original=version,
            version=version,
            live=live,
            difference=compare(live, version),
        )
