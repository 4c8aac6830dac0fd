"""What the source viewer shows: a version's text around a passage, to those who may see it."""

from typing import NamedTuple

from django.db.models import Q

from accounts.models import User
from accounts.permissions import tenants_of
from assistant.highlighting import text_html
from assistant.models import Citation
from knowledge.models import Chunk, Document, DocumentVersion, ExtractedText

# Longer documents are shown in parts of about this many characters, cut at paragraphs.
PART_CHARS = 60_000
_LINES_COUNT = {"text/plain", "application/pdf"}


class Stretch(NamedTuple):
    """[start, end) of a version's text, and the page it begins on where the format has pages."""

    start: int
    end: int
    heading: str
    page: int | None


class Part(NamedTuple):
    """A part of a text as HTML; `earlier` and `later` are offsets to go on from, or None at the ends."""

    html: str
    earlier: int | None
    later: int | None


def find_version(*, user: User, version_id: int) -> DocumentVersion | None:
    """The version, if its document is listed and global or of a tenant of the user's; else None."""
    return (
        DocumentVersion.objects.select_related("document__scope__tenant")
        .filter(
            Q(document__scope__tenant__isnull=True) | Q(document__scope__tenant__in=tenants_of(user)),
            pk=version_id,
            document__state=Document.State.LISTED,
        )
        .first()
    )


def find_stretch(*, version: DocumentVersion, chunk_id: str) -> Stretch | None:
    """Where a passage is. A citation knows it too, should the index that had the chunk be gone."""
    chunk = Chunk.objects.filter(chunk_id=chunk_id, segment__version=version).order_by("pk").first()
    if chunk is not None:
        return Stretch(chunk.start, chunk.end, " › ".join(chunk.heading_path), chunk.page)
    citation = Citation.objects.filter(chunk_id=chunk_id, version=version).order_by("pk").first()
    if citation is not None:
        return Stretch(citation.start, citation.end, citation.heading, None)
    return None


def active_version_of(version: DocumentVersion) -> DocumentVersion | None:
    """The version of the same document that answers are made from now."""
    return DocumentVersion.objects.filter(document_id=version.document_id, active=True).first()


def part_of(*, extracted: ExtractedText, stretch: Stretch | None, at: int) -> Part:
    """The part of the text with the stretch in it, marked; without one, the part that begins at `at`."""
    text = extracted.text
    begin = stretch.start - PART_CHARS // 3 if stretch is not None else at
    if begin + PART_CHARS >= len(text):
        begin = min(begin, max(0, len(text) - PART_CHARS)) if stretch is not None else begin
    begin = _paragraph_before(text, max(0, min(begin, len(text))))
    end = max(begin + PART_CHARS, stretch.end if stretch is not None else 0)
    end = _paragraph_before(text, end) if end < len(text) else len(text)
    if stretch is not None:
        end = max(end, stretch.end)
    mark = (stretch.start - begin, stretch.end - begin) if stretch is not None else None
    return Part(
        html=text_html(text[begin:end], mark=mark, is_plain=extracted.media_type in _LINES_COUNT),
        earlier=max(0, begin - PART_CHARS) if begin > 0 else None,
        later=end if end < len(text) else None,
    )


def _paragraph_before(text: str, offset: int) -> int:
    """The last beginning of a paragraph at or before the offset, if there is one near."""
    if offset <= 0:
        return 0
    found = text.rfind("\n\n", max(0, offset - PART_CHARS // 10), offset)
    return found + 2 if found >= 0 else offset
