"""A crawl of one machine goes on in a cluster: it is shipped and split first, once."""

from pathlib import Path

import pytest

from gossamer.testing import FakeWeb
from tests.cluster.extent import IS_FULL
from tests.cluster.machines import cluster_trial
from tests.e2e.crawler import say

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not IS_FULL, reason="played by make test-cluster"),
]


@pytest.mark.parametrize("place", ["folder", "store"])
def test_a_crawl_of_one_shard_is_split_when_it_joins_a_cluster(tmp_path: Path, place: str) -> None:
    with cluster_trial(tmp_path, FakeWeb(seed=2040, hosts=6, pages_per_host=20), nodes=2) as going:
        is_stored = place == "store"
        more = ["--store", going.url] if is_stored else []
        own = str(tmp_path / "own")
        words = [*going.seeds, *going.words, "--into", own, "--max-pages", "30", "--shards", "1"]
        say("crawl", *words, *more).expect(0)
        child = going.crawl("--max-pages", "100000", *([] if is_stored else ["--into", own]))
        ended = going.finish().expect(0)
        assert ended.last_json["finished"]
        assert child.poll() == 0
        nodes = say("status", going.url, "--json").expect(0).last_json["store"]["nodes"]
        assert sorted(shard for held in nodes.values() for shard in held) == [0, 1, 2, 3]
        going.judge()
