"""Style sheets: what refers to something, and what only looks so."""

import pytest

from gossamer.process.stylesheets import css_urls, style_references


def test_css_gives_urls_and_imports_but_no_data() -> None:
    text = """@import "a.css"; @import url(b.css); p{background:url( 'c.png' ) } q{x:url(data:x)}
    @font-face { src: url("d.woff") format("woff"), url(e.woff) }"""
    assert css_urls(text) == ["a.css", "b.css", "c.png", "d.woff", "e.woff"]


def test_comments_strings_and_namespaces_of_css_refer_to_nothing() -> None:
    font = 'url("data:font/woff2;base64,' + "A" * 5000 + '") format("woff2")'
    text = f"""/* url(no.png) @import "no.css"; */ @namespace svg url(http://no.test/svg);
    a{{content:"url(no.png)"}} b{{content:'\\'url(no.png)'}} p{{src:{font},url("b.woff")}}
    q{{content:"not closed url(no.png)
    }} r{{x:url(c.png) /* not closed url(no.png)"""
    assert css_urls(text) == ["b.woff", "c.png"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a{b:image-set("one.png" 1x, "two.png" 2x)}', ["one.png", "two.png"]),
        ("a{b:-webkit-image-set(url(one.png) 1x,'two.png' 2x)}", ["one.png", "two.png"]),
        ('a{b:IMAGE-SET( "one.avif" type("image/avif"), "two.png" type(\'image/png\') )}', None),
        ('a{b:image-set(/* "no.png" */ "one.avif" calc(1x * (1 + 0)), "two.png")}', None),
        ('a{b:image-set(url("one.avif" ) type("image/avif"), "two.png" 2x) , "no.png"}', None),
        ('a{b:image-set(linear-gradient(red, blue) 1x, "one.avif" 2x, "two.png" 3x)}', None),
        ('a{b:image-set("one.avif" 1x; c:"no.png"} d{content:"no.png"; e:url(two.png)}', None),
        ('a{content:"image-set("} b{content:"no.png"} c{d:url(one.avif)} e{d:url(two.png)}', None),
        ('a{b:image-set("data:image/png;base64,AA" 1x, "one.avif" 2x, "two.png" 3x)}', None),
    ],
)
def test_strings_of_an_image_set_are_references_and_names_of_types_are_not(
    text: str, expected: list[str] | None
) -> None:
    assert css_urls(text) == (expected or ["one.avif", "two.png"])


def test_a_reference_says_where_it_is_written_with_its_quotes() -> None:
    text = """@import 'a'; b{c:url( "d" ); e:url(f); g:image-set("h" 1x)}"""
    found = [(text[one.start : one.end], one.written) for one in style_references(text)]
    assert found == [("'a'", "a"), ('"d"', "d"), ("f", "f"), ('"h"', "h")]


def test_escapes_in_references_are_understood_and_broken_ones_refer_to_nothing() -> None:
    assert css_urls(r"a{b:url('\61 .png') url(c\20 d.png) url(\110000)}") == [
        "a.png",
        "\ufffd",
    ]
    assert css_urls('a{b:url("not closed.png\n} c{d:url(e f.png)} g{h:url(last.png') == ["last.png"]
