"""Whatever a page writes: the canonical form is stable, and joining in bulk equals one by one."""

import ada_url
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from gossamer.config import UrlConfig
from gossamer.urls import fingerprint, join, join_all, parse, whatwg

PIECES = st.sampled_from(
    [
        *("http://", "https://", "HTTP://", "//", "/", "\\", "..", ".", "%2e", "%2E%2e", "?", "#"),
        *(
            "a",
            "b.html",
            "h",
            "example.org",
            "EXAMPLE.org",
            "xn--bcher-kva",
            "ü",
            "0x7f.1",
            "[::1]",
        ),
        *(":80", ":443", ":8100", ":", "@", "u:p@", "&", "=", ";", "%", "%4", "%41", "%7e", "%c3"),
        *(";jsessionid=1", "utm_source=x", "sid=0123456789abcdef", "PHPSESSID=1", "(", ")", "'"),
        *("/(S(abcdefghijklmnopqrstuvwx))", " ", "\t", "\n", "\x00", "|", "^", '"', "<", ">", "{"),
        *("mailto:", "javascript:", "data:", "file:", "ftp://", "tel:", "x:", "/.", "./", "../"),
        *("~", "-", "_", "!", "$", "*", "+", ",", "`", "\x7f", "\u2028", "\ud800"),
    ]
)
HREFS = st.one_of(st.lists(PIECES, max_size=9).map("".join), st.text(max_size=20))
BASES = st.one_of(
    st.sampled_from(
        [
            "http://h.test:8100/a/b/c.html",
            "http://h.test/",
            "https://h.test/a?b=c/d",
            "http://h.test/a/./b",
            "http://h.test",
            "http://u:p@h.test/a/b#f",
            "http://h.test/a%7e/;jsessionid=1/b?utm_source=1",
            "http://h.test//a//b",
            "file:///a/b",
            "ftp://h.test/a",
            "mailto:a@b",
            "nothing",
            "",
        ]
    ),
    HREFS.map("http://h/".__add__),
)
RULES = st.builds(UrlConfig, strip_session_ids=st.booleans(), strip_tracking=st.booleans())


@given(base=BASES, href=HREFS, rules=RULES)
@settings(max_examples=examples(300))
@example(base="http://h/", href="x;jsessionid=.;jsessionid=2", rules=UrlConfig())
@example(base="http://h/", href="%2%65", rules=UrlConfig())
@example(base="http://h/", href="//(S(abcdefghijklmnopqrstuvwx))/", rules=UrlConfig())
@example(base="http://h/", href="//h;jsessionid=1/", rules=UrlConfig())
def test_the_canonical_form_of_a_canonical_url_is_itself(
    base: str, href: str, rules: UrlConfig
) -> None:
    url = join(base, href, rules)
    if url is not None:
        assert parse(url.text, rules) == url
        assert whatwg(url.text) == url.text
        assert url.key == fingerprint(url.text, url.host)


@given(base=BASES, href=HREFS, rules=RULES)
@settings(max_examples=examples(300))
def test_a_canonical_url_agrees_with_the_url_standard_about_its_parts(
    base: str, href: str, rules: UrlConfig
) -> None:
    url = join(base, href, rules)
    if url is not None and url.text.startswith(("http:", "https:", "ftp:")):
        parts = ada_url.URL(url.text)
        assert (url.host, url.origin) == (parts.hostname, parts.origin)
        assert (parts.username, parts.password, parts.hash) == ("", "", "")
        assert url.text.isascii()
        assert url.text.isprintable()


@given(base=BASES, hrefs=st.lists(HREFS, max_size=8), rules=RULES)
@settings(max_examples=examples(600))
def test_joining_in_bulk_equals_joining_one_by_one(
    base: str, hrefs: list[str], rules: UrlConfig
) -> None:
    assert join_all(base, hrefs, rules) == [join(base, href, rules) for href in hrefs]


@given(base=BASES, hrefs=st.lists(HREFS, max_size=8), rules=RULES)
def test_joining_to_a_page_equals_joining_to_its_address(
    base: str, hrefs: list[str], rules: UrlConfig
) -> None:
    page = parse(base, rules)
    if page is not None:
        assert join_all(page, hrefs, rules) == [join(page.text, href, rules) for href in hrefs]
