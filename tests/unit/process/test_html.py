"""What an HTML page says."""

import gc
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from gossamer.config import ProcessConfig
from gossamer.model import Document
from gossamer.process import Registry, Tools
from gossamer.process.onepass.page import PageElement

MakeDocument = Callable[..., Document]

ENGLISH = "<p>The frontier hands out one address at a time and waits politely for the host.</p>" * 3


def test_title_text_language_and_charset_are_read(
    document: MakeDocument, registry: Registry
) -> None:
    page = f"<html><head><title> A \n title </title></head><body>{ENGLISH}</body></html>"
    found = registry.read(document(page, charset="utf-8"), "text/html")
    assert found.title == "A title"
    assert "waits politely" in found.text
    assert "title" not in found.text
    assert (found.language, found.charset, found.media_type) == ("en", "utf-8", "text/html")


def test_headings_are_read_once_each_the_greatest_first(
    document: MakeDocument, registry: Registry
) -> None:
    page = "<h2>Two</h2><h1> The <b>one</b> </h1><h2>Two</h2><h3></h3><h4>deep</h4>" + "<h2>x</h2>"
    assert registry.read(document(page), "text/html").headings == ("The one", "Two", "x")


def test_a_page_of_headings_keeps_few_of_them(document: MakeDocument, registry: Registry) -> None:
    page = "".join(f"<h2>{number} {'x' * 999}</h2>" for number in range(1000))
    found = registry.read(document(page), "text/html").headings
    assert len(found) == 24
    assert max(map(len, found)) == 160


def test_scripts_styles_and_templates_are_not_text(
    document: MakeDocument, registry: Registry
) -> None:
    page = "<p>said</p><script>a=1</script><style>p{}</style><template>later</template>"
    assert registry.read(document(page), "text/html").text.strip() == "said"


def test_a_short_page_has_the_language_it_claims(
    document: MakeDocument, registry: Registry
) -> None:
    found = registry.read(document("<html lang='de-AT'><p>ja</p>"), "text/html")
    assert found.language == "de"


@pytest.mark.parametrize(("lang", "expected"), [("", "da"), (" lang=sv", "sv")])
def test_a_page_that_says_no_language_has_that_of_its_header(
    lang: str, expected: str, document: MakeDocument, registry: Registry
) -> None:
    page = document(f"<html{lang}><p>ja</p>", headers=(("content-language", "da-DK, en"),))
    assert registry.read(page, "text/html").language == expected


def test_the_title_of_a_drawing_is_not_the_title_of_the_page(
    document: MakeDocument, registry: Registry
) -> None:
    found = registry.read(document("<svg><title>icon</title></svg><p>x"), "text/html")
    assert found.title == ""


def test_canonical_is_absolute(document: MakeDocument, registry: Registry) -> None:
    found = registry.read(document("<link rel=canonical href='/c?utm_source=x'>"), "text/html")
    assert found.canonical == "http://h.test/c"


@pytest.mark.parametrize("name", ["robots", "ROBOTS", "gossamer"])
def test_robots_directives_apply_when_addressed_to_all_or_to_us(
    document: MakeDocument, registry: Registry, name: str
) -> None:
    page = f'<meta name="{name}" content="NOINDEX, nofollow">'
    found = registry.read(document(page), "text/html")
    assert found.robots == ("noindex", "nofollow")
    assert found.is_nofollow


def test_a_page_describes_itself_in_its_meta_elements(
    registry: Registry, document: MakeDocument
) -> None:
    page = b"""<meta property="og:description" content="shared"><meta name="Description"
        content=" all\n about it "><p>text"""
    assert registry.read(document(page), "text/html").description == "all about it"
    shared = b'<meta property="og:description" content="shared"><p>text'
    assert registry.read(document(shared), "text/html").description == "shared"
    assert registry.read(document(b"<p>text"), "text/html").description == ""


def test_robots_directives_for_others_are_not_ours(
    document: MakeDocument, registry: Registry
) -> None:
    page = '<meta name="otherbot" content="nofollow">'
    assert registry.read(document(page), "text/html").robots == ()


def test_text_is_cut_at_its_limit(document: MakeDocument, tools: Tools) -> None:
    short = replace(tools, process=ProcessConfig(max_text_chars=10, max_links=2))
    page = "<p>abcdefghijklmnop</p><a href=1>1</a><a href=2>2</a><a href=3>3</a>"
    found = Registry.load(short).read(document(page), "text/html")
    assert len(found.text) == 10
    assert len(found.links) == 2


def test_the_caption_of_a_figure_is_noted_with_its_pictures(
    document: MakeDocument, registry: Registry
) -> None:
    page = """<figure><a href=x><img src="a.png#x" alt=A></a><div><img data-src=/b.png></div>
    <div><figcaption> A red <b>fox</b>
    in snow </figcaption></div></figure><img src=c.png>
    <figcaption>of nothing</figcaption><figure><img src=a.png><figcaption>later</figure>"""
    found = registry.read(document(page), "text/html")
    base = found.links[0].target.text.removesuffix("x")
    assert list(found.notes["captions"].items()) == [
        (f"{base}a.png", "A red fox in snow"),
        (found.links[2].target.origin + "/b.png", "A red fox in snow"),
    ]


def test_captions_are_bounded(document: MakeDocument, registry: Registry) -> None:
    one = f"<figure><img src=NUMBER.png><figcaption>{'x ' * 9999}</figcaption></figure>"
    page = "".join(one.replace("NUMBER", str(number)) for number in range(300))
    captions = registry.read(document(page), "text/html").notes["captions"]
    assert len(captions) == 100
    assert max(map(len, captions.values())) == 300


def test_nothing_of_a_page_that_was_read_is_left_to_the_collector_of_cycles(
    document: MakeDocument, registry: Registry
) -> None:
    page = f"<title>t</title><h1>h</h1><img src=i><p class=ads>x</p>{ENGLISH}<a href=b>b</a>" * 9
    registry.read(document(page), "text/html")
    gc.collect()
    gc.disable()
    try:
        for _ in range(9):
            registry.read(document(page), "text/html")
        elements = [one for one in gc.get_objects() if isinstance(one, PageElement)]
    finally:
        gc.enable()
    assert len(elements) == 0
