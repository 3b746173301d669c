"""Domains that are crawled by a shard of their region: what a shard needs to give them away."""

from gossamer.cluster import MOVED_ROWS, MovedDomains, Outbox, RegionRules
from gossamer.config import Config
from gossamer.crawl.opening import ShardFolder
from gossamer.report import URL
from gossamer.store import State

HOST = b"h"
"""Rows that there is one of for each host of which anything was queued."""


def open_outbox(place: ShardFolder, config: Config, epoch: int, state: State) -> Outbox:
    """Return the outbox of one shard among several, which knows what domains are elsewhere."""

    def has_rows(point: int) -> bool:
        ring = point.to_bytes(3, "big")
        return any(next(iter(state.scan(table + ring)), None) for table in (HOST, URL))

    regions = place.regions
    rules = RegionRules(config.regions, config.seed_labels, regions) if any(regions) else None
    rows = state.scan(MOVED_ROWS)
    moved = MovedDomains(place.ring, place.shard, rows, regions, rules, has_rows)
    return Outbox(place.ring, place.shard, epoch, state.get, moved)
