"""The playground: a query's passages by each signal alone and fused, and why one passage is not there."""

from typing import Any, NamedTuple

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from knowledge.admin.access import ScopedAdmin, editor, upload_scopes
from knowledge.admin.erasing import as_ranges
from knowledge.admin.start_page import LANGUAGES
from knowledge.errors import KnowledgeError
from knowledge.models import Chunk, ExtractedText, IndexVersion, Scope
from knowledge.retrieval.explaining import Standing, explain
from knowledge.retrieval.fusion import POOL
from knowledge.retrieval.passages import Passage, Retrieval
from knowledge.retrieval.search import Signal, retrieve
from knowledge.retrieval.support import THRESHOLD
from knowledge.scopes import scope_of, scopes_seen_by

SHOWN = 10


class ScopeField(forms.ModelChoiceField[Scope]):
    """Whose searches are tried: a tenant's people see the global documents beside their own."""

    def label_from_instance(self, obj: Scope) -> str:
        return str(obj) if obj.tenant_id else gettext("global documents only")


class PlaygroundForm(forms.Form):
    """A query, who asks it, and what is left out. It is posted, so that no log of addresses has the query."""

    query = forms.CharField(label=_("Query"), required=False, strip=True)
    scope = ScopeField(label=_("Searched as"), queryset=Scope.objects.none(), empty_label=None)
    language = forms.ChoiceField(label=_("Language"), required=False)
    source_type = forms.ChoiceField(label=_("Source type"), required=False)
    as_of = forms.IntegerField(
        label=_("As of index version"), required=False, min_value=1, max_value=2**31 - 1
    )
    chunk = forms.CharField(label=_("Passage (its id)"), required=False, max_length=64, strip=True)

    def __init__(self, *args: Any, scopes: list[Scope], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        ids = [scope.pk for scope in scopes]
        field = self.fields["scope"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Scope.objects.select_related("tenant").filter(pk__in=ids).order_by("pk")
        types = (
            ExtractedText.objects.filter(version__document__scope__in=ids)
            .order_by("source_type")
            .values_list("source_type", flat=True)
            .distinct()
        )
        every = ("", _("all"))
        for name, choices in (
            ("language", [every, *LANGUAGES.items()]),
            ("source_type", [every, *((kind, kind) for kind in types)]),
        ):
            choice = self.fields[name]
            assert isinstance(choice, forms.ChoiceField)
            choice.choices = choices


class Column(NamedTuple):
    """What one way of ranking finds, with the milliseconds it took; `scored` names the score shown."""

    label: Any
    scored: str
    passages: list[Passage]
    milliseconds: float


def scopes_tried_by(user: User) -> list[Scope]:
    """The scopes the person may look into: the global one, which everybody reads, and those they edit."""
    return list({scope.pk: scope for scope in [scope_of(None), *upload_scopes(user)]}.values())


def columns(asked: dict[str, Any]) -> tuple[list[Column], Retrieval]:
    """Keywords alone, vectors alone, and both fused. Raises QueryUnusable or IndexVersionUnknown."""
    keyword = retrieve(**asked, top_k=SHOWN, signal=Signal.KEYWORD)
    vector = retrieve(**asked, top_k=SHOWN, signal=Signal.VECTOR)
    fused = retrieve(**asked, top_k=SHOWN)
    with_words = [passage for passage in keyword.passages if passage.keyword > 0]
    vector_ms = vector.timings_ms["embed"] + vector.timings_ms["vector"]
    return [
        Column(_("By keywords alone"), "keyword", with_words, keyword.timings_ms["keyword"]),
        Column(_("By vectors alone"), "vector", list(vector.passages), vector_ms),
        Column(_("Fused, as answers use it"), "score", list(fused.passages), fused.timings_ms["total"]),
    ], fused


def standing_of(chunk_id: str, asked: dict[str, Any], *, visible: list[Scope]) -> Standing | None:
    """Where the passage stands for what was asked; None where the person may see no passage of this id."""
    chunks = list(
        Chunk.objects.filter(chunk_id=chunk_id, segment__version__document__scope__in=visible)
        .select_related("segment__version__document__scope__tenant")
        .order_by("number")
    )
    if not chunks:
        return None
    scopes = scopes_seen_by(asked["tenant"])
    return explain(
        chunks,
        asked["query"],
        scopes=scopes,
        source_types=asked["source_types"],
        language=asked["language"],
        as_of={scopes[-1].key: asked["as_of"]} if asked["as_of"] is not None else None,
    )


def numbers_with(chunk: Chunk) -> str:
    """The index versions that hold the passage's segment and are still kept, as ranges."""
    numbers: set[int] = set()
    for span in chunk.segment.spans.all():
        kept = IndexVersion.objects.filter(build=span.build_id, number__gte=span.entered)
        if span.departed is not None:
            kept = kept.filter(number__lt=span.departed)
        numbers.update(kept.values_list("number", flat=True))
    return as_ranges(sorted(numbers))


@admin.register(Chunk)
class PlaygroundAdmin(ScopedAdmin):
    """Passages are looked at by searching; there is no list of them, and nothing to edit."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.playground_view)
        return [path("", view, name="knowledge_chunk_changelist")]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return obj is None

    def playground_view(self, request: HttpRequest) -> HttpResponse:
        scopes = scopes_tried_by(editor(request))
        picked = {name: request.GET[name] for name in ("chunk", "scope") if name in request.GET}
        initial = {"scope": scopes[-1].pk, **picked}
        is_asked = request.method == "POST"
        form = PlaygroundForm(request.POST if is_asked else None, initial=initial, scopes=scopes)
        context: dict[str, Any] = {"form": form, "pool": POOL, "threshold": THRESHOLD}
        if is_asked and form.is_valid():
            try:
                context |= self.found(form.cleaned_data, visible=scopes)
            except KnowledgeError as error:
                context["problem"] = error.told
        return self.page(
            request, "admin/knowledge/playground.html", title=gettext("Search playground"), **context
        )

    def found(self, values: dict[str, Any], *, visible: list[Scope]) -> dict[str, Any]:
        asked = {
            "query": values["query"],
            "tenant": values["scope"].tenant,
            "source_types": [values["source_type"]] if values["source_type"] else None,
            "language": values["language"] or None,
            "as_of": values["as_of"],
        }
        ranked, fused = columns(asked)
        names = {scope.key: scope for scope in visible}
        context: dict[str, Any] = {
            "columns": ranked,
            "fused": fused,
            "searched": [(names[key], number) for key, number in fused.index_versions.items()],
            "chunk_id": values["chunk"],
            "shown": SHOWN,
        }
        if values["chunk"]:
            standing = standing_of(values["chunk"], asked, visible=visible)
            context["standing"] = standing
            if standing is not None and standing.absence == "other_version":
                context["held_by"] = numbers_with(standing.chunk)
        return context
