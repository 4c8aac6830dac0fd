"""Which encoding a text is in: long, short and very short ones, in German and Russian."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.extraction.encoding import decode
from tests.extraction.conftest import Read

GERMAN = [
    "für",
    "können",
    "Größe",
    "Straße",
    "Äpfel und Öl",
    "Überwässerung",
    "„Gießen“ – täglich",
    "Zoë trinkt Café",
    "Bei 10 °C – 20 °C; ½ l genügt.",
    "Preis: 5 € für den Dünger",
    "Die unteren Blätter werden gelb, während die jüngeren Triebe grün bleiben.",
    "Käfer fraßen an den Wurzeln. Übrig blieb nur wenig, und trotzdem trieb die Pflanze aus.\n" * 40,
]
RUSSIAN = [
    "да",
    "Привет",
    "Щука",
    "съезд",
    "Полив утром",
    "Как часто поливать помидоры?",
    "pH 6,5 и EC 1,2: норма",
    "Ёлка растёт медленно — и «очень» долго",
    "Листья желтеют, если не хватает азота; подкормите куст.",
    "Внимание: температура ниже нуля!",
    "Рассаду высаживают в мае, когда почва прогреется. Поливают её тёплой водой.\n" * 40,
]
GERMAN_ENCODINGS = ["cp1252", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"]
RUSSIAN_ENCODINGS = [
    "cp1251",
    "koi8-r",
    "cp866",
    "iso8859-5",
    "utf-8",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32-be",
]
_GERMAN = "der Boden wird später wärmer und die Wurzel wächst über Nacht größer weil Dünger fehlt schön süß"
_RUSSIAN = "почва летом сохнет быстро поэтому корни растения нужно поливать чаще вечером или рано утром водой"
GERMAN_WORDS = _GERMAN.split()
RUSSIAN_WORDS = _RUSSIAN.split()


def _decoded(data: bytes) -> str | None:
    found = decode(data)
    return found.text if found else None


def _writable(text: str, encoding: str) -> bytes | None:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return None


@pytest.mark.parametrize("encoding", GERMAN_ENCODINGS)
@pytest.mark.parametrize("text", GERMAN, ids=lambda text: text[:12])
def test_german(text: str, encoding: str) -> None:
    assert _decoded(text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", RUSSIAN_ENCODINGS)
@pytest.mark.parametrize("text", RUSSIAN, ids=lambda text: text[:12])
def test_russian(text: str, encoding: str) -> None:
    data = _writable(text, encoding)
    if data is not None:
        assert _decoded(data) == text


@given(st.lists(st.sampled_from(GERMAN_WORDS), min_size=1, max_size=60), st.sampled_from(GERMAN_ENCODINGS))
def test_german_sentences(words: list[str], encoding: str) -> None:
    text = " ".join(words).capitalize() + "."
    assert _decoded(text.encode(encoding)) == text


@given(st.lists(st.sampled_from(RUSSIAN_WORDS), min_size=1, max_size=60), st.sampled_from(RUSSIAN_ENCODINGS))
def test_russian_sentences(words: list[str], encoding: str) -> None:
    text = " ".join(words).capitalize() + "."
    assert _decoded(text.encode(encoding)) == text


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=200))
def test_whatever_is_utf8_stays_utf8(text: str) -> None:
    assert _decoded(text.encode()) == text.removeprefix("\ufeff")


@given(st.binary(max_size=400))
def test_no_bytes_break_it(data: bytes) -> None:
    found = decode(data)
    assert found is None or isinstance(found.text, str)


def test_zero_bytes_in_text_do_not_make_it_utf16(read: Read) -> None:
    found = decode(b"vor\x00nach\r\n")
    assert found is not None
    assert found.text.replace("\x00", "") == "vornach\r\n"
    assert read("Größe\x00 des Beets".encode("utf-16-le"), "a.txt").text == "Größe des Beets"


def test_a_wrong_mark_before_a_code_page() -> None:
    found = decode(b"\xef\xbb\xbf" + "Die Blätter hängen.".encode("cp1252"))
    assert found is not None
    assert found.text == "Die Blätter hängen."


def test_a_broken_byte_does_not_spoil_utf8() -> None:
    text = "Die Blätter hängen über dem Rand, und die Töpfe stehen zu früh im Freien. " * 5
    found = decode(text.encode() + b"\xe4")
    assert found is not None
    assert found.text == text + "\ufffd"
    assert found.warnings


def test_a_page_that_names_its_encoding_is_believed_if_it_can_be(read: Read) -> None:
    page = '<html><head><meta charset="{}"></head><body><p>{}</p></body></html>'
    greek = "Το νερό της βροχής"
    assert read(page.format("windows-1253", greek).encode("cp1253"), "a.html").text == greek
    assert read(page.format("utf-8", "Größe").encode("cp1252"), "a.html").text == "Größe"
    assert read(page.format("iso-8859-1", "„Größe“").encode("cp1252"), "a.html").text == "„Größe“"
