"""Taking a document out of the base through the cockpit: for a while, or for good."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext

from knowledge.admin.access import editor, may_edit_scope, reason_given
from knowledge.admin.erasing import is_named, loss_of
from knowledge.admin.jobs import job_link
from knowledge.admin.version_pages import VersionPages
from knowledge.archiving import archive, erase, list_again
from knowledge.errors import DocumentStateForbids, KnowledgeError
from knowledge.models import Document, IngestJob


def document_link(document_id: int) -> str:
    return reverse("admin:knowledge_document_change", args=[document_id])


def stalled_job(document: Document) -> IngestJob | None:
    """The job that was to take a withheld document out of the index, where it failed or was cancelled."""
    if document.state == Document.State.LISTED:
        return None
    latest = document.jobs.filter(type=IngestJob.Type.DOCUMENT).order_by("pk").last()
    unfinished = {IngestJob.State.FAILED, IngestJob.State.ABORTED}
    return latest if latest is not None and latest.state in unfinished else None


class TakingOut(VersionPages):
    """The pages of a document that take it out and bring it back, beside those of its versions."""

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("<int:document_id>/archive/", wrap(self.archive_view), name="knowledge_document_archive"),
            path(
                "<int:document_id>/list-again/",
                wrap(self.list_again_view),
                name="knowledge_document_list_again",
            ),
            path("<int:document_id>/erase/", wrap(self.erase_view), name="knowledge_document_erase"),
            *super().get_urls(),
        ]

    def refused(self, request: HttpRequest, document: Document) -> HttpResponse:
        messages.error(request, gettext("You may look at this document, but not change it."))
        return HttpResponseRedirect(document_link(document.pk))

    def archive_view(self, request: HttpRequest, document_id: int) -> HttpResponse:
        return self.moved(request, document_id, archive)

    def list_again_view(self, request: HttpRequest, document_id: int) -> HttpResponse:
        return self.moved(request, document_id, list_again)

    def moved(
        self, request: HttpRequest, document_id: int, move: Callable[..., IngestJob | None]
    ) -> HttpResponse:
        """Archive or list again, and lead to the job, if that makes one."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        document: Document = self.owned(request, document_id)
        if not may_edit_scope(editor(request), document.scope):
            return self.refused(request, document)
        try:
            job = move(document=document, user=editor(request), reason=reason_given(request))
        except KnowledgeError as error:
            messages.error(request, error.told)
            return HttpResponseRedirect(document_link(document.pk))
        if job is None:
            messages.success(
                request, gettext("Listed again. None of its versions was ever indexed, so nothing goes live.")
            )
            return HttpResponseRedirect(document_link(document.pk))
        return HttpResponseRedirect(job_link(job))

    def erase_view(self, request: HttpRequest, document_id: int) -> HttpResponse:
        """Say what erasing takes away, and queue it when the source key is typed."""
        document: Document = self.owned(request, document_id)
        if not may_edit_scope(editor(request), document.scope):
            return self.refused(request, document)
        typed = request.POST.get("source_key", "")
        try:
            if document.state == Document.State.ERASING:
                raise DocumentStateForbids(state=document.get_state_display())
            if request.method == "POST" and is_named(document, typed):
                job = erase(document=document, user=editor(request), reason=reason_given(request))
                return HttpResponseRedirect(job_link(job))
        except KnowledgeError as error:
            messages.error(request, error.told)
            return HttpResponseRedirect(document_link(document.pk))
        is_wrong = request.method == "POST"
        return self.page(
            request,
            "admin/knowledge/erase.html",
            title=gettext("Erase for good"),
            status=400 if is_wrong else 200,
            original=document,
            document=document,
            loss=loss_of(document),
            is_wrong=is_wrong,
            typed=typed.replace("\x00", "")[:400],
            reason=reason_given(request),
        )
