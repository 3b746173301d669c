"""A crawl in a cluster by importance begins with the ranks that its store has."""

import random
from pathlib import Path

import pytest

from gossamer.cluster import Ring
from gossamer.ranks import RankFile
from gossamer.testing import serve_in_thread
from gossamer.urls import fingerprint_of
from tests.cluster.machines import ClusterTrial, Node, cluster_of
from tests.cluster.test_cluster_index import written_web
from tests.e2e.crawler import finish, flags_for, say, write_knobs

pytestmark = pytest.mark.slow


def test_shards_take_the_ranks_that_are_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    with serve_in_thread(written_web()) as server:
        seed = server.web.host("www.site0.test").url("/")
        knobs = write_knobs(tmp_path / "knobs.toml", {"store": {"ship_s": 0.5, "lease_s": 2.0}})
        words = ("--config", str(knobs), "--delay", "0", "--no-sitemaps", "--order", "best")
        flags = flags_for(server.resolve, *words, "--shards", "2")
        trial = ClusterTrial(server, tmp_path, (seed,), flags, random.Random(7))
        with cluster_of(trial, 1) as going:
            finish(going.crawl("--max-pages", "20")).expect(0)
            assert not ranks_on(going.nodes[0])
            say("build", going.url, "graph").expect(0)
            best = say("rank", going.url, "--top", "1", "--json").expect(0).last_json["pages"][0]
            finish(going.crawl("--max-pages", "30")).expect(0)
            ranks = ranks_on(going.nodes[0])
            why = say("why", going.url, best["url"], "--json").expect(0).last_json
    assert len(ranks) == 2
    (found,) = filter(None, (one.of(fingerprint_of(best["url"])) for one in ranks))
    assert found > 1.0  # of one by the mean
    assert why["shard"] == Ring.even(2).owner_of(fingerprint_of(best["url"]))
    assert why["rank"] == pytest.approx(found), "what the shards go by is told"


def ranks_on(node: Node) -> list[RankFile]:
    """Return the ranks that the shards of a machine have taken."""
    return [RankFile.open(path) for path in (node.home / "crawls").glob("*/*/ranks")]
