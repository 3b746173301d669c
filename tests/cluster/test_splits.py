"""A shard is split while its crawl runs: nothing is lost, stored twice or asked too soon.

Coordinator, shard or a machine with its disk dies at each step, as the store tells them.
`make test-cluster` plays all of them; otherwise there is one of each kind.
"""

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.cluster import Ring
from gossamer.config import UrlConfig
from gossamer.crawl.joining import NO_TIME
from gossamer.testing import FakeWeb
from gossamer.urls import parse
from tests.cluster.extent import IS_FULL
from tests.cluster.machines import KNOBS, WHOLE_S, ClusterTrial, cluster_trial, wait_for
from tests.cluster.splitting import charter_of, newest, split
from tests.cluster.test_cluster import kill_a_shard, kill_the_coordinator, lose_a_node
from tests.e2e.crawler import finish, only_json, say
from tests.e2e.nursery import Child
from tests.store.places import S3Place

DELAY_S = 0.4
"""A crawl must not end before its shard is split."""

pytestmark = pytest.mark.slow
only_in_full = pytest.mark.skipif(not IS_FULL, reason="played by make test-cluster")


def web_with(seed: int, pages: int) -> FakeWeb:
    """Return a web of which each of both halves has hosts: of five domains, the third shard one."""
    return FakeWeb(seed=seed, hosts=20, pages_per_host=pages)


def chain_of(going: ClusterTrial, generation: int, shard: int) -> dict[str, Any]:
    return newest(going.folder / "store" / f"{generation:04d}" / f"{shard:04d}" / "manifest")


def generation_of(going: ClusterTrial) -> int:
    """Return the generation of the chains that a split under way, or the last one, has."""
    charter = charter_of(going)
    intent = charter.get("split")
    return intent["generation"] if intent else charter.get("chains", {}).get("0", 0)


def is_wanted(going: ClusterTrial) -> bool:
    return bool(generation_of(going))


def is_closed(going: ClusterTrial) -> bool:
    generation = generation_of(going)
    return bool(generation) and bool(chain_of(going, generation, 2))


def is_narrow(going: ClusterTrial) -> bool:
    """Return True if one of both has shipped what is left to it."""
    chains = [chain_of(going, generation_of(going), shard) for shard in (0, 2)]
    return is_closed(going) and any(not one.get("source") for one in chains)


def is_settled(going: ClusterTrial) -> bool:
    return charter_of(going).get("shards", 0) >= 3


STEPS: dict[str, Callable[[ClusterTrial], bool]] = {
    "wanted": is_wanted,
    "closed": is_closed,
    "narrow": is_narrow,
    "settled": is_settled,
}


def comes(going: ClusterTrial, step: Callable[[ClusterTrial], bool]) -> bool:
    """Wait until a step is done; False if the crawl ended before."""
    wait_for(lambda: step(going) or going.coordinators[-1].poll() is not None)
    return step(going)


def kill_what_is_split(going: ClusterTrial) -> None:
    """Kill the shards with the numbers of a split, as far as they run."""
    for node in going.nodes:
        for pid in node.shards():
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if {b"--number=0", b"--number=2"} & set(words):
                    os.kill(pid, signal.SIGKILL)
    going.note("shards of the split killed at", going.served())


FAULTS: dict[str, Callable[[ClusterTrial], None]] = {
    "coordinator": kill_the_coordinator,
    "shards": kill_what_is_split,
    "any shard": kill_a_shard,
    "machine": lose_a_node,
}
FEW = {("coordinator", "closed"), ("shards", "narrow"), ("machine", "wanted")}
ALL = [(fault, step) for fault in FAULTS for step in STEPS]


@pytest.mark.parametrize(
    ("fault", "step"), [one for one in ALL if IS_FULL or one in FEW], ids=lambda one: one
)
def test_a_split_survives_a_death_at_each_step(fault: str, step: str, tmp_path: Path) -> None:
    seed = 2100 + ALL.index((fault, step))
    web = web_with(seed, 30)
    with cluster_trial(tmp_path, web, nodes=2, shards=2, delay_s=DELAY_S) as going:
        going.crawl()
        assert going.wait_for(10)
        assert split(going, 0) == gossamer.ShardSplit(shard=0, child=2, shards=3)
        assert comes(going, STEPS[step])
        FAULTS[fault](going)
        assert comes(going, is_settled), going.story
        going.finish().expect(0)
        going.judge()


@only_in_full
def test_a_limit_of_pages_is_exact_over_splits_that_are_found_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KNOBS, "cluster", {"split_urls": 40})
    flags, web = ("--max-pages", "150"), web_with(2150, 40)
    with cluster_trial(tmp_path, web, *flags, nodes=2, shards=2, delay_s=DELAY_S) as going:
        going.crawl()
        assert comes(going, is_settled)
        going.finish().expect(0)
        assert charter_of(going)["shards"] > 2
        going.judge(max_pages=150)


@only_in_full
def test_a_crawl_that_was_split_is_read_restored_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    web = web_with(2160, 30)
    with cluster_trial(tmp_path, web, nodes=1, shards=2, delay_s=DELAY_S) as going:
        going.crawl()
        assert going.wait_for(10)
        split(going, 0)
        moments = {"before": time.time()}
        assert comes(going, is_settled)
        assert wait_for(lambda: len(newest_set(going)) == 3)
        moments["after"] = time.time()
        going.finish().expect(0)
        going.judge()
        page = next(iter(gossamer.open(going.url).pages())).url
        assert only_json(say("status", going.url, "--json").expect(0))["pages"] > 0
        for words in (
            ["why", page],
            ["show", page],
            ["list", "urls"],
            ["links", page],
            ["search", "the"],
        ):
            say(words[0], going.url, *words[1:], "--json").expect(0)
        for name, moment in moments.items():
            at = datetime.fromtimestamp(moment, UTC).isoformat()
            folder = tmp_path / name
            told = only_json(
                say("restore", going.url, "--into", str(folder), "--at", at, "--json").expect(0)
            )
            assert told["shards"] == {"before": 2, "after": 3}[name]
            say("check", str(folder)).expect(0)
            urls = [one.url for one in gossamer.open(folder).pages()]
            assert len(urls) == len(set(urls))
        words = ["crawl", "--into", str(tmp_path / "one"), "--store", going.url]
        finish(Child([*words, NO_TIME], {}), WHOLE_S).expect(0)
        charter = charter_of(going)
        assert not charter.get("chains"), "on one machine all shards are of one generation"
        assert charter["shards"] == 2, "as crawl.toml says"
        going.judge()


@only_in_full
def test_a_shard_of_a_crawl_in_s3_is_split_and_all_that_reads_has_both_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    web = web_with(2170, 20)
    with closing(S3Place("split")) as place:
        for name, said in place.variables.items():
            monkeypatch.setenv(name, said)
        with cluster_trial(
            tmp_path, web, nodes=2, shards=2, delay_s=DELAY_S, bucket=place.url
        ) as going:
            going.crawl()
            assert going.wait_for(10)
            split(going, 0)
            assert wait_for(lambda: shards_that_run(going) == [0, 1, 2]), going.story
            kill_what_is_split(going)
            going.finish().expect(0)
            going.judge()
            pages = [page.url for page in gossamer.open(going.url).pages()]
            listed = say("list", going.url, "pages", "--json").expect(0).out.splitlines()
            assert {json.loads(line)["url"] for line in listed} == set(pages)
            ring = ring_in(place)
            of_each = {ring(page): page for page in pages}
            assert set(of_each) == {0, 1, 2}
            for page in of_each.values():
                said = only_json(say("why", going.url, page, "--json").expect(0))
                assert said["url"] == page
                say("show", going.url, page).expect(0)
                say("links", going.url, page, "--json").expect(0)


def shards_that_run(going: ClusterTrial) -> list[int]:
    """Return the shards that run; none while one is being split."""
    crawls = gossamer.cluster_status(going.nodes[0].home).crawls
    if not crawls or crawls[0].splitting:
        return []
    return sorted(shard for shards in crawls[0].nodes.values() for shard in shards)


def ring_in(place: S3Place) -> Callable[[str], int]:
    """Return what says to which shard a URL belongs, by the newest charter of a crawl."""
    found = max(one for one in place.contents() if "/charter/" in one[0])
    charter = json.loads(found[1])
    ring = Ring.of(tuple(map(tuple, charter["ranges"])), charter["shards"])

    def owner(url: str) -> int:
        parsed = parse(url, UrlConfig())
        assert parsed is not None
        return ring.owner_of(parsed.key)

    return owner


def newest_set(going: ClusterTrial) -> list[int]:
    """Return the manifests of the newest moment that the coordinator has noted."""
    found = newest(going.folder / "store" / "sets").get("numbers", [])
    return found if isinstance(found, list) else []
