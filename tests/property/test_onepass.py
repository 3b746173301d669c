"""A page read in one pass says what its tree says, or is left to the tree."""

import random
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.bodies import Bytes

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.dedupe import words_fingerprint
from gossamer.filter.chain import NO_KINDS
from gossamer.model import (
    EMBEDDED,
    FOLLOWED,
    Document,
    Extraction,
    Link,
    LinkColumns,
    LinkKind,
    Url,
    addresses_of,
    count_of,
    followed_of,
    hosts_of,
    keys_of,
    kind_at,
    link_rows,
    links_and,
    links_by_key,
    links_to,
    links_without,
    pages_of,
    picked_links,
    targets_of,
)
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


@given(some.integers(0, 2**32))
def test_of_links_to_one_page_that_which_may_be_followed_is_told(seed: int) -> None:
    chance = random.Random(seed)
    hrefs = ("/a", "/a#x", "/a#y", "/a#", "/b", "#x", "javascript:location='/js'", "/a?&amp;", "")
    rels = (
        "",
        ' rel="nofollow"',
        " rel=NoFollow",
        ' rel="x &#110;ofollow"',
        " rel=nofollo",
        " rel=é",
    )
    links = (
        f'<a href="{chance.choice(hrefs)}"{chance.choice(rels)}>{number}</a>'
        for number in range(chance.randrange(9))
    )
    told = differences(f"<!doctype html><title>t</title><p>{''.join(links)}".encode())
    assert told == {}


@pytest.mark.parametrize(
    "body",
    [
        '<meta name=description content="Of a Vec<T> and <b>">',
        '<meta name=x content="<a href=/in>in</a>"><a href=/out>out</a>',
        '<iframe srcdoc="&lt;a href=/framed>f&lt;/a>"></iframe>',
        '<iframe srcdoc=""></iframe><img src="data:image/svg+xml,<image href=%27/i.png%27/>">',
        '<div id=Administration>a</div><div class="Adobe header">b</div>',
    ],
)
def test_markup_in_attributes_needs_no_tree_of_the_page(body: str) -> None:
    assert differences(f"<!doctype html><title>t</title>{body}<p>text".encode()) == {}


def test_an_id_that_a_class_makes_an_ad_is_left_to_the_tree() -> None:
    assert differences(b"<!doctype html><div class=header id=Ad>a</div>") is None


def test_every_attribute_that_makes_a_link_is_told() -> None:
    told = dict(zip(TAGS, wanted(), strict=True))
    for tag_name, attributes in PLACES.items():
        for name in attributes:
            assert told[tag_name] >> ATTRIBUTE_NUMBERS[name] & 1, (tag_name, name)


KINDS = (FOLLOWED, EMBEDDED, frozenset({LinkKind.IMAGE}), frozenset(LinkKind), NO_KINDS)


def page_url(path: str) -> Url:
    url = parse(f"http://h.test{path}", RULES)
    assert url is not None
    return url


def told_of(links: Sequence[Link], chance: random.Random) -> list[object]:
    """Return all that the rooms ask of the links of a page."""
    hosts = set(chance.sample(sorted(hosts_of(links)), k=min(2, len(hosts_of(links)))))
    told: list[object] = [
        *(
            len(links),
            list(links),
            links[1:3],
            pages_of(links),
            hosts,
            links_to(links, hosts.__contains__),
        ),
        *([kind_at(links, n) for n in range(len(links))], keys_of(links)),
        msgspec.json.encode(link_rows(links)),
        words_fingerprint(Extraction(title="t", text="x", links=links)),
        msgspec.msgpack.encode(Extraction(links=links), enc_hook=list),
    ]
    for kinds in KINDS:
        followed = followed_of(links, kinds)
        found = links_by_key(followed)
        some = chance.sample(list(found), k=len(found) // 2)
        rest = links_without(found, some)
        told += [list(followed), [followed[n] for n in range(len(followed))], len(found)]
        told += [list(found.items()), picked_links(found, some), list(rest.items())]
        more = [Link(url, LinkKind.PARENT) for url in map(page_url, ("/dir/", "/new/", "/a"))]
        both = links_and(rest, more)
        told += [list(both), picked_links(both, both), list(links_without(both, some).items())]
        told += [addresses_of(found), addresses_of(rest), len(both)]
        told += [hosts_of(links, kinds), keys_of(links, kinds), targets_of(links, kinds)]
        told += [count_of(links, kind) for kind in kinds]
    return told


@given(some.integers(0, 2**32))
def test_links_in_columns_are_to_everybody_what_a_list_of_them_is(seed: int) -> None:
    body = page_of(random.Random(seed)).encode()
    found = read_rows(document(body), body, TOOLS)
    if found is not None:
        assert isinstance(found.links, LinkColumns)
        chances = random.Random(seed), random.Random(seed)
        assert told_of(found.links, chances[0]) == told_of(list(found.links), chances[1])


def test_odd_links_are_kept_in_columns_too() -> None:
    odd = (
        *("<a href=/a rel='\u0130 Nofollow'>1</a>", "<a href='/b' rel='UGC \u00c9'>2</a>"),
        *(
            "<a href=/c>\x01\x1f\x7f &quot;\\</a>",
            "<a href=/d#%F0&amp;x>3</a>",
            "<a href='/e#'>4</a>",
        ),
        *(
            "<a href='" + "/f" * 5000 + "'>5</a>",
            "<a href='javascript:void(0)'>6</a>",
            "<a href=g>",
        ),
        *("<a href=/h><img alt='A  picture'></a>", "<img src=i.png#x>", "<img src='\u00e9 .png'>"),
        *("<a href='mailto:\"a\"@b'>7</a>", "<a href='http://OTHER.test:80'>8</a>"),
    )
    for chosen in (odd, odd[1:], odd[2:3], odd[4:]):
        assert differences(b"<!doctype html><p>" + "<p>".join(chosen).encode()) == {}


def test_a_page_of_more_links_than_are_kept_is_read_link_by_link() -> None:
    tools = Tools(urls=RULES, process=ProcessConfig(max_links=5), robots_agent="gossamer")
    body = "".join(f"<a href=/{n}>{n}</a><img src={n}.png>" for n in range(9)).encode()
    found, wanted = (read(document(body), body, tools) for read in (read_rows, read_tree))
    assert found is not None
    assert found.links == wanted.links
    assert len(found.links) == 5
