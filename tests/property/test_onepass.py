"""A page read in one pass says what its tree says, or is left to the tree."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.bodies import Bytes

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Document
from gossamer.process import Tools
from gossamer.process.html import read_rows, read_tree
from gossamer.process.html_links import PLACES
from gossamer.process.onepass.loading import natives
from gossamer.process.onepass.vocabulary import ATTRIBUTE_NUMBERS, ATTRIBUTES, TAGS, wanted
from gossamer.urls import parse

RULES = UrlConfig()
natives()
TOOLS = Tools(urls=RULES, process=ProcessConfig(), robots_agent="gossamer")
USUAL = (
    *("a", "p", "div", "span", "b", "i", "em", "ul", "ol", "li", "table", "tr", "td", "th", "h1"),
    *("h2", "pre", "br", "img", "form", "input", "select", "option", "dl", "dt", "dd", "button"),
    *("blockquote", "caption", "tbody", "thead", "code", "font", "nobr", "section", "aside", "svg"),
    *("title", "script", "style", "textarea", "noscript", "body", "head", "html", "meta", "link"),
    *("center", "object", "colgroup", "col", "hr", "ruby", "rt", "rp", "iframe", "x-own"),
)
WORDS = (
    *("word", " ", "\n", "two words", " led", "trailing ", "a\n  b", "&amp;", "&lt;b&gt;"),
    "&nbsp;",
    *("&notit;", "&#160;", "&#x20;", "&#128;", "&ampx", "é", "日本", "\xa0", "<", "&", "\r\n"),
    *("<!-- c -->", "<!-->", "<?pi?>", "</>", "</ x>", "location='/to'", "x" * 300, "404", "#"),
)
VALUES = (
    *("/a", "b.html", "c#part", "#own", "", "x y", "../up?q=1&amp;r=2", "http://o.test/", "é"),
    *("javascript:void(0)", "javascript:location='/js'", "mailto:a@b.test", "nofollow", "Ad box"),
    *("display:none", "background:url(i.png)", "stylesheet", "utf-8", "description", "refresh"),
    *("0; url=/next", "sponsored", "icon", "hidden", "a.png 1x, b.png 2x", "3", "no\ntwo"),
)


def document(body: bytes, charset: str = "utf-8") -> Document:
    url = parse("http://h.test/dir/page", RULES)
    assert url is not None
    return Document(
        url=url,
        status=200,
        head=b"",
        headers=(),
        body=Bytes(body),
        request=b"",
        address="127.0.0.1",
        fetched_at=0.0,
        latency_s=0.0,
        media_type="text/html",
        charset=charset,
    )


def differences(body: bytes, charset: str = "utf-8") -> dict[str, tuple[object, object]] | None:
    """Return in what two readings of a page differ; None if it was left to the tree."""
    page = document(body, charset)
    found = read_rows(page, body, TOOLS)
    if found is None:
        return None
    wanted = read_tree(page, body, TOOLS)
    said = {name: (getattr(found, name), getattr(wanted, name)) for name in found.__struct_fields__}
    return {name: pair for name, pair in said.items() if pair[0] != pair[1]}


def tag(chance: random.Random, name: str) -> str:
    attributes = ""
    for _ in range(chance.choice((0, 0, 1, 2))):
        quote = chance.choice(('"', "'", '"'))
        attribute = chance.choice(ATTRIBUTES[1:])
        if name in {"a", "area"} and chance.random() < 0.8:
            attribute = chance.choice(("href", "rel"))
        attributes += f" {attribute}={quote}{chance.choice(VALUES)}{quote}"
    return f"<{name}{attributes}{chance.choice(('', '', '', '/'))}>"


def page_of(chance: random.Random) -> str:
    """Return a page: mostly well nested, with every kind of fault here and there."""
    open_tags: list[str] = []
    parts = [chance.choice(("<!doctype html>", "", "<!DOCTYPE html PUBLIC '-//IETF//DTD HTML//'>"))]
    if chance.random() < 0.5:
        parts.append("<html><head><title>t</title></head><body>")
    for _ in range(chance.randrange(1, 40)):
        drawn = chance.random()
        if drawn < 0.42:
            name = chance.choice(USUAL) if chance.random() < 0.95 else chance.choice(TAGS[1:])
            parts.append(tag(chance, name))
            open_tags.append(name)
        elif drawn < 0.6 and open_tags:
            parts.append(f"</{open_tags.pop()}>")
        elif drawn < 0.64:
            parts.append(f"</{chance.choice(USUAL)}>")
        else:
            parts.append(chance.choice(WORDS))
    return "".join(parts)


@given(some.integers(0, 2**32))
def test_a_page_says_the_same_in_one_pass_and_by_its_tree(seed: int) -> None:
    assert not differences(page_of(random.Random(seed)).encode())


@given(some.integers(0, 2**32), some.sampled_from(["", "utf-8", "iso-8859-1", "shift_jis"]))
def test_so_does_a_page_that_is_cut_and_damaged(seed: int, charset: str) -> None:
    chance = random.Random(seed)
    body = bytearray(page_of(chance).encode())
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(body) + 1)
        body[at : at + chance.randrange(3)] = chance.choice((b"", b"<", b">", b'"', b"&", b"\xe9"))
    assert not differences(bytes(body[: chance.randrange(len(body) + 1)]), charset)


@given(some.binary(max_size=200))
def test_so_do_any_bytes(body: bytes) -> None:
    assert not differences(body)


@pytest.mark.parametrize(
    "body",
    [
        "<p>one<p>two<ul><li>a<li>b<ul><li>c</ul></ul><ol start=7><li>x<li value=9>y</ol>",
        "<table><caption>said</caption><tr><td>a<td>bb<tr><th>ccc</table>",
        "<pre>\n one\n  two\n</pre><blockquote>q<p>r</blockquote>",
        "<p hidden>not shown</p><div class='ad box'>buy</div><p>" + "shown " * 60,
        "<a href=/x rel=nofollow>1</a><a href=/x>2</a><a href='#f'>3</a><a href=/y#f>4</a>",
        "<a href=/i><img src=i.png alt='A picture of it'></a><img src=j alt='Something else'>",
        "<title>A &amp; b</title><h1>One <i>two</i></h1><h2>x</h2>",
        "<p><b>bold<p>still</b> not",
    ],
)
def test_usual_pages_need_no_tree(body: str) -> None:
    assert differences(f"<!doctype html><body>{body}".encode()) == {}


def test_every_attribute_that_makes_a_link_is_told() -> None:
    told = dict(zip(TAGS, wanted(), strict=True))
    for tag_name, attributes in PLACES.items():
        for name in attributes:
            assert told[tag_name] >> ATTRIBUTE_NUMBERS[name] & 1, (tag_name, name)
