"""A shard ships its checkpoints, whatever its database makes of its files."""

import asyncio
from pathlib import Path
from random import Random

from rocksdict import WriteOptions

from gossamer.clock import SystemClock
from gossamer.cluster import Ring
from gossamer.config import Config, StoreConfig
from gossamer.crawl.assembly import Extras, assemble
from gossamer.crawl.opening import ShardFolder
from gossamer.crawl.restoring import restore_manifests
from gossamer.crawl.shipping import Shipper
from gossamer.crawl.takeover import claim_store
from gossamer.store import CrawlFolder, CrawlStore, Objects, State

LEASE_S = 3.0
LIMIT_S = 120.0
ROW = (b"~row of no log", b"there")


def restored_row(url: str, to: Path) -> bytes | None:
    """Return the value of a row as whoever restores the newest checkpoint finds it."""
    store, folder = CrawlStore(Objects(url)), CrawlFolder(to)
    found = store.manifest(1, 0)
    assert found is not None
    folder.root.mkdir()
    restore_manifests(store, [found[1]], folder)
    state = State.open(folder.state(0))
    value = state.get(ROW[0])
    state.close()
    return value


def test_rows_that_no_log_has_are_brought_into_a_file_and_shipped(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    url = f"file://{tmp_path}/store"
    config = Config(store=StoreConfig(url=url))
    claim = claim_store(tmp_path / "crawl", url, LEASE_S, SystemClock())
    orders = claim.orders(Ring(), LEASE_S, 1.0)
    place = ShardFolder(folder=CrawlFolder(tmp_path / "crawl"))
    shard = assemble(place, config, SystemClock(), Random(1), Extras(), shipping=orders)
    assert isinstance(shard.remote, Shipper)
    in_memory_only = WriteOptions()
    in_memory_only.disable_wal = True
    shard.core.state._db.put(*ROW, write_opt=in_memory_only)
    # No moment reaches just this row: its number is in no log, nor in the MANIFEST.
    asyncio.run(asyncio.wait_for(shard.remote.ship_soon(), LIMIT_S))
    assert restored_row(url, tmp_path / "restored") == ROW[1]
    asyncio.run(shard.close())
