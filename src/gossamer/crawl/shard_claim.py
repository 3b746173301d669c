"""Claiming one shard of a crawl on several machines, by an epoch that its coordinator has issued.

look      at the shard's newest checkpoint, and at the folder that this machine has of it
claim     the next number of its chain: from there on nobody else can ship it
restore   the folder, unless it has everything that the checkpoint names
"""

from secrets import token_hex
from typing import NamedTuple

from msgspec import json
from msgspec.structs import replace

from gossamer.cluster import ShardRight
from gossamer.crawl.opening import restored_mark_path
from gossamer.crawl.restoring import restore_manifests
from gossamer.crawl.shipping import (
    ShippedMark,
    ShippingOrders,
    boot_time,
    shipped_mark_path,
    taken_over,
)
from gossamer.crawl.takeover import (
    StoreIdentity,
    has_all_of,
    has_crawl,
    place_of,
    read_identity,
    set_aside,
    write_identity,
)
from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, TakenOver
from gossamer.store import (
    QUICK_RETRY_S,
    CrawlFolder,
    CrawlStore,
    ManifestSource,
    Objects,
    ShardManifest,
)


class ClaimedShard(NamedTuple):
    """A shard that is ours, its folder as new as its chain."""

    orders: ShippingOrders
    starts: int
    """The epoch of its state, at least."""
    source: ManifestSource | None
    """What it has is all of a shard that was split: it has to drop half of that first."""


def claim_shard(folder: CrawlFolder, url: str, right: ShardRight, node: str = "") -> ClaimedShard:
    """Claim a shard, and make its folder, whose lock is ours, as new as its newest checkpoint."""
    store = CrawlStore(Objects(url, retry_s=QUICK_RETRY_S))
    identity = read_identity(folder, url, right.crawl)
    found = store.manifest(right.generation, right.shard)
    if found is None:
        raise CannotGoOn(f"{url} is damaged: shard {right.shard} has no manifest")
    number, before = found
    if before.epoch >= right.epoch:
        raise TakenOver(taken_over(store))
    place = place_of(folder)
    is_current = identity is not None and (
        has_all_of(folder, number, before, identity, right.generation)
        or _has_source_of(folder, before, identity)
    )
    is_here = is_current and bool(place) and before.place == place
    is_safe = (is_here or before.has_ended) and not before.waits and not right.must_wait
    lineage = before.lineage if is_current else token_hex(8)
    claim = replace(
        before,
        epoch=right.epoch,
        lineage=lineage,
        nonce=token_hex(8),
        starts=before.starts + 1,
        place=place,
        node=node,
        waits=not is_safe,
        has_ended=False,
        split_into=0,
    )
    chain = store.shard_chain(right.generation, right.shard)
    if not chain.append(number + 1, json.encode(claim)):
        raise TakenOver(taken_over(store))
    begins_at = 0.0 if is_safe else boot_time() + right.lease_s
    if not is_current:
        _restore(store, claim, folder, url)
    elif not is_here:
        restored_mark_path(folder.state(right.shard)).touch()
    _mark(folder, claim, number + 1, right.generation)
    write_identity(folder, url, StoreIdentity(crawl=right.crawl, lineage=lineage))
    orders = ShippingOrders(
        url=url,
        crawl=right.crawl,
        lineage=lineage,
        epoch=right.epoch,
        generation=right.generation,
        lease_s=right.lease_s,
        ship_s=right.ship_s,
        begins_at=begins_at,
        place=place,
        node=node,
        is_split=before.source is not None,
    )
    return ClaimedShard(orders, claim.starts, before.source)


def _has_source_of(folder: CrawlFolder, before: ShardManifest, identity: StoreIdentity) -> bool:
    """Return True if a folder has all that its shard had when it was split."""
    source = before.source
    if source is None or source.shard != before.shard:
        return False
    return has_all_of(folder, source.number, before, identity, source.generation)


def _restore(store: CrawlStore, claim: ShardManifest, folder: CrawlFolder, url: str) -> None:
    """Make the folder of what the store has; what was there is set aside."""
    if has_crawl(folder):
        set_aside(folder)
    identity = StoreIdentity(crawl=claim.crawl, lineage=claim.lineage, is_whole=False)
    write_identity(folder, url, identity)
    if claim.files:
        restore_manifests(store, [claim], folder, leaves_archive=True)
    else:
        folder.state(claim.shard).mkdir(parents=True, exist_ok=True)


def _mark(folder: CrawlFolder, claim: ShardManifest, number: int, generation: int) -> None:
    """Let the state know which manifest it is as new as: our claim."""
    mark = ShippedMark(lineage=claim.lineage, number=number)
    path = shipped_mark_path(folder.state(claim.shard), claim.crawl, generation)
    replace_file(path, json.encode(mark))
