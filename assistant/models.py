"""Conversations, their turns, what a turn cites, and the receipt of what it was made from."""

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import Tenant
from knowledge.models import DocumentVersion

MAX_QUESTION_CHARS = 4000


class Conversation(models.Model):
    """What one person asked in a row, seen by nobody else. Without a tenant it asks the global base only."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="conversations",
        verbose_name=_("user"),
    )
    tenant = models.ForeignKey(
        Tenant,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="conversations",
        verbose_name=_("tenant"),
    )
    title = models.CharField(_("title"), max_length=120)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    updated_at = models.DateTimeField(_("last used"), db_default=Now())

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        ordering = ["-updated_at", "-pk"]
        indexes = [models.Index(fields=["user", "-updated_at"], name="conversation_of_user")]

    def __str__(self) -> str:
        return f"{self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("conversation", args=[self.pk])


class Turn(models.Model):
    """A question and its answer. `answer` is what has been written so far, at most about a second behind."""

    class State(models.TextChoices):
        STREAMING = "STREAMING", _("being answered")
        DONE = "DONE", _("answered")
        FAILED = "FAILED", _("failed")
        STOPPED = "STOPPED", _("stopped")

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="turns", verbose_name=_("conversation")
    )
    number = models.PositiveIntegerField(_("number"))
    question = models.TextField(_("question"))
    answer = models.TextField(_("answer"), blank=True, default="")
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.STREAMING)
    language = models.CharField(_("language"), max_length=2)
    supported = models.BooleanField(_("supported by the sources"), null=True)
    provider = models.CharField(_("provider"), max_length=40)
    error_code = models.CharField(_("error code"), max_length=40, blank=True, default="")
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("turn")
        verbose_name_plural = _("turns")
        ordering = ["conversation", "number"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "number"], name="turn_number_once"),
            models.UniqueConstraint(
                fields=["conversation"], condition=models.Q(state="STREAMING"), name="turn_one_streaming"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["STREAMING", "DONE", "FAILED", "STOPPED"]),
                name="turn_state_known",
            ),
            models.CheckConstraint(
                condition=models.Q(state="STREAMING", finished_at__isnull=True)
                | models.Q(state__in=["DONE", "FAILED", "STOPPED"], finished_at__isnull=False),
                name="turn_finished_has_a_time",
            ),
            models.CheckConstraint(
                condition=models.Q(state="FAILED") & ~models.Q(error_code="")
                | ~models.Q(state="FAILED") & models.Q(error_code=""),
                name="turn_failed_says_why",
            ),
            models.CheckConstraint(
                condition=~models.Q(state="DONE") | models.Q(supported__isnull=False),
                name="turn_done_knows_its_support",
            ),
            models.CheckConstraint(condition=~models.Q(question=""), name="turn_asks_something"),
        ]
        triggers = [
            pgtrigger.Protect(
                name="turn_question_is_final",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange("conversation", "number", "question"),
            ),
            pgtrigger.FSM(
                name="turn_state_goes_a_legal_way",
                field="state",
                transitions=[("STREAMING", "DONE"), ("STREAMING", "FAILED"), ("STREAMING", "STOPPED")],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id} · {self.number}"


class Citation(models.Model):
    """What the number [n] of an answer stands for: [start, end) of a version's extracted text.

    It goes with the version, so that what is erased is not quoted any longer.
    """

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="citations")
    number = models.PositiveSmallIntegerField(_("number"))
    version = models.ForeignKey(
        DocumentVersion, on_delete=models.CASCADE, related_name="citations", verbose_name=_("version")
    )
    chunk_id = models.CharField(max_length=64)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    title = models.CharField(_("title"), max_length=300)
    heading = models.TextField(_("heading"), blank=True)
    snippet = models.TextField(_("excerpt"))

    class Meta:
        verbose_name = _("citation")
        verbose_name_plural = _("citations")
        ordering = ["turn", "number"]
        constraints = [
            models.UniqueConstraint(fields=["turn", "number"], name="citation_number_once_per_turn"),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="citation_counts_from_one"),
            models.CheckConstraint(
                condition=models.Q(end__gt=models.F("start")), name="citation_has_a_stretch"
            ),
        ]
        indexes = [models.Index(fields=["chunk_id"], name="citation_by_chunk")]
        triggers = [pgtrigger.Protect(name="citation_is_final", operation=pgtrigger.Update)]

    def __str__(self) -> str:
        return f"[{self.number}] {self.title}"


class Receipt(models.Model):
    """What an answer was made from. It holds ids, offsets, scores and times, and no text of any document.

    `passages` has, in the order of their numbers: number, rank, chunk_id, document_id, version_id,
    version_number, scope_key, start, end, score, keyword, keyword_rank, vector, vector_rank, rerank.
    `timings_ms` has the stages of retrieval and, once the answer is whole, first_token and answer.
    """

    turn = models.OneToOneField(Turn, primary_key=True, on_delete=models.CASCADE, related_name="receipt")
    index_versions = models.JSONField(_("index versions"))
    passages = models.JSONField(_("passages"))
    supported = models.BooleanField(_("supported by the sources"))
    support = models.FloatField(_("support"))
    provider = models.CharField(_("provider"), max_length=40)
    model = models.CharField(_("model"), max_length=120, blank=True)
    prompt_hash = models.CharField(_("hash of the prompt (SHA-256)"), max_length=64)
    timings_ms = models.JSONField(_("times in ms"), default=dict)
    warnings = models.JSONField(_("warnings"), default=list)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("receipt")
        verbose_name_plural = _("receipts")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(prompt_hash__regex=r"^[0-9a-f]{64}$"), name="receipt_prompt_hash_is_sha256"
            ),
        ]
        triggers = [
            # Only the times may be completed later.
            pgtrigger.Protect(
                name="receipt_is_final",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange(
                    "index_versions",
                    "passages",
                    "supported",
                    "support",
                    "provider",
                    "model",
                    "prompt_hash",
                    "warnings",
                ),
            )
        ]

    def __str__(self) -> str:
        return f"{self.turn_id}"
