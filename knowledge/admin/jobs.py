"""Jobs in the cockpit: the list, the page that follows one live, cancel and retry."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, JsonResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.formats import localize
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from knowledge.admin.access import ScopedAdmin, editor, may_edit_scope, may_govern_scope
from knowledge.admin.scope_filter import ScopeFilter
from knowledge.errors import KnowledgeError
from knowledge.jobs import describe_job, request_cancel, retry
from knowledge.models import IngestJob

LIVE_AT_ONCE = 200


def may_steer(user: User, job: IngestJob) -> bool:
    """Whether the user may cancel or retry the job: whoever could have asked for it."""
    if job.type in {IngestJob.Type.GLOBAL_REINDEX, IngestJob.Type.ROLLBACK}:
        return may_govern_scope(user, job.scope)
    return may_edit_scope(user, job.scope)


def job_link(job: IngestJob) -> str:
    return reverse("admin:knowledge_ingestjob_change", args=[job.pk])


def duration(job: IngestJob) -> str:
    """How long the job has run or ran, for reading; empty before it started."""
    if job.started_at is None:
        return ""
    seconds = ((job.finished_at or timezone.now()) - job.started_at).total_seconds()
    if seconds < 60:
        return f"{localize(round(seconds, 1))} s"
    return timesince(job.started_at, job.finished_at or timezone.now())


def state_chip(state: str, label: str) -> SafeString:
    return format_html('<span class="k-chip" data-state="{}">{}</span>', state, label)


@admin.register(IngestJob)
class IngestJobAdmin(ScopedAdmin):
    """Jobs are made by uploads, activations and reindexes, so there is nothing to add or to edit here."""

    list_display = [
        "summary",
        "state_label",
        "type_label",
        "scope",
        "requested_by",
        "queued_at",
        "lasted",
    ]
    list_display_links = ["summary"]
    list_filter = ["state", "type", ScopeFilter]
    search_fields = ["document__title", "document__source_key", "reason"]
    list_select_related = ["scope__tenant", "document", "version", "requested_by"]
    list_per_page = 50
    date_hierarchy = None
    change_list_template = "admin/knowledge/job_list.html"

    @admin.display(description=_("job"), ordering="pk")
    def summary(self, job: IngestJob) -> str:
        if job.version is not None:
            return f"{job.pk} · {job.document} · {job.version.number}"
        if job.target_number is not None:
            return f"{job.pk} · {job.get_type_display()} · {job.target_number}"
        return f"{job.pk} · {job.document or job.get_type_display()}"

    @admin.display(description=_("state"), ordering="state")
    def state_label(self, job: IngestJob) -> SafeString:
        return state_chip(job.state, job.get_state_display())

    @admin.display(description=_("type"), ordering="type")
    def type_label(self, job: IngestJob) -> str:
        return job.get_type_display()

    @admin.display(description=_("took"))
    def lasted(self, job: IngestJob) -> str:
        return duration(job)

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestJob]:
        return super().get_queryset(request).select_related(*self.list_select_related)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("live/", wrap(self.live_view), name="knowledge_ingestjob_live"),
            path("<int:job_id>/cancel/", wrap(self.cancel_view), name="knowledge_ingestjob_cancel"),
            path("<int:job_id>/retry/", wrap(self.retry_view), name="knowledge_ingestjob_retry"),
            *super().get_urls(),
        ]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        job: IngestJob = self.owned(request, object_id)
        steering = may_steer(editor(request), job)
        return self.page(
            request,
            "admin/knowledge/job.html",
            title=str(job),
            original=job,
            job=job,
            live=describe_job(job),
            duration=duration(job),
            may_cancel=steering and not job.is_finished and not job.cancel_requested,
            may_retry=steering and job.state in {IngestJob.State.FAILED, IngestJob.State.ABORTED},
        )

    def live_view(self, request: HttpRequest) -> JsonResponse:
        """The jobs `?ids=1,2` as they stand, those the person may not see left out."""
        wanted = [
            int(part) for part in request.GET.get("ids", "").split(",") if part.isascii() and part.isdigit()
        ]
        jobs = self.get_queryset(request).filter(pk__in=wanted[:LIVE_AT_ONCE])
        described = {job.pk: {**describe_job(job), "duration": duration(job)} for job in jobs}
        return JsonResponse({"jobs": described}, headers={"Cache-Control": "no-store"})

    def cancel_view(self, request: HttpRequest, job_id: int) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        job: IngestJob = self.owned(request, job_id)
        if not may_steer(editor(request), job):
            return self.refused(request, job)
        try:
            request_cancel(job=job, user=editor(request))
        except KnowledgeError as error:
            messages.error(request, error.told)
        else:
            messages.success(request, gettext("The job is being cancelled."))
        return HttpResponseRedirect(job_link(job))

    def retry_view(self, request: HttpRequest, job_id: int) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        job: IngestJob = self.owned(request, job_id)
        if not may_steer(editor(request), job):
            return self.refused(request, job)
        try:
            again = retry(job=job, user=editor(request))
        except KnowledgeError as error:
            messages.error(request, error.told)
            return HttpResponseRedirect(job_link(job))
        messages.success(request, gettext("The job has been queued again."))
        return HttpResponseRedirect(job_link(again))

    def refused(self, request: HttpRequest, job: IngestJob) -> HttpResponse:
        messages.error(request, gettext("You may look at this job, but not steer it."))
        return HttpResponseRedirect(job_link(job))
