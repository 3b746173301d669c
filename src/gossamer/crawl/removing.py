"""Removing for good, from a folder and from its object store: see `mend/purging.py`."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import uvloop
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.cluster import read_charter
from gossamer.crawl.elsewhere import ship_shard
from gossamer.crawl.forgetting import Forgotten, forget_noted, read_note
from gossamer.crawl.keeper import Keeper, KeepRequest, keeping
from gossamer.crawl.mend import Purged, ensure_shards, finish_purge, prune_locked, purge_locked
from gossamer.crawl.opening import ShardFolder, lock_folder
from gossamer.crawl.takeover import folders_aside
from gossamer.durable import sync
from gossamer.errors import CannotGoOn
from gossamer.linux import boot_time
from gossamer.model import BuildProgress
from gossamer.settings import load_crawl_config
from gossamer.store import (
    CrawlFolder,
    CrawlStore,
    Objects,
    bring_whole,
    forget_far,
    store_of,
)

SETTLE_S = 30.0
"""How long is waited until what was shipped counts, and how often is looked."""
LOOK_S = 0.1


def purge_urls(root: Path, patterns: Iterable[str], tell: BuildProgress) -> Purged:
    """Remove everything of URLs that patterns name from the archive of a crawl that is stopped."""
    folder, named = CrawlFolder(root), list(patterns)
    done = _removing(folder, lambda store: purge_locked(folder, named, store, tell), tell)
    return _with_set_aside(folder, done)


def prune_editions(root: Path, keep: int, before: float, tell: BuildProgress) -> Purged:
    """Remove editions that were asked for last before a moment, but for the newest of each URL."""
    folder = CrawlFolder(root)
    done = _removing(folder, lambda store: prune_locked(folder, keep, before, store, tell), tell)
    return _with_set_aside(folder, done)


def _with_set_aside(folder: CrawlFolder, done: Purged) -> Purged:
    """Add what was not searched: it may be all that is left of pages that no store has."""
    return replace(done, set_aside=[str(path) for path in folders_aside(folder)])


def _removing(
    folder: CrawlFolder, removed: Callable[[CrawlStore | None], Purged], tell: BuildProgress
) -> Purged:
    """Remove something from a crawl that is ours, and from its store if it has one."""
    config = load_crawl_config(folder.root)
    url = config.store.url
    if not url:
        with lock_folder(folder, SystemClock()):
            _expect_no_other_store(folder)
            finish_purge(folder, tell)
            return removed(None)
    store = CrawlStore(Objects(url))
    _expect_one_machine(store)
    request = KeepRequest(
        root=str(folder.root.absolute()),
        url=url,
        lease_s=config.store.lease_s,
        ship_s=config.store.ship_s,
        keeps_history=False,
    )
    with keeping(request) as keeper:
        with lock_folder(folder, SystemClock()) as lock:
            _bring_archive_here(folder)
            finish_purge(folder, tell)
            done = removed(store)
            try:
                forgotten = _ship_and_forget(folder, store, keeper, lock)
            except CannotGoOn as error:
                raise CannotGoOn(
                    f"it is gone from {folder.root}, and not yet from its store: {error}; run this "
                    "again, or start the crawl, to finish it"
                ) from error
        keeper.end()
    if forgotten is None:
        return done
    return replace(done, store=url, objects=forgotten.objects, checkpoints=forgotten.sets)


def _ship_and_forget(
    folder: CrawlFolder, store: CrawlStore, keeper: Keeper, lock: int
) -> Forgotten | None:
    """Ship the folder as it is; then let the store forget what was purged."""
    config = load_crawl_config(folder.root)
    ring = ensure_shards(folder, config, read_charter(folder.charter_path).shards, lock)
    orders = keeper.orders(ring)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for number in ring.numbers:
            place = ShardFolder(folder=folder, shard=number, ring=ring)
            runner.run(ship_shard(place, orders))
    if read_note(folder) is None:
        return None
    deadline = boot_time() + SETTLE_S
    while (forgotten := forget_noted(folder, store)) is None:
        if boot_time() > deadline:
            raise CannotGoOn(f"{orders.url} still names what was removed")
        time.sleep(LOOK_S)
    return forgotten


def _expect_no_other_store(folder: CrawlFolder) -> None:
    if url := store_of(folder):
        raise CannotGoOn(
            f"archive files of {folder.root} are in the object store {url} only, and it is not "
            f"kept there; nothing was changed. `gossamer restore {url} --into DIR` has them all"
        )


def _expect_one_machine(store: CrawlStore) -> None:
    found = store.charter()
    if found is not None and found[1].address:
        raise CannotGoOn(
            f"{store.objects.url} is the store of a crawl on several machines, from which nothing "
            "can be removed yet; nothing was changed"
        )


def _bring_archive_here(folder: CrawlFolder) -> None:
    """Fetch the archive files that are in the store only: some of them are written anew."""
    for name in folder.archive_names():
        if folder.is_far(name.file_name):
            path = bring_whole(folder.archive_path(name.file_name))
            sync(path)
            os.link(path, folder.archive / name.file_name)
            sync(folder.archive)
            forget_far(folder, name.file_name)
