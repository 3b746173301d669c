"""The indexes of the shards of a store answer as one index of everything would.

Each shard's index is built from the store alone. `make test-cluster` kills more of the builds.
"""

import os
import random
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

import gossamer
from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.cluster.extent import IS_FULL
from tests.cluster.machines import ClusterTrial, Node, cluster_of, session
from tests.e2e.crawler import Crawler, finish, flags_for, only_json, say, wait_until, write_knobs
from tests.e2e.nursery import Child

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("index")]  # they share a crawl

DOMAINS, PAGES, SHARDS = 16, 8, 3
SAME, SAME_TEXT = "/same.html", "Everywhere the zymurgist says the very same about quassia wood."
OFTEN = {"store": {"ship_s": 0.5, "lease_s": 2.0, "file_bytes": 100_000}}


def written_web() -> ScriptedWeb:
    """Return a web of many domains whose pages link to one another, each link in its own words."""
    dice, web = random.Random(23), ScriptedWeb()
    words = ["".join(dice.choices("abdegiklmnoprstu", k=dice.randint(4, 9))) for _ in range(900)]
    hosts = [web.host(f"www.site{n}.test") for n in range(DOMAINS)]
    places = [(host, f"/{n}.html" if n else "/") for host in hosts for n in range(PAGES)]
    for number, (host, target) in enumerate(places):
        text = " ".join(dice.choices(words, weights=range(900, 0, -1), k=dice.randint(40, 160)))
        others = [places[(number + 1) % len(places)], *dice.sample(places, 6)]
        links = [
            f'<a href="{to.url(path)}">{dice.choice(words)} {said_of(to.name, path)}</a>'
            for to, path in others
        ]
        title = " ".join(dice.choices(words, k=3))
        same = f'<a href="{host.url(SAME)}">{said_of(host.name, SAME)}</a>'
        body = f"<title>{title}</title><h1>{title}</h1><p>{text}</p><p>{', '.join(links)}, {same}"
        host.on(target, f"<!doctype html><html lang=en>{body}")
    for host in hosts:
        host.on(SAME, f"<!doctype html><html lang=en><title>Same</title><p>{SAME_TEXT}")
    return web


def said_of(host: str, path: str) -> str:
    """Return a word that only links to a page say."""
    return "called" + (host + path).translate(str.maketrans("0123456789./", "abcdefghijyx"))


@pytest.fixture(scope="module")
def crawler(tmp_path_factory: pytest.TempPathFactory) -> Crawler:
    """A crawl of three shards, in a folder with an index of all of it; its store beside it."""
    place = tmp_path_factory.mktemp("crawl")
    knobs = write_knobs(place / "knobs.toml", OFTEN)
    words = ("--store", f"file://{place}/store", "--config", str(knobs))
    with serve_in_thread(written_web()) as server:
        seeds = (server.web.host("www.site0.test").url("/"),)
        flags = flags_for(server.resolve, *words, "--shards", str(SHARDS), "--delay", "0")
        crawler = Crawler(place / "crawl", seeds, flags)
        finish(crawler.start(is_fresh=True)).expect(0)
    say("build", str(crawler.folder), "index").expect(0)
    return crawler


@pytest.fixture
def url(crawler: Crawler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store, without what other tests have built there or kept of it."""
    store = crawler.folder.parent / "store"
    shutil.copytree(store, tmp_path / "store")
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return f"file://{tmp_path}/store"


def queries(folder: Path, count: int = 40) -> list[str]:
    """Return words that pages have in their texts, and some that only links to them say."""
    dice = random.Random(23)
    pages = sorted(one.url for one in gossamer.open(folder).pages())
    found: list[str] = []
    while len(found) < count:
        page = dice.choice(pages)
        text = say("show", str(folder), page, "--text").expect(0).out.split()
        at = dice.randrange(len(text) - 3)
        found.append(" ".join(text[at : at + dice.choice((1, 2, 3))]))
        host, _, path = page.partition("://")[2].partition("/")
        found.append(said_of(host.partition(":")[0], f"/{path}"))
    return found


def answers(place: Path | str, asked: list[str]) -> dict[str, list[str]]:
    with gossamer.open_search(place) as index:
        return {one: [hit.url for hit in whole_answer(index, one).hits] for one in asked}


def whole_answer(index: gossamer.SearchIndex, query: str) -> gossamer.Answer:
    """Return the answer of all shards; on a busy machine one may be late once."""
    for _ in range(3):
        found = index.search(query, verbatim=True)
        if not found.missing:
            return found
    pytest.fail(f"{query}: of {index.places} these are missing: {found.missing}")


def expect_alike(expected: dict[str, list[str]], found: dict[str, list[str]]) -> None:
    """Expect that the first ten results of two are the same, but for one in a hundred."""
    shares: list[float] = []
    others: dict[str, tuple[list[str], list[str]]] = {}
    for query, urls in found.items():
        lost, new = set(expected[query]) - set(urls), set(urls) - set(expected[query])
        if most := max(len(expected[query]), len(urls)):
            shares.append(len(set(urls) & set(expected[query])) / most)
        if lost or new:
            others[query] = sorted(lost), sorted(new)
    assert shares
    assert sum(shares) / len(shares) >= 0.99, f"lost and new, by query: {others}"


def test_three_shards_answer_as_one_index_would(crawler: Crawler, url: str) -> None:
    built = only_json(say("build", url, "index", "--json").expect(0))
    whole = gossamer.open_search(crawler.folder)
    assert built["pages"] == whole.pages()
    assert [one["shard"] for one in built["shards"]] == [0, 1, 2]
    assert all(one["index"]["pages"] for one in built["shards"])
    asked = queries(crawler.folder)
    expected = answers(crawler.folder, asked)
    expect_alike(expected, answers(url, asked))
    assert all(expected.values())
    hits = only_json(say("search", url, asked[0], "--json").expect(0))["hits"]
    assert [hit["url"] for hit in hits] == expected[asked[0]]
    again = only_json(say("build", url, "index", "--json").expect(0))
    assert [one["index"]["did"] for one in again["shards"]] == ["nothing"] * SHARDS
    rebuild = Child(["build", url, "index", "--no-ranks", "--full", "--shard", "1"], caches())
    while rebuild.poll() is None:
        expect_alike(expected, answers(url, asked[:5]))
    finish(rebuild).expect(0)


def test_copies_of_pages_of_other_shards_are_found_by_their_text(
    crawler: Crawler, url: str
) -> None:
    say("build", url, "index").expect(0)
    with gossamer.open_search(url) as shards, gossamer.open_search(crawler.folder) as whole:
        for number in range(DOMAINS):
            query = f"zymurgist quassia site:www.site{number}.test"
            (found,), (expected,) = (one.search(query).hits for one in (shards, whole))
            assert found.url == expected.url
            assert "zymurgist" in found.snippet
    said = {say("show", url, page, "--text").expect(0).out for page in same_pages(crawler.folder)}
    assert len(said) == 1
    assert SAME_TEXT in said.pop()


def same_pages(folder: Path) -> list[str]:
    """Return the pages with the same content."""
    return [one.url for one in gossamer.open(folder).pages() if one.url.endswith(SAME)]


def test_machines_build_a_shard_each_and_what_is_missing_is_said(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for shard in (2, 0):  # each machine has a disk of its own
        monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / f"machine-{shard}"))
        say("build", url, "index", "--no-ranks", "--shard", str(shard)).expect(0)
    ended = say("search", url, "called", "--json").expect(0)
    assert ended.last_json["is_partial"]
    (missing,) = ended.last_json["missing"]
    assert missing["place"].endswith("/index/0001")
    assert "/index/0001" in ended.err
    say("build", url, "index", "--no-ranks", "--shard", "1").expect(0)
    assert not say("search", url, "called", "--json").expect(0).last_json["is_partial"]


def test_one_machine_may_build_several_shards_at_once(url: str) -> None:
    words = ["build", url, "index", "--no-ranks", "--json", "--shard"]
    builds = [Child([*words, str(shard)], caches()) for shard in (0, 1)]
    for shard, build in enumerate(builds):
        (built,) = finish(build).expect(0).last_json["shards"]
        assert built["shard"] == shard
        assert built["index"]["pages"]


def test_builds_that_are_killed_leave_what_was_there(crawler: Crawler, url: str) -> None:
    asked = queries(crawler.folder, 15)
    expected = answers(crawler.folder, asked)
    dice = random.Random(5)
    words = ["build", url, "index"]
    whole = Child(words, caches())
    began = time.monotonic()
    finish(whole).expect(0)
    took_s = time.monotonic() - began
    for _ in range(10 if IS_FULL else 2):
        child = Child([*words, "--full"], caches())
        time.sleep(dice.uniform(0.1, took_s))
        child.kill()
        child.communicate()
        expect_alike(expected, answers(url, asked))
    say(*words).expect(0)
    expect_alike(expected, answers(url, asked))


def test_mistakes_about_shards_are_told(url: str, crawler: Crawler) -> None:
    said = say("build", url, "index", "--shard", "7").expect(2).err
    assert "--shard" in said
    assert "0 to 2" in said
    say("build", url, "index", "--shard", "one").expect(2)
    assert "--shard" in say("build", str(crawler.folder), "index", "--shard", "1").expect(2).err
    assert "--partition" in say("build", url, "index", "--partition", "host").expect(2).err
    assert "is a store" in say("build", url, "state").expect(2).err


def test_a_cluster_indexes_while_it_crawls_and_a_lost_machine_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    with serve_in_thread(written_web()) as server:
        seeds = (server.web.host("www.site0.test").url("/"),)
        knobs = write_knobs(tmp_path / "knobs.toml", {"store": {"ship_s": 0.5, "lease_s": 2.0}})
        words = ("--config", str(knobs), "--shards", "4", "--delay", "0.4", "--no-sitemaps")
        flags = flags_for(server.resolve, *words, "--index")
        trial = ClusterTrial(server, tmp_path, seeds, flags, random.Random(7))
        with cluster_of(trial, 2) as going:
            monkeypatch.setenv("GOSSAMER_CLUSTER", str(going.nodes[0].home))
            process = going.crawl()
            assert wait_until(lambda: len(server.requests) >= 40, process)
            say("pause", going.url).expect(0)  # so that it does not end before anything is built
            assert wait_until(lambda: found_by_now(going.url, "zymurgist"), process)
            assert wait_until(lambda: len(indexers(going.nodes[0])) > 0, process)
            for pid in indexers(going.nodes[0]):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            say("resume", going.url).expect(0)
            going.nodes[1].lose()
            finish(process).expect(0)
    whole = tmp_path / "whole"
    say("restore", going.url, "--into", str(whole)).expect(0)
    say("build", str(whole), "index", "--no-ranks").expect(0)
    asked = queries(whole)
    expected = answers(whole, asked)
    assert all(expected.values())
    expect_alike(expected, answers(going.url, asked))


@pytest.mark.skipif(not IS_FULL, reason="played by make test-cluster")
def test_a_cluster_indexes_on_over_a_split_of_a_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    with serve_in_thread(written_web()) as server:
        seeds = (server.web.host("www.site0.test").url("/"),)
        knobs = write_knobs(tmp_path / "knobs.toml", {"store": {"ship_s": 0.5, "lease_s": 2.0}})
        words = ("--config", str(knobs), "--shards", "2", "--delay", "0.4", "--no-sitemaps")
        flags = flags_for(server.resolve, *words, "--index")
        trial = ClusterTrial(server, tmp_path, seeds, flags, random.Random(7))
        with cluster_of(trial, 2) as going:
            monkeypatch.setenv("GOSSAMER_CLUSTER", str(going.nodes[0].home))
            process = going.crawl()
            assert wait_until(lambda: len(server.requests) >= 40, process)
            say("pause", going.url).expect(0)  # so that it does not end before anything is built
            assert wait_until(lambda: found_by_now(going.url, "zymurgist"), process)
            gossamer.cluster_split(going.url, 0)
            assert wait_until(lambda: len(gossamer.store_indexes(going.url)) == 3, process)
            assert found_by_now(going.url, "zymurgist")
            say("resume", going.url).expect(0)
            finish(process).expect(0)
    whole = tmp_path / "whole"
    say("restore", going.url, "--into", str(whole)).expect(0)
    say("build", str(whole), "index", "--no-ranks").expect(0)
    asked = queries(whole)
    expected = answers(whole, asked)
    assert all(expected.values())
    expect_alike(expected, answers(going.url, asked))


def indexers(node: Node) -> list[int]:
    """Return the processes that index on a machine."""
    found = []
    for pid in session(node.pid):
        with suppress(OSError):  # it has ended meanwhile
            if b"\0build\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def found_by_now(url: str, query: str) -> bool:
    """Return True if shards that are published by now find something."""
    return bool(gossamer.store_indexes(url)) and bool(
        say("search", url, query, "--urls").expect(0).out
    )


def test_machines_that_offer_their_shards_are_asked_and_missed(
    crawler: Crawler, url: str, tmp_path: Path
) -> None:
    say("build", url, "index").expect(0)
    asked = queries(crawler.folder, 10)
    expected = answers(crawler.folder, asked)
    for shard in range(SHARDS):  # each machine has the index of one of them
        (of_crawl,) = (tmp_path / "cache" / "shards").iterdir()
        place = tmp_path / f"machine-{shard}" / "shards" / of_crawl.name
        shutil.copytree(of_crawl / f"{shard:04d}", place / f"{shard:04d}")
    servers = [offering(url, tmp_path / f"machine-{shard}") for shard in range(SHARDS)]
    try:
        assert wait_until(lambda: sum("#" in one for one in gossamer.store_indexes(url)) == SHARDS)
        places = sorted(gossamer.store_indexes(url), key=lambda one: one.partition("#")[2])
        assert [place.partition("#")[2] for place in places] == ["0000", "0001", "0002"]
        shutil.rmtree(tmp_path / "store" / "0001" / "index" / "0000")  # nobody needs to look there
        expect_alike(expected, answers(url, asked))
        servers[1].kill()
        servers[1].communicate()
        ended = say("search", url, asked[0], "--json").expect(0)
        assert ended.last_json["is_partial"]
        assert [one["place"] for one in ended.last_json["missing"]] == [places[1].partition("#")[0]]
        assert places[1].partition("#")[0] in ended.err
    finally:
        for server in servers:
            server.kill()
            server.communicate()


def offering(url: str, cache: Path) -> Child:
    """Start a machine that offers the shards whose index it has."""
    words = ["serve", url, "--shard", "--host", "127.0.0.1", "--port", "0", "--json"]
    return Child(words, {**caches(), "GOSSAMER_CACHE": str(cache)})


def caches() -> dict[str, str]:
    """Return where this test keeps what it fetches: children are born with other variables."""
    return {name: os.environ[name] for name in ("GOSSAMER_CACHE", "XDG_CACHE_HOME")}
