"""Questions to begin with, taken from what the base really has."""

import datetime
import random

from django.db.models import Q

from accounts.models import Tenant
from knowledge.extraction.extracted import Entry
from knowledge.models import Document, ExtractedText

SHOWN = 4
_LOOKED_AT = 120
_LONGEST = 72


def example_questions(*, tenant: Tenant | None, language: str) -> list[str]:
    """Up to SHOWN titles of entries or documents of the visible base, the same for a whole day.

    Those in the interface's language come first, and questions before other titles. [] where nothing is
    indexed.
    """
    rows = (
        ExtractedText.objects.filter(
            Q(version__document__scope__tenant__isnull=True) | Q(version__document__scope__tenant=tenant),
            version__active=True,
            version__document__state=Document.State.LISTED,
        )
        .order_by("-version_id")
        .values_list("language", "version__document__title", "entries")[:_LOOKED_AT]
    )
    titles: dict[str, tuple[bool, bool]] = {}
    for spoken, title, entries in rows:
        for candidate in [Entry(*entry).title for entry in entries] or [title]:
            line = " ".join(candidate.split())
            if 0 < len(line) <= _LONGEST:
                titles[line] = (spoken != language, not line.endswith("?"))
    shuffled = sorted(titles)
    random.Random(datetime.date.today().toordinal()).shuffle(shuffled)
    return sorted(shuffled, key=lambda line: titles[line])[:SHOWN]


def has_documents(*, tenant: Tenant | None) -> bool:
    """Whether anything is active in what somebody of this tenant may see."""
    return ExtractedText.objects.filter(
        Q(version__document__scope__tenant__isnull=True) | Q(version__document__scope__tenant=tenant),
        version__active=True,
    ).exists()
