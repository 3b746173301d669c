"""`gossamer restore` and `gossamer checkpoint`: a crawl out of its store, or into one, by hand."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random, SystemRandom

import uvloop
from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.cluster import read_charter
from gossamer.crawl.assembly import Extras, assemble
from gossamer.crawl.history import manifests_at
from gossamer.crawl.keeper import KeepRequest, keeping
from gossamer.crawl.mend import ensure_shards
from gossamer.crawl.opening import ShardFolder, lock_folder
from gossamer.crawl.restoring import restore_manifests
from gossamer.crawl.shipping import ShippingOrders
from gossamer.crawl.takeover import has_crawl, write_restored_identity
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.settings import load_crawl_config, save_crawl_config
from gossamer.store import CrawlFolder, CrawlStore, Objects, require_store


class RestoredCrawl(Struct, frozen=True, kw_only=True):
    """What was brought back from a store."""

    folder: str
    at: float
    """The moment of the last checkpoint that is in it."""
    pages: int
    shards: int
    files: int
    bytes: int
    is_own: bool
    """A crawl of its own: it cannot go on in the store that it came from."""


class Checkpointed(Struct, frozen=True, kw_only=True):
    """What is in a store by now."""

    url: str
    pages: int
    shards: int


def restore_crawl(
    url: str, into: Path | str, *, at: float | None = None, shards: int | None = None
) -> RestoredCrawl:
    """Bring a crawl back from its store as a folder, as it was last or at a moment.

    A folder that has a crawl is not touched. With `shards` the state is split anew.
    """
    require_store(url)
    store, folder = CrawlStore(Objects(url)), CrawlFolder(Path(into))
    found = store.charter()
    if found is None or not found[1].shards:
        raise CannotGoOn(f"{url} has no crawl: expected the URL that `crawl --store` was given")
    _, charter = found
    if at is None:
        _, charter, manifests = store.consistent_point() or (*found, [])
        moment, root = max(one.at for one in manifests), charter.root
    else:  # a moment before the first leaves no folder
        moment, manifests, root = manifests_at(store, at)
    with lock_folder(folder, SystemClock()) as lock:
        if has_crawl(folder):
            raise CannotGoOn(
                f"{folder.root} has a crawl already; nothing was changed. Give a new folder"
            )
        restore_manifests(store, manifests, folder, root=root)
        config = load_crawl_config(folder.root)
        save_crawl_config(folder.root, replace(config, store=replace(config.store, url="")))
        if at is None:
            write_restored_identity(folder, store.objects.url, charter)
        if shards is not None:
            ensure_shards(folder, config, shards, lock)
    files = [path for path in folder.root.rglob("*") if path.is_file()]
    return RestoredCrawl(
        folder=str(folder.root),
        at=moment,
        pages=sum(one.counters.pages for one in manifests),
        shards=shards or len(manifests),
        files=len(files),
        bytes=sum(path.stat().st_size for path in files),
        is_own=at is not None,
    )


def checkpoint_crawl(
    root: Path | str, url: str, *, take_over: bool = False, say: Callable[[str], None] = print
) -> Checkpointed:
    """Bring all of a crawl that does not run into a store: any machine can go on from there."""
    require_store(url)
    folder = CrawlFolder(Path(root))
    if not folder.config_path.exists():
        raise ConfigError(f"{root} is not a crawl folder; run `gossamer crawl` first")
    config = load_crawl_config(folder.root)
    request = KeepRequest(
        root=str(folder.root.absolute()),
        url=url,
        lease_s=config.store.lease_s,
        ship_s=config.store.ship_s,
        is_forced=take_over,
        leaves_archive=not config.store.local_archive,
    )
    with keeping(request, say) as keeper:
        with lock_folder(folder, SystemClock()) as lock:
            shards = read_charter(folder.charter_path).shards
            ring = ensure_shards(folder, config, shards, lock)
            orders = keeper.orders(ring)
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                places = [
                    ShardFolder(folder=folder, shard=number, ring=ring) for number in ring.numbers
                ]
                pages = [runner.run(ship_shard(place, orders)) for place in places]
        keeper.end()
    return Checkpointed(url=url, pages=sum(pages), shards=shards)


async def ship_shard(place: ShardFolder, orders: ShippingOrders) -> int:
    """Ship a shard as it is: to be closed is to ship."""
    config = load_crawl_config(place.folder.root)
    random = Random(SystemRandom().getrandbits(64))  # noqa: S311  # record ids, queue draws
    shard = assemble(place, config, SystemClock(), random, Extras(), shipping=orders)
    pages = shard.ledger.counters.pages
    await shard.close()
    return pages
