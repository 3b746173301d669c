"""What the canonical form merges, and what it leaves alone."""

import pytest

from gossamer.config import UrlConfig
from gossamer.urls import explain, join, join_all, parse

RULES = UrlConfig()
PLAIN = UrlConfig(strip_session_ids=False, strip_tracking=False)


def text_of(text: str, rules: UrlConfig = RULES) -> str | None:
    url = parse(text, rules)
    return url.text if url else None


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("HTTP://Example.COM:80", "http://example.com/"),
        ("https://h:443/a/./b/../c", "https://h/a/c"),
        ("http://h/a#top", "http://h/a"),
        ("http://h/a?#top", "http://h/a"),
        ("http://h/a??", "http://h/a??"),
        ("http://user:SECRET@h/a@b", "http://h/a@b"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::0001]:8080/", "http://[::1]:8080/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://h/%7euser/%c3%a9?q=%2f%41", "http://h/~user/%C3%A9?q=%2FA"),
        ("http://h/a%2Fb%3Fc", "http://h/a%2Fb%3Fc"),
        ("http://h/%2%65%2%65/x", "http://h/%2%65%2%65/x"),
        ("http://h/%0d%0aX: y", "http://h/%0D%0AX:%20y"),
        ("http://h/a\r\nb\tc", "http://h/abc"),
        ("http://h/a\x00b", "http://h/a%00b"),
        ("http://h/x;jsessionid=1A2B?y=1", "http://h/x?y=1"),
        ("http://h/..;jsessionid=1/x", "http://h/..;jsessionid=1/x"),
        ("http://h;jsessionid=1/x", "http://h;jsessionid=1/x"),
        ("http://h/x?PHPSESSID=abc&id=3", "http://h/x?id=3"),
        ("http://h/x?id=3&ASPSESSIONIDQQ=abc", "http://h/x?id=3"),
        ("http://h/x?cfid=1&cftoken=2", "http://h/x"),
        ("http://h/x?sid=0123456789abcdef0123", "http://h/x"),
        ("http://h/x?sid=42", "http://h/x?sid=42"),
        ("http://h/(S(lit3py55t21z5v55vlm25s55))/a", "http://h/a"),
        ("http://h/?utm_source=a&b=1&gclid=2&fbclid=3&mc_cid=4", "http://h/?b=1"),
        ("http://h/?b=1&&a=&b=1", "http://h/?b=1&&a=&b=1"),
        ("gopher://u:p@Host.Example:70/1/x", "gopher://host.example:70/1/x"),
        ("GOPHER://b\u00fccher.de", "gopher://xn--bcher-kva.de/"),
        ("x://0x7f.1?q", "x://127.0.0.1/?q"),
        ("x://[::0:1]:80/", "x://[::1]:80/"),
        ("x:///a", "x:///a"),
        ("ftp://u:p@h:21/x", "ftp://h/x"),
        ("file:///a/../b#c", "file:///b"),
        ("mailto:someone@example.org", "mailto:someone@example.org"),
        ("JavaScript:void(0)", "javascript:void(0)"),
    ],
)
def test_a_text_has_one_canonical_form(written: str, canonical: str) -> None:
    assert text_of(written) == canonical
    assert text_of(canonical) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a/b",
        "http://",
        "http://a b/",
        "http://h:99999/",
        "http://[::1%eth0]/",
        "http://\ud800/",
    ],
)
def test_what_is_not_an_absolute_url_is_none(text: str) -> None:
    assert parse(text, RULES) is None


def test_an_over_long_text_is_none() -> None:
    href = "/" + "a" * 1_000_000
    assert parse("http://h" + href, RULES) is None
    assert join("http://h/", href, RULES) is None
    assert join_all("http://h/", [href, "b"], RULES)[0] is None


def test_session_ids_and_tracking_parameters_stay_when_asked_for() -> None:
    text = "http://h/x;jsessionid=1?utm_source=a&PHPSESSID=b"
    assert text_of(text, PLAIN) == text


def test_a_url_knows_its_parts() -> None:
    url = parse("http://User@WWW.Example.com:8080/a?b#c", RULES)
    assert url is not None
    assert (url.text, url.host, url.origin) == (
        "http://www.example.com:8080/a?b",
        "www.example.com",
        "http://www.example.com:8080",
    )
    assert (url.scheme, url.target) == ("http", "/a?b")


def test_a_url_without_a_host_still_has_a_scheme_and_a_key() -> None:
    url = parse("mailto:a@b.example", RULES)
    assert url is not None
    assert (url.host, url.scheme, url.origin) == ("", "mailto", "mailto:")
    assert 0 <= url.key < 2**64


def test_a_link_is_read_against_its_page() -> None:
    base = "http://h/a/b?q=1"
    hrefs = ["c", "/c", "?x", "#f", "", "../..", "//o/p", "http://o", "http://[", "tel:+1"]
    found = [link.text if link else None for link in join_all(base, hrefs, RULES)]
    assert found == [
        "http://h/a/c",
        "http://h/c",
        "http://h/a/b?x",
        "http://h/a/b?q=1",
        "http://h/a/b?q=1",
        "http://h/",
        "http://o/p",
        "http://o/",
        None,
        "tel:+1",
    ]


def test_the_explanation_names_each_step_that_changed_something() -> None:
    told = explain("HTTP://h/%7ea?utm_source=x&b=1#f", RULES)
    assert [line.partition(":")[0] for line in told] == [
        "read as a browser reads it",
        "fragment dropped",
        "escapes unified",
        "tracking parameters dropped",
    ]
    assert explain("http://h/a", RULES) == []
    assert "not a URL" in explain("nowhere", RULES)[0]
    assert "longer than" in explain("http://h/" + "a" * 70_000, RULES)[0]


def test_the_explanation_never_shows_credentials_or_raw_controls() -> None:
    told = "\n".join(
        explain("http://u:SECRET@h/\x1b[31m", RULES) + explain("http://u:SECRET@", RULES)
    )
    assert "SECRET" not in told
    assert "\x1b" not in told


def test_one_page_does_not_answer_for_another_of_its_folder() -> None:
    hrefs = ["", "?x", "#f", "http:", "http:?x", " ?x", "a"]
    for base in ("http://h/a/1?q", "http://h/a/2", "http://h/b/3", "https://h/a/1"):
        assert join_all(base, hrefs, RULES) == [join(base, href, RULES) for href in hrefs]


@pytest.mark.parametrize("number", range(256))
def test_an_escape_has_one_spelling_whatever_its_letters_case(number: int) -> None:
    letter, upper = chr(number), f"%{number:02X}"
    plain = letter if letter.isascii() and (letter.isalnum() or letter in "-._~") else upper
    for spelling in {upper, upper.lower(), f"%{upper[1].lower()}{upper[2]}"}:
        url = parse(f"http://h.test/a{spelling}b?x{spelling}", UrlConfig())
        assert url is not None
        assert url.text == f"http://h.test/a{plain}b?x{plain}"
