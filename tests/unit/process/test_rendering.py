"""The text of a page in the form that an export asks for."""

from gossamer.process import TEXT_KINDS, page_text

PAGE = b"""<!doctype html><html lang="en"><head><title>Bread</title></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Shop with us</a></li></ul></nav>
<main><h1>How to bake bread</h1>
<p>Mix <em>flour</em>, water, salt and <a href="yeast.html">yeast</a>, and wait for two hours.
Then fold the dough twice, and let it rest until it has doubled in size.</p>
<ul><li>500 g of flour</li><li>350 g of water</li></ul>
<table><tr><th>Minute</th><th>Heat</th></tr><tr><td>20</td><td>250</td></tr></table>
</main><footer><p>Copyright 2026, all rights reserved by the bakery.</p></footer></body></html>"""


def test_markdown_is_the_main_content_with_absolute_links() -> None:
    text = page_text("markdown", PAGE, url="http://a.test/b/bread.html")
    assert text.startswith("# How to bake bread")
    assert "[yeast](http://a.test/b/yeast.html)" in text
    assert "- 500 g of flour" in text or "* 500 g of flour" in text
    assert "| 20 | 250 |" in text
    assert "Shop with us" not in text
    assert "Copyright" not in text


def test_main_text_has_no_markup_and_no_boilerplate() -> None:
    text = page_text("main", PAGE)
    assert "How to bake bread" in text
    assert "# How" not in text
    assert "Shop with us" not in text
    assert "Copyright" not in text


def test_plain_text_is_what_the_crawl_extracted() -> None:
    assert page_text("plain", PAGE, plain="said") == "said"


def test_html_is_the_source_in_the_charset_of_the_page() -> None:
    body = '<meta charset="windows-1252"><p>Grüße – 5 €</p>'.encode("windows-1252")
    assert "Grüße – 5 €" in page_text("html", body)
    assert "Grüße – 5 €" in page_text("main", body)
    assert "Привет" in page_text("html", "<p>Привет</p>".encode("koi8-r"), charset="koi8-r")


def test_what_is_no_html_gives_its_extracted_text_and_no_source() -> None:
    for kind in ("plain", "main", "markdown"):
        said = page_text(kind, b"%PDF-1.4", media_type="application/pdf", plain="a paper")
        assert said == "a paper"
    assert page_text("html", b"%PDF-1.4", media_type="application/pdf", plain="a paper") == ""


def test_a_page_too_large_to_parse_again_gives_its_extracted_text() -> None:
    body = b"<div>" * 2_000_000
    assert page_text("markdown", body, plain="extracted") == "extracted"
    assert page_text("main", body, plain="extracted") == "extracted"


def test_a_text_is_cut_at_the_limit_and_can_always_be_encoded() -> None:
    for kind in TEXT_KINDS:
        text = page_text(kind, b"<p>&#xD800;" + b"word " * 100, plain="w" * 100, max_chars=50)
        assert len(text) <= 50
        text.encode()
    assert page_text("markdown", b"") == ""
    assert page_text("main", b"\x00\xff<") is not None


def test_a_bad_base_address_leaves_links_as_they_are() -> None:
    assert "[a](b)" in page_text("markdown", b'<p><a href="b">a</a> and words</p>', url="http://[")
