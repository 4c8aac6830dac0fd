"""Scopes, documents and their immutable versions."""

import pgtrigger
from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import Tenant


class Scope(models.Model):
    """Whose knowledge it is: everybody's (no tenant), or one tenant's. Each has an index of its own.

    `key` enters the derived ids, so it never changes: "global", or "tenant:" and the tenant's short name.
    `live` is the IndexVersion that queries see.
    """

    GLOBAL = "global"

    key = models.CharField(_("key"), max_length=60, unique=True)
    tenant = models.OneToOneField(
        Tenant,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="scope",
        verbose_name=_("tenant"),
    )
    live = models.ForeignKey(
        "knowledge.IndexVersion", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        verbose_name = _("scope")
        verbose_name_plural = _("scopes")
        constraints = [
            models.UniqueConstraint(fields=["tenant"], nulls_distinct=False, name="scope_one_per_tenant"),
            models.CheckConstraint(
                condition=models.Q(tenant__isnull=True, key="global")
                | models.Q(tenant__isnull=False, key__startswith="tenant:"),
                name="scope_key_fits_tenant",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="scope_key_is_final",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange("key", "tenant"),
            )
        ]

    def __str__(self) -> str:
        return str(self.tenant) if self.tenant_id else str(_("global"))


class Document(models.Model):
    """Something editors look after under one source_key; what it says is in its versions."""

    class State(models.TextChoices):
        LISTED = "LISTED", _("listed")
        ARCHIVED = "ARCHIVED", _("archived")
        ERASING = "ERASING", _("being erased")

    scope = models.ForeignKey(
        Scope, on_delete=models.PROTECT, related_name="documents", verbose_name=_("scope")
    )
    source_key = models.CharField(
        _("source key"),
        max_length=400,
        help_text=_(
            "Names the document within its scope, for example pflege/giessen.yaml. It can't be changed."
        ),
    )
    title = models.CharField(_("title"), max_length=300)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.LISTED)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("created by"),
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        ordering = ["title"]
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "source_key"], name="document_source_key_once_per_scope"
            ),
            models.CheckConstraint(condition=~models.Q(source_key=""), name="document_source_key_not_empty"),
            models.CheckConstraint(
                condition=models.Q(state__in=["LISTED", "ARCHIVED", "ERASING"]), name="document_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["scope"], condition=~models.Q(state="LISTED"), name="document_withheld"),
        ]
        triggers = [
            pgtrigger.Protect(
                name="document_identity_is_final",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange("scope", "source_key"),
            )
        ]

    def __str__(self) -> str:
        return self.title


class DocumentVersion(models.Model):
    """The bytes of a document at one time. They never change; only their state does."""

    class State(models.TextChoices):
        PENDING = "PENDING", _("waiting")
        INDEXED = "INDEXED", _("indexed")
        FAILED = "FAILED", _("failed")

    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, related_name="versions", verbose_name=_("document")
    )
    number = models.PositiveIntegerField(_("number"))
    content_hash = models.CharField(_("content hash (SHA-256)"), max_length=64)
    file_name = models.CharField(_("file name"), max_length=255)
    size = models.PositiveBigIntegerField(_("size in bytes"))
    note = models.CharField(_("why"), max_length=300, blank=True)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.PENDING)
    active = models.BooleanField(_("active"), default=False)
    activated_at = models.DateTimeField(_("activated"), null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("created by"),
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("version")
        verbose_name_plural = _("versions")
        ordering = ["document", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["document", "number"], name="version_number_once"),
            models.UniqueConstraint(fields=["document", "content_hash"], name="version_content_once"),
            models.UniqueConstraint(
                fields=["document"], condition=models.Q(active=True), name="version_one_active"
            ),
            models.CheckConstraint(
                condition=models.Q(active=False) | models.Q(state="INDEXED"), name="version_active_is_indexed"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["PENDING", "INDEXED", "FAILED"]), name="version_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(content_hash__regex=r"^[0-9a-f]{64}$"),
                name="version_content_hash_is_sha256",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="version_content_is_final",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange("document", "number", "content_hash", "file_name", "size"),
            )
        ]

    def __str__(self) -> str:
        return f"{self.document} · {self.number}"


class ExtractedText(models.Model):
    """What the extractor read out of a version; the index is made from it, so it never changes."""

    version = models.OneToOneField(
        DocumentVersion, primary_key=True, on_delete=models.CASCADE, related_name="extracted"
    )
    text = models.TextField()
    text_hash = models.CharField(max_length=64)
    extractor = models.CharField(_("extractor"), max_length=40)
    extractor_version = models.CharField(_("extractor version"), max_length=40)
    media_type = models.CharField(_("media type"), max_length=120)
    title = models.CharField(max_length=300, blank=True)
    language = models.CharField(_("language"), max_length=2)
    source_type = models.CharField(_("source type"), max_length=60)
    metadata = models.JSONField(default=dict)
    pages = models.JSONField(default=list)
    entries = models.JSONField(default=list)
    warnings = models.JSONField(default=list)

    class Meta:
        verbose_name = _("extracted text")
        verbose_name_plural = _("extracted texts")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(language__in=["de", "en", "ru"]), name="extracted_language_known"
            ),
        ]
        triggers = [pgtrigger.Protect(name="extracted_text_is_final", operation=pgtrigger.Update)]

    def __str__(self) -> str:
        return f"{self.version_id} · {self.extractor} {self.extractor_version}"
