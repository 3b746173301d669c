"""Images, PDFs, texts and style sheets."""

from collections.abc import Callable
from io import BytesIO

import pytest
from PIL import Image, ImageDraw
from pypdf import PdfWriter
from pypdf.annotations import Link as PdfLink

from gossamer.model import Document, LinkKind
from gossamer.process import Registry
from gossamer.process.pdf import SizedLine, largest_lines

MakeDocument = Callable[..., Document]


def picture(kind: str, size: tuple[int, int] = (64, 48), *, is_mirrored: bool = False) -> bytes:
    image = Image.linear_gradient("L").rotate(90).resize(size).convert("RGB")
    if is_mirrored:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    out = BytesIO()
    image.save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_is_measured_and_hashed(
    document: MakeDocument, registry: Registry, kind: str
) -> None:
    page = document(picture(kind), media_type="application/octet-stream")
    media_type = registry.media_type(page)
    assert media_type == f"image/{kind.lower()}"
    notes = registry.read(page, media_type).notes
    assert (notes["width"], notes["height"], notes["format"]) == (64, 48, kind.lower())
    assert len(str(notes["dhash"])) == 16


def test_similar_images_share_their_hash_and_others_do_not(
    document: MakeDocument, registry: Registry
) -> None:
    def dhash(data: bytes) -> int:
        notes = registry.read(document(data, media_type="image/png"), "image/png").notes
        return int(str(notes["dhash"]), 16)

    first = dhash(picture("PNG"))
    assert (first ^ dhash(picture("PNG", (640, 480)))).bit_count() <= 4
    assert (first ^ dhash(picture("PNG", is_mirrored=True))).bit_count() >= 32


def drawn(kind: str, size: tuple[int, int] = (256, 192), *, background: str = "white") -> bytes:
    image = Image.new("RGBA", (256, 192), (0, 0, 0, 0) if background == "none" else background)
    pen = ImageDraw.Draw(image)
    pen.ellipse((30, 40, 120, 150), fill="navy")
    pen.rectangle((150, 20, 230, 90), fill="orange")
    pen.line((0, 191, 255, 100), fill="black", width=9)
    out = BytesIO()
    image.resize(size).convert("RGBA" if background == "none" else "RGB").save(out, kind)
    return out.getvalue()


def test_the_perceptual_hash_outlasts_scaling_recompression_and_transparency(
    document: MakeDocument, registry: Registry
) -> None:
    def hashed(data: bytes) -> int:
        notes = registry.read(document(data, media_type="image/png"), "image/png").notes
        return int(str(notes["dct_hash"]), 16)

    first = hashed(drawn("PNG"))
    assert (first ^ hashed(drawn("PNG", (128, 96)))).bit_count() <= 6
    assert (first ^ hashed(drawn("JPEG", (512, 384)))).bit_count() <= 6
    assert (first ^ hashed(drawn("PNG", background="none"))).bit_count() <= 2
    assert (first ^ hashed(picture("PNG"))).bit_count() > 12


def test_a_plain_area_has_no_perceptual_hash(document: MakeDocument, registry: Registry) -> None:
    out = BytesIO()
    Image.new("RGB", (200, 100), "teal").save(out, "PNG")
    notes = registry.read(document(out.getvalue(), media_type="image/png"), "image/png").notes
    assert "dct_hash" not in notes
    assert notes["bytes"] == len(out.getvalue())


def test_a_huge_image_is_measured_but_not_decoded(
    document: MakeDocument, registry: Registry
) -> None:
    out = BytesIO()
    Image.new("1", (10_000, 10_000)).save(out, "PNG")
    found = registry.read(document(out.getvalue(), media_type="image/png"), "image/png")
    assert found.notes["width"] == 10_000
    assert "dhash" not in found.notes
    assert found.errors == ()


@pytest.mark.slow
def test_a_bomb_of_an_image_is_an_error(document: MakeDocument, registry: Registry) -> None:
    out = BytesIO()
    Image.new("1", (20_000, 20_000)).save(out, "PNG")
    found = registry.read(document(out.getvalue(), media_type="image/png"), "image/png")
    assert found.errors[0].startswith("image: DecompressionBombError")


def pdf(href: str) -> bytes:
    writer = PdfWriter()
    writer.add_blank_page(200, 200)
    writer.add_blank_page(200, 200)
    writer.add_metadata({"/Title": "A paper"})
    writer.add_annotation(0, PdfLink(rect=(0, 0, 9, 9), url=href))
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_pdf_has_a_title_pages_and_links(document: MakeDocument, registry: Registry) -> None:
    page = document(pdf("http://h.test/cited"), media_type="application/pdf")
    found = registry.read(page, "application/pdf")
    assert found.errors == ()
    assert (found.title, found.notes["pages"]) == ("A paper", 2)
    assert [(x.target.text, x.kind) for x in found.links] == [("http://h.test/cited", LinkKind.PDF)]


def printed(stream: bytes, title: bytes = b"") -> bytes:
    """Return a PDF of one page."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources 5 0 R>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>",
        b"<</Title(%s)>>" % title,
    ]
    body, places = b"%PDF-1.4\n", []
    for number, said in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, said)
    table = b"xref\n0 7\n0000000000 65535 f \n" + b"".join(places)
    end = b"trailer<</Root 1 0 R/Info 6 0 R/Size 7>>\nstartxref\n%d\n%%%%EOF" % len(body)
    return body + table + end


PAPER = (
    b"BT /F1 8 Tf 10 180 Td (Journal of small things) Tj ET"
    b" BT /F1 20 Tf 10 150 Td (A large title) Tj ET"
    b" BT /F1 20 Tf 10 128 Td (on two lines) Tj ET"
    b" BT /F1 10 Tf 10 100 Td (Hello from paper) Tj ET"
    b" BT /F1 10 Tf 10 80 Td (that goes on and on) Tj ET"
)


def test_a_pdf_says_its_text(document: MakeDocument, registry: Registry) -> None:
    page = document(printed(PAPER), media_type="application/pdf")
    assert "Hello from paper" in registry.read(page, "application/pdf").text


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"", "A large title on two lines"),
        (b"Untitled 1", "A large title on two lines"),
        (b"Microsoft Word - final.doc", "A large title on two lines"),
        (b"paper-v2.dvi", "A large title on two lines"),
        (b"A paper", "A paper"),
        (b"Introduction to Node.js", "Introduction to Node.js"),
    ],
)
def test_a_pdf_without_a_title_is_called_by_its_largest_lines(
    said: bytes, expected: str, document: MakeDocument, registry: Registry
) -> None:
    page = document(printed(PAPER, said), media_type="application/pdf")
    assert registry.read(page, "application/pdf").title == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], ""),
        ([("12", 30.0), ("- 3 -", 30.0)], ""),
        ([("First line", 10.0), ("second line", 10.0)], "First line"),
        ([("small", 8.0), ("Large", 20.0), ("as large", 19.5), ("small", 8.0)], "Large as large"),
        ([("Large", 20.0), ("small", 8.0), ("small", 8.0), ("Large again", 20.0)], "Large"),
    ],
)
def test_the_largest_lines_are_the_first_that_stand_together(
    lines: list[tuple[str, float]], expected: str
) -> None:
    assert largest_lines([SizedLine(*line) for line in lines]) == expected


@pytest.mark.parametrize("cut", [10, 100, 300, 500])
def test_a_cut_pdf_does_no_harm(document: MakeDocument, registry: Registry, cut: int) -> None:
    page = document(pdf("http://h.test/x")[:cut], media_type="application/pdf")
    registry.read(page, "application/pdf")


def test_addresses_in_plain_text_are_recorded(document: MakeDocument, registry: Registry) -> None:
    page = document("# Read me\n\nSee http://h.test/a.", media_type="text/markdown")
    found = registry.read(page, "text/markdown")
    assert found.title == "Read me"
    assert [(x.target.text, x.kind) for x in found.links] == [("http://h.test/a", LinkKind.TEXT)]


def test_a_style_sheet_has_links_and_no_text(document: MakeDocument, registry: Registry) -> None:
    page = document("@import 'a.css'; b { c: url(d.png) }", media_type="text/css")
    found = registry.read(page, "text/css")
    assert found.text == ""
    assert {x.kind for x in found.links} == {LinkKind.CSS}
    assert len(found.links) == 2
