"""A crawl by a cluster has two shards at least."""

from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.crawl.cluster_claim import CoordinatorOffer, claim_cluster
from gossamer.errors import ConfigError


def offer_of(folder: Path, shards: int, usual_shards: int = 4) -> CoordinatorOffer:
    return CoordinatorOffer(
        url=f"file://{folder}",
        address="127.0.0.1:1",
        fingerprint="",
        lease_s=0.1,
        shards=shards,
        usual_shards=usual_shards,
    )


def test_one_shard_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--shards 1: a crawl by a cluster needs two"):
        claim_cluster(offer_of(tmp_path, 1), SystemClock())
    assert not list(tmp_path.rglob("*")), "nothing was written"


def test_a_crawl_that_has_one_shard_is_refused_with_the_line_that_splits_it(
    tmp_path: Path,
) -> None:
    claim_cluster(offer_of(tmp_path, 0, usual_shards=1), SystemClock()).end()
    with pytest.raises(ConfigError, match=r"has one shard.*--shards 4 --max-time 0s"):
        claim_cluster(offer_of(tmp_path, 0), SystemClock())
