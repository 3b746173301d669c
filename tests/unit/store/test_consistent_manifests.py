"""A set of checkpoints of all shards is found while they go on shipping."""

import threading
from pathlib import Path

import pytest
from msgspec import json

from gossamer.errors import CannotGoOn
from gossamer.store import CrawlCharter, CrawlStore, Objects, ShardManifest

SHARDS = 24


def charter() -> CrawlCharter:
    return CrawlCharter(
        crawl="c", lineage="l", owner="o", lease_s=1.0, epoch=1, nonce="n", at=0.0, generation=1,
        shards=SHARDS,
    )  # fmt: skip


def manifest(shard: int, number: int) -> bytes:
    return json.encode(
        ShardManifest(
            crawl="c", shard=shard, epoch=1, lineage="l", nonce="n", at=0.0, sequence=number
        )
    )


def test_a_set_of_one_moment_is_found_while_shards_ship(tmp_path: Path) -> None:
    store = CrawlStore(Objects(f"file://{tmp_path}/store", is_made=True))
    chains = [store.shard_chain(1, shard) for shard in range(SHARDS)]
    for shard, chain in enumerate(chains):
        assert chain.append(1, manifest(shard, 1))
    is_over = threading.Event()

    def ship() -> None:
        """Let each shard ship after the one before it: later ones rely on earlier ones."""
        number = 1
        while not is_over.wait(0.05):
            number += 1
            for shard, chain in enumerate(chains):
                chain.append(number, manifest(shard, number))

    shipping = threading.Thread(target=ship)
    shipping.start()
    try:
        for _ in range(5):
            found = store.consistent_manifests(charter())
            steps = [one.sequence for one in found]
            assert [one.shard for one in found] == list(range(SHARDS))
            assert steps == sorted(steps, reverse=True)
            assert steps[0] - steps[-1] <= 1
    finally:
        is_over.set()
        shipping.join()


def test_a_shard_without_a_manifest_is_told(tmp_path: Path) -> None:
    store = CrawlStore(Objects(f"file://{tmp_path}/store", is_made=True))
    with pytest.raises(CannotGoOn, match="a shard has no manifest"):
        store.consistent_manifests(charter())
