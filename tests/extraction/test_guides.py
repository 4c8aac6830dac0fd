"""YAML guides, entered through `extract`."""

from __future__ import annotations

import json

import pytest
from django.utils.translation import override

from knowledge.errors import InvalidGuide
from tests.extraction.conftest import Read

GUIDE = """---
title: Kübelpflanzen überwintern
language: de
category: winter
tags: [kübel, frost]
expertise_level: [beginner]
updated: 2024-11-02
chunks:
  - id: einräumen
    title: Wann einräumen?
    content: |
      Vor dem ersten Frost.

      Oleander verträgt ein paar Grad weniger.
    metadata:
      tags: [oleander]
      months: [10, 11]
  - id: 2
    title: Gießen im Winter
    content: Wenig.
"""


def test_a_guide_gives_one_entry_per_chunk(read: Read) -> None:
    found = read(GUIDE, "kuebel.yaml")
    assert (found.title, found.language, found.source_type, found.extractor) == (
        "Kübelpflanzen überwintern",
        "de",
        "guide",
        "guide",
    )
    assert found.text == (
        "# Kübelpflanzen überwintern\n\n## Wann einräumen?\n\nVor dem ersten Frost.\n\n"
        "Oleander verträgt ein paar Grad weniger.\n\n## Gießen im Winter\n\nWenig."
    )
    first, second = found.entries
    assert (first.key, second.key) == ("winter/kuebel#einräumen", "winter/kuebel#2")
    assert first.title == "Wann einräumen?"
    assert found.text[first.start : first.end].startswith("Vor dem")
    assert found.text[first.start : first.end].endswith("weniger.")
    assert found.text[second.start : second.end] == "Wenig."


def test_metadata_of_an_entry_goes_over_that_of_the_guide(read: Read) -> None:
    found = read(GUIDE, "kuebel.yaml")
    assert found.metadata == {
        "language": "de",
        "category": "winter",
        "tags": ["kübel", "frost"],
        "expertise_level": ["beginner"],
        "updated": "2024-11-02",
    }
    first, second = found.entries
    assert first.metadata == {**found.metadata, "tags": ["oleander"], "months": [10, 11]}
    assert second.metadata == found.metadata
    json.dumps(first.metadata)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_a_guide_in_another_encoding_is_the_same(read: Read, encoding: str) -> None:
    assert read(GUIDE.encode(encoding), "kuebel.yaml").text == read(GUIDE, "kuebel.yaml").text


def test_windows_newlines_change_nothing(read: Read) -> None:
    assert read(GUIDE.replace("\n", "\r\n"), "kuebel.yaml") == read(GUIDE, "kuebel.yaml")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GUIDE.replace("id: 2", "id: einräumen"), "einräumen"),
        (GUIDE.replace("    content: Wenig.\n", ""), "entry 2 has no content"),
        (GUIDE.replace("content: Wenig.", "content: '  '"), "entry 2 has no content"),
        (GUIDE.replace("  - id: 2\n    title", "  - title"), "entry 2 has no id"),
        (GUIDE.replace("title: Kübelpflanzen überwintern\n", ""), "no title"),
        ("title: a\nchunks: []\n", "no list with entries"),
        ("title: a\nitems: [1]\n", "no chunks"),
        ("- a\n- b\n", "no mapping"),
        ("title: a\nchunks: [{id: a, title: b\n", "line "),
        ("title: a\n\tb: c\n", "line 2"),
        ("title: 2024-99-99\nchunks: 1", "month"),
        ("[" * 60 + "]" * 60, "nested"),
        ("[" * 5000, "nesting"),
    ],
)
def test_what_is_no_guide_says_why(read: Read, text: str, reason: str) -> None:
    with pytest.raises(InvalidGuide) as caught:
        read(text, "a.yaml")
    assert reason in caught.value.reason
    with override("en"):
        assert reason in str(caught.value)


def test_an_alias_bomb_ends_at_once(read: Read) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(InvalidGuide) as caught:
        read("title: a\n" + "\n".join(levels) + "\nchunks: []\n", "bomb.yaml")
    assert "aliases" in caught.value.reason
    with pytest.raises(InvalidGuide):
        read("title: &a [*a]\nchunks: []\n", "bomb.yaml")


def test_aliases_in_bounds_are_followed(read: Read) -> None:
    found = read("title: a\ntags: &t [x]\nchunks:\n- {id: 1, content: b, metadata: {tags: *t}}\n", "a.yaml")
    assert found.entries[0].metadata["tags"] == ["x"]


def test_no_tag_makes_an_object(read: Read) -> None:
    with pytest.raises(InvalidGuide):
        read("title: !!python/object/apply:os.system ['true']\nchunks: []\n", "a.yaml")


def test_an_editor_reads_the_reason_in_german(read: Read) -> None:
    with pytest.raises(InvalidGuide) as caught:
        read(GUIDE.replace("id: 2", "id: einräumen"), "a.yaml")
    with override("de"):
        assert str(caught.value) == (
            "Die YAML-Datei ist kein gültiger Ratgeber: die id einräumen kommt zweimal vor."
        )
