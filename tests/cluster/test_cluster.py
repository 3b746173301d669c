"""A crawl on several machines loses nothing and stores nothing twice, whoever dies when.

Without Ray: machines are process groups that speak TLS over loopback. The judges are the server's
log and the archive. `make test-cluster` plays all of it; otherwise there is one crawl with a fault
of each of three kinds.
"""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from laboratory.addresses import PROBE, address_gaps, asked, probing, sharing_web, too_short

from gossamer.testing import FakeWeb, serve_in_thread
from tests.cluster.extent import IS_FULL
from tests.cluster.machines import (
    LEASE_S,
    ClusterTrial,
    cluster_of,
    cluster_trial,
    is_running,
    wait_for,
)
from tests.e2e.crawler import finish, flags_for, wait_until, write_knobs

pytestmark = pytest.mark.slow
only_in_full = pytest.mark.skipif(not IS_FULL, reason="played by make test-cluster")


def web_of(seed: int, faults: int) -> FakeWeb:
    """Return a web for so many faults that do not take long."""
    return web_with(seed, 10 + 8 * faults)


def web_with(seed: int, pages: int) -> FakeWeb:
    """Return a web of so many pages per host: a crawl must not end before all faults are played."""
    return FakeWeb(seed=seed, hosts=6, pages_per_host=pages)


def kill_a_shard(going: ClusterTrial) -> None:
    running = [pid for node in going.nodes for pid in node.shards()]
    if running:
        os.kill(going.dice.choice(running), signal.SIGKILL)
        going.losses += 1
    going.note("shard killed at", going.served())


def lose_a_node(going: ClusterTrial) -> None:
    node = going.dice.choice(going.nodes[1:])
    node.lose()
    going.losses += 1
    going.note(node.name, "lost at", going.served())
    time.sleep(going.dice.uniform(0.0, LEASE_S))
    node.start()


def freeze_a_node(going: ClusterTrial) -> None:
    node = going.dice.choice(going.nodes[1:])
    node.freeze()
    going.note(node.name, "frozen at", going.served())
    time.sleep(going.dice.uniform(LEASE_S, 6 * LEASE_S))
    node.thaw()
    going.losses += 1
    going.note(node.name, "thawed at", going.served())


def kill_the_coordinator(going: ClusterTrial) -> None:
    going.coordinators[-1].kill()
    going.coordinators[-1].communicate()
    going.note("coordinator killed at", going.served())
    time.sleep(going.dice.uniform(0.0, LEASE_S))
    going.crawl("--take-over")


def kill_the_coordinator_in_a_move(going: ClusterTrial) -> None:
    node = going.dice.choice(going.nodes[1:])
    going.begin_drain(node)
    time.sleep(going.dice.uniform(0.0, 1.5))
    kill_the_coordinator(going)
    has_left = wait_for(
        lambda: not is_running(node.pid) or going.coordinators[-1].poll() is not None
    )
    assert has_left, going.story
    if not is_running(node.pid):
        node.start()


def take_the_store_away(going: ClusterTrial) -> None:
    store, away = going.folder / "store", going.folder / "away"
    store.rename(away)
    going.note("store away at", going.served())
    time.sleep(going.dice.uniform(0.5, 3 * LEASE_S))
    if store.exists():  # made anew by what was being written just then: nobody relies on that
        shutil.rmtree(store)
    away.rename(store)


class Fault(NamedTuple):
    """What is done to a crawl, how often, and how many pages per host it needs to last so long."""

    play: Callable[[ClusterTrial], None]
    times: int
    pages: int


FAULTS = {
    "shards": Fault(kill_a_shard, 20, 150),
    "nodes": Fault(lose_a_node, 30, 400),
    "frozen": Fault(freeze_a_node, 10, 250),
    "coordinators": Fault(kill_the_coordinator, 5, 150),
    "moves": Fault(kill_the_coordinator_in_a_move, 5, 200),
    "store": Fault(take_the_store_away, 5, 120),
}


def play(going: ClusterTrial, kinds: list[str]) -> int:
    """Crawl to the end with one fault after the other; return how many the crawl has met."""
    going.crawl()
    played = 0
    for kind in kinds:
        if not going.wait_for(going.dice.randint(5, 30)):
            break
        time.sleep(going.dice.uniform(0.0, 1.0))
        if going.coordinators[-1].poll() is not None:
            break
        FAULTS[kind].play(going)
        played += 1
    ended = going.finish().expect(0)
    assert ended.last_json["finished"] is (ended.last_json["reason"] == "finished")
    print("played", played, "of", len(kinds), kinds[:1])  # noqa: T201 - for people
    return played


def test_one_fault_of_each_of_three_kinds_loses_nothing(tmp_path: Path) -> None:
    kinds = ["shards", "nodes", "coordinators"]
    with cluster_trial(tmp_path, web_of(2001, 1), nodes=2, shards=2) as going:
        play(going, kinds)
        going.judge()


@only_in_full
@pytest.mark.parametrize("kind", list(FAULTS))
def test_faults_of_a_kind_lose_nothing(kind: str, tmp_path: Path) -> None:
    fault = FAULTS[kind]
    with cluster_trial(tmp_path, web_with(2002, fault.pages), nodes=4, shards=4) as going:
        assert play(going, [kind] * fault.times) == fault.times, going.story
        going.judge()


@only_in_full
@pytest.mark.parametrize("seed", range(3))
def test_mixed_faults_leave_a_limit_of_pages_exact(seed: int, tmp_path: Path) -> None:
    flags, web = ("--max-pages", "260"), web_with(2010 + seed, 74)
    with cluster_trial(tmp_path, web, *flags, nodes=3, shards=4) as going:
        kinds = list(FAULTS)
        play(going, [going.dice.choice(kinds) for _ in range(6)])
        going.judge(max_pages=260)


@only_in_full
def test_nodes_that_join_and_leave_get_shards_and_give_them_back(tmp_path: Path) -> None:
    with cluster_trial(tmp_path, web_with(2030, 122), nodes=2, shards=4) as going:
        going.crawl()
        for _ in range(5):
            if not going.wait_for(30):
                break
            going.add_node()
            going.wait_for(60)
            going.drain(going.nodes[-1])
        going.finish().expect(0)
        going.judge()


@only_in_full
def test_no_two_machines_ask_an_address_within_its_gap(tmp_path: Path) -> None:
    with serve_in_thread(sharing_web(20, 0, 2)) as server, probing(server):
        names = [name for name in server.web.addresses if name != PROBE]
        knobs = {
            "store": {"ship_s": 1.0, "lease_s": LEASE_S},
            "politeness": {"address_delay_s": 0.25},
            "robots": {"own_hosts": names},
        }
        file = write_knobs(tmp_path / "knobs.toml", knobs)
        words = ("--config", str(file), "--no-sitemaps", "--shards", "4", "--delay", "0.3")
        seeds = tuple(server.web.host(name).url() for name in names)
        trial = ClusterTrial(
            server, tmp_path, seeds, flags_for(server.resolve, *words), random.Random(7)
        )
        with cluster_of(trial, 2) as going:
            process = going.crawl()
            assert wait_until(lambda: len(asked(server)) >= 5, process)
            os.kill(going.nodes[1].shards()[0], signal.SIGKILL)
            finish(process).expect(0)
        assert {visit.host for visit in asked(server)} == set(names)
        gaps = address_gaps(server)
        assert len(gaps) >= 18
        assert too_short(gaps, 0.95 * 0.25) == []
