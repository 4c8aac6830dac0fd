"""Jobs that change the index, their logs, and who may write."""

import pgtrigger
from django.conf import settings
from django.db import models
from django.utils.translation import get_language
from django.utils.translation import gettext as translate
from django.utils.translation import gettext_lazy as _


class IngestJob(models.Model):
    """One change of the index. Jobs run one after another, in the order they were queued."""

    class Type(models.TextChoices):
        DOCUMENT_VERSION_ACTIVATE = "DOCUMENT_VERSION_ACTIVATE", _("activate a version")
        DOCUMENT = "DOCUMENT", _("update a document")
        GLOBAL_REINDEX = "GLOBAL_REINDEX", _("reindex everything")
        ROLLBACK = "ROLLBACK", _("go back to an earlier index version")

    class State(models.TextChoices):
        QUEUED = "QUEUED", _("waiting")
        RUNNING = "RUNNING", _("running")
        COMPLETED = "COMPLETED", _("completed")
        FAILED = "FAILED", _("failed")
        ABORTED = "ABORTED", _("cancelled")

    class Stage(models.TextChoices):
        WAITING = "WAITING", _("waiting for its turn")
        EXTRACT = "EXTRACT", _("reading the file")
        CHUNK = "CHUNK", _("cutting into passages")
        EMBED = "EMBED", _("embedding")
        PUBLISH = "PUBLISH", _("publishing")
        DONE = "DONE", _("done")

    type = models.CharField(_("type"), max_length=30, choices=Type.choices)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.QUEUED)
    scope = models.ForeignKey(
        "knowledge.Scope", on_delete=models.CASCADE, related_name="jobs", verbose_name=_("scope")
    )
    document = models.ForeignKey(
        "knowledge.Document",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="jobs",
        verbose_name=_("document"),
    )
    version = models.ForeignKey(
        "knowledge.DocumentVersion",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="jobs",
        verbose_name=_("version"),
    )
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("requested by"),
    )
    target_number = models.PositiveIntegerField(_("index version to go back to"), null=True, blank=True)
    reason = models.CharField(_("why"), max_length=300, blank=True)
    queued_at = models.DateTimeField(_("queued"), auto_now_add=True)
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(_("attempt"), default=0)
    fence = models.BigIntegerField(null=True, blank=True, editable=False)
    stage = models.CharField(_("stage"), max_length=10, choices=Stage.choices, default=Stage.WAITING)
    progress_done = models.PositiveIntegerField(_("steps done"), default=0)
    progress_total = models.PositiveIntegerField(_("steps in all"), default=0)
    cancel_requested = models.BooleanField(_("cancelling"), default=False)
    error_code = models.CharField(_("error code"), max_length=40, blank=True)
    error_texts = models.JSONField(default=dict, blank=True, editable=False)
    index_version = models.ForeignKey(
        "knowledge.IndexVersion",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="jobs",
        verbose_name=_("index version"),
    )

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        ordering = ["-pk"]
        constraints = [
            # One writer at a time: an index on a constant, over the running ones only.
            models.UniqueConstraint(
                models.Value(1), condition=models.Q(state="RUNNING"), name="job_one_running"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["QUEUED", "RUNNING", "COMPLETED", "FAILED", "ABORTED"]),
                name="job_state_known",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    type__in=["DOCUMENT_VERSION_ACTIVATE", "DOCUMENT", "GLOBAL_REINDEX", "ROLLBACK"]
                ),
                name="job_type_known",
            ),
            models.CheckConstraint(
                condition=~models.Q(type="DOCUMENT_VERSION_ACTIVATE", state__in=["QUEUED", "RUNNING"])
                | models.Q(version__isnull=False),
                name="job_activation_names_a_version",
            ),
            models.CheckConstraint(
                condition=models.Q(type="ROLLBACK", target_number__isnull=False)
                | (~models.Q(type="ROLLBACK") & models.Q(target_number__isnull=True)),
                name="job_rollback_names_a_version",
            ),
            models.CheckConstraint(
                # The job that erases a document ends with the document gone.
                condition=~models.Q(type="DOCUMENT", state="QUEUED") | models.Q(document__isnull=False),
                name="job_document_names_a_document",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["QUEUED", "RUNNING"], finished_at__isnull=True)
                | models.Q(state__in=["COMPLETED", "FAILED", "ABORTED"], finished_at__isnull=False),
                name="job_finished_has_a_time",
            ),
            models.CheckConstraint(
                condition=~models.Q(state="FAILED") | ~models.Q(error_code=""), name="job_failed_says_why"
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=models.Q(state="QUEUED"), name="job_queue"),
            models.Index(fields=["state", "-finished_at"], name="job_by_state"),
        ]
        triggers = [
            pgtrigger.FSM(
                name="job_state_goes_a_legal_way",
                field="state",
                transitions=[
                    ("QUEUED", "RUNNING"),
                    ("QUEUED", "ABORTED"),
                    ("RUNNING", "COMPLETED"),
                    ("RUNNING", "FAILED"),
                    ("RUNNING", "ABORTED"),
                    # The worker died; the job is taken up again.
                    ("RUNNING", "QUEUED"),
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk} · {self.get_type_display()}"

    @property
    def is_finished(self) -> bool:
        return self.state in {self.State.COMPLETED, self.State.FAILED, self.State.ABORTED}

    @property
    def error_text(self) -> str:
        """What went wrong and what to do, in the reader's language; empty if nothing did."""
        language = (get_language() or "en")[:2]
        return str(self.error_texts.get(language) or self.error_texts.get("en") or "")

    @property
    def percent(self) -> int:
        """Progress of the current stage, 0 to 100."""
        if self.state == self.State.COMPLETED:
            return 100
        return 100 * self.progress_done // self.progress_total if self.progress_total else 0


class JobLogEntry(models.Model):
    """A line of a job's log: a translatable sentence with its values (never a document's text)."""

    job = models.ForeignKey(IngestJob, on_delete=models.CASCADE, related_name="log")
    at = models.DateTimeField(auto_now_add=True)
    sentence = models.CharField(max_length=300)
    values = models.JSONField(default=dict)

    class Meta:
        verbose_name = _("log entry")
        verbose_name_plural = _("log entries")
        ordering = ["pk"]

    def __str__(self) -> str:
        line: str = translate(self.sentence) % self.values
        return line


class WriterFence(models.Model):
    """The number of the latest writer; one row. Who holds an older number can't publish any more."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    fence = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="fence_has_one_row")]


class Heartbeat(models.Model):
    """When a worker or beat was last seen alive."""

    class Kind(models.TextChoices):
        WORKER = "worker", _("worker")
        BEAT = "beat", _("scheduler")

    kind = models.CharField(max_length=10, choices=Kind.choices, primary_key=True)
    seen_at = models.DateTimeField()
