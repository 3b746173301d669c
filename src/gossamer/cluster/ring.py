"""The ring: whose host is it? Pure.

A ring point is 24 bits of a registrable domain's hash. Shard `s` of `n` owns the points from
s/n of the ring up to (s+1)/n of it, so the rows of a shard are one range of every table that
begins with the ring.
"""

from msgspec import Struct

RING_BITS = 24
POINTS = 1 << RING_BITS
TEXT_BITS = 64 - RING_BITS


class Ring(Struct, frozen=True, gc=False):
    """The ring, cut into equal ranges: one for each shard."""

    shards: int = 1

    def owner(self, point: int) -> int:
        """Return the shard that owns a point."""
        return point * self.shards >> RING_BITS

    def owner_of(self, key: int) -> int:
        """Return the shard that owns a URL's key, which begins with its ring point."""
        return (key >> TEXT_BITS) * self.shards >> RING_BITS

    def span(self, shard: int) -> tuple[int, int]:
        """Return the first and the last point of a shard's range."""
        first = -(-shard * POINTS // self.shards)
        return first, -(-(shard + 1) * POINTS // self.shards) - 1
