"""Whatever a server puts into Set-Cookie: no exception, and no cookie leaves its host."""

import re

from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.headers import MAX_COOKIE_BYTES, MAX_COOKIES, CookieJar
from gossamer.model import Url

HOME = Url("http://a.test/x/y?z", "a.test", "http://a.test", 0)
SAFE_HOME = Url("https://a.test/x/y?z", "a.test", "https://a.test", 0)
ELSEWHERE = [
    Url(f"https://{host}/x/y", host, f"https://{host}", 0)
    for host in ("b.test", "test", "www.a.test", "xa.test", "a.test.b.test")
]
NAMES = ("Max-Age", "max-age", "Path", "Secure", "Domain", "Expires", "HttpOnly", "a")
VALUES = ("--1", "²", "٣", "0", "-1", "9" * 700, "/", "/x", "a.test", "test")
MARKS = ("=", ";", "-", ".", " ", "\t", "\0", "\n")
words = st.sampled_from(NAMES + VALUES + MARKS)
headers = st.one_of(
    st.text(max_size=60),
    st.binary(max_size=60).map(lambda raw: raw.decode("latin-1")),
    st.lists(words, max_size=14).map("".join),
    st.lists(st.tuples(words, words), max_size=6).map(
        lambda pairs: "; ".join(f"{name}={value}" for name, value in pairs)
    ),
)


@given(st.lists(headers, max_size=8))
def test_no_set_cookie_raises_and_what_is_kept_goes_home_on_one_line(texts: list[str]) -> None:
    jar = CookieJar()
    jar.take(HOME, tuple(("set-cookie", text) for text in texts))
    for url in (HOME, SAFE_HOME):
        line = jar.header(url)
        assert re.fullmatch(r"[\x20-\x7e]*", line)
        assert len(line) <= MAX_COOKIES * (MAX_COOKIE_BYTES + 2)
    assert [jar.header(url) for url in ELSEWHERE] == [""] * len(ELSEWHERE)


@given(headers)
def test_a_cookie_marked_secure_is_never_sent_in_the_clear(text: str) -> None:
    jar = CookieJar()
    jar.take(SAFE_HOME, (("set-cookie", f"{text};Secure"),))
    assert jar.header(HOME) == ""
