"""Packed rows: what goes in comes out, and little more than the URLs' own ends is stored."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config import UrlConfig
from gossamer.frontier.rows import pack_delayed, pack_tasks, unpack_delayed, unpack_tasks
from gossamer.model import LinkKind, Task
from gossamer.urls import parse

HOST = "www.example.org"
ORIGINS = [f"http://{HOST}", f"https://{HOST}", f"http://{HOST}:8080", f"ftp://{HOST}"]
PATHS = st.text(st.characters(codec="utf-8"), max_size=30)
PAGES = st.sampled_from(
    ["", f"https://{HOST}/page", f"http://{HOST}/", f"https://{HOST}.net/x", "http://b.test/y"]
)


def task(text: str, via: str = "", **fields: int) -> Task:
    url = parse(text, UrlConfig())
    assert url is not None
    return Task(url=url, via=via, kind=LinkKind.ANCHOR, **fields)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    text = draw(st.sampled_from(ORIGINS)) + "/" + draw(PATHS)
    url = parse(text, UrlConfig())
    assert url is not None
    small = st.integers(0, 300)
    return Task(
        url=url,
        depth=draw(small),
        via=draw(PAGES),
        kind=draw(st.sampled_from(LinkKind)),
        grade=3,
        attempt=draw(small),
        hops=draw(small),
        nesting=draw(small),
        rules=draw(st.sampled_from([0, 1, 2**32 - 1])),
    )


@given(st.lists(tasks(), min_size=1, max_size=12))
def test_a_packed_row_gives_back_what_was_packed(packed: list[Task]) -> None:
    host = packed[0].url.host
    packed = [one for one in packed if one.url.host == host]
    assert unpack_tasks(pack_tasks(packed), host, 3) == packed


@pytest.mark.parametrize(
    "text",
    [
        "https://a.test/x?y=1",
        "http://a.test:8080/",
        "http://[::1]:81/v6",
        "http://[::1]/v6",
        "file:///tmp/page.html",
    ],
)
def test_a_delayed_row_knows_its_host_by_itself(text: str) -> None:
    one = task(text, "http://via.test/", grade=0, attempt=2)
    assert unpack_delayed(pack_delayed(one)) == one


def test_links_of_one_page_to_its_own_host_are_stored_without_page_and_host_again() -> None:
    page = f"https://{HOST}/a/page.html"
    packed = pack_tasks([task(f"https://{HOST}/a/{n}.html", page) for n in range(10)])
    assert HOST.encode() not in packed
    assert packed.count(b"page.html") == 1
    assert len(packed) < 10 * len("/a/0.html\n") + 30


def test_a_row_of_an_older_version_says_nothing_of_rules() -> None:
    old = [(f"https://{HOST}/page", 2, "a", 0, 1, 0, 1, "/x\n/y")]
    found = unpack_tasks(msgspec.msgpack.encode(old), HOST, 3)
    assert [one.url.text for one in found] == [f"https://{HOST}/x", f"https://{HOST}/y"]
    assert {(one.depth, one.hops, one.rules) for one in found} == {(2, 1, 0)}


def test_a_page_of_another_origin_is_stored_whole() -> None:
    page = f"http://{HOST}:8080/page.html"
    packed = pack_tasks([task(f"http://{HOST}/1", page)])
    assert unpack_tasks(packed, HOST, 1)[0].via == page
