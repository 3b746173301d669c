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


PROSE = "<p>The ferry to the islands leaves at seven and waits for the last bus of the day.</p>" * 3


def test_menus_that_only_classes_and_roles_name_are_left_out() -> None:
    page = f"""<div class="topNavBar"><a href=/>Start page</a></div>
        <div role="banner">Grand banner</div><div id="left-sidebar">Opening hours</div>
        <div class="article-text"><h1>Ferries</h1>{PROSE}</div>
        <div class="cookie_consent">We like biscuits</div>"""
    text = page_text("main", page.encode())
    assert "The ferry to the islands" in text
    assert "Ferries" in text
    for around in ("Start page", "Grand banner", "Opening hours", "biscuits"):
        assert around not in text


def test_a_part_that_holds_most_of_the_text_stays_whatever_it_is_called() -> None:
    page = f'<div class="sidebar-layout"><h1>Ferries</h1>{PROSE * 4}</div><p>Short.</p>'
    assert "The ferry to the islands" in page_text("main", page.encode())


def test_blocks_of_links_at_the_edges_go_where_nothing_is_named() -> None:
    menu = "".join(f'<a href="/{n}">Section number {n}</a> ' for n in range(5))
    page = f"<div>{menu}</div><div><h1>Ferries</h1>{PROSE * 3}</div><div>{menu}</div>"
    text = page_text("main", page.encode())
    assert "Section number" not in text
    assert "The ferry to the islands" in text


def test_a_page_that_is_a_list_of_links_keeps_them() -> None:
    links = "".join(f'<li><a href="/{n}">Chapter number {n}</a></li>' for n in range(40))
    text = page_text("main", f"<h1>All chapters</h1><ul>{links}</ul>".encode())
    assert "Chapter number 0" in text
    assert "Chapter number 39" in text


def test_an_empty_main_part_is_not_believed() -> None:
    page = f"<main></main><div><h1>Ferries</h1>{PROSE * 4}</div>"
    assert "The ferry to the islands" in page_text("main", page.encode())


def test_small_print_at_the_end_is_left_out_and_in_the_middle_kept() -> None:
    page = f"<h1>Law</h1><p>Copyright lasts for years.</p>{PROSE}<p>© 2026 Us</p><p>Next | Up</p>"
    text = page_text("main", page.encode())
    assert "Copyright lasts for years" in text
    assert "2026" not in text
    assert "Next" not in text


def test_links_that_leave_the_folder_of_their_page_are_joined_like_a_browser_does() -> None:
    links = (
        *("x.html", "/root", "../up", "?q=1", "//other.test/", "#part", "mailto:a@b.test"),
        *(".hidden", "./y.html", "./../../../z.html", "..."),
    )
    body = "".join(f'<p>{PROSE}<a href="{href}">to {n}</a></p>' for n, href in enumerate(links))
    text = page_text("markdown", body.encode(), url="http://a.test/b/c.html")
    for n, href in enumerate(
        (
            *("http://a.test/b/x.html", "http://a.test/root", "http://a.test/up"),
            *("http://a.test/b/c.html?q=1", "http://other.test/", "#part", "mailto:a@b.test"),
            *("http://a.test/b/.hidden", "http://a.test/b/y.html", "http://a.test/z.html"),
            "http://a.test/b/...",
        )
    ):
        assert f"[to {n}]({href})" in text


def test_nested_menus_without_end_are_measured_a_limited_number_of_times() -> None:
    for part in (b"<div class=nav>x", b"<nav>x", b"<header>x", b"<div><a href=x>y</a>"):
        page_text("main", part * 20_000, plain="x" * 20_000)
