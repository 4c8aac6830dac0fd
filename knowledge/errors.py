"""Errors of the knowledge base: one base, children named for the fact.

Each carries a stable `code`, the fields of the fact, a translatable sentence
(`str(error)`) and a translatable `advice` that says what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _


def translatable(sentence: str) -> str:
    """Mark a sentence for translation and return it; Django's gettext_noop would load the settings."""
    return sentence


class KnowledgeError(Exception):
    """Base of everything the knowledge base raises on purpose."""

    code: ClassVar[str] = "knowledge_error"
    sentence: ClassVar[Any] = _("The knowledge base could not do this.")
    advice: ClassVar[Any] = ""

    def __init__(self, **fields: Any) -> None:
        """Keep the fields of the fact; they fill the sentence and can be sent as JSON."""
        super().__init__(self.code)
        self.fields = fields

    def __str__(self) -> str:
        return str(self.sentence) % self.fields

    @property
    def advice_text(self) -> str:
        """What to do, in the reader's language; empty if there is nothing to be done."""
        return str(self.advice) % self.fields

    @property
    def told(self) -> str:
        """What went wrong and what to do, as one text in the reader's language."""
        return " ".join(part for part in (str(self), self.advice_text) if part)


class ExtractionFailed(KnowledgeError):
    """No text could be had from a file."""

    code = "extraction_failed"
    sentence = _("The file could not be read.")
    advice = _("Check the file and upload it again.")


class EmptyFile(ExtractionFailed):
    """The file has no bytes."""

    code = "empty_file"
    sentence = _("The file is empty (0 bytes).")
    advice = _("Upload the file again; the copy may have been interrupted.")


class NoText(ExtractionFailed):
    """The file is sound, but there is nothing to read in it."""

    code = "no_text"
    sentence = _("There is no text in the file.")
    advice = _("Upload a file that has text in it.")


class ImageOnly(ExtractionFailed):
    """Pages that are pictures, with no text layer; `pages` count from 1."""

    code = "image_only"
    sentence = _("The file has pictures of text only, and no text (pages: %(pages)s).")
    advice = _("Run text recognition (OCR) on it, or upload the original document.")

    def __init__(self, *, pages: Sequence[int]) -> None:
        self.pages = tuple(pages)
        super().__init__(pages=list(self.pages))

    def __str__(self) -> str:
        shown = ", ".join(str(page) for page in self.pages[:20])
        return str(self.sentence) % {"pages": shown + (" ..." if len(self.pages) > 20 else "")}


class Encrypted(ExtractionFailed):
    """The file needs a password, and none was given."""

    code = "encrypted"
    sentence = _("The file is protected with a password.")
    advice = _("Upload a copy without protection.")


class WrongPassword(ExtractionFailed):
    """The password given does not open the file."""

    code = "wrong_password"
    sentence = _("The password does not open the file.")
    advice = _("Check the password, or upload a copy without protection.")


class Damaged(ExtractionFailed):
    """The file's structure is broken beyond reading."""

    code = "damaged"
    sentence = _("The file is damaged and cannot be read.")
    advice = _("Open it in the program it comes from, save it anew and upload that copy.")


class TooLarge(ExtractionFailed):
    """A limit on size was passed; `limit` names it with its unit."""

    code = "too_large"
    sentence = _("The file is too large: more than %(limit)s.")
    advice = _("Split the document, or leave out what is not text.")

    def __init__(self, *, limit: str, amount: int) -> None:
        """limit is a translatable template with %(amount)s in it."""
        self.limit = limit % {"amount": amount}
        super().__init__(limit=limit, amount=amount)

    def __str__(self) -> str:
        return str(self.sentence) % {"limit": gettext(self.fields["limit"]) % self.fields}


class TookTooLong(ExtractionFailed):
    """Reading was stopped after `seconds` (wall clock)."""

    code = "took_too_long"
    sentence = _("Reading the file was stopped after %(seconds)s seconds.")
    advice = _("Split the document, or save it in a simpler format.")

    def __init__(self, *, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(seconds=int(seconds) if float(seconds).is_integer() else seconds)


class UnsupportedFormat(ExtractionFailed):
    """The content is of a kind that is not read here, whatever its name says."""

    code = "unsupported_format"
    sentence = _("Files of the kind %(media_type)s cannot be read.")
    advice = _("Upload PDF, Word, OpenDocument, HTML, Markdown, text, a table, a mail or a YAML guide.")

    def __init__(self, *, media_type: str) -> None:
        self.media_type = media_type
        super().__init__(media_type=media_type)


class InvalidGuide(ExtractionFailed):
    """A YAML file that is no guide; `reason` names the entry or the line."""

    code = "invalid_guide"
    sentence = _("The YAML file is not a valid guide: %(reason)s.")
    advice = _("A guide needs a title and chunks, each with its own id, a title and content.")

    def __init__(self, *, reason: str, **values: str | int) -> None:
        """reason is a translatable template, filled with values."""
        self.reason = reason % values
        super().__init__(reason=reason, **values)

    def __str__(self) -> str:
        return str(self.sentence) % {"reason": gettext(self.fields["reason"]) % self.fields}


class ExtractorCrashed(ExtractionFailed):
    """The process that read the file died; `reason` is for the log."""

    code = "extractor_crashed"
    sentence = _("Reading the file made the reader crash.")
    advice = _("The file is damaged or hostile. Save it anew in the program it comes from, or convert it.")

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(reason=reason)


EXTRACTION_FAILURES: dict[str, type[ExtractionFailed]] = {
    error.code: error
    for error in (
        ExtractionFailed,
        EmptyFile,
        NoText,
        ImageOnly,
        Encrypted,
        WrongPassword,
        Damaged,
        TooLarge,
        TookTooLong,
        UnsupportedFormat,
        InvalidGuide,
        ExtractorCrashed,
    )
}


class UnknownEmbedder(KnowledgeError):
    """Settings name an embedder that is not there."""

    code = "unknown_embedder"
    sentence = _("There is no embedder called “%(name)s”.")
    advice = _("Set AI_EMBEDDING_MODEL to one of: %(known)s.")

    def __init__(self, *, name: str, known: str) -> None:
        super().__init__(name=name, known=known)


class UnknownSetting(KnowledgeError):
    """A setting of the index has a value that nothing implements."""

    code = "unknown_setting"
    sentence = _("%(name)s can't be “%(value)s”.")
    advice = _("Choose one of: %(known)s.")

    def __init__(self, *, name: str, value: str, known: str) -> None:
        super().__init__(name=name, value=value, known=known)


class EmbeddingUnusable(KnowledgeError):
    """The embedder gave no usable vector for a passage."""

    code = "embedding_unusable"
    sentence = _("The embedder gave no usable vector for passage %(ordinal)s.")
    advice = _("Look at that passage in the extracted text; if it is sound, check the embedder and retry.")

    def __init__(self, *, ordinal: int) -> None:
        super().__init__(ordinal=ordinal)


class UploadTooLarge(KnowledgeError):
    """An upload is larger than the operator allows."""

    code = "upload_too_large"
    sentence = _("The file has %(megabytes)s MB; at most %(allowed)s MB are taken.")
    advice = _("Split the file, or ask the operator to raise KAMERPLANTER_MAX_UPLOAD_MB.")

    def __init__(self, *, size: int, allowed: int) -> None:
        super().__init__(megabytes=-(-size // 1_048_576), allowed=allowed // 1_048_576)


class SourceKeyInvalid(KnowledgeError):
    """A source key is empty, too long or has characters that can't be used."""

    code = "source_key_invalid"
    sentence = _("“%(source_key)s” can't be used as a source key.")
    advice = _("Use 1 to 400 characters, such as pflege/giessen.yaml, without a line break.")

    def __init__(self, *, source_key: str) -> None:
        super().__init__(source_key=source_key[:80])


class VectorsMissing(KnowledgeError):
    """Kept vectors of passages that are to come back into the index are gone."""

    code = "vectors_missing"
    sentence = _("%(count)s kept vectors are missing.")
    advice = _("Build the index anew (index reindex): that embeds what is missing.")

    def __init__(self, *, count: int) -> None:
        super().__init__(count=count)


class FileMissing(KnowledgeError):
    """A version's stored bytes are gone or are not what they were."""

    code = "file_missing"
    sentence = _("The stored file of this version is missing or damaged.")
    advice = _("Upload the file again, or restore the files folder from a backup.")


class JobStateForbids(KnowledgeError):
    """What was asked of a job can't be done in its state."""

    code = "job_state_forbids"
    sentence = _("That can't be done: the job is %(state)s.")
    advice = _("Look at the job's page for what can be done now.")

    def __init__(self, *, state: str) -> None:
        super().__init__(state=state)


class DocumentArchived(KnowledgeError):
    """The document is archived or being erased."""

    code = "document_archived"
    sentence = _("The document is archived; nothing of it can be activated.")
    advice = _("List the document again first.")


class DocumentStateForbids(KnowledgeError):
    """What was asked of a document can't be done in its state."""

    code = "document_state_forbids"
    sentence = _("That can't be done: the document is %(state)s.")
    advice = _("Look at the document's page for what can be done now.")

    def __init__(self, *, state: str) -> None:
        super().__init__(state=state)


class JobCancelled(KnowledgeError):
    """Somebody cancelled the running job."""

    code = "job_cancelled"
    sentence = _("The job was cancelled.")
    advice = _("Retry the job to run it again.")


class WriterReplaced(KnowledgeError):
    """Another worker has taken over; what this one made is thrown away."""

    code = "writer_replaced"
    sentence = _("Another worker has taken over this job.")


class WorkerLost(KnowledgeError):
    """The worker died every time it ran the job."""

    code = "worker_lost"
    sentence = _("The worker died %(attempts)s times while it ran this job.")
    advice = _("Look at the worker's log; if memory ran out, split the file. Then retry the job.")

    def __init__(self, *, attempts: int) -> None:
        super().__init__(attempts=attempts)


class JobBroke(KnowledgeError):
    """Something that nobody foresaw; the details are in the worker's log."""

    code = "internal_error"
    sentence = _("The job stopped at an unexpected error (%(kind)s).")
    advice = _("Retry the job; if it fails again, send the operator the job's number.")

    def __init__(self, *, kind: str) -> None:
        super().__init__(kind=kind)


class QueryUnusable(KnowledgeError):
    """A query has no words, or too many characters."""

    code = "query_unusable"
    sentence = _("A query needs 1 to %(most)s characters.")
    advice = _("Ask in one or two sentences.")

    def __init__(self, *, most: int) -> None:
        super().__init__(most=most)


class IndexVersionUnknown(KnowledgeError):
    """There is no such index version, or it is not kept any more."""

    code = "index_version_unknown"
    sentence = _("There is no index version %(number)s.")
    advice = _("See “index status” or the index page for those that are kept.")

    def __init__(self, *, number: int) -> None:
        super().__init__(number=number)


class QuestionsUnusable(KnowledgeError):
    """A file of questions or topics can't be used."""

    code = "questions_unusable"
    sentence = _("%(path)s can't be used: %(reason)s.")
    advice = _("See sample/questions.yaml and sample/topic_synonyms.yaml for the form.")

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason)


class NothingToImport(KnowledgeError):
    """A folder has no file that could be imported."""

    code = "nothing_to_import"
    sentence = _("There is no file to import in %(path)s.")
    advice = _("Check the path and the --include pattern.")

    def __init__(self, *, path: str) -> None:
        super().__init__(path=path)
