"""What every `IndexShard` of an index does for its broker: in a folder, and on another machine."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from gossamer.search.manifest import index_folder
from gossamer.search.messages import QueryFilters, ShardQuery
from gossamer.search.remote import RemoteShard
from gossamer.search.shard import IndexShard, LocalShard
from gossamer.web import make_app
from tests.unit.search.made import bonuses, crawl_with_index, prepared, write_shard

PAGES = [
    prepared(f"http://a.test/{n}", title=f"fox {n}", main="red " * n + "hen", at=n, path=f"a x{n}")
    for n in range(1, 13)
]
TRIES, TRY_S = 200, 0.1
RED = ShardQuery(groups=(("red",),), needed=1)


@pytest.fixture(params=["folder", "far"])
def shard(request: pytest.FixtureRequest, crawl: Path) -> Iterator[IndexShard]:
    if request.param == "folder":
        found: IndexShard = LocalShard(index_folder(crawl) / "00")
    else:
        found = RemoteShard(request.getfixturevalue("address") + "/shard/00")
    yield found
    found.close()


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return crawl_with_index(tmp_path / "crawl", PAGES, shards=1)


@pytest.fixture
def address(crawl: Path) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    app = make_app(crawl, is_shard=True)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", ws="none", log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def test_it_says_how_much_it_has(shard: IndexShard) -> None:
    facts = shard.facts()
    assert (facts.pages, facts.languages) == (12, {"en": 12})


def test_statistics_are_those_of_its_pages(shard: IndexShard) -> None:
    counts = shard.counts(["red", "fox", "nobody"])
    assert counts.pages == 12
    assert sum(counts.having["red"]) == sum(counts.having["fox"]) == 12
    assert not any(counts.having.get("nobody", ()))


def test_the_best_come_first_and_no_more_than_were_asked_for(shard: IndexShard) -> None:
    top = shard.top(ShardQuery(groups=(("red",),), needed=1, top=5))
    assert top.total == 12
    scores = [one.score for one in top.candidates]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)


def test_what_nobody_has_is_not_found_and_filters_hold(shard: IndexShard) -> None:
    assert shard.top(ShardQuery(groups=(("nobody",),), needed=1)).total == 0
    late = ShardQuery(groups=(("red",),), needed=1, filters=QueryFilters(after=10))
    assert {one.at for one in shard.top(late).candidates} == {10, 11, 12}
    assert shard.top(ShardQuery(groups=(("red",),), needed=1, without=((("hen",),),))).total == 0


def test_pages_are_shown_and_those_that_are_gone_are_left_out(shard: IndexShard) -> None:
    found = shard.stored([PAGES[0].key, 5, PAGES[3].key])
    assert {(one.key, one.url, one.title) for one in found} == {
        (page.key, page.url, page.title) for page in (PAGES[0], PAGES[3])
    }
    assert shard.stored([]) == []


def test_evidence_and_nearness_come_for_each_page_that_was_asked_for(shard: IndexShard) -> None:
    keys = [PAGES[4].key, PAGES[1].key, 5]
    evidence = shard.evidence(keys, RED)
    assert [bool(one) for one in evidence] == [True, True, False]
    assert shard.near(keys, bonuses(("red", "hen"), ("hen", "red"))) == [1.0, 1.0, 0.0]


def test_the_vocabulary_is_what_begins_so_the_most_frequent_first(shard: IndexShard) -> None:
    words = shard.vocabulary("r", 10)
    assert words == [("red", 12)]
    assert shard.vocabulary("q", 10) == []
    assert len(shard.vocabulary("", 2)) <= 2


def test_matches_are_counted_by_site_language_type_and_year(shard: IndexShard) -> None:
    counts = shard.facets(RED)
    assert (counts.sites, counts.languages) == ({"a.test": 12, "test": 12}, {"en": 12})
    assert counts.types == {"text/html": 12, "html": 12}
    assert counts.years == {1970: 12}
    assert shard.facets(ShardQuery(groups=(("nobody",),), needed=1)).sites == {}


def test_what_is_committed_is_taken_up_when_it_is_told_to(shard: IndexShard, crawl: Path) -> None:
    shard.renew()  # one far away learns only now of which commit it is
    assert shard.renew() is False
    write_shard(index_folder(crawl) / "00", [prepared("http://b.test/", main="red")])
    assert any(_renewed(shard) for _ in range(TRIES))
    assert (shard.facts().pages, shard.top(RED).total) == (13, 13)
    assert shard.renew() is False


def _renewed(shard: IndexShard) -> bool:
    """Return True if there was something new; a server looks for that now and then only."""
    return shard.renew() or time.sleep(TRY_S) is not None
