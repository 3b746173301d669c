"""`gossamer receipt URL HOST` of a crawl whose shards moved: it is the servers' own log."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing import FakeWeb, LoggedRequest
from tests.cluster.machines import ClusterTrial, cluster_trial
from tests.e2e.crawler import say

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

WEB = FakeWeb(seed=2311, hosts=6, pages_per_host=14)


def receipts(trial: ClusterTrial, theirs: list[LoggedRequest]) -> dict[str, dict[str, Any]]:
    """Return the receipt of every host that was asked for something."""
    hosts = sorted({one.host.partition(":")[0] for one in theirs})
    return {host: say("receipt", trial.url, host, "--json").expect(0).last_json for host in hosts}


def told(found: dict[str, Any], *ends: str) -> Counter[str]:
    rows = [one for one in found["requests"] if one["end"] in ends]
    return Counter("/" + one["url"].split("/", 3)[3] for one in rows)


def asked(theirs: list[LoggedRequest], host: str) -> Counter[str]:
    return Counter(one.target for one in theirs if one.host.partition(":")[0] == host)


MADE = ("answered", "failed", "cut_off")


def test_the_receipt_of_shards_that_moved_is_the_servers_own_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    with cluster_trial(tmp_path, WEB, nodes=2, shards=2) as trial:
        trial.crawl()
        assert trial.wait_for(25), trial.story
        trial.drain(trial.nodes[1])  # its shard goes on at the other machine
        trial.add_node()  # and one of both at a third
        trial.finish().expect(0)
        theirs = trial.server.requests()
        found = receipts(trial, theirs)
    for host, one in found.items():
        assert told(one, *MADE) == asked(theirs, host), (host, trial.story)
        # A shard that is moved while it starts leaves URLs of which nobody knows: told apart.
        starts = [row["at"] for row in one["requests"]]
        assert starts == sorted(starts)
        assert one["least_gap_s"] >= 0.95 * trial.delay_s


def test_of_a_machine_that_was_lost_the_receipt_has_nothing_that_was_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    with cluster_trial(tmp_path, WEB, nodes=2, shards=2) as trial:
        trial.crawl()
        assert trial.wait_for(25), trial.story
        trial.nodes[1].lose()
        trial.finish().expect(0)
        theirs = trial.server.requests()
        found = receipts(trial, theirs)
    for host, one in found.items():
        made, log = told(one, *MADE), asked(theirs, host)
        assert not made - log, (host, trial.story)
        # What it has asked since its newest checkpoint went with its disk, and was asked again.
        assert made.keys() == log.keys(), (host, trial.story)
