"""Facets are what looking at every page would count, however the index is partitioned."""

import random
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvicorn
from msgspec.structs import replace

from gossamer.search.analysis import Analyser
from gossamer.search.answer import Facets, FacetValue, SearchOptions
from gossamer.search.broker import Broker, Tiers, open_reader
from gossamer.search.facets import (
    chosen_facets,
    facet_scopes,
    merged_counts,
)
from gossamer.search.index_reader import IndexReader, MissingShard
from gossamer.search.manifest import index_folder
from gossamer.search.messages import FacetCounts, QueryFilters, ShardQuery
from gossamer.search.page import IndexPage
from gossamer.search.remote.validation import is_facets
from gossamer.search.searcher import Searcher
from gossamer.search.shard.facets import MOST_COUNTED
from gossamer.search.terms import TermIndexReader, TermsWriter
from gossamer.web import make_app
from gossamer.web.search.narrowing import narrowed as narrow
from tests.unit.search.made import crawl_with_index, prepared, shard_of, write_shard

HOSTS = ("a.test", "www.a.test", "docs.a.test", "b.test", "127.0.0.1", "[::1]")
TYPES = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain", "image/png", "")
LANGUAGES = ("en", "de", "fr", "")
YEARS = (0, 1_700_000_000, 1_735_689_599, 1_735_689_600, 1_800_000_000, 9_999_999_999)
ORGANISATIONS = ("1 shard", "4 shards", "remote", "terms")


def some_pages(many: int = 240) -> list[IndexPage]:
    chance = random.Random(8)
    return [
        IndexPage(
            url=f"http://{chance.choice(HOSTS)}/{n}",
            title=f"page {n}",
            text=" ".join(chance.sample(["fox", "hen", "owl", "elk"], k=2)),
            language=chance.choice(LANGUAGES),
            media_type=chance.choice(TYPES),
            at=chance.choice(YEARS),
        )
        for n in range(many)
    ]


PAGES = some_pages()
QUERIES = (
    "fox",
    "fox hen",
    "site:a.test",
    "owl site:a.test lang:de",
    "elk -site:www.a.test type:html",
    "owl after:2024 before:2026",
    "hen lang:en type:pdf after:2020-05-01",
    "nobody",
    "",
)


@pytest.fixture(scope="module", params=ORGANISATIONS)
def reader(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[IndexReader]:
    analyser, folder = Analyser(), tmp_path_factory.mktemp("index")
    made = [analyser.prepare(page) for page in PAGES]
    if request.param == "terms":
        writer = TermsWriter(folder, 3)
        for page in made:
            writer.add(page)
        writer.close()
        yield TermIndexReader(folder)
        return
    crawl = crawl_with_index(folder / "crawl", made, shards=1 if request.param == "1 shard" else 4)
    write_shard(index_folder(crawl) / "00", made[:0])
    if request.param != "remote":
        yield open_reader(crawl)
        return
    listening = socket.create_server(("127.0.0.1", 0))
    app = make_app(crawl, is_shard=True)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", ws="none", log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    with_remote = open_reader(f"http://127.0.0.1:{listening.getsockname()[1]}")
    yield with_remote
    with_remote.close()
    server.should_exit = True
    thread.join()


def narrowed(facets: Facets) -> list[FacetValue]:
    return [*facets.sites, *facets.languages, *facets.types, *facets.years]


def year_of(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC).year}"


def looked_at(pages: list[IndexPage]) -> dict[str, dict[str, int]]:
    """Count by looking at every page."""
    hosts = [page.url.split("/")[2] for page in pages]
    known = dict.fromkeys(hosts)
    sites = {site: sum(h == site or h.endswith(f".{site}") for h in hosts) for site in known}
    names = {"xhtml+xml": "html", "plain": "text", "png": "image"}
    types = Counter(page.media_type.rpartition("/")[2] for page in pages if page.media_type)
    short: Counter[str] = Counter()
    for name, count in types.items():
        short[names.get(name, name)] += count
    return {
        "sites": sites,
        "languages": Counter(page.language for page in pages if page.language),
        "types": short,
        "years": Counter(year_of(page.at) for page in pages if 0 < page.at < 7_000_000_000),
    }


def as_counts(facets: Facets) -> dict[str, dict[str, int]]:
    kinds = ("sites", "languages", "types", "years")
    return {kind: {one.value: one.count for one in getattr(facets, kind)} for kind in kinds}


@pytest.mark.parametrize("words", [("fox",), ("fox", "hen"), ("owl",), ("nobody",), ()])
def test_facets_are_what_looking_at_every_page_gives(
    reader: IndexReader, words: tuple[str, ...]
) -> None:
    ask = ShardQuery(groups=tuple((word,) for word in words), needed=len(words))
    fitting = [page for page in PAGES if set(words) <= set(page.text.split())]
    found = chosen_facets(reader.facets(ask))
    assert as_counts(found) == looked_at(fitting)
    assert found.is_exact


def test_the_filters_of_other_kinds_hold_and_those_of_its_own_do_not(reader: IndexReader) -> None:
    filters = QueryFilters(sites=("a.test",), languages=("de",))
    found = chosen_facets(reader.facets(ShardQuery(filters=filters)))
    of_site = [page for page in PAGES if page.url.split("/")[2].endswith("a.test")]
    german = [page for page in PAGES if page.language == "de"]
    counts = as_counts(found)
    assert counts["languages"] == looked_at(of_site)["languages"]
    assert counts["sites"] == looked_at(german)["sites"]
    assert counts["years"] == looked_at([page for page in of_site if page in german])["years"]


@pytest.mark.parametrize(
    "query", ["fox", "site:a.test", "owl lang:de", "elk -site:b.test type:html"]
)
def test_a_count_is_the_total_of_the_query_that_a_click_asks(
    reader: IndexReader, query: str
) -> None:
    searcher = Searcher(reader)
    facets = searcher.search(query, SearchOptions(facets=True)).facets
    assert facets is not None
    kept = {"site": "", "lang": "", "type": "", "after": ""}
    for one in narrowed(facets):
        assert searcher.search(narrow(query, one.filter)).total == one.count, one
        kept[one.filter.partition(":")[0]] = one.filter
    assert all(kept.values())


def test_they_are_counted_only_when_they_are_asked_for(reader: IndexReader) -> None:
    searcher = Searcher(reader)
    assert searcher.search("fox").facets is None
    with_facets = searcher.search("fox", SearchOptions(facets=True))
    assert with_facets.facets is not None
    assert replace(with_facets, facets=None, took_ms=0.0) == replace(
        searcher.search("fox"), took_ms=0.0
    )


def test_a_query_that_asks_for_nothing_has_no_facets(reader: IndexReader) -> None:
    found = Searcher(reader).search("", SearchOptions(facets=True)).facets
    assert found is not None
    assert not narrowed(found)


def test_what_was_replaced_or_deleted_is_not_counted(tmp_path: Path) -> None:
    pages = [prepared(f"http://a.test/{n}", main="fox", at=1_700_000_000) for n in range(6)]
    write_shard(tmp_path, pages)
    again = [prepared(f"http://a.test/{n}", main="fox", language="de", at=1) for n in range(2)]
    found = shard_of(tmp_path, again).facets(ShardQuery(groups=(("fox",),), needed=1))
    assert found.languages == {"en": 4, "de": 2}
    assert found.years == {2023: 4, 1970: 2}


def test_of_very_many_sites_the_most_frequent_are_given_and_it_says_so(tmp_path: Path) -> None:
    many = [prepared(f"http://h{n}.test/", main="fox") for n in range(2 * MOST_COUNTED)]
    more = [prepared(f"http://h7.test/{n}", main="fox") for n in range(3)]
    alone = shard_of(tmp_path / "one", [*many, *more]).facets(ShardQuery())
    assert (alone.is_cut, alone.is_exact) == (True, True)
    assert len(alone.sites) == MOST_COUNTED
    facets = chosen_facets(alone)
    assert facets.sites[0] == FacetValue(value="h7.test", count=4, filter="site:h7.test")
    assert "test" not in {one.value for one in facets.sites}
    together = merged_counts([alone, shard_of(tmp_path / "two", more).facets(ShardQuery())])
    assert not together.is_exact


def test_a_shard_that_is_silent_or_not_asked_makes_counts_inexact(tmp_path: Path) -> None:
    pages = [prepared(f"http://a.test/{n}", main="fox") for n in range(10)]
    tiers = open_reader(crawl_with_index(tmp_path, pages, shards=1, high_share=0.5))
    high = tiers.facets(ShardQuery(), is_low_asked=False)
    both = tiers.facets(ShardQuery(), is_low_asked=True)
    assert (high.languages, high.is_exact) == ({"en": 5}, False)
    assert (both.languages, both.is_exact) == ({"en": 10}, True)
    assert not merged_counts([both], missing=1).is_exact
    away = MissingShard(place="http://away.test", shard="", reason="no answer")
    alone = Broker(Tiers([shard_of(tmp_path / "one", pages)], absent=[away]))
    assert (alone.facets(ShardQuery()).is_exact, alone.facets(ShardQuery()).languages) == (
        False,
        {"en": 10},
    )


def test_one_pass_counts_all_kinds_unless_their_filters_differ() -> None:
    assert len(facet_scopes(QueryFilters())) == 1
    assert len(facet_scopes(QueryFilters(not_sites=("a.test",)))) == 1
    scopes = facet_scopes(QueryFilters(sites=("a.test",), after=5))
    assert scopes[QueryFilters(after=5)] == ["sites"]
    assert scopes[QueryFilters(sites=("a.test",))] == ["years"]
    assert scopes[QueryFilters(sites=("a.test",), after=5)] == ["languages", "types"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"sites": {"a.test": -1}},
        {"languages": {"x" * 2000: 1}},
        {"types": {"html": 1 << 60}},
        {"years": {-5: 1}},
        {"years": {2026: -1}},
    ],
)
def test_counts_that_cannot_be_are_not_believed(wrong: dict[str, dict[str, int]]) -> None:
    right = FacetCounts(sites={"a.test": 1}, languages={}, types={}, years={2026: 1})
    assert is_facets(right)
    assert not is_facets(replace(right, **wrong))


def test_facets_of_several_words_add_up_to_the_total_however_the_index_is_partitioned(
    tmp_path: Path,
) -> None:
    analyser = Analyser()
    spoken = [replace(page, language=page.language or "sv") for page in PAGES]
    made = [analyser.prepare(page) for page in spoken]
    writer = TermsWriter(tmp_path / "terms", 3)
    for page in made:
        writer.add(page)
    writer.close()
    searchers = [
        Searcher(open_reader(crawl_with_index(tmp_path / "one", made, shards=1))),
        Searcher(open_reader(crawl_with_index(tmp_path / "four", made, shards=4))),
        Searcher(TermIndexReader(tmp_path / "terms")),
    ]
    for query in ("fox hen", "owl elk page", "fox hen owl lang:de", '"fox hen" site:a.test'):
        answers = [searcher.search(query, SearchOptions(facets=True)) for searcher in searchers]
        found = [answer.facets for answer in answers]
        assert found[0] is not None
        assert found[0] == found[1] == found[2]
        assert found[0].has_all_words == (answers[0].with_all_words > 0)
        if "lang:" not in query and found[0].has_all_words:
            counted = sum(one.count for one in found[0].languages)
            assert counted == answers[0].with_all_words > 0
        for one in narrowed(found[0]) if found[0].has_all_words else ():
            clicked = searchers[1].search(narrow(query, one.filter))
            assert clicked.with_all_words == one.count, one


def test_where_few_pages_have_all_the_words_those_with_any_are_counted(tmp_path: Path) -> None:
    pages = [prepared(f"http://a.test/{n}", main="fox" if n else "fox hen") for n in range(9)]
    answer = Searcher(open_reader(crawl_with_index(tmp_path, pages, shards=1))).search(
        "fox hen", SearchOptions(facets=True)
    )
    assert answer.facets is not None
    assert (answer.total, answer.with_all_words, answer.facets.has_all_words) == (9, 1, False)
    assert answer.facets.sites[0].count == 9


def test_a_value_that_the_query_names_is_shown_however_rare_it_is(tmp_path: Path) -> None:
    pages = [prepared(f"http://h{n}.test/{m}", main="fox") for n in range(12) for m in range(2)]
    pages.append(prepared("http://rare.test/", main="fox", language="la"))
    searcher = Searcher(open_reader(crawl_with_index(tmp_path, pages, shards=2)))
    facets = searcher.search("fox site:rare.test", SearchOptions(facets=True)).facets
    assert facets is not None
    assert len(facets.sites) == 11
    assert facets.sites[-1] == FacetValue(value="rare.test", count=1, filter="site:rare.test")
    assert [one.value for one in facets.languages] == ["la"]
    assert searcher.search("fox", SearchOptions(facets=True)).facets != facets
