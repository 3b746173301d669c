"""What is wrong with a text that was written as a URL."""

import pytest

from gossamer.urls import UrlFlaw, url_flaw

BASE = "https://a.test/folder/page"


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("http://", "no_host"),
        ("https:///", "no_host"),
        ("http://?q", "no_host"),
        ("http://user@/", "no_host"),
        ("//", "no_host"),
        ("http://:80/", "no_host"),
        ("http://a b/", "bad_host"),
        ("http://a<b>.test/", "bad_host"),
        ("http://[fe80::zz]/", "bad_host"),
        ("http://[::1", "bad_host"),
        ("http://1.2.3.4.256/", "bad_host"),
        ("http://user:x@a b/", "bad_host"),
        ("http://%zz/", "bad_host"),
        ("\\\\a b\\c", "bad_host"),
        ("http://a.test:65536/", "bad_port"),
        ("http://a.test:8o80/", "bad_port"),
        ("http://a.test:-1/", "bad_port"),
        ("http://[::1]:x/", "bad_port"),
        ("htp://b.test/", "misspelt_scheme"),
        ("ttp://b.test/", "misspelt_scheme"),
        ("htttp://b.test/", "misspelt_scheme"),
        ("HTPS://b.test/", "misspelt_scheme"),
        ("httsp://b.test/", "misspelt_scheme"),
        ("https-://b.test/", "misspelt_scheme"),
        ("xttps://b.test/", "misspelt_scheme"),
        ("http://a.test/" + "x" * 70_000, "too_long"),
    ],
)
def test_a_text_that_no_browser_follows_has_a_named_flaw(text: str, flaw: UrlFlaw) -> None:
    assert url_flaw(text, BASE) == flaw


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "page", "?a=b c", "#x", "/a b", "../../..", "a|b[c]", "//b.test", "http:b"),
        *("http://b.test:/", "http://b.test:65535/", "http://[::1]:80/", "http://b\u00fccher.test"),
        *("mailto:a b", "javascript:x://[", "tel:+1", "zoom://join", "git+ssh://b.test/", "x:y"),
        *("ftp://b.test/", "ws://b.test/", "shttp://b.test/", "htp:colon", "h://b.test/"),
        *("http://user:p@ss@b.test/", "https:\\\\b.test\\c", "htxyz://b.test/"),
    ],
)
def test_what_a_browser_follows_or_hands_on_has_no_flaw(text: str) -> None:
    assert url_flaw(text, BASE) is None
