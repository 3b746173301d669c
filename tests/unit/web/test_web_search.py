"""The search of the server as a program, or a browser, has it."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gossamer.search import Answer, Hit, Segment, index_folder
from gossamer.search.page import IndexPage
from gossamer.web.search.narrowing import (
    MOST_TAKEN,
    active,
    between,
    days_of,
    from_host,
    has_filters,
    is_of,
    narrowed,
    unfiltered,
    widened,
)
from gossamer.web.search.results import results
from tests.unit.web.indexed import HARM, indexed, spider
from tests.unit.web.served import HARMFUL, Served, serving
from tests.unit.web.test_web_answers import Tags

pytestmark = pytest.mark.slow

WEB = tuple(url for url in HARMFUL if url.startswith("http"))
TAME = 40
PAGES = TAME + len(WEB)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    harmful = [
        IndexPage(url=url, title=f"tarantula {HARM}", text=f"tarantula {n} {HARM} {url} end{n}")
        for n, url in enumerate(WEB)
    ]
    folder = indexed(tmp_path_factory.mktemp("indexed"), *map(spider, range(TAME)), *harmful)
    with serving(folder) as running:
        yield running


def test_the_answer_has_what_was_promised(server: Served) -> None:
    facts = server.ask("/api/search", q="spider").json
    assert facts["total"] == TAME
    assert len(facts["hits"]) == 10
    for hit in facts["hits"]:
        assert {"url", "title", "snippet", "score"} <= hit.keys()
        assert hit["snippet"] == "".join(text for text, _ in hit["segments"])


def test_pages_of_results_have_no_gaps_and_no_repeats(server: Served) -> None:
    found: list[str] = []
    for number in range(1, 100):
        facts = server.ask("/api/search", q="spider", page=number, per_page=7).json
        found += [hit["url"] for hit in facts["hits"]]
        if not facts["has_more"]:
            break
    assert len(found) == len(set(found)) == TAME


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "q: expected words to look for"),
        ("q=%20", "q: expected words to look for"),
        ("q=x&page=0", "page: expected a number from 1 to 100"),
        ("q=x&page=101", "page: expected"),
        ("q=x&per_page=101", "per_page: expected a number from 1 to 100"),
        ("q=x&exact=yes", "exact: expected 0, 1"),
        ("q=x&without=luck", "without: luck is no part of ranking"),
        ("q=" + "x" * 9000, "q: expected at most"),
    ],
)
def test_a_bad_question_is_400_and_says_what_was_expected(
    server: Served, query: str, words: str
) -> None:
    found = server.get(f"/api/search?{query}")
    assert (found.status, found.json["error"]) == (400, "bad_query")
    assert words in found.json["detail"]


def test_a_page_of_results_without_a_question_is_the_front_page(server: Served) -> None:
    assert server.get("/search").text == server.get("/search?q=+").text == server.get("/").text
    assert f"{PAGES} pages" in server.get("/").text


def test_what_was_crawled_never_becomes_markup(server: Served) -> None:
    for question in ("tarantula", "spider", HARM, *HARMFUL, 'site:"><script>', "-lang:<b>"):
        for name, query in (("/search", {"q": question}), ("/", {"q": question})):
            page = server.ask(name, **query)
            assert page.status == 200
            found = Tags()
            found.feed(page.text)
            assert not found.names & {"script", "iframe", "object", "base", "style", "img"}
            assert not {one for one in found.attributes if one.startswith("on") or one == "style"}
            for link in found.links:
                assert link.startswith(
                    ("/", "http://", "https://", "#main", "#filters", "#results")
                ), link
            assert not set(page.text) & set("\u202e\x00\x1b")


def hit(url: str, **facts: object) -> Hit:
    """Return a result."""
    known = {
        "url": url,
        "title": "",
        "snippet": "",
        "score": 1.0,
        "host": "",
        "language": "",
        "type": "",
        "at": 0,
        "copies": 0,
        "more_from_host": 0,
        "title_segments": [Segment("<i>", is_hit=True)],
        "segments": [Segment("a ", is_hit=False), Segment("<b>", is_hit=True)],
    }
    return Hit(**known | facts)  # type: ignore[arg-type]  # as said above


def shown(*hits: Hit, query: str = "q") -> str:
    """Return the page of an answer."""
    answer = Answer(
        query=query,
        total=len(hits),
        page=1,
        per_page=10,
        has_more=False,
        hits=list(hits),
        suggestion="",
        hints=[],
        is_partial=False,
        took_ms=1.0,
    )
    return "".join(results(answer, [("links", "/links"), ("copy", "/copy")]))


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "JavaScript://x",
        "",
        "http",
    ],
)
def test_what_is_no_address_of_the_web_is_shown_and_leads_nowhere(url: str) -> None:
    found = Tags()
    found.feed(shown(hit(url, title="a title")))
    assert all(link.startswith(("/", "#filters", "#results")) for link in found.links)


def test_odd_addresses_languages_and_dates_do_no_harm() -> None:
    for url in ("http://[", "http://x/%zz%00%E2%80%AE", "https://" + "x" * 5000, "http://a b/"):
        text = shown(hit(url, language='en" onclick="x', type="a/b<c>", at=1, copies=1))
        found = Tags()
        found.feed(text)
        assert "onclick" not in found.attributes
        assert "\u202e" not in text
    assert "<mark>&lt;b&gt;</mark>" in text
    assert "<mark>&lt;i&gt;</mark>" in text


def test_filters_are_taken_out_and_put_in() -> None:
    question = 'web -site:a.test "in a row" lang:de inurl:"a b"'
    chips = active(question)
    assert [chip.label for chip in chips] == ["-site:a.test", "lang:de", 'inurl:"a b"']
    assert chips[1].query == 'web -site:a.test "in a row" inurl:"a b"'
    assert unfiltered(question) == 'web "in a row"'
    assert from_host("web site:a.test lang:de", "b.test:81") == "web lang:de site:b.test"
    assert from_host("web", "[::1]:81") == "web site:[::1]"
    assert is_of("site:b.test web", "b.test:81")
    assert not is_of("web -site:b.test", "b.test:81")


@pytest.mark.parametrize(
    ("query", "filters", "narrow", "wide"),
    [
        ("web", "site:a.test", "web site:a.test", "web"),
        ("web SITE:b.test -site:c.test", "site:a.test", "web -site:c.test site:a.test", None),
        ("language:de web", "lang:en", "web lang:en", "web"),
        ("web filetype:pdf lang:de", "type:html", "web lang:de type:html", "web lang:de"),
        ("after:2024-05 web before:2025", "after:2026 before:2027", None, "web"),
        ('"site:a.test" web', "site:b.test", '"site:a.test" web site:b.test', None),
    ],
)
def test_a_facet_takes_the_place_of_the_filters_of_its_kind(
    query: str, filters: str, narrow: str | None, wide: str | None
) -> None:
    found = narrowed(query, filters)
    assert found == (narrow or f"{wide} {filters}")
    assert has_filters(found, filters)
    assert not has_filters(query, filters)
    assert widened(found, filters) == (wide or found.removesuffix(f" {filters}"))


def test_days_are_both_included_and_read_again() -> None:
    query = between("web after:2020 before:2021-05-01", "2026-01-31", "2026-02-28")
    assert query == "web after:2026-01-31 before:2026-03-01"
    assert days_of(query) == ("2026-01-31", "2026-02-28")
    assert between(query, "", "") == "web"
    assert between("web", "", "9999-12-31") == "web"
    assert days_of("web after:2026 before:2027") == ("2026-01-01", "2026-12-31")
    assert days_of("web after:tomorrow before:2026-99 -after:2020") == ("", "")
    with pytest.raises(ValueError, match="isoformat"):
        between("web", "tomorrow", "")


def test_facets_stand_beside_the_results_and_lead_to_what_they_count(server: Served) -> None:
    page = server.ask("/search", q="spider").text
    sites = server.ask("/api/search", q="spider", facets=1).json["facets"]["sites"]
    assert len(sites) == 7
    assert 'id="filters"' in page
    for one in sites:
        assert f'/search?q=spider%20site%3A{one["value"]}"' in page
        narrow = f"spider {one['filter']}"
        assert server.ask("/api/search", q=narrow).json["total"] == one["count"]
    chosen = server.ask("/search", q="spider site:h3.test").text
    assert 'aria-current="true"' in chosen.partition('id="filters"')[2]
    assert 'href="/search?q=spider"' in chosen


def test_without_being_asked_the_api_counts_no_facets(server: Served) -> None:
    assert server.ask("/api/search", q="spider").json["facets"] is None
    assert server.ask("/api/search", q="spider", facets="x").status == 400


def test_days_of_the_form_become_a_filter_of_the_query(server: Served) -> None:
    found = server.get("/search?q=spider&from=2026-01-31&to=")
    assert found.status == 303
    assert found.headers["location"] == "/search?q=spider%20after%3A2026-01-31"
    assert server.get("/search?q=spider&from=&to=").headers["location"] == "/search?q=spider"
    assert server.get("/search?q=spider&from=x").status == 400
    away = server.get("/search?q=%0d%0aSet-Cookie:x%0d%0a&from=2026-01-31")
    assert away.status == 303
    assert "set-cookie" not in away.headers


def test_a_query_without_results_is_answered_with_its_correction_at_once(server: Served) -> None:
    page = server.ask("/search", q="spidder").text
    assert "Showing results for <b><bdi>spider</bdi></b>" in page
    assert "/search?q=spidder&amp;verbatim=1" in page
    assert page.count('class="hit"') == 10
    assert "/search?q=spider&amp;page=2" in page
    insisted = server.ask("/search", q="spidder", verbatim=1).text
    assert "No page says that" in insisted
    assert "Did you mean" in insisted


def test_a_browser_can_add_it(server: Served) -> None:
    found = server.get("/opensearch.xml")
    assert found.headers["content-type"].startswith("application/opensearchdescription+xml")
    urls = ET.fromstring(found.body).findall("{http://a9.com/-/spec/opensearch/1.1/}Url")
    assert urls[0].get("template") == f"{server.address}search?q={{searchTerms}}"
    assert 'rel="search"' in server.get("/").text


def test_requests_are_counted_for_prometheus(server: Served) -> None:
    server.get("/nowhere/at/all")
    lines = server.get("/metrics").text.splitlines()
    kinds = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE")}
    assert kinds["gossamer_requests_total"] == "counter"
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert int(values['gossamer_requests_total{place="other",status="404"}']) >= 1
    assert values["gossamer_index_pages"] == str(PAGES)
    assert "nowhere" not in "".join(lines)


def test_where_only_an_index_is_there_the_links_say_so(server: Served) -> None:
    assert server.ask("/search", q="spider").status == 200
    assert "/links?url=" not in server.ask("/search", q="spider").text
    assert server.get("/links").status == 503
    assert "an index of files that were not crawled" in server.get("/links").text


@pytest.mark.slow
def test_new_pages_are_found_and_a_missing_index_is_told(tmp_path: Path) -> None:
    folder = indexed(tmp_path, spider(1))
    with serving(folder, "--no-build") as server:
        assert server.ask("/api/search", q="spider").json["total"] == 1
        indexed(folder, spider(2))
        assert server.ask("/api/search", q="spider").json["total"] == 2
        (index_folder(folder) / "manifest.json").unlink()
        found = server.ask("/api/search", q="spider")
        assert (found.status, found.json["error"]) == (503, "no_index")
        assert "gossamer build" in found.json["detail"]
        page = server.ask("/search", q="spider")
        assert page.status == 503
        assert "gossamer build" in page.text
        assert str(tmp_path) not in found.text + page.text
        indexed(folder, spider(3))
        assert server.ask("/api/search", q="spider").json["total"] == 3


@pytest.mark.slow
def test_an_index_that_is_built_anew_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    folder, other = indexed(tmp_path / "a", spider(1)), indexed(tmp_path / "b", spider(2))
    with serving(folder, "--no-build") as server:
        assert [hit["title"] for hit in server.ask("/api/search", q="spider").json["hits"]] == [
            "Spider 1"
        ]
        index_folder(folder).rename(tmp_path / "old")
        index_folder(other).rename(index_folder(folder))
        shutil.rmtree(tmp_path / "old")
        assert [hit["title"] for hit in server.ask("/api/search", q="spider").json["hits"]] == [
            "Spider 2"
        ]


@pytest.mark.slow
def test_many_ask_at_once_and_all_are_answered(server: Served) -> None:
    def ask(number: int) -> int:
        return server.ask("/api/search", q=f"spider {number}").status

    with ThreadPoolExecutor(12) as pool:
        assert set(pool.map(ask, range(60))) == {200}


@pytest.mark.slow
def test_a_question_of_nothing_but_filters_is_answered_in_few_bytes(server: Served) -> None:
    # Each filter is a link with all the others in it, and so is each result: that was 12 MB.
    found = server.get(f"/search?per_page=100&q=spider+{'-site:x+' * 1000}")
    assert found.status == 200
    assert len(found.body) < 500_000
    assert found.text.count('class="chip on"') == MOST_TAKEN
    assert "too long" in found.text
