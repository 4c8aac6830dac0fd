"""Documents in the cockpit: the list, uploading, a document with its versions."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin import SimpleListFilter
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    JsonResponse,
)
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from knowledge.activation import request_activation
from knowledge.admin.access import (
    editor,
    may_edit_scope,
    reason_given,
    upload_scopes,
)
from knowledge.admin.jobs import state_chip
from knowledge.admin.scope_filter import ScopeFilter
from knowledge.admin.taking_out import TakingOut, document_link, stalled_job
from knowledge.admin.timeline import timeline
from knowledge.admin.uploads import (
    REFUSED,
    NewVersionForm,
    UploadForm,
    UploadRow,
    keep_rows,
    kept_rows,
    next_version,
    size_limit_text,
    take_in,
)
from knowledge.admin.version_pages import version_of
from knowledge.errors import KnowledgeError
from knowledge.models import Document, DocumentVersion, IngestJob

STANDINGS = {
    "live": _("live"),
    "waiting": _("being indexed"),
    "failed": _("failed"),
    "archived": _("archived"),
    "erasing": _("being erased"),
}


class StandingFilter(SimpleListFilter):
    """Where a document stands, seen from the outside."""

    title = _("state")
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(STANDINGS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        listed = queryset.filter(state=Document.State.LISTED)
        match self.value():
            case "live":
                return listed.filter(live_number__isnull=False)
            case "waiting":
                return listed.filter(latest_state=DocumentVersion.State.PENDING)
            case "failed":
                return listed.filter(latest_state=DocumentVersion.State.FAILED)
            case "archived":
                return queryset.filter(state=Document.State.ARCHIVED)
            case "erasing":
                return queryset.filter(state=Document.State.ERASING)
        return queryset


@admin.register(Document)
class DocumentAdmin(TakingOut):
    """Documents come in by upload, and change by a new version; nothing is edited in place."""

    list_display = ["title", "scope", "live_version", "standing", "last_change", "source_key"]
    list_filter = [StandingFilter, ScopeFilter]
    search_fields = ["title", "source_key", "versions__file_name"]
    list_select_related = ["scope__tenant"]
    list_per_page = 50
    change_list_template = "admin/knowledge/document_list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        versions = DocumentVersion.objects.filter(document=OuterRef("pk"))
        latest = versions.order_by("-number")
        documents: QuerySet[Document] = super().get_queryset(request)
        return documents.select_related("scope__tenant").annotate(
            live_number=Subquery(versions.filter(active=True).values("number")[:1]),
            latest_state=Subquery(latest.values("state")[:1]),
            changed_at=Subquery(latest.values("created_at")[:1]),
        )

    @admin.display(description=_("live version"), ordering="live_number", empty_value="–")
    def live_version(self, document: Any) -> int | None:
        number: int | None = document.live_number
        return number

    @admin.display(description=_("state"))
    def standing(self, document: Any) -> SafeString:
        if document.state != Document.State.LISTED:
            return state_chip(document.state, document.get_state_display())
        if document.latest_state == DocumentVersion.State.FAILED:
            return state_chip("FAILED", gettext("failed"))
        if document.latest_state == DocumentVersion.State.PENDING:
            return state_chip("RUNNING", gettext("being indexed"))
        return state_chip("COMPLETED", gettext("live")) if document.live_number else state_chip("", "–")

    @admin.display(description=_("last change"), ordering="changed_at")
    def last_change(self, document: Any) -> Any:
        return document.changed_at

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Everybody inside edits some scope; which ones is settled by the form."""
        return True

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        version = "<int:document_id>/versions/<int:number>"
        return [
            path("add/results/<str:batch>/", wrap(self.results_view), name="knowledge_document_results"),
            path("<int:document_id>/upload/", wrap(self.new_version_view), name="knowledge_document_upload"),
            path(f"{version}/activate/", wrap(self.activate_view), name="knowledge_document_activate"),
            *super().get_urls(),
        ]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Upload one file or many. With `Accept: application/json`, the rows come back as JSON."""
        scopes = upload_scopes(editor(request))
        form = UploadForm(request.POST or None, request.FILES or None, scopes=scopes)
        as_json = request.headers.get("Accept") == "application/json"
        if request.method == "POST" and form.is_valid():
            return self.taken_in(request, form, as_json=as_json)
        if request.method == "POST" and as_json:
            return JsonResponse(
                {"errors": [text for texts in form.errors.values() for text in texts]}, status=400
            )
        return self.page(
            request,
            "admin/knowledge/upload.html",
            title=gettext("Upload documents"),
            form=form,
            max_bytes=settings.KNOWLEDGE_MAX_UPLOAD_BYTES,
            max_size=size_limit_text(),
        )

    def taken_in(self, request: HttpRequest, form: UploadForm, *, as_json: bool) -> HttpResponse:
        """Take the files of a valid form in, and lead to where the person sees what becomes of them."""
        values = form.cleaned_data
        rows = [
            take_in(
                scope=values["scope"],
                file=file,
                user=editor(request),
                title=values["title"],
                source_key=values["source_key"],
                note=values["note"],
            )
            for file in values["uploads"]
        ]
        batch = keep_rows(request.session, batch=values["batch"], rows=rows)
        if as_json:
            results = [
                {
                    "file_name": row.file_name,
                    "accepted": row.accepted,
                    "text": row.refusal_text or row.outcome_label,
                }
                for row in rows
            ]
            return JsonResponse({"rows": results, "next": self.after(request, batch)})
        return HttpResponseRedirect(self.after(request, batch))

    def after(self, request: HttpRequest, batch: str) -> str:
        """The address that shows a batch: the job's page for a single file that has one, else the rows."""
        rows = kept_rows(request.session, batch=batch)
        if len(rows) == 1 and rows[0].job is not None:
            return reverse("admin:knowledge_ingestjob_change", args=[rows[0].job])
        return reverse("admin:knowledge_document_results", args=[batch])

    def results_view(self, request: HttpRequest, batch: str) -> HttpResponse:
        rows = kept_rows(request.session, batch=batch)
        if not rows:
            messages.info(request, gettext("The results of this upload are gone. Here are all documents."))
            return HttpResponseRedirect(reverse("admin:knowledge_document_changelist"))
        jobs = IngestJob.objects.in_bulk([row.job for row in rows if row.job is not None])
        there = Document.objects.in_bulk([row.document for row in rows if row.document is not None])
        return self.page(
            request,
            "admin/knowledge/upload_results.html",
            title=gettext("What became of the files"),
            rows=[(row, jobs.get(row.job) if row.job else None, row.document in there) for row in rows],
            refused=sum(row.outcome == REFUSED for row in rows),
        )

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The document's page, with its versions as a timeline."""
        return self.document_page(
            request, self.owned(request, object_id), form=NewVersionForm(label_suffix="")
        )

    def document_page(
        self, request: HttpRequest, document: Document, *, form: NewVersionForm, status: int = 200
    ) -> HttpResponse:
        open_job = (
            document.jobs.filter(state__in=[IngestJob.State.QUEUED, IngestJob.State.RUNNING])
            .order_by("pk")
            .last()
        )
        return self.page(
            request,
            "admin/knowledge/document.html",
            title=document.title,
            status=status,
            original=document,
            document=document,
            entries=timeline(document),
            form=form,
            open_job=open_job,
            stalled_job=None if open_job else stalled_job(document),
            may_edit=may_edit_scope(editor(request), document.scope),
            max_bytes=settings.KNOWLEDGE_MAX_UPLOAD_BYTES,
            max_size=size_limit_text(),
        )

    def new_version_view(self, request: HttpRequest, document_id: int) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        document: Document = self.owned(request, document_id)
        if not may_edit_scope(editor(request), document.scope):
            return self.refused(request, document)
        form = NewVersionForm(request.POST, request.FILES, label_suffix="")
        if not form.is_valid():
            return self.document_page(request, document, form=form, status=400)
        values = form.cleaned_data
        row = next_version(document=document, file=values["file"], user=editor(request), note=values["note"])
        return self.shown(request, document, row)

    def shown(self, request: HttpRequest, document: Document, row: UploadRow) -> HttpResponse:
        if not row.accepted:
            messages.error(request, row.refusal_text)
        elif row.job is not None:
            return HttpResponseRedirect(reverse("admin:knowledge_ingestjob_change", args=[row.job]))
        else:
            messages.info(request, gettext("Nothing to do: exactly this content is live already."))
        return HttpResponseRedirect(document_link(document.pk))

    def activate_view(self, request: HttpRequest, document_id: int, number: int) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        document: Document = self.owned(request, document_id)
        version = version_of(document, number)
        if not may_edit_scope(editor(request), document.scope):
            return self.refused(request, document)
        try:
            job = request_activation(version=version, user=editor(request), reason=reason_given(request))
        except KnowledgeError as error:
            messages.error(request, error.told)
            return HttpResponseRedirect(document_link(document.pk))
        return HttpResponseRedirect(reverse("admin:knowledge_ingestjob_change", args=[job.pk]))
