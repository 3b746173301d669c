"""A shard that grew too large is split by reference while the crawl runs.

    intent    the charter says which shard is to be two, and by which generation their chains go
    close     the shard has ended and shipped; the last number of its chain says so: it is closed
    chains    both begin with what that names: the same files, and not a byte is copied
    narrow    each runs, drops what is not its own, ships, and does nothing else yet
    settle    the charter names both chains and the new ring: the one moment from which it counts
    restart   the other shards, at most an eighth at a time, to learn the ring; until then what
              they send to the old place is passed on

Each step may be done again by whoever coordinates next. Until the charter is settled readers see
the shard as it was closed; from then on they see both.
"""

from secrets import token_hex

from msgspec import json
from msgspec.structs import replace

from gossamer.cluster import Ring
from gossamer.errors import CannotGoOn
from gossamer.model import Counters
from gossamer.store import (
    ArchiveName,
    CrawlCharter,
    CrawlStore,
    ManifestSource,
    ShardManifest,
    SplitIntent,
)

LEAST_POINTS = 2


def ring_after_split(charter: CrawlCharter, shard: int) -> Ring:
    """Return the ring that a crawl has when a shard is split; raise if that cannot be."""
    ring = Ring.of(charter.ranges, charter.shards)
    if shard not in ring.numbers:
        raise CannotGoOn(f"--shard {shard}: the crawl has the shards 0 to {charter.shards - 1}")
    if sum(last - first + 1 for first, last in ring.spans(shard)) < LEAST_POINTS:
        raise CannotGoOn(f"shard {shard} has one point of the ring, and cannot be split")
    return ring.halved(shard, charter.shards)


def expect_free_number(store: CrawlStore, charter: CrawlCharter) -> None:
    """Refuse a split if the new shard's number is that of files which another has inherited."""
    child = charter.shards
    if any(name.shard == child for one in _manifests(store, charter) for name in _names(one)):
        raise CannotGoOn(
            f"the crawl had a shard {child} once, of which archive files are left, and cannot be "
            "split while it runs: stop it, and split it in a folder by `gossamer crawl --into DIR "
            f"--store {store.objects.url} --shards {child + 1} --max-time 1s`"
        )


def _manifests(store: CrawlStore, charter: CrawlCharter) -> list[ShardManifest]:
    found = (store.newest_of(charter, shard) for shard in range(charter.shards))
    return [one[1] for one in found if one is not None]


def _names(manifest: ShardManifest) -> list[ArchiveName]:
    return [name for name in map(ArchiveName.parse, manifest.archive) if name is not None]


def is_closed(store: CrawlStore, charter: CrawlCharter, intent: SplitIntent) -> bool:
    """Return True if the shard of an intent goes on as two, and never again as one."""
    found = store.newest_of(charter, intent.shard)
    return found is not None and found[1].split_into == intent.generation


def close_shard(
    store: CrawlStore, charter: CrawlCharter, intent: SplitIntent, epoch: int, at: float
) -> bool:
    """Close the chain of a shard that has ended; return False if it has not, or runs again.

    `epoch` is issued for this: whoever was given an older one cannot claim the shard any more.
    """
    found = store.newest_of(charter, intent.shard)
    if found is None:
        return False
    number, last = found
    if last.split_into == intent.generation:
        return True
    if not (last.has_ended and last.files) or last.epoch >= epoch:
        return False
    closing = replace(last, epoch=epoch, nonce=token_hex(8), at=at, split_into=intent.generation)
    chain = store.shard_chain(charter.generation_of(intent.shard), intent.shard)
    return chain.append(number + 1, json.encode(closing))


def begin_chains(store: CrawlStore, charter: CrawlCharter, intent: SplitIntent) -> None:
    """Let the chains of both begin, if they have not: whoever does it writes the same."""
    generation = charter.generation_of(intent.shard)
    found = store.manifest(generation, intent.shard)
    if found is None or found[1].split_into != intent.generation:
        raise CannotGoOn(f"{store.objects.url}: shard {intent.shard} is not closed")
    number, closed = found
    source = ManifestSource(shard=intent.shard, generation=generation, number=number - 1)
    kept = replace(closed, split_into=0, source=source)
    made = replace(
        kept,
        shard=intent.child,
        archive={},
        root={},
        counters=Counters(),
        standing=None,
        place="",
        node="",
    )
    for manifest in (kept, made):
        chain = store.shard_chain(intent.generation, manifest.shard)
        if not chain.numbers() and not chain.append(1, json.encode(manifest)):
            raise CannotGoOn(f"{store.objects.url}: shard {manifest.shard} was begun twice")


def have_shipped(store: CrawlStore, intent: SplitIntent) -> bool:
    """Return True if both have dropped what is not their own, and shipped that."""
    found = [store.manifest(intent.generation, one) for one in (intent.shard, intent.child)]
    return all(one is not None and one[1].source is None for one in found)


def knows_ring(charter: CrawlCharter, shard: int, epoch: int) -> bool:
    """Return True if a shard that was started by an epoch knows the ring of the charter."""
    is_of_split = bool(charter.chains) and charter.generation_of(shard) == charter.layout
    return epoch >= charter.ringed_at or is_of_split
