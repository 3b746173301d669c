"""The same through Ray: real Ray nodes on loopback addresses, killed with their disks.

Skipped where Ray is not installed: `make test-ray` installs it and plays all.
"""

import importlib.util
import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.cluster import Ring
from gossamer.config import UrlConfig
from gossamer.errors import GossamerError
from gossamer.testing import FakeWeb
from gossamer.urls import parse
from tests.cluster.machines import LEASE_S, ClusterTrial, cluster_trial, gossamer_says, wait_for
from tests.e2e.crawler import finish

IS_FULL = bool(os.environ.get("RAY_FULL"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: make test-ray does"
    ),
]
only_in_full = pytest.mark.skipif(not IS_FULL, reason="played by make test-ray")
AIM_S, END_S = 8.0, 600.0
"""Within which a shard is to have joined elsewhere, on a quiet machine."""
HOSTS, DELAY_S = 20, 0.5
"""Four of each domain: of so many each of four shards has some. With 250 pages each, a crawl takes
two minutes at least."""
TOLD = re.compile(r"^(\S+ \S+) INFO shard\.(\w+) shard=(\d+) ?(.*)$", re.MULTILINE)
STAGES = {"died": "noticed", "starts": "placed", "called": "called", "joined": "joined"}
"""What a coordinator tells of a shard, and the words for it."""


def trial(folder: Path, web: FakeWeb, *, nodes: int, shards: int) -> Any:
    return cluster_trial(folder, web, nodes=nodes, shards=shards, engine="ray", delay_s=DELAY_S)


@dataclass
class Kill:
    """A node that was killed, and what ran on it."""

    node: str
    at: float
    shards: list[int]


def shards_of(going: ClusterTrial) -> dict[str, list[int]]:
    """Return the shards of each machine, as the cluster tells."""
    home = str(going.nodes[0].home)
    told = gossamer_says("cluster", "status", "--home", home, "--json", variables={})
    return {name: shards for crawl in told["crawls"] for name, shards in crawl["nodes"].items()}


def kill_a_node(going: ClusterTrial) -> Kill:
    """Kill Ray and all that it runs on a machine, with its disk; let the machine come back."""
    placed = shards_of(going)
    node = going.dice.choice([one for one in going.nodes[1:] if placed.get(one.name)])
    kill = Kill(node.name, time.time(), placed[node.name])
    node.lose()
    going.losses += 1
    going.note(node.name, "lost at", going.served(), "with", kill.shards)
    return kill


@dataclass
class Event:
    """What a coordinator has told of a shard."""

    what: str
    at: float
    shard: int
    words: str


def events_in(told: str) -> list[Event]:
    """Return what a coordinator has told of shards."""
    return [
        Event(
            STAGES[what],
            datetime.fromisoformat(at.replace(",", ".")).astimezone().timestamp(),
            int(shard),
            words,
        )
        for at, what, shard, words in TOLD.findall(told)
        if what in STAGES
    ]


def tell_moves(going: ClusterTrial, kills: list[Kill], told: str) -> None:
    """Tell how long each shard took until it had joined from another machine, and asked a host.

    Told, not required: a machine that has more to do takes longer, and nothing is wrong with it.
    """
    events, visits, load = events_in(told), going.server.requests(), os.getloadavg()[0]
    ring = Ring.even(going.shards)
    owner = {
        host: ring.owner_of(url.key)
        for host in {visit.host for visit in visits}
        if (url := parse(f"http://{host}/", UrlConfig())) is not None
    }
    for kill in kills:
        worst = 0.0
        print(f"{kill.node} killed:")  # noqa: T201 - for people
        for shard in kill.shards:
            after = [one for one in events if one.shard == shard and one.at > kill.at]
            end = next((n for n, one in enumerate(after) if one.what == "joined"), None)
            if end is None:
                print(f"  shard {shard} was not wanted any more")  # noqa: T201 - for people
                continue
            stages = [f"{one.what} {one.at - kill.at:.1f}" for one in after[: end + 1]]
            at = after[end].at
            worst = max(worst, at - kill.at)
            asked = (one.at - at for one in visits if owner[one.host] == shard and one.at > at)
            first = next(asked, None)
            asks = "it asked none" if first is None else f"{first:.1f} s later it asked a host"
            parts = " ".join(word for word in after[end].words.split() if "_s=" in word)
            print(f"  shard {shard}: {', '.join(stages)} s ({parts}); {asks}")  # noqa: T201 - same
        aim = "reached" if worst <= AIM_S else "missed"
        print(f"  aim {AIM_S:g} s: {aim}; lease {LEASE_S:g} s, load {load:.1f}")  # noqa: T201 - same


def crawl_with_kills(going: ClusterTrial, kills: int) -> None:
    going.crawl("--verbose")
    done: list[Kill] = []
    for _ in range(kills):
        if not going.wait_for(going.dice.randint(20, 40)) or not runs_elsewhere(going):
            break
        done.append(kill_a_node(going))
        node = next(one for one in going.nodes if one.name == done[-1].node)
        wait_for(lambda lost=done[-1].shards: is_placed(going, lost), 60.0)
        node.start()
    ended = finish(going.coordinators[-1], END_S).expect(0)
    assert ended.last_json["finished"], ended
    tell_moves(going, done, ended.err)
    going.judge()
    assert len(done) == kills, (going.story, "the crawl ended first")


def runs_elsewhere(going: ClusterTrial) -> bool:
    """Wait until a machine that may be killed has shards; False if the crawl ended."""
    return (
        wait_for(
            lambda: (
                going.coordinators[-1].poll() is not None
                or any(shards for name, shards in shards_of(going).items() if name != "node-0")
            )
        )
        and going.coordinators[-1].poll() is None
    )


def is_placed(going: ClusterTrial, shards: list[int]) -> bool:
    running = {shard for found in shards_of(going).values() for shard in found}
    return running >= set(shards) or going.coordinators[-1].poll() is not None


def test_a_ray_node_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    web = FakeWeb(seed=2101, hosts=12, pages_per_host=60)
    with trial(tmp_path, web, nodes=2, shards=2) as going:
        crawl_with_kills(going, 1)


@only_in_full
def test_five_ray_nodes_that_are_killed_lose_nothing(tmp_path: Path) -> None:
    web = FakeWeb(seed=2102, hosts=HOSTS, pages_per_host=250)
    with trial(tmp_path, web, nodes=3, shards=4) as going:
        crawl_with_kills(going, 5)


@only_in_full
def test_ray_nodes_join_and_leave_during_a_crawl(tmp_path: Path) -> None:
    web = FakeWeb(seed=2103, hosts=HOSTS, pages_per_host=250)
    with trial(tmp_path, web, nodes=2, shards=4) as going:
        going.crawl()
        done = 0
        for turn in range(5):
            if not going.wait_for(20):
                break
            node = going.add_node()
            got = wait_for(lambda name=node.name: has_shards(going, name), 60.0)
            if going.coordinators[-1].poll() is not None:
                break
            assert got, (turn, "it got none")
            going.drain(node)
            done += 1
        assert finish(going.coordinators[-1], END_S).expect(0).last_json["finished"]
        going.judge()
    if done < 5:
        pytest.skip(f"this machine is slow: the crawl ended after {done} of 5 had come and gone")


def has_shards(going: ClusterTrial, name: str) -> bool:
    return bool(shards_of(going).get(name)) or going.coordinators[-1].poll() is not None


@only_in_full
def test_shards_on_ray_are_split_three_times_during_a_crawl(tmp_path: Path) -> None:
    web = FakeWeb(seed=2104, hosts=HOSTS, pages_per_host=150)
    with trial(tmp_path, web, nodes=2, shards=2) as going:
        going.crawl()
        for turn in range(3):
            assert going.wait_for(40), (turn, "the crawl ended first")
            assert wait_for(lambda: is_split(going))
            assert wait_for(lambda goal=3 + turn: shards_that_count(going) == goal), turn
        assert finish(going.coordinators[-1], END_S).expect(0).last_json["finished"]
        going.judge()


def is_split(going: ClusterTrial) -> bool:
    """Have the largest shard split; False while another split is not done."""
    with pytest.MonkeyPatch.context() as patched, suppress(GossamerError):
        patched.setenv("GOSSAMER_CLUSTER", str(going.nodes[0].home))
        gossamer.cluster_split(going.url)
        return True
    return going.coordinators[-1].poll() is not None


def shards_that_count(going: ClusterTrial) -> int:
    charter = max((going.folder / "store" / "charter").iterdir())
    shards: int = json.loads(charter.read_bytes())["shards"]
    return shards
