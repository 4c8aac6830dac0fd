"""The index: builds, versions, segments, chunks, postings and cached embeddings.

A build is an index begun with one set of settings; a reindex begins a new one. Within a build, each
document version has at most one immutable segment. An IndexVersion sees the segments whose span covers
its number, so the difference between two neighbours is the spans that begin or end there, and going from
one build to another is a single row.

Vectors are in tables of their own, see `knowledge.index.vectors`.
"""

import pgtrigger
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField


class IndexBuild(models.Model):
    """One set of settings, and the segments made with it."""

    scope = models.ForeignKey("knowledge.Scope", on_delete=models.CASCADE, related_name="builds")
    settings = models.JSONField(_("settings"))
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("index build")
        verbose_name_plural = _("index builds")
        triggers = [pgtrigger.Protect(name="build_is_final", operation=pgtrigger.Update)]

    def __str__(self) -> str:
        return f"{self.scope} · {self.pk}"


class IndexVersion(models.Model):
    """What queries of a scope see, whole. Numbers count up in each scope; nothing is ever overwritten."""

    scope = models.ForeignKey(
        "knowledge.Scope", on_delete=models.CASCADE, related_name="index_versions", verbose_name=_("scope")
    )
    number = models.PositiveIntegerField(_("number"))
    build = models.ForeignKey(IndexBuild, on_delete=models.PROTECT, related_name="versions")
    root_hash = models.CharField(_("root hash"), max_length=64)
    document_count = models.PositiveIntegerField(_("documents"))
    chunk_count = models.PositiveIntegerField(_("chunks"))
    reason = models.CharField(_("why"), max_length=300, blank=True)
    made_by = models.ForeignKey(
        "accounts.User", null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("made by")
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("index version")
        verbose_name_plural = _("index versions")
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["scope", "number"], name="index_version_number_once"),
        ]
        triggers = [
            pgtrigger.Protect(
                name="index_version_is_final",
                operation=pgtrigger.Update,
            )
        ]

    def __str__(self) -> str:
        return f"{self.scope} · {self.number}"

    def spans(self) -> "models.QuerySet[SegmentSpan]":
        """What this version sees: the spans of its build that cover its number."""
        covering = SegmentSpan.objects.filter(build_id=self.build_id, entered__lte=self.number)
        return covering.exclude(departed__lte=self.number)


class PostingBlock(models.Model):
    """Postings of many segments merged, for reading fast. Its layout never shows in a result.

    chunk_numbers, lengths and segments are little-endian int32, one per chunk of the block.
    """

    build = models.ForeignKey(IndexBuild, on_delete=models.CASCADE, related_name="blocks")
    chunk_count = models.PositiveIntegerField()
    chunk_numbers = models.BinaryField()
    lengths = models.BinaryField()
    segments = models.BinaryField()


class Posting(models.Model):
    """Where a term occurs in a block: ordinals (int32 within the block) and term frequencies (uint8)."""

    pk = models.CompositePrimaryKey("block_id", "term")
    block = models.ForeignKey(PostingBlock, on_delete=models.CASCADE, related_name="postings")
    term = models.CharField(max_length=80, db_collation="C")
    ordinals = models.BinaryField()
    frequencies = models.BinaryField()


class Segment(models.Model):
    """A document version as one build sees it: its chunks, and their postings as one blob."""

    build = models.ForeignKey(IndexBuild, on_delete=models.CASCADE, related_name="segments")
    version = models.ForeignKey(
        "knowledge.DocumentVersion", on_delete=models.PROTECT, related_name="segments"
    )
    segment_hash = models.CharField(max_length=64)
    chunk_count = models.PositiveIntegerField()
    postings = models.BinaryField()
    block = models.ForeignKey(PostingBlock, null=True, on_delete=models.SET_NULL, related_name="members")

    class Meta:
        verbose_name = _("segment")
        verbose_name_plural = _("segments")
        constraints = [
            models.UniqueConstraint(fields=["build", "version"], name="segment_once_per_build"),
        ]
        indexes = [
            models.Index(fields=["build"], condition=models.Q(block__isnull=True), name="segment_loose"),
        ]


class SegmentSpan(models.Model):
    """A segment is in the index from version `entered` on, up to before version `departed`."""

    segment = models.ForeignKey(Segment, on_delete=models.CASCADE, related_name="spans")
    build = models.ForeignKey(IndexBuild, on_delete=models.CASCADE, related_name="spans")
    document = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="spans")
    entered = models.PositiveIntegerField()
    departed = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(departed__isnull=True) | models.Q(departed__gt=models.F("entered")),
                name="span_departs_after_it_entered",
            ),
            # A document is in an index version at most once.
            ExclusionConstraint(
                name="span_one_segment_of_a_document",
                expressions=[
                    ("build", "="),
                    ("document", "="),
                    (models.Func("entered", "departed", function="int4range"), "&&"),
                ],
            ),
        ]
        indexes = [
            models.Index(fields=["build"], condition=models.Q(departed__isnull=True), name="span_open"),
            models.Index(fields=["build", "entered"], name="span_entered"),
            models.Index(fields=["build", "departed"], name="span_departed"),
        ]


class Chunk(models.Model):
    """A quotable stretch of an extracted text: `text` is text[start:end].

    chunk_id is derived from scope, source key, content hash, settings and ordinal, so it is the same on
    every machine; `number` is this database's own short name for the row.
    """

    number = models.AutoField(primary_key=True)
    segment = models.ForeignKey(Segment, on_delete=models.CASCADE, related_name="chunks")
    ordinal = models.PositiveIntegerField()
    chunk_id = models.CharField(max_length=32)
    text = models.TextField()
    heading_path = ArrayField(models.TextField(), default=list)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    page = models.PositiveIntegerField(null=True)
    key = models.CharField(max_length=400, blank=True)
    token_count = models.PositiveIntegerField()
    language = models.CharField(max_length=2)
    source_type = models.CharField(max_length=60)
    metadata = models.JSONField(default=dict)
    embedding_hash = models.BinaryField(max_length=32)

    class Meta:
        verbose_name = _("chunk")
        verbose_name_plural = _("chunks")
        constraints = [
            models.UniqueConstraint(fields=["segment", "ordinal"], name="chunk_ordinal_once"),
            models.CheckConstraint(condition=models.Q(end__gt=models.F("start")), name="chunk_has_a_stretch"),
        ]
        indexes = [
            models.Index(fields=["chunk_id"], name="chunk_by_id"),
            GinIndex(fields=["metadata"], opclasses=["jsonb_path_ops"], name="chunk_by_metadata"),
        ]
        triggers = [pgtrigger.Protect(name="chunk_is_final", operation=pgtrigger.Update)]


class CachedEmbedding(models.Model):
    """The vector of a text by one model: what was embedded once is never embedded again."""

    pk = models.CompositePrimaryKey("model", "text_hash")
    model = models.CharField(max_length=120)
    text_hash = models.BinaryField(max_length=32)
    vector = HalfVectorField()
