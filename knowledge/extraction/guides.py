"""YAML: guides (one entry per chunk) and the front matter of Markdown files."""

from __future__ import annotations

import datetime
import math
import re
from pathlib import PurePath
from typing import Any

import yaml

from knowledge.errors import InvalidGuide
from knowledge.errors import translatable as _
from knowledge.extraction.cleaning import clean
from knowledge.extraction.extracted import Entry, Extracted

MAX_DEPTH = 40
MAX_NODES = 100_000
FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Bomb(yaml.YAMLError):
    """Nested too deep, or more values than a text can have once its aliases are followed."""

    def __init__(self, reason: str, amount: int) -> None:
        super().__init__(reason % {"amount": amount})
        self.reason = reason
        self.amount = amount


def load_yaml(text: str) -> Any:
    """Return the document as JSON-able data; dates become ISO strings, keys strings.

    Raises yaml.YAMLError for what is no YAML, and for alias and nesting bombs: nesting is
    counted in the events, before anything recurses; nodes while the aliases are followed.
    """
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _Bomb(_("it is nested more than %(amount)s levels deep"), MAX_DEPTH)
    return _plain(yaml.load(text, Loader=LOADER), [MAX_NODES], 0)


def _plain(value: Any, budget: list[int], depth: int) -> Any:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        raise _Bomb(_("it has more than %(amount)s values once its aliases are followed"), MAX_NODES)
    if isinstance(value, dict):
        return {clean(str(key)): _plain(item, budget, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        items = sorted(value, key=str) if isinstance(value, set) else value
        return [_plain(item, budget, depth + 1) for item in items]
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    return clean(str(value))


def split_front_matter(text: str) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    """Return (front matter, text without it, warnings); text is cleaned, so it has "\\n" newlines.

    Front matter that is no YAML mapping stays in the text, with a warning.
    """
    match = FRONT_MATTER.match(text)
    if match is None or not (match.group(1) or "").strip():
        return {}, text, ()
    try:
        fields = load_yaml(match.group(1))
    except (yaml.YAMLError, ValueError) as error:
        return {}, text, (f"front matter is not valid YAML ({describe(error)}); kept as text",)
    if not isinstance(fields, dict):
        return {}, text, ()  # a rule at the top of the page, not front matter
    return fields, text[match.end() :].lstrip("\n"), ()


def read_guide(text: str, *, file_name: str, extractor_version: str) -> Extracted:
    """Return a guide as text with one entry per chunk; raises InvalidGuide with the reason.

    An entry's key is "category/file stem#id"; its metadata is the guide's, overlaid with its own.
    """
    guide = _load_guide(text)
    stem = PurePath(file_name).stem
    category = _text_of(guide.get("category"))
    shared = {name: value for name, value in guide.items() if name not in ("title", "chunks")}
    title = _text_of(guide.get("title"))
    if title is None:
        raise InvalidGuide(reason=_("it has no title"))
    parts = [f"# {title}\n\n"]
    at = len(parts[0])
    entries: list[Entry] = []
    seen: set[str] = set()
    for number, chunk in enumerate(guide["chunks"], start=1):
        entry_id, entry_title, content, own = _read_entry(chunk, number=number)
        if entry_id in seen:
            raise InvalidGuide(reason=_("the id %(entry)s occurs twice"), entry=entry_id)
        seen.add(entry_id)
        heading = f"## {entry_title}\n\n"
        start = at + len(heading)
        at = start + len(content) + 2
        parts.append(f"{heading}{content}\n\n")
        key = f"{category}/{stem}#{entry_id}" if category else f"{stem}#{entry_id}"
        entries.append(Entry(key, entry_title, start, start + len(content), {**shared, **own}))
    return Extracted(
        text="".join(parts).rstrip("\n"),
        media_type="application/yaml",
        extractor="guide",
        extractor_version=extractor_version,
        title=title,
        language=_text_of(guide.get("language")),
        source_type=_text_of(guide.get("source_type") or guide.get("type")) or "guide",
        metadata=shared,
        pages=(),
        entries=tuple(entries),
        warnings=(),
    )


def _load_guide(text: str) -> dict[str, Any]:
    body = text.lstrip("\ufeff\n")
    try:
        guide = load_yaml(body)
    except _Bomb as error:
        raise InvalidGuide(reason=error.reason, amount=error.amount) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an impossible date, a very long number
        raise InvalidGuide(reason=_("it is not valid YAML (%(problem)s)"), problem=describe(error)) from error
    if not isinstance(guide, dict):
        raise InvalidGuide(reason=_("it is no mapping with title and chunks"))
    chunks = guide.get("chunks")
    if chunks is None:
        raise InvalidGuide(reason=_("it has no chunks"))
    if not isinstance(chunks, list) or not chunks:
        raise InvalidGuide(reason=_("chunks is no list with entries"))
    return guide


def _read_entry(chunk: Any, *, number: int) -> tuple[str, str, str, dict[str, Any]]:
    """Return (id, title, content, metadata) of one entry; number counts from 1."""
    if not isinstance(chunk, dict):
        raise InvalidGuide(
            reason=_("entry %(number)s is no mapping with id, title and content"), number=number
        )
    entry_id = _text_of(chunk.get("id"))
    if entry_id is None:
        raise InvalidGuide(reason=_("entry %(number)s has no id"), number=number)
    content = chunk.get("content")
    if not isinstance(content, str) or not content.strip():
        raise InvalidGuide(reason=_("the entry %(entry)s has no content"), entry=entry_id)
    own = chunk.get("metadata") or {}
    if not isinstance(own, dict):
        raise InvalidGuide(reason=_("the metadata of the entry %(entry)s is no mapping"), entry=entry_id)
    rest = {k: v for k, v in chunk.items() if k not in ("id", "title", "content", "metadata")}
    return entry_id, _text_of(chunk.get("title")) or entry_id, content.strip(), {**rest, **own}


def _text_of(value: Any) -> str | None:
    """A scalar as one line of text; None for nothing, mappings and lists."""
    if value is None or isinstance(value, dict | list):
        return None
    return " ".join(str(value).split()) or None


def describe(error: Exception) -> str:
    """The fault of a YAML file with its line, without quoting the file's text."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or (str(error).splitlines() or [type(error).__name__])[0][:200]
    return f"line {mark.line + 1}: {problem}" if mark is not None else str(problem)
