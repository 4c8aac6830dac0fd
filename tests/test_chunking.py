"""Chunks: exact, within bounds, cut where a reader would cut."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.extraction import Entry, Extracted
from knowledge.ingest.chunking import ENTRY_TOKENS, ChunkDraft, chunk
from knowledge.ingest.sentences import sentence_starts


def extracted(text: str, **fields: Any) -> Extracted:
    given_fields: dict[str, Any] = {
        "text": text,
        "media_type": "text/markdown",
        "extractor": "text",
        "extractor_version": "1",
        "title": None,
        "language": None,
        "source_type": "article",
        "metadata": {},
        "pages": (),
        "entries": (),
        "warnings": (),
    }
    return Extracted(**{**given_fields, **fields})


def count(text: str) -> int:
    """Four characters of a word are a token."""
    return sum((len(word) + 3) // 4 for word in text.split())


def cut(text: str, *, chunk_size: int = 64, overlap: int = 16, **fields: Any) -> list[ChunkDraft]:
    return chunk(extracted(text, **fields), count_tokens=count, chunk_size=chunk_size, overlap=overlap)


def words(number: int, word: str = "wort") -> str:
    return " ".join(f"{word}{i % 10}" for i in range(number))


def sentences(number: int, *, length: int = 6) -> str:
    return " ".join(f"Satz {i} hat {words(length - 3)}." for i in range(100, 100 + number))


PIECES = st.sampled_from(
    [
        "# Titel\n",
        "## Abschnitt eins\n\n",
        "### Tief\n",
        "#kein Titel ",
        "Ein Satz. ",
        "Noch einer, z. B. dieser! ",
        "ca. 5 g je l\n",
        "\n\n",
        "\n",
        "- Punkt eins\n",
        "- Punkt zwei\n  weiter\n",
        "1. erstens\n",
        "| a | b |\n| --- | --- |\n",
        "| eins | zwei |\n",
        "```\n# kein Titel\ncode()\n```\n",
        "```\noffen\n",
        "слово и ещё. ",
        "漢字" * 40,
        "🌱👩‍🌾 ",
        "x" * 700,
        "\t",
        words(30) + " ",
        sentences(12),
        "é\u0301 ",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=30), max_size=40).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from([(16, 0), (16, 8), (40, 10), (64, 16), (512, 64)]))
def test_what_holds_for_every_text(text: str, sizes: tuple[int, int]) -> None:
    chunk_size, overlap = sizes
    found = cut(text, chunk_size=chunk_size, overlap=overlap)
    assert [draft.ordinal for draft in found] == list(range(len(found)))
    seen = 0
    for draft in found:
        assert draft.text == text[draft.start : draft.end]
        assert draft.text
        assert draft.text == draft.text.strip()
        assert draft.token_count <= chunk_size
        assert count(draft.text) <= chunk_size
        assert not text[seen : draft.start].strip()
        assert draft.end > seen
        if draft.start < seen:
            assert count(text[draft.start : seen]) <= overlap
        seen = draft.end
    assert not text[seen:].strip()
    assert [draft.start for draft in found] == sorted({draft.start for draft in found})
    assert cut(text, chunk_size=chunk_size, overlap=overlap) == found


def test_a_short_text_is_one_chunk() -> None:
    (draft,) = cut("# Rosen\n\nIm März schneiden.")
    assert draft.text == "# Rosen\n\nIm März schneiden."
    assert draft.heading_path == ("Rosen",)
    assert (draft.page, draft.key, draft.metadata) == (None, None, {})


@pytest.mark.parametrize("text", ["", " \n\n\t\n"])
def test_no_text_gives_no_chunk(text: str) -> None:
    assert cut(text) == []


def test_headings_part_and_their_titles_are_the_path() -> None:
    body = sentences(10)
    text = f"# Garten\n\n## **Rosen** ##\n\n{body}\n\n### Schnitt\n\n{body}\n\n## Hecken\n\n{body}"
    found = cut(text, chunk_size=128)
    assert [draft.heading_path for draft in found] == [
        ("Garten", "Rosen"),
        ("Garten", "Rosen", "Schnitt"),
        ("Garten", "Hecken"),
    ]
    assert found[0].text.startswith("# Garten")
    assert found[2].text.startswith("## Hecken")


def test_tiny_sections_are_joined_with_what_follows() -> None:
    text = "# Garten\n\n## Eins\n\nKurz.\n\n## Zwei\n\nAuch kurz.\n\n# Haus\n\nAnderes."
    found = cut(text, chunk_size=512, overlap=64)
    assert [draft.text.count("#") for draft in found] == [5, 1]
    assert found[0].heading_path == ("Garten",)
    assert found[1].heading_path == ("Haus",)


def test_a_heading_never_stands_alone_or_last() -> None:
    text = f"# A\n\n## B\n\n### C\n\n{sentences(40)}\n\n## D\n\n{sentences(40)}\n\n## E"
    found = cut(text)
    for draft in found[:-1]:
        assert not draft.text.splitlines()[-1].startswith("#")
    for draft in found[:-1]:
        assert any(line.strip() and not line.startswith("#") for line in draft.text.splitlines())
    assert found[-1].text.endswith("## E")


def test_overlap_begins_with_a_sentence_and_stays_in_its_section() -> None:
    found = cut(f"# A\n\n{sentences(60)}\n\n# B\n\n{sentences(60)}")
    overlaps = 0
    for before, after in itertools.pairwise(found):
        if after.start < before.end:
            overlaps += 1
            assert after.text.startswith("Satz ")
            assert after.heading_path == before.heading_path
        assert "#" not in after.text[1:]
    assert overlaps > 5


def test_paragraphs_stay_whole_where_they_fit() -> None:
    paragraphs = [sentences(4) for _ in range(8)]
    for draft in cut("\n\n".join(paragraphs), chunk_size=128, overlap=0):
        assert all(part in paragraphs for part in draft.text.split("\n\n"))


def test_tables_and_lists_stay_whole_where_they_fit() -> None:
    table = "| Sorte | Höhe |\n| --- | --- |\n" + "\n".join(f"| Rose {i} | {i} m |" for i in range(100, 105))
    points = "\n".join(f"- Punkt {i} mit etwas Text" for i in range(100, 106))
    found = cut(f"{sentences(8)}\n\n{table}\n\n{sentences(8)}\n\n{points}", chunk_size=64, overlap=0)
    assert any(table in draft.text for draft in found)
    assert any(points in draft.text for draft in found)


def test_a_long_table_is_cut_between_rows_and_keeps_its_header_beside() -> None:
    header = "| Sorte | Höhe |"
    rows = [f"| Rose {i} | {i} m |" for i in range(100, 180)]
    text = "\n".join([header, "| --- | --- |", *rows])
    found = cut(text)
    assert len(found) > 3
    assert "table_header" not in found[0].metadata
    for draft in found[1:]:
        assert draft.metadata == {"table_header": header}
        assert all(line in rows for line in draft.text.splitlines())


def test_a_long_list_is_cut_between_items() -> None:
    items = [f"- Punkt {i} hat einen Text,\n  der weitergeht" for i in range(100, 140)]
    for draft in cut("\n".join(items), overlap=0):
        assert draft.text.startswith("- Punkt")
        assert draft.text.endswith("der weitergeht")


def test_code_has_no_headings() -> None:
    (draft,) = cut("# A\n\n```sh\n# kein Titel\nls\n```\n\nText.", chunk_size=128)
    assert draft.heading_path == ("A",)


def test_pages_count_from_one() -> None:
    first, second = sentences(20), sentences(20)
    found = cut(f"{first}\n\n{second}", pages=(0, len(first) + 2), overlap=0)
    assert found[0].page == 1
    assert found[-1].page == 2
    assert [draft.page for draft in found] == sorted(draft.page or 0 for draft in found)


def _guide(*contents: str) -> Extracted:
    text = "# Buch\n\n"
    entries = []
    for number, content in enumerate(contents):
        text += f"## Eintrag {number}\n\n"
        entries.append(
            Entry(f"k/b#{number}", f"Eintrag {number}", len(text), len(text) + len(content), {"n": number})
        )
        text += f"{content}\n\n"
    return extracted(text.rstrip(), title="Buch", entries=tuple(entries))


def test_an_entry_of_a_guide_is_one_chunk() -> None:
    contents = ["Kurz.", f"# Mit Titel\n\n{sentences(100)}", "Ende."]
    found = chunk(_guide(*contents), count_tokens=count, chunk_size=64, overlap=16)
    assert [draft.text for draft in found] == contents
    assert [draft.key for draft in found] == ["k/b#0", "k/b#1", "k/b#2"]
    assert found[1].heading_path == ("Buch", "Eintrag 1")
    assert [draft.metadata for draft in found] == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_only_a_very_long_entry_is_cut() -> None:
    found = chunk(
        _guide(sentences(ENTRY_TOKENS // 6), "Ende."), count_tokens=count, chunk_size=512, overlap=64
    )
    assert len(found) > 4
    assert [draft.key for draft in found[:2]] == ["k/b#0", "k/b#0/2"]
    assert found[-1].key == "k/b#1"
    assert all(draft.token_count <= 512 for draft in found)


def test_no_word_is_counted_twice() -> None:
    asked: list[str] = []

    def counting(word: str) -> int:
        asked.append(word)
        return count(word)

    chunk(extracted(sentences(200)), count_tokens=counting, chunk_size=64, overlap=16)
    assert len(asked) == len(set(asked))
    assert not any(" " in word for word in asked)


@pytest.mark.parametrize("sizes", [(8, 0), (64, 33), (64, -1)])
def test_sizes_that_cannot_work_are_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="chunk_size"):
        cut("x", chunk_size=sizes[0], overlap=sizes[1])


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "Ein Satz ohne Umbruch. " * 40_000,
        "\n\n".join(f"## Titel {i}" for i in range(10_000)),
        "\n\n".join(f"## Titel {i}\n\nText {i}." for i in range(10_000)),
        "| a | b |\n" * 50_000,
        "- a\n" * 50_000,
        "😀" * 300_000,
        "a. " * 200_000,
    ],
    ids=["one-word", "one-line", "headings", "sections", "rows", "items", "emoji", "stops"],
)
def test_large_texts_of_odd_shape(text: str) -> None:
    found = cut(text, chunk_size=512, overlap=64)
    assert found[0].start == 0
    assert found[-1].end == len(text.rstrip())
    assert max(draft.token_count for draft in found) <= 512


@pytest.mark.parametrize(
    "text",
    [
        "Nehmen Sie z. B. Kompost | Dann gießen.",
        "Das sind ca. 5 g je l | Mehr schadet.",
        "Kalk, d. h. Calcium, fehlt | Was nun?",
        "Use compost, e.g. Leaf mould | Then water.",
        "Dr. Müller rät ab | So auch wir.",
        "Dünger usw. Einarbeiten | Fertig!",
        "Азот, т. е. Селитра | Затем полив.",
        "На рис. Пятом видно | Далее текст.",
        "Am 3. Mai säen | Im Jahr 2024 ging es | Danach nicht.",
        "„Wirklich?“ | Ja.",
        "Regel: Erst gießen | Dann düngen.",
    ],
)
def test_where_sentences_begin(text: str) -> None:
    parts = [part if part[-1] in ".!?“" else f"{part}." for part in text.split(" | ")]
    joined = " ".join(parts)
    starts = [0, *sentence_starts(joined, 0, len(joined))]
    assert [joined[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)] == parts
