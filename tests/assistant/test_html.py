"""Answers and documents as HTML: numbers become links, passages are marked, and nothing in them can act."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.highlighting import text_html
from assistant.rendering import answer_html

URLS = {1: "/sources/1/?chunk=a#passage", 2: "/sources/2/?chunk=b#passage"}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://example.org/pixel.png)",
    "[click](javascript:alert(1))",
    "[click](https://example.org/?q=secret)",
    "<https://example.org>",
    '<a href="https://example.org" onclick="x()">x</a>',
    "<style>body{display:none}</style>",
    "[ref]\n\n[ref]: https://example.org",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
]


def marked_text(html: str) -> str:
    """What is in the marks, without tags and blanks."""
    return re.sub(r"\s|<[^>]*>", "", "".join(re.findall(r"<mark[^>]*>(.*?)</mark>", html, re.DOTALL)))


def test_numbers_of_sources_become_links():
    html = answer_html("Siehe [1] und [2], nicht [3].", URLS)
    assert html.count('class="cite"') == 2
    assert re.findall(r'href="([^"]+)"', html) == list(URLS.values())
    assert "[3]" in html


def test_numbers_in_quotations_and_escaped_ones_are_no_citations():
    html = answer_html("**Titel \\[1\\]** [2]\n\n> Wie schon gezeigt [1].", URLS)
    assert re.findall(r'href="([^"]+)"', html) == [URLS[2]]
    assert "Titel [1]" in html
    assert "gezeigt [1]" in html


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_an_answer_can_act(text):
    html = answer_html(f"Gut. {text} [1]", URLS)
    assert re.findall(r"<(\w+)", html.replace("<p>", "").replace("<a ", "", 1)) == []
    assert re.findall(r'<[^>]*href="([^"]+)"', html) == [URLS[1]]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_document_is_loaded_or_runs(text):
    html = text_html(f"Gut. {text} Ende.", mark=(0, 4))
    assert not re.search(r"<(script|img|style|iframe)", html)
    assert not re.search(r"<[^>]*\son\w+=", html)
    assert "javascript:" not in re.sub(r">[^<]*<", "><", html)


DOCUMENT = """# Titel

Erster Absatz mit **fettem Wort.** Zweiter Satz.

## Abschnitt

- Punkt eins
- Punkt *zwei*

| a | b |
|---|---|
| Zelle | letzte |

```
code
```

> Zitat am Ende.
"""


@pytest.mark.parametrize(
    ("begin", "finish", "inside"),
    [
        ("Zweiter Satz.", "Zweiter Satz.", "ZweiterSatz."),
        ("**fettem", "Zweiter", "fettemWort.Zweiter"),
        ("## Abschnitt", "*zwei*", "AbschnittPunkteinsPunktzwei"),
        ("- Punkt eins", "eins", "Punkteins"),
        ("| a", "letzte |", "abZelleletzte"),
        ("Zelle", "Zelle", "Zelle"),
        ("```\ncode", "code\n```", "code"),
        ("| a", "|---|---|", "ab"),
        ("|---|", "letzte |", "Zelleletzte"),
        ("> Zitat", "Ende.", "ZitatamEnde."),
        (
            "# Titel",
            "Ende.",
            "TitelErsterAbsatzmitfettemWort.ZweiterSatz.AbschnittPunkteinsPunktzweiabZelleletztecodeZitatamEnde.",
        ),
    ],
)
def test_exactly_the_passage_is_marked(begin, finish, inside):
    start = DOCUMENT.index(begin)
    end = DOCUMENT.index(finish, start) + len(finish)
    html = text_html(DOCUMENT, mark=(start, end))
    assert marked_text(html) == inside
    assert html.count('id="passage"') == 1
    unmarked = text_html(DOCUMENT, mark=None)
    assert re.sub(r"</?mark[^>]*>", "", html) == unmarked


SENTENCES = st.lists(st.text(alphabet="abcäß ", min_size=1).filter(str.strip), min_size=1, max_size=6)


@given(paragraphs=SENTENCES, data=st.data())
def test_any_stretch_of_plain_paragraphs_is_marked_exactly(paragraphs, data):
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    html = text_html(text, mark=(start, end))
    assert marked_text(html) == re.sub(r"\s", "", text[start:end])
