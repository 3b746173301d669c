"""Rewriting: references are replaced wherever a browser sees one, and nothing else changes."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.tables.rewriting import MarkupRewriter, base_reference, candidates, with_charset


def rewritten(text: str) -> str:
    """Return a page in which every reference that begins with "old" is called new instead."""
    return rewriter().page(text)


def rewriter() -> MarkupRewriter:
    return MarkupRewriter(lambda one: one.replace("old", "new") if one.startswith("old") else None)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('<a href="old">x</a>', '<a href="new">x</a>'),
        ("<a href='old'>", '<a href="new">'),
        ("<!--><a href=old>-->", '<!--><a href="new">-->'),
        ("<!-- <a href=old> --!><a href=old>", '<!-- <a href=old> --!><a href="new">'),
        ("<A HREF=old>", '<A HREF="new">'),
        ("<a\nhref = old title=a>b", '<a\nhref = "new" title=a>b'),
        ('<a href="old?a&amp;b">', '<a href="new?a&amp;b">'),
        ('<a href="old?a&b">', '<a href="new?a&amp;b">'),
        ('<img src=old srcset="old 1x, far 2x">', '<img src="new" srcset="new 1x, far 2x">'),
        ("<source srcset='old'>", '<source srcset="new">'),
        ('<video poster="old"><object data="old">', '<video poster="new"><object data="new">'),
        ('<p data="old">', '<p data="old">'),
        ('<body background="old">', '<body background="new">'),
        ('<b style="background:url(old)">', '<b style="background:url(&quot;new&quot;)">'),
        ("<style>@import 'old'; b{c:url( old )}</style>", None),
        ('<use xlink:href="old#a"/>', '<use xlink:href="new#a"/>'),
        ('<script src="old"></script>', '<script src="new"></script>'),
        (
            "<script>var a = '<a href=\"old\">'</script>",
            "<script>var a = '<a href=\"old\">'</script>",
        ),
        ('<!-- <a href="old"> -->', '<!-- <a href="old"> -->'),
        ('<textarea><a href="old"></textarea>', '<textarea><a href="old"></textarea>'),
        (
            '<meta http-equiv=refresh content="1; url=old">',
            '<meta http-equiv=refresh content="1; url=new">',
        ),
        ('<meta name=x content="old">', '<meta name=x content="old">'),
        ('<link integrity="sha384-x" href="old" crossorigin>', '<link href="new">'),
        ('<base href="far" target=a><a href="old">', '<base target=a><a href="new">'),
        ('<iframe srcdoc="&lt;a href=old&gt;">', '<iframe srcdoc="&lt;a href=&quot;new&quot;>">'),
        ('<meta http-equiv="Content-Security-Policy" content="default-src x">', "<meta>"),
        ('a < b <a href="old">', 'a < b <a href="new">'),
        ('<a href="old', '<a href="old'),
        ("<a href>", "<a href>"),
        ('<a href="">', '<a href="">'),
        ('<a title=">" href="old">', '<a title=">" href="new">'),
        ('<a title=x" href="old">', '<a title=x" href="new">'),
    ],
)
def test_a_reference_is_replaced_where_a_browser_sees_one(
    written: str, expected: str | None
) -> None:
    if expected is None:
        expected = '<style>@import "new"; b{c:url( "new" )}</style>'
    assert rewritten(written) == expected


def test_bytes_of_other_encodings_stay_as_they_are_and_are_understood() -> None:
    page = '<p title=日本>日本 <a href="日本">x</a>'.encode("shift_jis")
    asked: list[str] = []
    decode = lambda text: text.encode("latin-1").decode("shift_jis")  # noqa: E731
    rewriter = MarkupRewriter(lambda one: asked.append(one) or "new", decode)
    new = rewriter.page(page.decode("latin-1")).encode("latin-1")
    assert asked == ["日本"]
    assert new.decode("shift_jis") == '<p title=日本>日本 <a href="new">x</a>'


def test_characters_that_an_encoding_may_lack_are_written_as_references() -> None:
    rewriter = MarkupRewriter(lambda _: "a.html#é€")
    assert rewriter.page('<a href="x">') == '<a href="a.html#&#233;&#8364;">'


def test_strings_and_comments_of_style_sheets_stay_as_they_are() -> None:
    style = """a{content:"url(old)"} /* url(old) */ @namespace url(old); b{content:'\\"url(old)'}"""
    assert rewriter().style(f"{style} c{{d:url(old)}}") == f'{style} c{{d:url("new")}}'
    long = f'url("data:font/woff;base64,{"A" * 9000}") format("woff"), '
    assert rewriter().style(f"{long}url(old)") == f'{long}url("new")'


def test_strings_of_an_image_set_are_replaced_and_types_stay() -> None:
    style = """a{b:image-set("%s" type("image/avif"),url(%s) 2x)} c{content:"old"}"""
    assert rewriter().style(style % ("old", "old")) == style % ("new", '"new"')
    assert rewriter().page("""<p style='b:image-set("old" 1x)'>""") == (
        '<p style="b:image-set(&quot;new&quot; 1x)">'
    )


def test_escapes_of_style_sheets_are_understood() -> None:
    asked: list[str] = []
    MarkupRewriter(asked.append).style(r"b{c:url('a\20 b.png') url('\6f ld\)')}")
    assert asked == ["a b.png", "old)"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a.png 1x, b.png 2x", [("a.png", "1x"), ("b.png", "2x")]),
        ("a.png 1x,b.png 2x", [("a.png", "1x"), ("b.png", "2x")]),
        ("a.png, b.png", [("a.png", ""), ("b.png", "")]),
        ("a,b.png 100w", [("a,b.png", "100w")]),
        ("  ", []),
    ],
)
def test_the_images_of_a_srcset_are_told_apart(
    written: str, expected: list[tuple[str, str]]
) -> None:
    assert candidates(written) == expected


def test_the_first_base_counts() -> None:
    assert base_reference("<!-- <base href=x> --><base target=a><base href='/b/'>") == "/b/"
    assert not base_reference("<p>no base")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<html><head><title>", '<html><head><meta charset="koi8-r"/><title>'),
        ("<!doctype html><p>", '<!doctype html><meta charset="koi8-r"/><p>'),
        ("<p>", '<meta charset="koi8-r"/><p>'),
    ],
)
def test_a_page_says_its_encoding_as_early_as_it_can(page: str, expected: str) -> None:
    assert with_charset(page, "koi8-r") == expected


@given(st.text(alphabet="<>ahref='\" /!-scriptyle=()url@;", max_size=80))
def test_a_page_without_references_to_replace_stays_as_it_is(text: str) -> None:
    kept = MarkupRewriter(lambda _: None).page(text)
    assert kept == text or any(
        word in text.lower() for word in ("integrity", "crossorigin", "base")
    )


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<a>",
        "<a b>",
        "<a ",
        "<a href=",
        '<a href="',
        "<!--",
        "url(",
        "@import '",
        "<style>",
        "<a b='\"",
    ],
)
def test_hostile_pages_cost_no_more_than_their_length(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    began = time.process_time()
    rewriter().page(text)
    rewriter().style(text)
    base_reference(text)
    assert time.process_time() - began < 20
