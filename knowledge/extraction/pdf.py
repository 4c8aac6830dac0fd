"""PDF, through PDFium.

pypdfium2 rather than kreuzberg's own PDF reader: it tells an encrypted file from a damaged one and
a missing password from a wrong one, marks hyphens at line ends, gives form values, and loses and
alters no characters (docs/decisions has the measurements).
"""

from __future__ import annotations

import ctypes
import itertools
import re
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from knowledge.errors import Damaged, Encrypted, ImageOnly, NoText, TooLarge, WrongPassword
from knowledge.errors import translatable as _
from knowledge.extraction.cleaning import clean, join_pages

# PDFium marks a hyphen that it takes for one of word division with U+FFFE or U+0002.
DIVISION = re.compile("[-\u2010]?[\ufffe\x02][ \t]*(?:\r\n?|\n)?[ \t]*")
HYPHEN_AT_END = re.compile("(?<=[a-zäöüßа-яё])[-\u2010](?:\r\n?|\n)(?=[a-zäöüßа-яё])")
# "Ein- und Ausgang": the hyphen stands for a word that follows.
JUNK_TITLE = re.compile(
    r"microsoft \w+ - .*|untitled.*|ohne titel.*|document\d*|.*\.[a-z]{2,5}|[\W\d_]*", re.IGNORECASE
)
NUMBERING = re.compile(r"(?:[\dIVX]+|[A-Z])(?:\.\d+)*\.?\s+")
MAX_BOOKMARKS = 10_000
SUSPENDED = re.compile(r"(?:und|oder|bzw|bis|sowie|and|or|to|и|или)\b")


def _without_system_fonts() -> Any:
    """Start PDFium anew without the machine's fonts, so that their widths part no words elsewhere.

    Returns what has to stay alive as long as the library.
    """
    pdfium.FPDF_DestroyLibrary()
    nowhere = ctypes.create_string_buffer(b"/nonexistent")
    paths = (ctypes.POINTER(ctypes.c_char) * 2)()  # ends with a null pointer
    paths[0] = ctypes.cast(nowhere, ctypes.POINTER(ctypes.c_char))
    config = pdfium.FPDF_LIBRARY_CONFIG(version=2, m_pUserFontPaths=paths)
    pdfium.FPDF_InitLibraryWithConfig(config)
    return nowhere, paths, config


_KEPT_ALIVE = _without_system_fonts()


def read(data: bytes, *, password: str | None, max_chars: int) -> tuple[str, tuple[int, ...], dict[str, Any]]:
    """Return (cleaned text, offset of each page, metadata).

    Raises Encrypted or WrongPassword, Damaged, NoText for no pages, ImageOnly where no page has
    text but pictures, TooLarge past max_chars.
    """
    document = _open(data, password=password)
    try:
        if len(document) == 0:
            raise NoText()
        document.init_forms()
        form = document.formenv is not None
        bookmarks = _bookmarks(document)
        pages: list[str] = []
        pictured: list[int] = []
        size = 0
        for number in range(len(document)):
            text, has_picture = _read_page(document, number, form=form)
            text = _mark_headings(text, bookmarks.get(number, {}))
            size += len(text)
            if size > max_chars:
                raise TooLarge(limit=_("%(amount)s characters"), amount=max_chars)
            pages.append(text)
            if has_picture and not text:
                pictured.append(number + 1)
        metadata: dict[str, Any] = {
            key.lower(): clean(value) for key, value in document.get_metadata_dict(skip_empty=True).items()
        }
    finally:
        document.close()
    if not any(pages):
        if pictured:
            raise ImageOnly(pages=pictured)
        raise NoText()
    text, offsets = join_pages(pages)
    metadata["page_count"] = len(pages)
    if JUNK_TITLE.fullmatch(metadata.get("title", "")):
        metadata.pop("title", None)
    if pictured:
        metadata["pages_without_text"] = pictured
    return text, offsets, metadata


def _open(data: bytes, *, password: str | None) -> pypdfium2.PdfDocument:
    try:
        # The empty user password is tried by PDFium itself.
        return pypdfium2.PdfDocument(data, password=password)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise (WrongPassword() if password else Encrypted()) from error
        if b"/Count 0" in data and b"/Pages" in data and b"%%EOF" in data[-1024:]:
            raise NoText() from error  # PDFium calls a sound file without pages damaged
        raise Damaged() from error


def _read_page(document: pypdfium2.PdfDocument, number: int, *, form: bool) -> tuple[str, bool]:
    """Return (cleaned text, whether there are pictures on the page); number counts from 0."""
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return "", False
    try:
        textpage = page.get_textpage()
        raw = textpage.get_text_range()
        fields = _form_values(document, page) if form else []
        textpage.close()
        text = clean(join_divided_words(raw))
        if fields:
            text = "\n\n".join(part for part in (text, "\n".join(fields)) if part)
        has_picture = not text and any(
            pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page, index))
            in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)
            for index in range(pdfium.FPDFPage_CountObjects(page))
        )
        return text, has_picture
    except pypdfium2.PdfiumError:
        return "", False
    finally:
        page.close()


def _bookmarks(document: pypdfium2.PdfDocument) -> dict[int, dict[str, int]]:
    """Return the outline: page (from 0) -> {title as `_folded`: level from 1}."""
    found: dict[int, dict[str, int]] = {}
    for bookmark in itertools.islice(document.get_toc(max_depth=6), MAX_BOOKMARKS):
        target = bookmark.get_dest()
        page = target.get_index() if target is not None else None
        title = _folded(clean(bookmark.get_title()))
        if page is not None and title:
            found.setdefault(page, {}).setdefault(title, bookmark.level + 1)
    return found


def _folded(line: str) -> str:
    """A heading without numbering, case and blanks, as outline and page differ in these."""
    return "".join(NUMBERING.sub("", line, count=1).split()).casefold()


def _mark_headings(text: str, titles: dict[str, int]) -> str:
    """Make Markdown headings of the lines that the document's outline names as such."""
    if not titles:
        return text
    lines = text.split("\n")
    left = dict(titles)
    for number, line in enumerate(lines):
        level = left.pop(_folded(line), None) if len(line) < 200 else None
        if level is not None:
            lines[number] = f"\n{'#' * level} {line.strip()}\n"
    return "\n".join(lines).strip("\n")


def join_divided_words(text: str) -> str:
    """Join words that were divided at the end of a line.

    A small letter after the hyphen means a divided word, unless a word like "und" follows;
    else the hyphen belongs to the word ("Schwarz-Weiß") and only the line break goes.
    """

    def join(match: re.Match[str]) -> str:
        rest = text[match.end() : match.end() + 12]
        if SUSPENDED.match(rest):
            return "- "
        return "" if rest[:1].islower() else "-"

    if "\ufffe" in text or "\x02" in text:
        text = DIVISION.sub(join, text)
    return HYPHEN_AT_END.sub(join, text)


def _form_values(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> list[str]:
    """Return "name: value" of each filled form field; pages show them, but have them not as text."""
    values = []
    for index in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        if pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_WIDGET:
            value = _form_string(pdfium.FPDFAnnot_GetFormFieldValue, document, annotation)
            name = _form_string(pdfium.FPDFAnnot_GetFormFieldAlternateName, document, annotation)
            name = name or _form_string(pdfium.FPDFAnnot_GetFormFieldName, document, annotation)
            if value and value != "Off":
                values.append(f"{name}: {value}" if name else value)
        pdfium.FPDFPage_CloseAnnot(annotation)
    return list(dict.fromkeys(values))


def _form_string(getter: Any, document: pypdfium2.PdfDocument, annotation: Any) -> str:
    """Call one of PDFium's getters for UTF-16 strings of a form field."""
    handle = document.formenv
    size = getter(handle, annotation, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    getter(handle, annotation, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    return clean(buffer.raw[: size - 2].decode("utf-16-le", "ignore")).strip()
