"""Media: small PDF, PNG and JSON files, valid byte for byte, made by hand from a seed."""

import json
import struct
import zlib

from gossamer.testing.site.words import Dice

_PNG_SIDE = 32
_PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
    b" /Resources << /Font << /F1 5 0 R >> >> /Annots [6 0 R] >>"
)


def pdf(title: str, lines: list[str], link: str) -> bytes:
    """Return a one-page PDF with some lines of text and one link."""
    text = "".join(f"({_pdf_text(line)}) Tj T*\n" for line in [title, *lines])
    stream = f"BT /F1 12 Tf 14 TL 50 780 Td\n{text}ET".encode("latin-1", "replace")
    uri = _pdf_text(link)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        _PAGE,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Type /Annot /Subtype /Link /Rect [50 700 300 800] /Border [0 0 0]"
        f" /A << /S /URI /URI ({uri}) >> >>".encode("latin-1", "replace"),
        f"<< /Title ({_pdf_text(title)}) >>".encode("latin-1", "replace"),
    ]
    return _pdf_file(objects)


def _pdf_text(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _pdf_file(objects: list[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return bytes(out + trailer % (len(objects) + 1, len(objects), start))


def png(dice: Dice) -> bytes:
    """Return a PNG of 32 by 32 pixels, in the colours of the dice."""
    red, green, blue = (dice.below(256) for _ in range(3))
    rows = bytearray()
    for y in range(_PNG_SIDE):
        rows.append(0)
        for x in range(_PNG_SIDE):
            rows += bytes(((red + 7 * x) % 256, (green + 7 * y) % 256, (blue + x * y) % 256))
    header = struct.pack(">IIBBBBB", _PNG_SIDE, _PNG_SIDE, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(rows), 9)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", body), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def json_page(title: str, token: str, links: list[str]) -> bytes:
    """Return a JSON document that mentions some URLs."""
    rows = [{"row": number, "see": link} for number, link in enumerate(links)]
    return json.dumps({"title": title, "token": token, "rows": rows}, indent=1).encode()
