"""Each format, entered through `extract`, with files made here."""

from __future__ import annotations

import dataclasses
import json

import pytest

from knowledge.errors import (
    Damaged,
    EmptyFile,
    Encrypted,
    ExtractionFailed,
    ImageOnly,
    NoText,
    TooLarge,
    UnsupportedFormat,
    WrongPassword,
)
from knowledge.extraction import DEFAULT
from tests.extraction import samples
from tests.extraction.conftest import Read

DOCX = samples.docx(
    samples.paragraph("Rosen schneiden", "Heading1")
    + samples.paragraph("Im März über dem fünften Auge schneiden.")
    + samples.word_table([["Sorte", "Höhe"], ["Rambler", "6 m"]])
)


def test_pdf_keeps_pages_and_joins_divided_words(read: Read) -> None:
    found = read(
        samples.pdf([["Die Gewächs-", "haustür bleibt zu."], ["Ein- und", "Ausgang", "E-Mail"]]), "a.pdf"
    )
    assert found.media_type == "application/pdf"
    assert "Die Gewächshaustür bleibt zu." in found.text
    assert "Ein- und" in found.text
    assert "E-Mail" in found.text
    assert len(found.pages) == 2
    assert found.text[found.pages[1] :].startswith("Ein-")
    assert found.extractor == "pypdfium2"


def test_pdf_makes_headings_of_what_its_outline_names(read: Read) -> None:
    data = samples.pdf(
        [["1 Gießen", "Morgens."], ["2 Düngen", "Selten."]], outline=[("Gießen", 0), ("Düngen", 1)]
    )
    found = read(data, "a.pdf")
    assert found.text == "# 1 Gießen\n\nMorgens.\n\n# 2 Düngen\n\nSelten."
    assert found.text[found.pages[1] :].startswith("# 2 Düngen")


def test_a_title_that_is_a_file_name_is_none(read: Read) -> None:
    assert read(samples.pdf([["x"]], title="Microsoft Word - a.doc"), "a.pdf").title is None
    assert read(samples.pdf([["x"]], title="Der Steingarten"), "a.pdf").title == "Der Steingarten"


def test_encrypted_pdf_opens_with_its_password_only(read: Read) -> None:
    data = samples.pdf([["Geheime Sorte"]], user_password="beet")
    with pytest.raises(Encrypted):
        read(data, "a.pdf")
    with pytest.raises(WrongPassword):
        read(data, "a.pdf", password="falsch")
    assert read(data, "a.pdf", password="beet").text == "Geheime Sorte"


def test_pdf_with_an_empty_user_password_is_read_without_asking(read: Read) -> None:
    assert read(samples.pdf([["Offen"]], user_password=""), "a.pdf").text == "Offen"


def test_pages_that_are_pictures_are_named(read: Read) -> None:
    with pytest.raises(ImageOnly) as caught:
        read(samples.pdf([[], []], pictures=True), "scan.pdf")
    assert caught.value.pages == (1, 2)
    assert "1, 2" in str(caught.value)
    mixed = read(samples.pdf([["Text"], []], pictures=True), "mixed.pdf")
    assert mixed.metadata["pages_without_text"] == [2]


def test_pdf_without_pages_or_without_text_says_so(read: Read) -> None:
    with pytest.raises(NoText):
        read(samples.pdf([]), "a.pdf")
    with pytest.raises(NoText):
        read(samples.pdf([[]]), "a.pdf")


@pytest.mark.parametrize(
    "data", [b"%PDF-1.4\n1 0 obj\n<<", samples.pdf([["x"]])[:40], DOCX[: len(DOCX) // 2]]
)
def test_what_is_cut_off_is_damaged(read: Read, data: bytes) -> None:
    with pytest.raises(Damaged):
        read(data, "a.pdf")


def test_an_empty_file_and_a_blank_one(read: Read) -> None:
    with pytest.raises(EmptyFile):
        read(b"", "a.pdf")
    with pytest.raises(NoText):
        read(b" \n\t\n", "a.txt")


def test_docx_gives_headings_and_tables(read: Read) -> None:
    found = read(DOCX, "a.docx")
    assert found.text.startswith("## Rosen schneiden\n\nIm März über dem fünften Auge schneiden.")
    assert "| Sorte | Höhe |\n| --- | --- |\n| Rambler | 6 m |" in found.text
    assert found.title == "Rosen schneiden"


def test_docx_with_a_password(read: Read) -> None:
    data = samples.locked(DOCX, "beet")
    with pytest.raises(Encrypted):
        read(data, "a.docx")
    with pytest.raises(WrongPassword):
        read(data, "a.docx", password="falsch")
    assert "Rambler" in read(data, "a.docx", password="beet").text


def test_a_zip_that_unpacks_too_large_is_not_unpacked(read: Read) -> None:
    bomb = samples.zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": b" " * 3_000_000})
    with pytest.raises(TooLarge):
        read(bomb, "a.docx", limits=dataclasses.replace(DEFAULT, unpacked_bytes=2_000_000))


def test_odt_rtf_and_mail(read: Read) -> None:
    assert read(samples.odt(["Über Äpfel", "Birnen"]), "a.odt").text == "Über Äpfel\n\nBirnen"
    assert read(rb"{\rtf1\ansi\ansicpg1252 \'dcber \'c4pfel\par}", "a.rtf").text == "Über Äpfel"
    for charset in ("utf-8", "koi8-r"):
        mail = read(samples.mail("Полив", "Поливать утром.", charset=charset), "a.eml")
        assert "Поливать утром." in mail.text
        assert "Полив" in mail.text
        assert mail.source_type == "mail"


def test_html_keeps_what_is_seen(read: Read) -> None:
    page = """<!DOCTYPE html><html lang="de"><head><title>Kompost &amp; Erde</title>
    <meta charset="utf-8"><style>p{}</style><script>var a = "<p>nein</p>";</script></head>
    <body><nav><a href="/">Start</a></nav><h1>Kompost</h1><p>Er muss <b>warm</b> werden.</p>
    <ul><li>Laub</li><li>Gras</li></ul>
    <table><tr><th>Stoff</th><th>C/N</th></tr><tr><td>Laub</td><td>50</td></tr></table></body></html>"""
    found = read(page, "a.html")
    assert (found.title, found.language, found.source_type) == ("Kompost & Erde", "de", "article")
    assert found.text.startswith("# Kompost\n\nEr muss warm werden.\n\n- Laub\n- Gras")
    assert "| Stoff | C/N |\n| --- | --- |\n| Laub | 50 |" in found.text
    assert not any(word in found.text for word in ("nein", "Start", "p{}", "charset"))


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [
        (samples.pdf([["x"]]), "notes.txt", "application/pdf"),
        (DOCX, "notes.md", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (b"<!DOCTYPE html><html><body><p>Seite</p></body></html>", "notes.txt", "text/html"),
        (b"Ein Text \xc3\xbcber %PDF-1.7 und mehr.", "notes.txt", "text/plain"),
    ],
)
def test_the_content_decides_and_not_the_name(read: Read, data: bytes, name: str, media_type: str) -> None:
    assert read(data, name).media_type == media_type


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 8, "application/x-executable"),
        (b"MZ\x90\x00\x03" + bytes(59) + bytes(range(256)), "application/vnd.microsoft.portable-executable"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "image/png"),
        (samples.zipped({"a.txt": "a"}), "application/zip"),
        (bytes(range(256)) * 40, "application/octet-stream"),
    ],
)
def test_what_is_no_text_is_refused_under_any_name(read: Read, data: bytes, media_type: str) -> None:
    with pytest.raises(UnsupportedFormat) as caught:
        read(data, "notes.md")
    assert caught.value.media_type == media_type


def test_text_under_the_name_of_a_binary_format_is_damaged(read: Read) -> None:
    with pytest.raises(Damaged):
        read("404 not found", "report.pdf")


def test_csv_becomes_a_table_if_its_rows_agree(read: Read) -> None:
    table = read("Sorte;Höhe\nRambler;6 m\n".encode("cp1252"), "a.csv")
    assert table.text == "| Sorte | Höhe |\n| --- | --- |\n| Rambler | 6 m |"
    ragged = read("1,2,3\na,b,c,d\n", "a.csv")
    assert "a,b,c,d" in ragged.text
    assert ragged.warnings


def test_front_matter_becomes_metadata(read: Read) -> None:
    found = read(
        "---\ntitle: Hecken\nlanguage: de\ntags: [eibe, buche]\ndate: 2024-05-01\ntype: guide\n---\n"
        "\n# Hecken\n\nText.\n",
        "a.md",
    )
    assert found.text == "# Hecken\n\nText."
    assert (found.title, found.language, found.source_type) == ("Hecken", "de", "guide")
    assert found.metadata["tags"] == ["eibe", "buche"]
    assert found.metadata["date"] == "2024-05-01"
    json.dumps(found.metadata)


@pytest.mark.parametrize("front", ["title: [a\n", "a: b: c\n", "x: *unknown\n"])
def test_broken_front_matter_stays_in_the_text(read: Read, front: str) -> None:
    found = read(f"---\n{front}---\n\nText.\n", "a.md")
    assert front.strip() in found.text
    assert "Text." in found.text
    assert found.warnings


def test_a_rule_at_the_top_is_no_front_matter(read: Read) -> None:
    found = read("---\n\nText.\n\n---\n\nMehr.\n", "a.md")
    assert "Text." in found.text
    assert "Mehr." in found.text
    assert not found.warnings


def test_text_comes_out_clean(read: Read) -> None:
    found = read("\ufeffA\u0308pfel\r\nund\x00 Bir\u00adnen\r\noﬃziell\u00a0x\x07\r", "a.txt")
    assert found.text == "Äpfel\nund Birnen\noffiziell x"


def test_the_same_bytes_give_the_same(read: Read) -> None:
    assert read(DOCX, "a.docx") == read(DOCX, "a.docx")


def test_every_failure_says_what_happened_and_what_to_do(read: Read) -> None:
    for data, name in ((b"", "a.txt"), (b"%PDF-1.4", "a.pdf"), (bytes(1000), "a.bin")):
        with pytest.raises(ExtractionFailed) as caught:
            read(data, name)
        assert str(caught.value)
        assert str(caught.value.advice)
