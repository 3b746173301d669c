"""Images, PDFs, texts and style sheets."""

from collections.abc import Callable
from io import BytesIO

import pytest
from PIL import Image
from pypdf import PdfWriter
from pypdf.annotations import Link as PdfLink

from gossamer.model import Document, LinkKind
from gossamer.process import Registry

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


def test_a_pdf_says_its_text(document: MakeDocument, registry: Registry) -> None:
    stream = b"BT /F1 12 Tf 10 100 Td (Hello from paper) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources 5 0 R>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, said in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, said)
    table = b"xref\n0 6\n0000000000 65535 f \n" + b"".join(places)
    body += table + b"trailer<</Root 1 0 R/Size 6>>\nstartxref\n%d\n%%%%EOF" % len(body)
    page = document(body, media_type="application/pdf")
    assert "Hello from paper" in registry.read(page, "application/pdf").text


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
