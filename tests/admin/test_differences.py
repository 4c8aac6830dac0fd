"""Two versions of a document beside each other: text by lines and words, and passages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.admin.differences import MOST_LINES, TextDifference, compare_texts
from knowledge.models import Document
from knowledge.scopes import scope_of

FIRST = "# Gießplan\n\nMontags gießt Erik.\n\n## Kanne\n\nSie steht im Schuppen.\n\n## Ernte\n\nIm Herbst.\n"
SECOND = "# Gießplan\n\nMontags gießt Adam.\n\n## Ernte\n\nIm Herbst.\n\n## Neu\n\nEin <b>Satz</b>.\n"


@pytest.fixture
def document(tenant, upload, run_jobs) -> Document:
    for text in (FIRST, SECOND):
        upload("plan.md", text, scope=scope_of(tenant))
        run_jobs()
    return Document.objects.get()


def differences(document: Document, query: str = "") -> str:
    return f"/admin/knowledge/document/{document.pk}/differences/{query}"


def marked(pieces) -> list[str]:
    return [piece.text for piece in pieces if piece.marked]


def test_only_the_words_that_differ_are_marked():
    compared = compare_texts(
        "Eins\nMontags gießt Erik das Beet.\nDrei", "Eins\nMontags gießt Adam das Beet.\nDrei"
    )
    [change] = [hunk for hunk in compared.hunks if hunk.kind == "changed"]
    assert (marked(change.before), marked(change.after)) == (["Erik"], ["Adam"])
    assert (change.before_line, change.after_line) == (2, 2)
    assert (compared.added, compared.removed, compared.is_cut_off) == (1, 1, False)


def test_lines_that_have_nothing_in_common_are_marked_whole():
    [change] = compare_texts("Heute regnet es", "Tomaten mögen Wärme und Licht").hunks
    assert (marked(change.before), marked(change.after)) == (
        ["Heute regnet es"],
        ["Tomaten mögen Wärme und Licht"],
    )


def test_what_is_far_from_a_change_is_folded():
    lines = [f"Zeile {number}" for number in range(100)]
    other = [*lines[:50], "Eingefügt", *lines[50:]]
    compared = compare_texts("\n".join(lines), "\n".join(other))
    assert [(hunk.kind, hunk.lines) for hunk in compared.hunks] == [
        ("gap", 48),
        ("same", 0),
        ("added", 0),
        ("same", 0),
        ("gap", 48),
    ]
    assert (compared.added, compared.removed) == (1, 0)


def put_together(compared: TextDifference, side: str, lines: list[str]) -> str:
    """A side's text from its hunks, with folded lines taken from the original."""
    parts: list[str] = []
    for hunk in compared.hunks:
        line = getattr(hunk, f"{side}_line")
        if hunk.kind == "gap":
            parts += lines[line - 1 : line - 1 + hunk.lines]
        elif not (hunk.kind == "added" and side == "before") and not (
            hunk.kind == "removed" and side == "after"
        ):
            parts.append("".join(piece.text for piece in getattr(hunk, side)))
    return "\n".join(parts)


texts = st.lists(st.sampled_from(["", "a", "b b", "c d e", "ä ß", "x" * 30]), max_size=30).map("\n".join)


@given(before=texts, after=texts)
def test_no_word_is_lost_or_made_up(before, after):
    compared = compare_texts(before, after)
    assert put_together(compared, "before", before.split("\n")) == before
    assert put_together(compared, "after", after.split("\n")) == after
    assert compared.is_empty == (before == after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\n".join(["gleich"] * 30_000), "\n".join(["anders"] * 30_000)),
        ("\n".join(map(str, range(30_000))), "\n".join(map(str, range(30_000, 0, -1)))),
        ("wort " * 200_000, "andere " * 200_000),
    ],
    ids=["repeated", "reversed", "one long line"],
)
def test_texts_too_different_are_compared_in_part_and_it_says_so(before, after):
    compared = compare_texts(before, after)
    assert compared.is_cut_off
    shown = sum(len(piece.text) for hunk in compared.hunks for piece in [*hunk.before, *hunk.after])
    assert 0 < shown < 500_000
    assert compared.added <= MOST_LINES


@pytest.mark.parametrize("view", ["side", "unified", "upside-down"])
def test_the_page_shows_text_and_passages(editor, document, view):
    page = editor.get(differences(document, f"?from=1&to=2&view={view}"))
    assert "<del>Erik</del>" in page.text
    assert "<ins>Adam</ins>" in page.text
    assert "&lt;b&gt;Satz" in page.text, "what looks like markup stays text"
    passages = page.context["passages"]
    said = [[chunk.text for chunk in chunks] for chunks in (passages.came, passages.went)]
    assert any("Adam" in text for text in said[0])
    assert any("Erik" in text for text in said[1])
    for chunk in [*passages.came, *passages.went]:
        assert chunk.chunk_id in page.text
    assert page.context["view"] == ("side" if view == "upside-down" else view)


def test_passages_that_say_the_same_stayed(editor, tenant, upload, run_jobs):
    paragraphs = [
        f"## Abschnitt {number}\n\n" + f"Satz {number} über das Gärtnern. " * 60 for number in range(4)
    ]
    for text in (paragraphs, [*paragraphs[:3], "## Abschnitt 3\n\nGanz anders. " * 40]):
        document = upload("lang.md", "# Lang\n\n" + "\n\n".join(text), scope=scope_of(tenant)).document
        run_jobs()
    passages = editor.get(differences(document)).context["passages"]
    assert passages.stayed
    assert passages.came
    assert passages.went
    for old, new in passages.stayed:
        assert (old.text, old.heading_path) == (new.text, new.heading_path)
        assert old.chunk_id != new.chunk_id


def test_the_timeline_leads_there(editor, document):
    page = editor.get(f"/admin/knowledge/document/{document.pk}/change/").text
    assert f"{differences(document)}?to=2" in page
    assert f"{differences(document)}?to=1" not in page, "before the first there is none"
    assert [editor.get(differences(document)).context[side].number for side in ("before", "after")] == [1, 2]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("?from=1&to=1", "Choose two different versions."),
        ("?from=7&to=2", "There is no such version."),
        ("?from=x&to=²", "There is no such version."),
        (f"?from={'9' * 5000}", "There is no such version."),
    ],
)
def test_what_cannot_be_compared_is_said(editor, document, query, sentence):
    page = editor.get(differences(document, query))
    assert page.status_code == 200
    assert sentence in page.text


def test_a_single_version_and_one_not_read_yet_say_so(editor, tenant, upload, run_jobs):
    scope = scope_of(tenant)
    document = upload("neu.md", "# Neu\n\nEins.\n", scope=scope).document
    assert "only one version" in editor.get(differences(document)).text
    run_jobs()
    upload("neu.md", "# Neu\n\nZwei.\n", scope=scope)
    page = editor.get(differences(document)).text
    assert "Not read yet: version 2." in page
    assert "Not both versions have been cut up" in page


def test_equal_texts_of_different_files_say_so(editor, tenant, upload, run_jobs):
    for text in ("# Gleich\n\nText.\n", "# Gleich\r\n\r\nText.\r\n"):
        document = upload("gleich.md", text, scope=scope_of(tenant)).document
        run_jobs()
    page = editor.get(differences(document)).text
    assert "The texts are equal." in page
    assert "stayed as they are: 1" in page


def test_of_another_tenant_nothing_is_compared(editor, foreign):
    assert editor.get(differences(foreign.document)).status_code == 404
