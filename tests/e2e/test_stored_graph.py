"""The graph of a crawl's store, a part for each shard: as one graph of everything would answer."""

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

import gossamer
from gossamer.ranks import RankFile
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.crawler import GOSSAMER, Crawler, finish, flags_for, kill, say, spawn, wait_until

WEB = FakeWeb(seed=2323, hosts=9, pages_per_host=14)
SHARDS = 3


class Stored(NamedTuple):
    """A crawl that is in a folder and in a store."""

    folder: Path
    store: Path

    @property
    def url(self) -> str:
        return f"file://{self.store}"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    """Crawl a part, build its graph, and crawl the rest, so that pages are news to that graph."""
    place = tmp_path_factory.mktemp("stored-graph")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GOSSAMER_CACHE", str(place / "cache"))
        with serve_in_process(WEB, place / "log.tsv") as server:
            stored = Stored(place / "crawl", place / "store")
            flags = flags_for(server.resolve, "--delay", "0", "--shards", str(SHARDS))
            crawler = Crawler(stored.folder, server.web.seeds, (*flags, "--store", stored.url))
            crawler.run("--max-pages", "50").expect(0)
            say("build", stored.url, "graph").expect(0)
            crawler.run("--max-pages", "1000").expect(0)
        say("build", str(stored.folder), "graph").expect(0)
        yield stored


def compare(stored: Stored) -> None:
    """Insist that both graphs say the same of every URL."""
    one, parts = gossamer.open_graph(stored.folder), gossamer.StoredLinkGraph.find(stored.url)
    assert parts is not None
    assert (parts.nodes, parts.arcs) == (one.nodes, one.arcs)
    expected = one.rank(top=0, not_fetched=True)
    ranks = {page.url: page.rank for page in expected.pages}
    found = {page.url: page.rank for page in parts.rank(top=0, not_fetched=True).pages}
    assert found.keys() == ranks.keys()
    assert max(abs(found[url] / ranks[url] - 1.0) for url in ranks) < 1e-6
    urls = {
        line.split(b"\t")[n]
        for lines in one.edge_lines()
        for line in lines.split(b"\n")
        if line
        for n in (0, 1)
    }
    assert len(urls) > 100
    for url in (one.decode() for one in urls):
        assert parts.links(url) == one.links(url), url
        assert parts.links(url, direction="in", limit=2) == one.links(url, direction="in", limit=2)
    best, of_parts = one.rank(top=15), parts.rank(top=15)
    assert [page.url for page in of_parts.pages] == [page.url for page in best.pages]
    assert (of_parts.nodes, of_parts.not_fetched) == (best.nodes, best.not_fetched)
    table = parts.hosts(None)
    assert table == one.hosts(None)
    assert len(table.hosts) >= 9
    for row in table.hosts:
        assert parts.host(row.host, None) == one.host(row.host, None), row.host
    assert parts.rank_hosts(kinds=["link"]) == one.rank_hosts(kinds=["link"])


def test_the_parts_answer_as_one_graph_after_news_too(crawled: Stored) -> None:
    url = crawled.url
    first = next(page.url for page in gossamer.open(crawled.folder).pages())
    assert "newer pages" in say("links", url, first).expect(0).err
    told = say("build", url, "graph", "--json").expect(0).last_json
    assert told["did"] == "full"
    assert sorted(one["shard"] for one in told["shards"]) == [0, 1, 2]
    assert all(one["all_nodes"] >= one["nodes"] and one["peak_bytes"] for one in told["shards"])
    again = say("build", url, "graph", "--json").expect(0).last_json
    assert (again["did"], again["arcs"]) == ("nothing", told["arcs"])
    compare(crawled)
    asked, of_folder = (
        say("links", place, first, "--json").expect(0) for place in (url, str(crawled.folder))
    )
    assert (asked.last_json, asked.err) == (of_folder.last_json, "")
    assert "did you mean" in say("links", url, first.rstrip("/") + "/nowhere").expect(1).err
    assert say("rank", url, "--top", "3", "--json").expect(0).last_json["converged"]
    for words in (("graph", "hosts"), ("rank", "--hosts")):
        told, of_one = (
            say(*words, place, "--json").expect(0) for place in (url, str(crawled.folder))
        )
        assert (told.last_json, told.err) == (of_one.last_json, of_one.err)
    assert "components need all links at once" in say("graph", "components", url).expect(0).err


def test_builders_that_are_killed_leave_what_the_next_goes_on_with(
    crawled: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    copy = Stored(crawled.folder, tmp_path / "store")
    shutil.copytree(crawled.store, copy.store)
    for derived in ("graph", "anchors"):
        for path in copy.store.glob(f"*/{derived}"):
            shutil.rmtree(path)
    for verb in (("build", copy.url, "graph"), ("rank", copy.url)):
        for objects in (3, 12):
            enough = count(copy.store) + objects
            process = spawn([GOSSAMER, *verb])
            wait_until(partial(has_objects, copy.store, enough), process)
            kill(process)
        finish(spawn([GOSSAMER, *verb])).expect(0)
    compare(copy)


def has_objects(store: Path, enough: int) -> bool:
    return count(store) >= enough


def count(store: Path) -> int:
    return sum(1 for _ in store.glob("*/graph/**/*"))


def test_several_machines_share_out_the_shards(
    crawled: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Stored(crawled.folder, tmp_path / "store")
    shutil.copytree(crawled.store, copy.store)
    for path in copy.store.glob("*/graph"):
        shutil.rmtree(path)
    for verb in (("build", copy.url, "graph", "--json"), ("rank", copy.url, "--json")):
        machines = []
        for number in range(2):
            monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / f"cache-{number}"))
            machines.append(spawn([GOSSAMER, *verb]))
        told = [json.loads(finish(one).expect(0).out) for one in machines]
        if verb[0] == "build":
            built = [one["shard"] for facts in told for one in facts["shards"]]
            assert sorted(built) == [0, 1, 2]
    compare(copy)


def test_one_shard_is_built_alone_and_asked_when_all_are_there(
    crawled: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    copy = Stored(crawled.folder, tmp_path / "store")
    shutil.copytree(crawled.store, copy.store)
    for path in copy.store.glob("*/graph"):
        shutil.rmtree(path)
    for shard in range(SHARDS):
        words = ("build", copy.url, "graph", "--shard", str(shard), "--json")
        told = say(*words).expect(0).last_json
        assert [one["shard"] for one in told["shards"]] == [shard]
        assert told["did"] == ("part" if shard < SHARDS - 1 else "full")
    compare(copy)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("build", "@", "graph", "--shard", "9"), "shards 0 to 2"),
        (("build", "@", "graph", "--redirects", "follow"), "gossamer restore"),
        (("build", "@", "graph", "--follow"), "newest checkpoint"),
        (("build", "@", "state"), "only read"),
        (("rank", "@", "--by", "hubs"), "gossamer restore"),
        (("rank", "@", "--hosts", "--by", "hubs"), "only be ranked by pagerank"),
    ],
)
def test_what_shards_cannot_do_is_refused_with_what_can(
    crawled: Stored, words: tuple[str, ...], told: str
) -> None:
    ended = say(*(crawled.url if word == "@" else word for word in words)).expect(2)
    assert told in ended.err.splitlines()[-1]


def test_ranks_of_shards_go_with_their_indexes(
    crawled: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    copy = Stored(crawled.folder, tmp_path / "store")
    shutil.copytree(crawled.store, copy.store)
    for words in (("build", copy.url, "graph"), ("rank", copy.url), ("build", copy.url, "index")):
        say(*words).expect(0)
    files = [RankFile.open(path) for path in copy.store.glob("*/index/*/ranks/*")]
    assert len(files) == SHARDS
    gossamer.open_graph(crawled.folder).rank(save=True)
    assert sum(map(len, files)) == len(RankFile.open(crawled.folder / "graph" / "ranks"))
    assert not list((tmp_path / "cache").glob("*/crawl/graph"))  # nobody has built one of all
