"""A cluster that goes down ends its crawls first, as Ctrl-C does: no shard is killed."""

from pathlib import Path

from gossamer.cli.main import STOPPED
from gossamer.testing import FakeWeb
from tests.cluster.machines import cluster_trial, gossamer_says, wait_for


def down(home: str) -> dict[str, object]:
    return gossamer_says("cluster", "down", "--home", home, "--json", variables={})


def test_a_cluster_that_goes_down_ends_its_crawl_cleanly(tmp_path: Path) -> None:
    web = FakeWeb(seed=2050, hosts=6, pages_per_host=300)
    with cluster_trial(tmp_path, web, nodes=2, shards=2) as going:
        going.crawl()
        assert going.wait_for(40)
        home = str(going.nodes[0].home)
        down(home)
        ended = going.finish().expect(STOPPED)
        assert wait_for(lambda: down(home)["nodes"] == [])  # it was down, and stays so
    assert ended.last_json["restarts"] == 0
    assert ended.last_json["reason"] == "stopped"
    told = gossamer_says("status", going.url, "--json", variables={})
    assert told["pages"] == ended.last_json["pages"] > 0
