"""References joined by a kernel are what they are one by one, whatever it knows by then."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from gossamer.config import UrlConfig
from gossamer.model import Url
from gossamer.process.onepass import numbers
from gossamer.urls import join, join_all, joining, joining_kernels, load_joining, parse
from gossamer.urls.canonical import SUSPECT_QUERY

RULES = UrlConfig()
VECTORS = Path(__file__).resolve().parents[4] / "shared" / "vectors" / "url"
load_joining()
PAGE = "http://h.test:8100/a/b/c.html?q=1"


def one_by_one(base: str, hrefs: list[str]) -> list[Url | None]:
    return [join(base, href, RULES) for href in hrefs]


def joined_twice(base: str, hrefs: list[str]) -> None:
    """The first time origins are learned, the second time they are known."""
    hrefs = [*hrefs, *["x"] * joining.FEW]
    for _ in range(2):
        assert join_all(base, hrefs, RULES) == one_by_one(base, hrefs)


def test_plain_references_steps_upwards_and_known_origins_are_joined() -> None:
    joined_twice(
        PAGE,
        [
            *(
                "d",
                "./d",
                "../d",
                "../../../../d",
                "../d/e.html",
                "/",
                "/d//e",
                "?page=2",
                "?",
                "d?",
            ),
            *("http://other.test/", "http://other.test", "http://OTHER.test:80/x", "//o.test/y"),
            *("https://other.test/a%2Fb", "d%20e", "d%2fe", "d%41", "a:b", "d/a:b", "d/.e", "d/.."),
            *(
                "d#e",
                "#e",
                "",
                "d?a=b&c=d#e",
                "d?utm_source=x",
                "d?Sid=0123456789abcdef",
                "d?side=1",
            ),
            *(
                "(S(abcdefghijklmnopqrstuvwx))/",
                "d/(e)",
                "d;jsessionid=1",
                "d?'",
                "d'",
                "mailto:a@b",
            ),
            "x" * 100,
            "x" * 230,
            "x" * 300,
        ],
    )


def test_of_many_references_to_an_unknown_origin_the_parser_is_asked_about_one() -> None:
    asked: list[str] = []

    class Counting(joining.Joiner):
        def ask(self, base: Url, href: str, rules: UrlConfig) -> Url | None:
            asked.append(href)
            return super().ask(base, href, rules)

    hrefs = [f"http://{host}.test/pages/{n}" for n in range(40) for host in ("one", "two", "h")]
    page = parse(PAGE, RULES)
    assert page is not None
    assert Counting().join_all(page, hrefs, RULES) == one_by_one(PAGE, hrefs)
    assert asked == hrefs[:3]


@pytest.mark.parametrize("size", [*range(1, 40), 64, 65, 96, 97, 128, 129, 200, 225, 226, 300])
def test_keys_of_texts_of_every_length_are_those_of_the_hash(size: int) -> None:
    href = "/" + "k" * size
    joined_twice("http://h.test/", [href] * 2)
    text = f"http://h.test{href}"
    found = join_all("http://h.test/", [href] * 10, RULES)[0]
    assert found is not None
    assert found.key & ((1 << 40) - 1) == xxh3_64_intdigest(text.encode()) & ((1 << 40) - 1)


def test_a_full_table_of_origins_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_ORIGINS", 5)
    for host in range(30):
        joined_twice(PAGE, [f"http://o{host}.test/{n}" for n in range(3)])
        assert len(joining._spare[-1].places) <= 6


def test_origins_that_hash_alike_are_left_to_the_parser() -> None:
    tries = joining_kernels.MOST_TRIES
    joiner = joining.Joiner()
    page = parse(PAGE, RULES)
    assert page is not None
    table = joiner._origins
    for n in range(2 * tries):  # as if all of them fell into one place
        written = f"http://o{n}.test"
        h = joining_kernels.hash_of(written.encode(), 0, len(written)) & ~0xFFFFFFFF
        row = ((h ^ (h >> 15)) & (joining._SLOTS - 1)) * joining_kernels.ORIGIN
        table.slots.view[row + 4] = 1
    hrefs = [f"http://o{n}.test/x" for n in range(2 * tries)]
    for _ in range(2):
        assert joiner.join_all(page, hrefs, RULES) == one_by_one(PAGE, hrefs)


@given(st.text("abcdefgilmnopqrstuvwxy_-=&?0123456789SID", max_size=24))
def test_a_query_that_could_name_a_visit_is_left_to_the_parser(query: str) -> None:
    if SUSPECT_QUERY.search(f"?{query}".lower()):
        parts = f"?{query}".replace("?", "&").split("&")
        assert any(
            joining_kernels.is_suspect(part.encode(), 0, len(part), joining._letters())
            for part in parts
        )


def test_a_base_that_is_not_of_the_web_is_joined_one_by_one() -> None:
    for base in ("file:///a/b", "ftp://h.test/a", "mailto:a@b", "nothing", "http://h.test/%7e"):
        joined_twice(base, ["c", "/d", "http://h.test/"])


def test_the_rows_that_two_rooms_share_have_the_same_form() -> None:
    assert numbers.TARGET == joining_kernels.COLUMN
    assert numbers.TARGET_JOINED == joining_kernels.JOINED


@pytest.mark.skipif(not VECTORS.exists(), reason="../shared/vectors/url is not here")
def test_every_row_of_the_url_standards_test_data_is_joined_as_one_by_one() -> None:
    rows = [
        r for r in json.loads((VECTORS / "urltestdata.json").read_text()) if isinstance(r, dict)
    ]
    inputs = list(dict.fromkeys(row["input"] for row in rows))
    hrefs = [row["href"] for row in rows if "href" in row]
    for base in (
        PAGE,
        "https://example.org/foo/bar?baz#f",
        "http://[2001::1]:81/",
        "http://a/b/c;d",
    ):
        joined_twice(base, inputs)
        joined_twice(base, hrefs)
    for row in rows:
        if row["base"]:
            joined_twice(row["base"], [row["input"]])
