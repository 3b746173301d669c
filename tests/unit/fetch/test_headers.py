"""Headers of requests, cookies, and the heads of answers: small pure things."""

import pytest

from gossamer import __version__
from gossamer.config import FetchConfig
from gossamer.errors import ConfigError
from gossamer.fetch import user_agent
from gossamer.fetch.grants import HeaderLine, HostRules
from gossamer.fetch.headers import (
    MAX_COOKIES,
    MAX_HOSTS,
    BadResponseHead,
    CookieJar,
    RequestHeaders,
    ResponseHead,
    Validators,
    media_type_of,
    read_head,
    retry_after_s,
)
from gossamer.model import Url

HERE = Url("http://a.test/x/y", "a.test", "http://a.test", 0)


def test_the_user_agent_names_us_and_the_operator() -> None:
    assert user_agent(FetchConfig()) == f"gossamer/{__version__}"
    assert user_agent(FetchConfig(contact="me@a.test")) == f"gossamer/{__version__} (+me@a.test)"
    assert user_agent(FetchConfig(user_agent="mine/1")) == "mine/1"


@pytest.mark.parametrize(
    "line", ["no colon", "Bad Name: x", "Host: evil", "X: a\r\nY: b", "Content-Length: 5"]
)
def test_a_header_that_cannot_be_sent_is_an_operator_error(line: str) -> None:
    name, _, value = line.partition(":")
    with pytest.raises(ConfigError, match="headers"):
        RequestHeaders(FetchConfig(), HostRules((HeaderLine(name, value.strip(), True),)))  # noqa: FBT003


def own(name: str, value: str, *, is_secret: bool = True) -> HeaderLine:
    return HeaderLine(name, value, is_secret)


def lines_of(headers: RequestHeaders, url: Url, cookie: str = "") -> list[str]:
    """Return the header lines of a request but for those that everybody sends."""
    sent = headers.special(url, None, cookie) or headers.usual
    usual = ("User-Agent", "Accept:", "Accept-Encoding")
    return [line.decode() for line in sent if not line.decode().startswith(usual)]


ELSEWHERE = Url("http://b.test/", "b.test", "http://b.test", 0)


def test_an_origin_gets_its_own_headers_and_others_get_none() -> None:
    headers = RequestHeaders(FetchConfig(), HostRules((), {HERE.origin: (own("X-Key", "k"),)}))
    assert lines_of(headers, HERE) == ["X-Key: k"]
    assert lines_of(headers, ELSEWHERE) == []
    assert headers.special(ELSEWHERE, None, "") is None
    assert lines_of(headers, ELSEWHERE, "a=1") == ["Cookie: a=1"]
    assert lines_of(headers, HERE, "a=1") == ["X-Key: k", "Cookie: a=1"]


def test_an_origins_own_header_takes_the_place_of_one_for_every_host() -> None:
    usual = (own("X-Key", "all"), own("X-Tag", "t"))
    headers = RequestHeaders(FetchConfig(), HostRules(usual, {HERE.origin: (own("x-key", "k"),)}))
    assert lines_of(headers, HERE) == ["X-Tag: t", "x-key: k"]
    assert lines_of(headers, ELSEWHERE) == ["X-Key: all", "X-Tag: t"]


def test_the_archive_gets_stars_for_secrets_and_their_names() -> None:
    mine = (
        own("X-Key", "S3CRET"),
        own("Accept-Language", "de", is_secret=False),
        own("Cookie", "c=S3CRET"),
    )
    headers = RequestHeaders(FetchConfig(), HostRules((), {HERE.origin: mine}))
    assert lines_of(headers, HERE, "d=1")[-1] == "Cookie: c=S3CRET; d=1"
    for validators in (None, Validators(etag='"e"')):
        for has_cookie in (False, True):
            head, redacted = headers.archived(HERE, "/x", validators, has_cookie=has_cookie)
            assert b"S3CRET" not in head
            assert b"\r\nX-Key: ***\r\nAccept-Language: de\r\nCookie: ***\r\n\r\n" in head
            assert redacted == "X-Key,Cookie"
    assert headers.archived(ELSEWHERE, "/", None).redacted == ""
    head, redacted = headers.archived(ELSEWHERE, "/", None, has_cookie=True)
    assert (head.endswith(b"\r\nCookie: ***\r\n\r\n"), redacted) == (True, "Cookie")


def test_a_header_of_ones_own_takes_the_place_of_ours() -> None:
    mine = (own("accept", "text/plain", is_secret=False),)
    headers = RequestHeaders(FetchConfig(), HostRules((), {HERE.origin: mine}))
    head = headers.archived(HERE, "/", None).head
    assert head.lower().count(b"\r\naccept: ") == 1
    assert b"\r\naccept: text/plain\r\n" in head


@pytest.mark.parametrize("control", [chr(n) for n in (*range(9), *range(10, 32), 127)])
@pytest.mark.parametrize("text", ["k{}=v", "{}k=v", "k=v{}w", "k=v{}", "k=v; Path=/{}"])
def test_a_cookie_with_a_control_character_is_dropped(text: str, control: str) -> None:
    jar = CookieJar()
    jar.take(HERE, (("set-cookie", text.format(control)), ("set-cookie", "good=1")))
    assert jar.header(HERE) == "good=1"


def test_control_characters_around_a_value_are_not_space() -> None:
    head = read_head([b"HTTP/1.1 200 OK\r\n", b"Set-Cookie: \tk=v\x0b \r\n", b"\r\n"])
    assert isinstance(head, ResponseHead)
    assert head.get("set-cookie") == "k=v\x0b"


def test_a_host_keeps_few_and_small_cookies() -> None:
    jar = CookieJar()
    jar.take(HERE, tuple(("set-cookie", f"c{n}=1") for n in range(1000)))
    jar.take(HERE, (("set-cookie", "big=" + "x" * 5000),))
    cookies = jar.header(HERE).split("; ")
    assert len(cookies) == MAX_COOKIES
    assert "c999=1" in cookies


def test_cookies_keep_to_their_path_and_can_be_taken_back() -> None:
    jar = CookieJar()
    jar.take(HERE, (("set-cookie", "a=1; Path=/x"), ("set-cookie", "b=2; path=/z; Secure")))
    assert jar.header(HERE) == "a=1"
    jar.take(HERE, (("set-cookie", "a=1; Max-Age=0"),))
    assert jar.header(HERE) == ""


@pytest.mark.parametrize("age", ["--1", "²", "-", "", "1e3", "+0", "0x0", "9" * 4000, " 60 "])
def test_a_max_age_that_is_no_number_up_to_zero_takes_no_cookie_back(age: str) -> None:
    jar = CookieJar()
    jar.take(HERE, (("set-cookie", f"a=1; Max-Age={age}"),))
    assert jar.header(HERE) == "a=1"


@pytest.mark.parametrize("age", ["0", "-1", "000", "-" + "9" * 4000, " 0 ", "5; Max-Age=0"])
def test_a_max_age_up_to_zero_takes_a_cookie_back(age: str) -> None:
    jar = CookieJar()
    jar.take(HERE, (("set-cookie", "a=1"), ("set-cookie", f"a=2; Max-Age={age}")))
    assert jar.header(HERE) == ""


@pytest.mark.parametrize("pair", ["a=1\r\nX-Evil: 2", "a\0=1", "a=1\x7f", "a\n=1", "a=é"])
def test_a_cookie_that_does_not_belong_on_a_header_line_is_not_kept(pair: str) -> None:
    jar = CookieJar()
    jar.take(HERE, (("set-cookie", pair),))
    assert jar.header(HERE) == ""


def test_when_too_many_hosts_have_cookies_the_oldest_makes_room() -> None:
    jar = CookieJar()
    for n in range(MAX_HOSTS):
        jar.take(host(f"h{n}.test"), (("set-cookie", "a=1"),))
    assert jar.header(host("h0.test")) == "a=1"
    jar.take(host("new.test"), (("set-cookie", "a=1"),))
    assert jar.header(host("h0.test")) == ""
    assert jar.header(host("h1.test")) == jar.header(host("new.test")) == "a=1"


def host(name: str) -> Url:
    return Url(f"http://{name}/", name, f"http://{name}", 0)


def head(text: bytes) -> ResponseHead | BadResponseHead:
    return read_head(text.splitlines(keepends=True))


@pytest.mark.parametrize(
    "text",
    [
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 600 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
    ],
)
def test_a_head_in_doubt_is_refused(text: bytes) -> None:
    assert isinstance(head(text), BadResponseHead)


@pytest.mark.parametrize(
    ("text", "oddity"),
    [
        (b"HTTP/1.1 200 OK\nA: b\n\n", "header line ends with a bare LF"),
        (b"HTTP/1.1 200 OK\r\nA b: c\r\n\r\n", "malformed header name"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "folded header line"),
        (b"HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", "NUL in the header"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "both Transfer-Encoding and Content-Length",
        ),
    ],
)
def test_an_odd_head_is_marked(text: bytes, oddity: str) -> None:
    found = head(text)
    assert isinstance(found, ResponseHead)
    assert found.oddities == (oddity,)
    assert found.raw == text


def test_equal_lengths_twice_are_one_length() -> None:
    found = head(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n")
    assert isinstance(found, ResponseHead)
    assert found.content_length == 5


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('text/HTML; Charset="UTF-8"', ("text/html", "utf-8")),
        ("text/html;charset=x-sjis;a=b", ("text/html", "x-sjis")),
        ("text/plain", ("text/plain", "")),
        ("", ("", "")),
        ("text/html, text/plain", ("text/html", "")),
    ],
)
def test_content_types_are_taken_apart(value: str, expected: tuple[str, str]) -> None:
    assert media_type_of(value) == expected


def test_retry_after_is_seconds_or_a_date() -> None:
    assert retry_after_s("120", 0.0) == 120.0
    assert retry_after_s("Thu, 01 Jan 1970 00:01:00 GMT", 10.0) == 50.0
    assert retry_after_s("Thu, 01 Jan 1970 00:01:00 GMT", 100.0) == 0.0
    assert retry_after_s("soon", 0.0) is None
    assert retry_after_s("", 0.0) is None
