"""Every way to write a link, and the kind it gets."""

from collections.abc import Callable

import pytest

from gossamer.model import Document, LinkKind
from gossamer.process import Registry

MakeDocument = Callable[..., Document]

K = LinkKind
T = "http://h.test/t"

WAYS = [
    ('<a href="/t">x</a>', K.ANCHOR),
    ("<a href='/t'>x</a>", K.ANCHOR),
    ("<a href=/t>x</a>", K.ANCHOR),
    ("<A HREF=/t>x</A>", K.ANCHOR),
    ('<a href="  /t\n">x</a>', K.ANCHOR),
    ('<a href="//h.test/t">x</a>', K.ANCHOR),
    ('<a href="../t">x</a>', K.ANCHOR),
    ('<a href="&#x2f;t">x</a>', K.ANCHOR),
    ('<a href="/t#part">x</a>', K.ANCHOR),
    ('<a href="ht\ntp://h.test/t">x</a>', K.ANCHOR),
    ('<a rel="author" href="/t">x</a>', K.ANCHOR),
    ("<noscript><a href=/t>x</a></noscript>", K.ANCHOR),
    ("<svg><a xlink:href=/t><text>x</text></a></svg>", K.ANCHOR),
    ("<svg><a href=/t><text>x</text></a></svg>", K.ANCHOR),
    ("<iframe srcdoc='<a href=/t>x</a>'></iframe>", K.ANCHOR),
    ("<map><area href=/t></map>", K.AREA),
    ("<frameset><frame src=/t></frameset>", K.FRAME),
    ("<iframe src=/t></iframe>", K.FRAME),
    ("<h1>x</h1><frameset><frame name=x src='/t'></frameset>", K.FRAME),
    ("<iframe srcdoc='<img src=/t>'></iframe>", K.IMAGE),
    ('<meta name=copyright content="<img src=/t>">', K.IMAGE),
    ("<img src=\"data:image/svg+xml,<svg><image%20xlink:hr%65f='/t'/></svg>\">", K.IMAGE),
    ('<!DOCTYPE html SYSTEM "/t"><p>x', K.DATA),
    ('<meta http-equiv=refresh content="0; url=/t">', K.REFRESH),
    ("<meta http-equiv=REFRESH content=\"5;URL='/t'\">", K.REFRESH),
    ('<meta http-equiv=refresh content="0;/t">', K.REFRESH),
    ("<link rel=canonical href=/t>", K.CANONICAL),
    ("<link rel=next href=/t>", K.NEXT),
    ("<link rel=prev href=/t>", K.NEXT),
    ("<link rel=alternate hreflang=de href=/t>", K.ALTERNATE),
    ("<link rel=amphtml href=/t>", K.ALTERNATE),
    ("<link rel=shortlink href=/t>", K.ALTERNATE),
    ("<link rel=author href=/t>", K.DATA),
    ("<link rel=stylesheet href=/t>", K.STYLE),
    ("<link rel='alternate stylesheet' href=/t>", K.STYLE),
    ("<link rel='shortcut icon' href=/t>", K.IMAGE),
    ("<link rel=preload as=script href=/t>", K.SCRIPT),
    ("<link rel=manifest href=/t>", K.MEDIA),
    ("<link rel=pingback href=/t>", K.FORM),
    ("<img src=/t>", K.IMAGE),
    ("<img srcset='/t 1x, /u 2x'>", K.IMAGE),
    ("<img data-src=/t>", K.IMAGE),
    ("<img lowsrc=/t>", K.IMAGE),
    ("<img longdesc=/t>", K.DATA),
    ("<picture><source srcset='/t 100w'></picture>", K.IMAGE),
    ("<video src=/t></video>", K.MEDIA),
    ("<video poster=/t></video>", K.IMAGE),
    ("<video><track src=/t></video>", K.MEDIA),
    ("<audio><source src=/t></audio>", K.MEDIA),
    ("<script src=/t></script>", K.SCRIPT),
    ("<object data=/t></object>", K.MEDIA),
    ("<object><param name=movie value=/t></object>", K.MEDIA),
    ("<embed src=/t>", K.MEDIA),
    ("<input type=image src=/t>", K.IMAGE),
    ("<body background=/t>", K.IMAGE),
    ("<table><td background=/t></table>", K.IMAGE),
    ("<svg><image xlink:href=/t /></svg>", K.IMAGE),
    ("<svg><script xlink:href=/t /></svg>", K.SCRIPT),
    ("<form action=/t></form>", K.FORM),
    ("<form><button formaction=/t></form>", K.FORM),
    ("<a ping=/t href=/u>x</a>", K.FORM),
    ("<blockquote cite=/t>x</blockquote>", K.DATA),
    ("<q cite=/t>x</q>", K.DATA),
    ("<del cite=/t>x</del>", K.DATA),
    ("<style>p { background: url(/t) }</style>", K.CSS),
    ("<style>@import '/t';</style>", K.CSS),
    ("<div style=\"background: URL( '/t' )\"></div>", K.CSS),
    ('<div style="background: url(&quot;/t&quot;)"></div>', K.CSS),
    ('<script type="application/ld+json">{"@graph": [{"url": "/t"}]}</script>', K.DATA),
    ('<meta property="og:url" content="/t">', K.DATA),
    ('<meta property="og:image" content="/t">', K.IMAGE),
    ('<meta name="twitter:image" content="/t">', K.IMAGE),
    ("<button onclick=\"location.href='/t'\">x</button>", K.DATA),
    ("<a href=\"javascript:window.open('/t')\">x</a>", K.DATA),
    ('<script>window.location = "/t";</script>', K.DATA),
    ("<script>location.replace('\\/t')</script>", K.DATA),
]


@pytest.mark.parametrize(("markup", "kind"), WAYS)
def test_a_link_is_found_however_it_is_written(
    document: MakeDocument, registry: Registry, markup: str, kind: LinkKind
) -> None:
    found = registry.read(document(markup), "text/html")
    assert (T, kind) in {(link.target.text, link.kind) for link in found.links}


@pytest.mark.parametrize(
    "markup",
    [
        "<!-- <a href=/t>x</a> -->",
        "<template><a href=/t>x</a></template>",
        "<script>var s = '<a href=/t>x</a>';</script>",
        "<textarea><a href=/t>x</a></textarea>",
        "<a href='#t'>x</a>",
        "<a href=''>x</a>",
        "<a name=/t>x</a>",
        "<a href='javascript:void(0)'>x</a>",
        "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>",
        "<link rel=dns-prefetch href=//h.test/t>",
        '<meta http-equiv=refresh content="30">',
        "<script>location = '/t' + id;</script>",
        "<p>/t</p>",
        "<base href='javascript:void(0)'>",
        "<base href=' JavaScript:1'>",
        "<base href='about:blank'>",
    ],
)
def test_what_only_looks_like_a_link_is_none(
    document: MakeDocument, registry: Registry, markup: str
) -> None:
    assert registry.read(document(markup), "text/html").links == []


def test_base_is_honoured_and_only_the_first_one(
    document: MakeDocument, registry: Registry
) -> None:
    page = "<base href='/other/'><base href='/third/'><a href=x>x</a>"
    links = registry.read(document(page), "text/html").links
    assert links[0].target.text == "http://h.test/other/x"


@pytest.mark.parametrize(
    "href",
    [
        *("http://[bad/", "data:text/html,x", "javascript:void(0)", "JavaScript:1", "mailto:a@b"),
        *("about:blank", "blob:http://b.test/1", "tel:1", "file:///C:/saved/", "x://b.test/"),
    ],
)
def test_a_base_that_cannot_be_one_is_ignored(
    href: str, document: MakeDocument, registry: Registry
) -> None:
    page = f"<base href='{href}'><a href=x>x</a>"
    assert registry.read(document(page), "text/html").links[0].target.text == "http://h.test/dir/x"


def test_the_same_target_is_kept_once_with_its_first_text(
    document: MakeDocument, registry: Registry
) -> None:
    page = "<a href=x#a>one\n  <b>two</b></a><a href=x#b>three</a><a href=./x>four</a>"
    links = registry.read(document(page), "text/html").links
    assert [(link.target.text, link.text) for link in links] == [("http://h.test/dir/x", "one two")]


def test_a_link_has_the_line_in_which_its_element_begins_and_its_fragment(
    document: MakeDocument, registry: Registry
) -> None:
    page = (
        "<!doctype html>\n<title>t</title>\n<p><a\n href=a#one>A</a>\n"
        "<img src=i.png>\n<a href=b>B</a><a href=b#x>B</a>\n"
        "<style>p { background: url(s.png#x) }</style>\n"
        "<iframe srcdoc='<a href=inner>I</a>'></iframe>\n"
        "<a rel=nofollow href=c#no>C</a>\n<a href=c#yes>C</a>"
    )
    links = registry.read(document(page), "text/html").links
    assert {
        link.target.text[len("http://h.test/dir/") :]: (link.line, link.fragment) for link in links
    } == {
        "a": (3, "one"),
        "i.png": (5, ""),
        "b": (6, ""),
        "s.png": (7, "x"),
        "inner": (0, ""),
        "c": (10, "yes"),
    }


def test_of_a_long_fragment_the_beginning_is_kept(
    document: MakeDocument, registry: Registry
) -> None:
    page = f"<a href='a#{'x' * 5000}'>A</a><img src='b#{'y' * 5000}'>"
    links = registry.read(document(page), "text/html").links
    assert [link.fragment for link in links] == ["x" * 200, "y" * 200]


def test_a_link_that_may_be_followed_wins_over_one_that_may_not(
    document: MakeDocument, registry: Registry
) -> None:
    page = "<a rel='NoFollow' href=x>no</a><a href=x>yes</a><a rel=nofollow href=y>no</a>"
    links = registry.read(document(page), "text/html").links
    assert [(link.text, link.is_nofollow) for link in links] == [("yes", False), ("no", True)]


def test_an_image_speaks_for_its_link_by_its_alternative_text(
    document: MakeDocument, registry: Registry
) -> None:
    links = registry.read(document("<a href=x><img alt='A cat' src=c></a>"), "text/html").links
    assert links[0].text == "A cat"


def test_link_text_is_short(document: MakeDocument, registry: Registry) -> None:
    links = registry.read(document(f"<a href=x>{'word ' * 1000}</a>"), "text/html").links
    assert len(links[0].text) <= 200


def test_srcset_gives_every_candidate(document: MakeDocument, registry: Registry) -> None:
    page = "<img srcset='a.png, b.png 2x,c.png 300w , d.png'>"
    links = registry.read(document(page), "text/html").links
    assert [link.target.text.rpartition("/")[2] for link in links] == [
        *("a.png", "b.png", "c.png", "d.png")
    ]
