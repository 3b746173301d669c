"""A crawl on several machines loses nothing and stores nothing twice, whoever dies when.

Without Ray: machines are process groups that speak TLS over loopback. The judges are the server's
log and the archive. `make test-cluster` plays all of it; otherwise there is one crawl with a fault
of each of three kinds. The web goes on until all faults are played, and each must have met a crawl
that ran.
"""

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from laboratory.addresses import PROBE, address_gaps, asked, probing, sharing_web, too_short

from gossamer.testing import serve_in_thread
from tests.cluster.conftest import FaultTally
from tests.cluster.endless import EndlessWeb, names_for
from tests.cluster.extent import IS_FULL
from tests.cluster.machines import (
    KNOBS,
    LEASE_S,
    ClusterTrial,
    Node,
    cluster_of,
    cluster_trial,
    is_running,
    wait_for,
)
from tests.cluster.splitting import begin_split, is_between, is_settled
from tests.e2e.crawler import finish, flags_for, wait_until, write_knobs

pytestmark = pytest.mark.slow
only_in_full = pytest.mark.skipif(not IS_FULL, reason="played by make test-cluster")
SPARE = 10
"""Requests that are answered beyond those that the next fault waits for, where there is a limit."""
PATIENT = {"first_byte_s": 600.0, "stall_s": 600.0, "total_s": 1200.0}


def kill_a_shard(going: ClusterTrial) -> bool:
    running: list[int] = []

    def is_there() -> bool:
        running[:] = [pid for node in going.nodes for pid in node.shards()]
        return bool(running)

    assert wait_for(is_there), "no shard is started again"
    pid = going.dice.choice(running)
    os.kill(pid, signal.SIGKILL)
    assert wait_for(lambda: not is_running(pid))
    going.losses += 1
    going.note("shard killed at", going.served())
    return True


def node_with_shards(going: ClusterTrial) -> Node:
    """Return a machine that runs a shard, and is not the first one."""
    found: list[Node] = []

    def is_there() -> bool:
        found[:] = [node for node in going.nodes[1:] if node.shards()]
        return bool(found)

    assert wait_for(is_there), "no machine has shards"
    return going.dice.choice(found)


def lose_a_node(going: ClusterTrial) -> bool:
    node = node_with_shards(going)
    node.lose()
    going.losses += 1
    going.note(node.name, "lost at", going.served())
    time.sleep(going.dice.uniform(0.0, LEASE_S))
    node.start()
    return True


def freeze_a_node(going: ClusterTrial) -> bool:
    node = node_with_shards(going)
    node.freeze()
    going.note(node.name, "frozen at", going.served())
    time.sleep(going.dice.uniform(LEASE_S, 6 * LEASE_S))
    node.thaw()
    going.losses += 1
    going.note(node.name, "thawed at", going.served())
    return True


def kill_the_coordinator(going: ClusterTrial) -> bool:
    coordinator = going.coordinators[-1]
    coordinator.kill()
    coordinator.communicate()
    assert coordinator.returncode == -signal.SIGKILL, "it had ended before"
    going.note("coordinator killed at", going.served())
    time.sleep(going.dice.uniform(0.0, LEASE_S))
    going.crawl("--take-over")
    return True


def kill_the_coordinator_in_a_move(going: ClusterTrial) -> bool:
    """Let a machine give its shards away; return False if it had by the time of the kill."""
    node = node_with_shards(going)
    going.begin_drain(node)
    time.sleep(going.dice.uniform(0.0, 1.5))
    is_moving = is_running(node.pid)
    kill_the_coordinator(going)
    assert wait_for(lambda: not is_running(node.pid) or going.is_over), going.story
    if not is_running(node.pid):
        node.start()
    return is_moving


def kill_the_coordinator_in_a_split(going: ClusterTrial) -> bool:
    """Let the largest shard be split; return False if it was by the time of the kill."""
    begin_split(going)
    time.sleep(going.dice.uniform(0.0, 1.0))
    is_half = is_between(going)
    kill_the_coordinator(going)
    assert wait_for(lambda: is_settled(going) or going.is_over), going.story
    return is_half


def take_the_store_away(going: ClusterTrial) -> bool:
    store, away = going.folder / "store", going.folder / "away"
    store.rename(away)
    going.note("store away at", going.served())
    time.sleep(going.dice.uniform(0.5, 3 * LEASE_S))
    if store.exists():  # made anew by what was being written just then: nobody relies on that
        shutil.rmtree(store)
    away.rename(store)
    return True


class Fault(NamedTuple):
    """What is done to a crawl, and what it counts as."""

    play: Callable[[ClusterTrial], bool]
    """Returns True if it was what it is called; it is played again otherwise."""
    what: str


FAULTS = {
    "shards": Fault(kill_a_shard, "shards killed"),
    "nodes": Fault(lose_a_node, "nodes killed, folders deleted"),
    "frozen": Fault(freeze_a_node, "nodes frozen and thawed"),
    "coordinators": Fault(kill_the_coordinator, "coordinators killed"),
    "moves": Fault(kill_the_coordinator_in_a_move, "coordinators killed"),
    "splits": Fault(kill_the_coordinator_in_a_split, "coordinators killed"),
    "store": Fault(take_the_store_away, "store away"),
}
WANTED = {
    "nodes killed, folders deleted": 30,
    "nodes frozen and thawed": 10,
    "shards killed": 20,
    "coordinators killed": 10,
    "store away": 5,
}
CRAWLS = {
    "machines": {"nodes": 30},
    "processes": {"shards": 20, "frozen": 10, "store": 5},
    "coordinators": {"coordinators": 4, "moves": 3, "splits": 3},
}
"""Long crawls at the same time, of about the same length, and how often what happens in each."""
MOST_TRIES = 5


def endless_web(seed: int, shards: int) -> EndlessWeb:
    """Return a web that lasts, with two hosts for each shard."""
    return EndlessWeb(names_for(shards, 2), seed)


def play(going: ClusterTrial, kinds: list[str]) -> Counter[str]:
    """Crawl with one fault after the other; return how many of what a running crawl has met."""
    going.crawl()
    played: Counter[str] = Counter()
    for kind in kinds:
        for _ in range(MOST_TRIES):
            progress(going)
            was_so = FAULTS[kind].play(going)
            assert not going.is_over, (going.story, "the crawl ended in a fault", played)
            if was_so:
                break
        else:
            pytest.fail(f"{kind}: it was over each time before it was killed; {going.story}")
        played[FAULTS[kind].what] += 1
    return played


def progress(going: ClusterTrial) -> None:
    """Wait until the crawl has asked for some more."""
    more = going.dice.randint(5, 30)
    if (web := going.server.web).allowed is not None:
        web.allowed = max(web.allowed, web.answered + more + SPARE)
    assert going.wait_for(more), (going.story, "the crawl ended first, or stands still")
    time.sleep(going.dice.uniform(0.0, 1.0))


def finish_well(going: ClusterTrial) -> None:
    """Let the web have an end, and the crawl find it."""
    going.server.web.close()
    ended = going.finish().expect(0)
    assert ended.last_json["finished"] is (ended.last_json["reason"] == "finished")


def test_all_faults_are_played_that_must_be() -> None:
    planned: Counter[str] = Counter()
    for kinds in CRAWLS.values():
        planned.update({FAULTS[kind].what: 0 for kind in kinds})
        for kind, times in kinds.items():
            planned[FAULTS[kind].what] += times
    assert planned == WANTED


def test_one_fault_of_each_of_three_kinds_loses_nothing(tmp_path: Path, tally: FaultTally) -> None:
    with cluster_trial(tmp_path, endless_web(2001, 2), nodes=2, shards=2) as going:
        played = play(going, ["shards", "nodes", "coordinators"])
        finish_well(going)
        tally.note("one of each of three kinds", played, going.judge())


@only_in_full
@pytest.mark.parametrize("name", list(CRAWLS))
def test_a_long_crawl_loses_nothing(name: str, tmp_path: Path, tally: FaultTally) -> None:
    shards, seed = 4, 2002 + list(CRAWLS).index(name)
    with cluster_trial(tmp_path, endless_web(seed, shards), nodes=4, shards=shards) as going:
        kinds = [kind for kind, times in CRAWLS[name].items() for _ in range(times)]
        going.dice.shuffle(kinds)
        played = play(going, kinds)
        finish_well(going)
        tally.note(name, played, going.judge())


@only_in_full
@pytest.mark.parametrize("seed", range(3))
def test_mixed_faults_leave_a_limit_of_pages_exact(
    seed: int, tmp_path: Path, tally: FaultTally, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KNOBS, "fetch", PATIENT)  # a web that holds its answers
    limit, faults, web = 260, 6, endless_web(2010 + seed, 4)
    web.allowed = 0
    with cluster_trial(tmp_path, web, "--max-pages", str(limit), nodes=3, shards=4) as going:
        kinds = [kind for kind in FAULTS if kind != "splits"]
        played = play(going, [going.dice.choice(kinds) for _ in range(faults)])
        assert web.answered < limit
        web.allowed = None
        going.finish().expect(0)
        tally.note(f"{limit} pages at most, {seed}", played, going.judge(max_pages=limit))


@only_in_full
def test_nodes_that_join_and_leave_get_shards_and_give_them_back(
    tmp_path: Path, tally: FaultTally
) -> None:
    with cluster_trial(tmp_path, endless_web(2030, 4), nodes=2, shards=4) as going:
        going.crawl()
        for turn in range(5):
            assert going.wait_for(30), turn
            node = going.add_node()
            assert wait_for(lambda node=node: bool(node.shards()) or going.is_over)
            assert going.wait_for(30), turn
            going.drain(node)
            assert not going.is_over, turn
        finish_well(going)
        tally.note("joins and leaves", Counter({"nodes joined and left": 5}), going.judge())


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
