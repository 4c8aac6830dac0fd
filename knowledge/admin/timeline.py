"""The versions of a document as a timeline: who, when, why, and what is live."""

from dataclasses import dataclass

from knowledge.models import Document, DocumentVersion, ExtractedText, IngestJob


@dataclass(frozen=True)
class TimelineEntry:
    """A version, with its latest job; `chip` is the state the page's style sheet knows."""

    version: DocumentVersion
    job: IngestJob | None
    has_text: bool

    @property
    def chip(self) -> str:
        if self.version.active:
            return "COMPLETED"
        return {"FAILED": "FAILED", "PENDING": "RUNNING"}.get(self.version.state, "")

    @property
    def may_be_activated(self) -> bool:
        """An indexed version that is not live, or one whose last attempt has ended without success."""
        if self.version.active:
            return False
        return self.job is None or self.job.is_finished


def timeline(document: Document) -> list[TimelineEntry]:
    """The document's versions, the newest first; three queries, whatever their number."""
    versions = list(document.versions.select_related("created_by"))
    jobs: dict[int, IngestJob] = {}
    for job in document.jobs.filter(version__isnull=False).select_related("requested_by").order_by("pk"):
        if job.version_id is not None:
            jobs[job.version_id] = job
    with_text = set(
        ExtractedText.objects.filter(version__document=document).values_list("version_id", flat=True)
    )
    return [TimelineEntry(version, jobs.get(version.pk), version.pk in with_text) for version in versions]
