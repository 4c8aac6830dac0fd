"""Files of many formats, made here, so that the tests need none from elsewhere."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from email.message import EmailMessage

import msoffcrypto.format.ooxml

PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf(
    pages: list[list[str]],
    *,
    outline: list[tuple[str, int]] | None = None,
    user_password: str | None = None,
    owner_password: str = "owner",
    pictures: bool = False,
    title: str | None = None,
) -> bytes:
    """A PDF of the given lines per page; outline is [(title, page from 0)].

    With user_password (may be "") it is encrypted with RC4, 40 bits. With pictures, each page shows
    one, and no text if its list of lines is empty.
    """
    objects: list[bytes] = [
        b"",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    streams: dict[int, bytes] = {}

    def add(body: bytes, stream: bytes | None = None) -> int:
        objects.append(body)
        if stream is not None:
            streams[len(objects)] = stream
        return len(objects)

    picture = add(
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8",
        b"\x80",
    )
    page_numbers = []
    for lines in pages:
        text = b"".join(
            b"("
            + line.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
            + b") Tj T*\n"
            for line in lines
        )
        content = (b"BT /F1 12 Tf 14 TL 50 750 Td\n" + text + b"ET\n") if lines else b""
        if pictures:
            content += b"q 400 0 0 400 50 100 cm /Im1 Do Q\n"
        stream = add(b"<<", content)
        page_numbers.append(
            add(
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
                b"/Resources << /Font << /F1 3 0 R >> /XObject << /Im1 %d 0 R >> >> >>" % (stream, picture)
            )
        )
    root = b"<< /Type /Catalog /Pages 2 0 R"
    if outline:
        first = len(objects) + 2
        root += b" /Outlines %d 0 R" % (len(objects) + 1)
        add(
            b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>"
            % (first, first + len(outline) - 1, len(outline))
        )
        for number, (name, page) in enumerate(outline):
            links = b"/Next %d 0 R" % (first + number + 1) if number + 1 < len(outline) else b""
            add(
                b"<< /Title <%s> /Parent %d 0 R %s /Dest [%d 0 R /Fit] >>"
                % (
                    (b"\xfe\xff" + name.encode("utf-16-be")).hex().encode(),
                    first - 1,
                    links,
                    page_numbers[page],
                )
            )
    objects[0] = root + b" >>"
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
        len(page_numbers),
        b" ".join(b"%d 0 R" % number for number in page_numbers),
    )
    trailer = b""
    key = b""
    if user_password is not None:
        owner = _rc4(hashlib.md5(_padded(owner_password)).digest()[:5], _padded(user_password))
        key = hashlib.md5(
            _padded(user_password) + owner + b"\xfc\xff\xff\xff" + b"0123456789abcdef"
        ).digest()[:5]
        number = add(
            b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>"
            % (owner.hex().encode(), _rc4(key, PADDING).hex().encode())
        )
        file_id = b"0123456789abcdef".hex().encode()
        trailer = b" /Encrypt %d 0 R /ID [<%s> <%s>]" % (number, file_id, file_id)
    if title is not None:
        trailer += b" /Info %d 0 R" % add(b"<< /Title (%s) >>" % title.encode("cp1252"))
    out = io.BytesIO()
    out.write(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(out.tell())
        if number in streams:
            data = streams[number]
            if key:
                data = _rc4(hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0").digest()[:10], data)
            body += b" /Length %d >>\nstream\n%s\nendstream" % (len(data), data)
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    xref = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
    out.write(
        b"trailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, xref)
    )
    return out.getvalue()


def pdf_bomb(megabytes: int) -> bytes:
    """A small PDF whose one content stream unpacks to that many MB of blanks."""
    packed = zlib.compress(b" " * (megabytes * 1024 * 1024), 9)
    plain = pdf([["x"]])
    start = plain.index(b"BT /F1")
    end = plain.index(b"\nendstream", start)
    length = plain.rindex(b"/Length", 0, start)
    return (
        plain[:length] + b"/Filter /FlateDecode /Length %d >>\nstream\n" % len(packed) + packed + plain[end:]
    )


def _padded(password: str) -> bytes:
    return (password.encode("latin-1") + PADDING)[:32]


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    out = bytearray()
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def zipped(members: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            how = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(name, content, compress_type=how)
    return out.getvalue()


def docx(body: str) -> bytes:
    """A Word file with the given WordprocessingML in its body."""
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
            f'<Default Extension="rels" ContentType="{relations}"/>'
            f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
            f'<Relationship Id="r1" Type="{office}" Target="word/document.xml"/></Relationships>',
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
        }
    )


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{properties}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def word_table(rows: list[list[str]]) -> str:
    cells = ["".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows]
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def locked(data: bytes, password: str) -> bytes:
    """An Office file (zip) with a password on it; padded, as the writer fails below 4 KB."""
    padded = io.BytesIO(data)
    with zipfile.ZipFile(padded, "a") as archive:
        archive.writestr("docProps/thumbnail.bin", bytes(8192))
    out = io.BytesIO()
    msoffcrypto.format.ooxml.OOXMLFile(padded).encrypt(password, out)
    return out.getvalue()


def odt(paragraphs: list[str]) -> bytes:
    text = "".join(f"<text:p>{paragraph}</text:p>" for paragraph in paragraphs)
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "META-INF/manifest.xml": "<manifest:manifest"
            ' xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
            "content.xml": '<?xml version="1.0" encoding="UTF-8"?><office:document-content'
            ' xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
            ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
            f"<office:body><office:text>{text}</office:text></office:body></office:document-content>",
        }
    )


def mail(subject: str, body: str, *, charset: str = "utf-8") -> bytes:
    message = EmailMessage()
    message["From"] = "a@example.org"
    message["To"] = "b@example.org"
    message["Subject"] = subject
    message.set_content(body, charset=charset)
    return message.as_bytes()
