"""A shard ships its checkpoints, whatever its database makes of its files."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from rocksdict import WriteOptions

from gossamer.clock import SystemClock
from gossamer.cluster import Ring
from gossamer.config import Config, StoreConfig
from gossamer.crawl.assembly import Extras, Shard, assemble
from gossamer.crawl.opening import ShardFolder
from gossamer.crawl.restoring import restore_manifests
from gossamer.crawl.shipping import Shipper
from gossamer.crawl.takeover import claim_store
from gossamer.store import CrawlFolder, ShardManifest, State
from tests.e2e.crawler import say

LEASE_S = 3.0
LIMIT_S = 120.0
ROW = (b"~row of no log", b"there")


@contextmanager
def shipping(folder: Path) -> Iterator[tuple[Shard, Shipper]]:
    """Give a shard that ships to a store, and what does that."""
    url = f"file://{folder}/store"
    (folder / "store").mkdir()
    config = Config(store=StoreConfig(url=url))
    claim = claim_store(folder / "crawl", url, LEASE_S, SystemClock())
    orders = claim.orders(Ring(), LEASE_S, 1.0)
    place = ShardFolder(folder=CrawlFolder(folder / "crawl"))
    shard = assemble(place, config, SystemClock(), Random(1), Extras(), shipping=orders)
    assert isinstance(shard.remote, Shipper)
    yield shard, shard.remote
    asyncio.run(shard.close())


def ship(shipper: Shipper) -> ShardManifest:
    """Ship what is committed; return the manifest that says so."""
    asyncio.run(asyncio.wait_for(shipper.ship_soon(), LIMIT_S))
    found = shipper.store.manifest(1, 0)
    assert found is not None
    return found[1]


def test_rows_that_no_log_has_are_brought_into_a_file_and_shipped(tmp_path: Path) -> None:
    with shipping(tmp_path) as (shard, shipper):
        in_memory_only = WriteOptions()
        in_memory_only.disable_wal = True
        shard.core.state._db.put(*ROW, write_opt=in_memory_only)
        # No moment reaches just this row: its number is in no log, nor in the MANIFEST.
        manifest = ship(shipper)
        folder = CrawlFolder(tmp_path / "restored")
        folder.root.mkdir()
        restore_manifests(shipper.store, [manifest], folder)
    state = State.open(folder.state(0))
    assert state.get(ROW[0]) == ROW[1]
    state.close()


def test_a_checkpoint_counts_what_it_has_and_not_what_is_not_committed_yet(tmp_path: Path) -> None:
    with shipping(tmp_path) as (shard, shipper):
        counters = shard.ledger.counters
        counters.pages += 3
        shard.ledger.commit()
        counters.pages += 4  # of a group that is still gathered
        assert ship(shipper).counters.pages == 3


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("--store", ""), "is a variable not set?"),
        (("--store", "file://relative/folder"), "file:///FOLDER"),
        (("--store", "s3:/typo"), "s3://BUCKET/PREFIX"),
        (("--take-over",), "give --store URL"),
    ],
)
def test_a_store_that_cannot_be_meant_is_refused_and_no_folder_is_made(
    words: tuple[str, ...], remedy: str, tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    refused = say("crawl", "http://a.test/", "--into", str(folder), *words).expect(2)
    assert remedy in refused.err
    assert not folder.exists()
