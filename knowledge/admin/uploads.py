"""Taking files in through the cockpit: the form, and what became of each file."""

import uuid
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO, cast

from django import forms
from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat
from django.utils.translation import get_language, override
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from knowledge.errors import KnowledgeError
from knowledge.models import Document, Scope
from knowledge.uploads import accept_upload, source_key_for

SESSION_KEY = "uploads"
BATCHES_KEPT = 5
REFUSED = "refused"

OUTCOMES = {
    "new_document": _("new document"),
    "new_version": _("new version"),
    "again": _("known content, activated again"),
    "unchanged": _("unchanged: this content is live already"),
    REFUSED: _("refused"),
}


class ManyFiles(forms.FileField):
    """One file or many; the cleaned value is a list."""

    class Input(forms.FileInput):
        allow_multiple_selected = True

    widget = Input

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[Any]]:
        given = (data if isinstance(data, list | tuple) else [data]) or [None]
        return [super(ManyFiles, self).clean(item, initial) for item in given]


class UploadForm(forms.Form):
    """Files for one scope. Title and source key only make sense for a single file."""

    scope = forms.ModelChoiceField(label=_("For whom"), queryset=Scope.objects.none(), empty_label=None)
    uploads = ManyFiles(
        label=_("Files"),
        # An empty file is taken in like any other, and fails as a job that says so.
        allow_empty_file=True,
        error_messages={"required": _("Choose at least one file.")},
    )
    title = forms.CharField(
        label=_("Title"), max_length=300, required=False, help_text=_("Empty: taken from the file.")
    )
    source_key = forms.CharField(
        label=_("Source key"),
        max_length=400,
        required=False,
        help_text=_(
            "Names the document for good, for example pflege/giessen.yaml. Empty: made from the file's name. "
            "A file for a known key becomes the document's next version."
        ),
    )
    note = forms.CharField(
        label=_("Why"), max_length=300, required=False, help_text=_("Shown in the document's history.")
    )
    batch = forms.RegexField(regex=r"^[0-9a-f]{32}$", required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, scopes: list[Scope], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        field = self.fields["scope"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Scope.objects.select_related("tenant").filter(pk__in=[scope.pk for scope in scopes])
        if len(scopes) == 1:
            field.initial = scopes[0].pk
            field.widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if len(cleaned.get("uploads") or []) > 1:
            for name in ("title", "source_key"):
                if cleaned.get(name):
                    self.add_error(name, _("Leave this empty when you upload several files."))
        return cleaned


class NewVersionForm(forms.Form):
    """The next version of a document."""

    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,
        error_messages={"required": _("Choose a file.")},
    )
    note = forms.CharField(label=_("Why"), max_length=300, required=False)


@dataclass(frozen=True)
class UploadRow:
    """What became of one file; JSON-able, so that it can wait in the session."""

    file_name: str
    outcome: str
    document: int | None = None
    job: int | None = None
    refusal: dict[str, str] | None = None

    @property
    def accepted(self) -> bool:
        return self.outcome != REFUSED

    @property
    def outcome_label(self) -> str:
        return str(OUTCOMES[self.outcome])

    @property
    def refusal_text(self) -> str:
        texts = self.refusal or {}
        return texts.get((get_language() or "en")[:2]) or texts.get("en", "")


def in_every_language(error: KnowledgeError) -> dict[str, str]:
    """The error's sentence and advice by language, for showing them later to whoever reads."""
    texts = {}
    for code, _name in settings.LANGUAGES:
        with override(code):
            texts[code] = error.told
    return texts


def take_in(
    *,
    scope: Scope,
    file: UploadedFile[Any],
    user: User,
    title: str = "",
    source_key: str = "",
    note: str = "",
) -> UploadRow:
    """Hand one file to the knowledge base and say what became of it; a refusal is a result, not an error."""
    name = file.name or "file"
    try:
        accepted = accept_upload(
            scope=scope,
            source_key=source_key or source_key_for(name),
            file_name=name,
            content=cast(BinaryIO, file.file),
            title=title,
            note=note,
            user=user,
        )
    except KnowledgeError as error:
        return UploadRow(file_name=name, outcome=REFUSED, refusal=in_every_language(error))
    return UploadRow(
        file_name=name,
        outcome=accepted.outcome,
        document=accepted.document.pk,
        job=accepted.job.pk if accepted.job else None,
    )


def next_version(*, document: Document, file: UploadedFile[Any], user: User, note: str) -> UploadRow:
    return take_in(scope=document.scope, file=file, user=user, source_key=document.source_key, note=note)


def keep_rows(session: SessionBase, *, batch: str, rows: list[UploadRow]) -> str:
    """Add rows to a batch in the session; the same file again replaces its row. Returns the batch's name."""
    batch = batch or uuid.uuid4().hex
    batches: dict[str, list[dict[str, Any]]] = session.get(SESSION_KEY, {})
    known = {row["file_name"]: row for row in batches.pop(batch, [])}
    known.update({row.file_name: asdict(row) for row in rows})
    batches[batch] = list(known.values())
    session[SESSION_KEY] = dict(list(batches.items())[-BATCHES_KEPT:])
    return batch


def kept_rows(session: SessionBase, *, batch: str) -> list[UploadRow]:
    """The rows of a batch, in the order the files came in; empty for an unknown batch."""
    return [UploadRow(**row) for row in session.get(SESSION_KEY, {}).get(batch, [])]


def size_limit_text() -> str:
    return filesizeformat(settings.KNOWLEDGE_MAX_UPLOAD_BYTES)
