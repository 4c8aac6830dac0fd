"""The start page of the cockpit: at a glance, what is live, what is running and what needs somebody."""

from datetime import timedelta
from typing import Any

from django.db.models import Count, Q
from django.db.models.functions import TruncDate
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from knowledge.admin.access import scopes_edited_by
from knowledge.admin.charts import HEIGHT, WIDTH, Day, shares, stacked_bars
from knowledge.jobs import describe_job
from knowledge.liveness import liveness
from knowledge.models import Document, DocumentVersion, IngestJob

DAYS = 14
LANGUAGES = {"de": _("German"), "en": _("English"), "ru": _("Russian")}


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add to the admin's index page what `templates/admin/index.html` shows."""
    scopes = list(scopes_edited_by(request.user).select_related("live"))
    jobs = IngestJob.objects.filter(scope__in=scopes).select_related(
        "scope__tenant", "document", "version", "requested_by"
    )
    running = jobs.filter(state=IngestJob.State.RUNNING).first()
    last_failure = jobs.filter(state=IngestJob.State.FAILED).order_by("-finished_at").first()
    documents = Document.objects.filter(scope__in=scopes, state=Document.State.LISTED)
    return {
        **context,
        "title": gettext("Overview"),
        "scopes": scopes,
        "document_count": documents.filter(versions__active=True).count(),
        "chunk_count": sum(scope.live.chunk_count for scope in scopes if scope.live),
        "running": running,
        "running_live": describe_job(running) if running else None,
        "queued": jobs.filter(state=IngestJob.State.QUEUED).count(),
        "last_failure": last_failure,
        "failed_documents": documents.filter(versions__state=DocumentVersion.State.FAILED)
        .exclude(versions__active=True)
        .distinct()
        .count(),
        "alive": liveness(),
        "bars": stacked_bars(
            job_days(jobs), sentence=gettext("%(label)s: %(completed)s completed, %(failed)s failed")
        ),
        "chart_width": WIDTH,
        "chart_height": HEIGHT,
        "languages": shares(documents_by_language(documents)),
        "recent": jobs.order_by("-pk")[:6],
    }


def job_days(jobs: Any) -> list[Day]:
    """The jobs that ended in the last days, today last; days without any are there with zeros."""
    today = timezone.localdate()
    first = today - timedelta(days=DAYS - 1)
    counted = {
        row["day"]: row
        for row in jobs.filter(finished_at__isnull=False, finished_at__date__gte=first)
        .order_by()
        .annotate(day=TruncDate("finished_at"))
        .values("day")
        .annotate(
            completed=Count("pk", filter=Q(state=IngestJob.State.COMPLETED)),
            failed=Count("pk", filter=Q(state=IngestJob.State.FAILED)),
        )
    }
    days = []
    for offset in range(DAYS):
        day = first + timedelta(days=offset)
        row = counted.get(day, {})
        days.append(Day(date_format(day, "SHORT_DATE_FORMAT"), row.get("completed", 0), row.get("failed", 0)))
    return days


def documents_by_language(documents: Any) -> list[tuple[str, int]]:
    """How many live documents there are of each language, the most frequent first."""
    counted = (
        DocumentVersion.objects.filter(document__in=documents, active=True, extracted__isnull=False)
        .order_by()
        .values_list("extracted__language")
        .annotate(count=Count("pk"))
    )
    most_first = sorted(counted, key=lambda row: (-row[1], row[0]))
    return [(str(LANGUAGES.get(code, code)), count) for code, count in most_first]
