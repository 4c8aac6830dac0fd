"""What is quoted is quoted word for word, and says something about the question."""

from hypothesis import given
from hypothesis import strategies as st

from assistant.excerpts import choose_excerpt, units_of
from assistant.prompt import NumberedPassage, Prompt
from assistant.providers.rule_based import compose, pieces_of

TEXT = """# Düngen

Im Sommer wird alle zwei Wochen gedüngt, z. B. mit Flüssigdünger. Die Menge steht auf der Flasche.

Im Winter ruht die Pflanze:

- Sie bekommt keinen Dünger.
- Gegossen wird bei 12 °C nur noch
  einmal im Monat.

| Monat | Menge |
|-------|-------|
| Mai   | 5 ml  |
"""


def prompt(*texts: str, supported: bool = True, language: str = "de") -> Prompt:
    passages = tuple(
        NumberedPassage(number=n, title=f"Titel {n}", heading="", text=text, language="de", score=1.0)
        for n, text in enumerate(texts, start=1)
    )
    return Prompt(question="Wann düngen?", language=language, supported=supported, passages=passages)


def test_units_are_sentences_items_and_rows():
    assert [TEXT[unit.start : unit.end] for unit in units_of(TEXT)] == [
        "Im Sommer wird alle zwei Wochen gedüngt, z. B. mit Flüssigdünger.",
        "Die Menge steht auf der Flasche.",
        "Im Winter ruht die Pflanze:",
        "- Sie bekommt keinen Dünger.",
        "- Gegossen wird bei 12 °C nur noch\n  einmal im Monat.",
        "| Monat | Menge |",
        "| Mai   | 5 ml  |",
    ]


def test_the_stretch_about_the_question_is_chosen():
    chosen = choose_excerpt(question="Wie oft gießt man im Winter?", text=TEXT, language="de", max_chars=120)
    assert chosen.startswith("Im Winter ruht die Pflanze:")
    chosen = choose_excerpt(question="Womit im Sommer düngen?", text=TEXT, language="de", max_chars=100)
    assert chosen.startswith("Im Sommer wird alle zwei Wochen gedüngt")


def test_without_a_common_word_the_beginning_is_quoted():
    chosen = choose_excerpt(question="Сколько удобрения?", text=TEXT, language="de", max_chars=70)
    assert chosen == "Im Sommer wird alle zwei Wochen gedüngt, z. B. mit Flüssigdünger."


def test_a_row_keeps_the_head_of_its_table():
    chosen = choose_excerpt(question="Welche Menge im Mai?", text=TEXT, language="de", max_chars=60)
    assert chosen == "| Monat | Menge |\n|-------|-------|\n| Mai   | 5 ml  |"


WORDS = st.text(alphabet="aäbcdeßfgh .!?:\n-|#>*1[]", max_size=400)


@given(text=WORDS, question=WORDS, most=st.integers(1, 300))
def test_an_excerpt_is_a_stretch_of_the_text(text, question, most):
    chosen = choose_excerpt(question=question, text=text, language="de", max_chars=most)
    assert chosen in text
    if units_of(text):
        assert chosen.strip()


@given(text=WORDS)
def test_pieces_joined_are_the_text(text):
    pieces = pieces_of(text)
    assert "".join(pieces) == text
    assert all(pieces)


def test_every_quoted_line_stands_in_its_passage():
    for block in compose(prompt(TEXT, TEXT, TEXT)).split("\n\n**")[1:]:
        quoted = [line[2:] for line in block.splitlines() if line.startswith("> ")]
        assert quoted
        assert all(line in TEXT for line in quoted)


def test_at_most_four_passages_are_quoted_and_weak_ones_are_not():
    assert compose(prompt(*[TEXT] * 6)).count("\n\n> ") == 4
    strong, weak = prompt(TEXT, TEXT, TEXT).passages[:2], prompt(TEXT, TEXT, TEXT).passages[2]
    mixed = Prompt(
        question="Wann düngen?",
        language="de",
        supported=True,
        passages=(*strong, weak.__class__(**{**weak.__dict__, "score": 0.2})),
    )
    assert "[3]" not in compose(mixed)


def test_without_support_nothing_is_quoted():
    said = compose(prompt(TEXT, supported=False, language="en"))
    assert said.startswith("The knowledge base has nothing that answers this.")
    assert "Titel 1" in said
    assert ">" not in said
    assert "gedüngt" not in said


def test_an_empty_base_is_named_as_such():
    assert compose(prompt(supported=False)) == (
        "Die Wissensbasis ist noch leer, es gibt also noch nichts, woraus geantwortet werden könnte."
    )
