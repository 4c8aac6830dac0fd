"""What there is to see of one version: its extracted text, its passages, its file."""

from typing import Any

from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils.translation import gettext

from knowledge.admin.access import ScopedAdmin
from knowledge.admin.version_differences import differences_context
from knowledge.errors import FileMissing
from knowledge.files import checked_path
from knowledge.models import Chunk, Document, DocumentVersion, ExtractedText, Segment

CHARS_SHOWN = 20_000
CHUNKS_SHOWN = 25


def version_of(document: Document, number: int) -> DocumentVersion:
    """The document's version of this number, or Http404."""
    versions = DocumentVersion.objects.select_related("document__scope__tenant", "created_by")
    return get_object_or_404(versions, document=document, number=number)


def text_context(version: DocumentVersion, *, start: str) -> dict[str, Any]:
    """A stretch of the extracted text from the character `start` on, for version_text.html."""
    extracted = ExtractedText.objects.filter(version=version).first()
    length = len(extracted.text) if extracted else 0
    first = int(start) if start.isascii() and start.isdigit() and len(start) < 12 else 0
    first = min(first, max(length - 1, 0))
    last = min(first + CHARS_SHOWN, length)
    return {
        "version": version,
        "extracted": extracted,
        "stretch": extracted.text[first:last] if extracted else "",
        "first": first,
        "last": last,
        "length": length,
        "before": max(first - CHARS_SHOWN, 0) if first else None,
        "after": last if last < length else None,
    }


def chunks_context(version: DocumentVersion, *, page: str) -> dict[str, Any]:
    """The version's passages as its scope's live build cut them, for version_chunks.html.

    `segment` is None where that build has none of the version.
    """
    live = version.document.scope.live
    segment = Segment.objects.filter(version=version, build=live.build_id).first() if live else None
    if segment is None:
        segment = Segment.objects.filter(version=version).order_by("-build_id").first()
    chunks = Chunk.objects.filter(segment=segment).order_by("ordinal") if segment else Chunk.objects.none()
    return {
        "version": version,
        "segment": segment,
        "page": Paginator(chunks, CHUNKS_SHOWN).get_page(page),
    }


def file_response(version: DocumentVersion) -> FileResponse:
    """The original bytes, always as an attachment: what editors upload is never run in our origin."""
    try:
        content = checked_path(version.content_hash).open("rb")
    except FileMissing:
        raise Http404 from None
    response = FileResponse(
        content, as_attachment=True, filename=version.file_name, content_type="application/octet-stream"
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["Cache-Control"] = "private, no-store"
    return response


class VersionPages(ScopedAdmin):
    """The pages of one version of a document."""

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        version = "<int:document_id>/versions/<int:number>"
        return [
            path(f"{version}/text/", wrap(self.text_view), name="knowledge_document_text"),
            path(f"{version}/chunks/", wrap(self.chunks_view), name="knowledge_document_chunks"),
            path(f"{version}/file/", wrap(self.file_view), name="knowledge_document_file"),
            path(
                "<int:document_id>/differences/",
                wrap(self.differences_view),
                name="knowledge_document_differences",
            ),
            *super().get_urls(),
        ]

    def text_view(self, request: HttpRequest, document_id: int, number: int) -> HttpResponse:
        version = version_of(self.owned(request, document_id), number)
        return self.page(
            request,
            "admin/knowledge/version_text.html",
            title=gettext("Extracted text"),
            original=version.document,
            **text_context(version, start=request.GET.get("from", "")),
        )

    def chunks_view(self, request: HttpRequest, document_id: int, number: int) -> HttpResponse:
        version = version_of(self.owned(request, document_id), number)
        return self.page(
            request,
            "admin/knowledge/version_chunks.html",
            title=gettext("Passages"),
            original=version.document,
            **chunks_context(version, page=request.GET.get("page", "")),
        )

    def file_view(self, request: HttpRequest, document_id: int, number: int) -> FileResponse:
        version = version_of(self.owned(request, document_id), number)
        return file_response(version)

    def differences_view(self, request: HttpRequest, document_id: int) -> HttpResponse:
        document: Document = self.owned(request, document_id)
        return self.page(
            request,
            "admin/knowledge/differences.html",
            title=gettext("Differences"),
            original=document,
            **differences_context(document, wanted=request.GET.dict()),
        )
