"""What a file is, told by its content; its name decides only between kinds of plain text."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import PurePath

from knowledge.errors import Damaged, Encrypted, TooLarge
from knowledge.errors import translatable as _
from knowledge.extraction.extracted import MIB, ExtractionLimits

MAX_PARTS = 10_000
OOXML = "application/vnd.openxmlformats-officedocument."
PDF = "application/pdf"
DOCX = OOXML + "wordprocessingml.document"
PPTX = OOXML + "presentationml.presentation"
XLSX = OOXML + "spreadsheetml.sheet"
MSG = "application/vnd.ms-outlook"
EML = "message/rfc822"
ENCRYPTED_OFFICE = "application/encrypted"
HTML = "text/html"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
CSV = "text/csv"
TSV = "text/tab-separated-values"
YAML = "application/yaml"

BY_MAIN_PART = {"word/": DOCX, "ppt/": PPTX, "xl/": XLSX}
BY_MIMETYPE_MEMBER = (
    "application/epub+zip",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.oasis.opendocument.presentation",
)
BY_OLE_STREAM = (
    ("EncryptedPackage", ENCRYPTED_OFFICE),
    ("__properties_version1.0", MSG),
    ("WordDocument", "application/msword"),
    ("PowerPoint Document", "application/vnd.ms-powerpoint"),
    ("Workbook", "application/vnd.ms-excel"),
)
BY_TEXT_NAME = {
    ".md": MARKDOWN,
    ".mdx": MARKDOWN,
    ".markdown": MARKDOWN,
    ".csv": CSV,
    ".tsv": TSV,
    ".yaml": YAML,
    ".yml": YAML,
    ".htm": HTML,
    ".html": HTML,
    ".xhtml": HTML,
    ".eml": EML,
}
# A text under such a name is what is left of another file, or a page of an error.
BINARY_NAMES = frozenset(
    {".pdf", ".docx", ".doc", ".pptx", ".ppt", ".xlsx", ".xls", ".odt", ".ods", ".odp", ".epub", ".msg"}
)
NOT_READ = (
    (b"\x7fELF", "application/x-executable"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    (b"\x00asm", "application/wasm"),
)
HTML_START = re.compile(
    r"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(<!doctype\s+html|<html|<head\b|<body\b)",
    re.IGNORECASE | re.DOTALL,
)
MAIL_HEADER = re.compile(
    r"^(Received|Return-Path|Delivered-To|MIME-Version|Message-ID|From|To|Date|Subject|X-[\w-]+):",
    re.IGNORECASE | re.MULTILINE,
)


def sniff(data: bytes, *, limits: ExtractionLimits) -> str | None:
    """Return the media type that the bytes tell, or None where they may be text.

    Raises Damaged for broken containers, Encrypted for OpenDocument files with a password, TooLarge
    for zip containers that unpack to more than the limit. A media type that is not read here is
    returned as it is.
    """
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _sniff_zip(data, limits=limits)
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _sniff_ole(data)
    if data.startswith(b"{\\rtf"):
        return "application/rtf"
    if _is_pdf(data):
        return PDF
    for magic, media_type in NOT_READ:
        if data.startswith(magic):
            return media_type
    if data.startswith(b"MZ") and _is_windows_program(data):
        return "application/vnd.microsoft.portable-executable"
    return None


def sniff_text(text: str, *, file_name: str) -> str:
    """Return the media type of decoded text; raises Damaged under the name of a binary format."""
    head = text[:4096].lstrip("\ufeff")
    if HTML_START.match(head):
        return HTML
    suffix = PurePath(file_name).suffix.lower()
    if suffix in BINARY_NAMES:
        raise Damaged()
    if suffix == ".eml" or (suffix not in BY_TEXT_NAME and _is_mail(head)):
        return EML
    return BY_TEXT_NAME.get(suffix, PLAIN)


def _is_pdf(data: bytes) -> bool:
    at = data.find(b"%PDF-", 0, 1024)
    if at < 0:
        return False
    # Other text may speak of "%PDF-1.7"; a PDF has objects or an end mark, or nothing before the mark.
    return at == 0 or b"endobj" in data or b"%%EOF" in data


def _is_windows_program(data: bytes) -> bool:
    if len(data) < 0x40:
        return b"\x00" in data
    (header,) = struct.unpack_from("<I", data, 0x3C)
    return data[header : header + 2] in (b"PE", b"NE", b"LE") or b"\x00" in data[:0x40]


def _is_mail(head: str) -> bool:
    names = {match.group(1).lower() for match in MAIL_HEADER.finditer(head.split("\n\n")[0])}
    return (
        MAIL_HEADER.match(head) is not None
        and len(names) >= 3
        and bool(names & {"received", "mime-version", "message-id"})
    )


def _sniff_zip(data: bytes, *, limits: ExtractionLimits) -> str:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > limits.unpacked_bytes:
                raise TooLarge(limit=_("%(amount)s MB unpacked"), amount=limits.unpacked_bytes // MIB)
            if len(members) > MAX_PARTS:
                raise TooLarge(limit=_("%(amount)s parts"), amount=MAX_PARTS)
            if any(member.flag_bits & 0x1 for member in members):
                raise Encrypted()
            names = {member.filename for member in members}
            if "mimetype" in names:
                kind = archive.read("mimetype")[:100].decode("ascii", "replace").strip()
                if kind in BY_MIMETYPE_MEMBER:
                    if kind.startswith("application/vnd.oasis") and _is_encrypted_odf(archive):
                        raise Encrypted()
                    return kind
    except (
        zipfile.BadZipFile,
        EOFError,
        ValueError,
        OSError,
        zlib.error,
        NotImplementedError,
    ) as error:
        raise Damaged() from error
    if "[Content_Types].xml" in names:
        for folder, media_type in BY_MAIN_PART.items():
            if any(name.startswith(folder) for name in names):
                return media_type
    return "application/zip"


def _is_encrypted_odf(archive: zipfile.ZipFile) -> bool:
    try:
        return b"encryption-data" in archive.read("META-INF/manifest.xml")
    except KeyError:
        return False


def _sniff_ole(data: bytes) -> str:
    for stream, media_type in BY_OLE_STREAM:
        if stream.encode("utf-16-le") in data:
            return media_type
    return "application/x-ole-storage"
