"""Parts of a page's text that are no prose are told: hidden text, ads, blocks of code."""

from collections.abc import Callable

import pytest

from gossamer.model import Document, Extraction
from gossamer.process import Registry
from gossamer.process.html import parsed
from gossamer.process.labels import is_ad_id, is_ad_name

MakeDocument = Callable[..., Document]
PROSE = "A page that says enough for itself, in words that anybody can see. " * 5


def read(document: MakeDocument, registry: Registry, body: str) -> Extraction:
    return registry.read(document(f"<p>{PROSE}</p>{body}"), "text/html")


def parts(found: Extraction, kind: str) -> list[str]:
    """Return the parts of a text of a kind."""
    texts, at = [], 0
    numbers = found.spans.get(kind, [])
    for gap, length in zip(numbers[::2], numbers[1::2], strict=True):
        texts.append(found.text[at + gap : at + gap + length].strip())
        at += gap + length
    return texts


@pytest.mark.parametrize(
    "body",
    [
        '<div style="display:none">secret</div>',
        '<div style="color: red; Display : None !important">secret</div>',
        '<p style="visibility:hidden">secret</p>',
        "<section hidden>secret</section>",
        "<noscript><p>secret</p></noscript>",
        "<table><tr><td>seen</td></tr><tr style='display:none'><td>secret</td></tr></table>",
        "<p>seen <span hidden>secret</span> seen</p>",
    ],
)
def test_hidden_text_is_told(body: str, document: MakeDocument, registry: Registry) -> None:
    found = read(document, registry, body)
    assert "secret" in found.text
    assert parts(found, "hidden") == ["secret"]


@pytest.mark.parametrize(
    "body",
    [
        '<div style="display:block">seen</div>',
        '<div hidden="until-found">seen</div>',
        '<span aria-hidden="true">seen</span>',
        '<div style="background: url(none.png)">seen</div>',
    ],
)
def test_what_is_shown_is_not_hidden(body: str, document: MakeDocument, registry: Registry) -> None:
    assert read(document, registry, body).spans == {}


def test_a_page_that_a_script_unveils_is_not_hidden(
    document: MakeDocument, registry: Registry
) -> None:
    body = f'<body style="visibility:hidden"><p>{PROSE}</p></body>'
    assert registry.read(document(body), "text/html").spans == {}


def test_hidden_text_counts_on_a_page_with_hardly_any_other(
    document: MakeDocument, registry: Registry
) -> None:
    body = f"<p>Loading</p><noscript>{PROSE}</noscript>"
    assert registry.read(document(body), "text/html").spans == {}


def test_links_in_hidden_blocks_are_followed(document: MakeDocument, registry: Registry) -> None:
    found = read(document, registry, '<div hidden><a href="/deep">deep</a></div>')
    assert [link.target.text for link in found.links] == ["http://h.test/deep"]


@pytest.mark.parametrize(
    "name",
    ["ad", "ads box", "google-ad", "adsbygoogle", "ad_slot", "AdUnit", "Advert", "post sponsored"],
)
def test_names_of_ads_are_known(name: str) -> None:
    assert is_ad_name(name)


@pytest.mark.parametrize(
    "name",
    ["header", "shadow", "add", "load", "heading", "no-ads", "ad-free", "ad-hoc", "has-ads", ""],
)
def test_other_names_are_not_those_of_ads(name: str) -> None:
    assert not is_ad_name(name)
    assert not is_ad_id(name)


def test_ads_are_told_and_their_links_followed(document: MakeDocument, registry: Registry) -> None:
    found = read(document, registry, '<div class="ad"><a href="/buy">Buy this</a></div>')
    assert parts(found, "ads") == ["Buy this"]
    assert len(found.links) == 1


def test_the_section_about_ads_is_no_ad(document: MakeDocument, registry: Registry) -> None:
    body = '<div class="section" id="ads"><h2>Ads</h2><p>How to book them.</p></div>'
    assert read(document, registry, body).spans == {}


def test_a_market_of_ads_is_about_them(document: MakeDocument, registry: Registry) -> None:
    body = f'<p>Offers</p><div class="ad">{PROSE}</div><div class="ad">{PROSE}</div>'
    assert registry.read(document(body), "text/html").spans == {}


def test_blocks_of_code_are_told_and_code_in_prose_is_prose(
    document: MakeDocument, registry: Registry
) -> None:
    body = (
        "<p>Call <code>run()</code> like this:</p><pre>run(1)\n\nrun(2)</pre><p>é</p>"
        "<table><tr><td>1</td><td><pre>in_a_cell</pre></td></tr></table><pre>last</pre>"
    )
    found = read(document, registry, body)
    assert parts(found, "code") == ["run(1)\n\nrun(2)", "in_a_cell", "last"]
    assert list(found.spans) == ["code"]


def test_a_text_in_one_block_is_no_code(document: MakeDocument, registry: Registry) -> None:
    assert registry.read(document(f"<pre>{PROSE}</pre>"), "text/html").spans == {}


def test_hidden_code_is_hidden(document: MakeDocument, registry: Registry) -> None:
    found = read(document, registry, "<div hidden><pre>run(1)</pre></div>")
    assert parts(found, "hidden") == ["run(1)"]
    assert list(found.spans) == ["hidden"]


def test_alternative_texts_and_captions_are_text(
    document: MakeDocument, registry: Registry
) -> None:
    body = (
        '<p>Look:<img alt="A red door">here</p><figure><img alt="x.png">'
        "<figcaption>A door of 1900</figcaption></figure>"
        "<table><caption>Doors by year</caption><tr><td>1900</td></tr></table>"
    )
    text = read(document, registry, body).text
    assert "Look: A red door here" in text
    assert "A door of 1900" in text
    assert text.index("Doors by year") < text.rindex("1900")


def test_alternative_texts_that_say_nothing_are_no_text(
    document: MakeDocument, registry: Registry
) -> None:
    body = (
        '<img alt="icon"><img alt="IMG_0001.jpg"><img alt="--"><img alt="A red door">'
        '<img alt="A red door"><a href="/x"><img alt="Go home">Home</a>'
    )
    text = read(document, registry, body).text
    assert text.split()[-4:] == ["A", "red", "door", "Home"]


def test_a_page_that_is_read_is_not_changed(document: MakeDocument, registry: Registry) -> None:
    page = document(
        f"<p>{PROSE}<img alt='A red door'></p><div hidden>x</div><div class=ad>y</div>"
        "<table><caption>z</caption><tr><td><pre>1</pre></td></tr></table>"
    )
    page.parse_with(lambda one: parsed(one.body.decoded(), ""))
    tree = page.shared_tree()
    assert tree is not None
    before = tree.serialize()
    assert registry.read(page, "text/html").spans
    assert tree.serialize() == before


def test_signs_that_a_page_has_itself_do_no_harm(
    document: MakeDocument, registry: Registry
) -> None:
    found = read(document, registry, "<p>\ufdd3a\ufdd0b\ufdd1c</p><div hidden>x\ufdd3y</div>")
    assert "abc" in found.text
    assert "xy" in found.text


def test_many_hidden_elements_in_each_other_take_no_time(
    document: MakeDocument, registry: Registry
) -> None:
    many = 300
    body = "<div hidden>word " * many + "</div>" * many
    assert len(parts(read(document, registry, body), "hidden")) == 1
