"""Machines with several addresses: what runs on one listens where it was told to."""

from contextlib import suppress
from pathlib import Path
from socket import inet_ntoa

from gossamer.testing import FakeWeb
from tests.cluster.machines import cluster_trial, gossamer_says, wait_for
from tests.e2e.crawler import say

LISTENING = "0A"


def listened(pid: int) -> set[str]:
    """Return the addresses at which a process listens."""
    theirs = set()
    for end in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            theirs.add(str(end.readlink()))
    found = set()
    for row in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        words = row.split()
        if words[3] == LISTENING and f"socket:[{words[9]}]" in theirs:
            found.add(inet_ntoa(bytes.fromhex(words[1].partition(":")[0])[::-1]))
    return found


def test_machines_listen_where_they_were_told_to(tmp_path: Path) -> None:
    web = FakeWeb(seed=2040, hosts=6, pages_per_host=200)
    with cluster_trial(tmp_path, web, nodes=2, shards=2) as going:
        crawl = going.crawl()

        def both_listen() -> bool:
            shards = [node.shards() for node in going.nodes]
            return all(of and all(listened(pid) for pid in of) for of in shards)

        assert wait_for(lambda: crawl.poll() is not None or both_listen())
        home = str(going.nodes[1].home)
        facts = gossamer_says("cluster", "status", "--home", home, "--json", variables={})
        hosts = ["127.0.0.2", "127.0.0.3"]
        assert [node["host"] for node in facts["nodes"]] == hosts
        for node, host in zip(going.nodes, hosts, strict=True):
            assert [listened(pid) for pid in node.shards()] == [{host}]
        assert [one["coordinator"].rpartition(":")[0] for one in facts["crawls"]] == [hosts[0]]
        assert listened(crawl.pid) == {hosts[0]}


def test_an_address_that_others_cannot_call_is_refused(tmp_path: Path) -> None:
    for host, reason in (("0.0.0.0", "expected the address by which"), ("192.0.2.7", "of this")):
        told = say("cluster", "up", "--listen", host, "--home", str(tmp_path / "new")).expect(2)
        assert reason in told.err
        assert not (tmp_path / "new").exists()
