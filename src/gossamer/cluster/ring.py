"""The ring: whose host is it? Pure.

A ring point is 24 bits of a registrable domain's hash. The ring is a table of ranges, each with the
number of its shard: numbers stay what they are when shards come or go, and only what has to move
is given to another one. The rows of a shard are a few ranges of every table that begins with the
ring.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

RING_BITS = 24
POINTS = 1 << RING_BITS
TEXT_BITS = 64 - RING_BITS
_BEHIND = 1 << 62
"""More than any number of a shard."""

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""The first point of each range and its shard, in order; the first range begins at 0."""

RingSlice: TypeAlias = tuple[tuple[int, int], ...]
"""Points by the first and the last of each range: an address that outlives a split."""


class Ring(Struct, frozen=True, gc=False):
    """Which shard owns which points."""

    ranges: Ranges = ((0, 0),)

    @classmethod
    def even(cls, shards: int) -> "Ring":
        """Return the ring of so many shards with one range each, all of one size."""
        return cls(tuple((_first_of(shard, shards), shard) for shard in range(shards)))

    @classmethod
    def of(cls, ranges: Ranges, shards: int) -> "Ring":
        """Return the ring of a crawl's charter, which names no ranges if they are even."""
        return cls(ranges) if ranges else cls.even(shards)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the shards, in order."""
        return tuple(sorted({shard for _, shard in self.ranges}))

    @property
    def shards(self) -> int:
        """Return how many shards there are."""
        return len({shard for _, shard in self.ranges})

    @property
    def is_even(self) -> bool:
        """Return True if the number of shards says everything."""
        return self == Ring.even(self.shards)

    @property
    def is_whole(self) -> bool:
        """Return True if every point has one owner, and the table is as short as it can be."""
        firsts = [first for first, _ in self.ranges]
        owners = [shard for _, shard in self.ranges]
        is_ordered = all(a < b for a, b in pairwise([*firsts, POINTS]))
        is_short = all(a != b for a, b in pairwise(owners))
        return firsts[:1] == [0] and min(owners) >= 0 and is_ordered and is_short

    def owner(self, point: int) -> int:
        """Return the shard that owns a point."""
        ranges = self.ranges
        return ranges[bisect_right(ranges, (point, _BEHIND)) - 1][1]

    def are_of(self, shard: int, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which of some keys a shard owns."""
        firsts = np.array([first for first, _ in self.ranges], np.uint64)
        owners = np.array([owner for _, owner in self.ranges])
        points = keys >> np.uint64(TEXT_BITS)
        owned: NDArray[np.bool_] = (
            owners[np.searchsorted(firsts, points, side="right") - 1] == shard
        )
        return owned

    def owner_of(self, key: int) -> int:
        """Return the shard that owns a URL's key, which begins with its ring point."""
        return self.owner(key >> TEXT_BITS)

    def owners(self, points: RingSlice) -> set[int]:
        """Return the shards that own anything of a slice."""
        return {
            shard
            for low, high, shard in self._parts()
            if any(low <= last and first <= high for first, last in points)
        }

    def spans(self, shard: int) -> RingSlice:
        """Return the first and the last point of each range of a shard."""
        return tuple((first, last) for first, last, owner in self._parts() if owner == shard)

    def halved(self, shard: int, child: int) -> "Ring":
        """Return the ring in which another shard has the second half of one's points."""
        spans = self.spans(shard)
        left = sum(last - first + 1 for first, last in spans) // 2
        kept = [one for one in self.ranges if one[1] != shard]
        for first, last in spans:
            taken = min(left, last - first + 1)
            left -= taken
            if taken:
                kept.append((first, shard))
            if first + taken <= last:
                kept.append((first + taken, child))
        return Ring(_joined(sorted(kept)))

    def resplit(self, shards: int) -> "Ring":
        """Return the ring of the shards 0 to `shards`, of one size: as little moves as possible.

        A shard that has too much gives what lies at the end of its ranges.
        """
        sizes = [_first_of(n + 1, shards) - _first_of(n, shards) for n in range(shards)]
        kept: list[tuple[int, int]] = []
        spare: list[tuple[int, int]] = []
        for shard in self.numbers:
            room = sizes[shard] if shard < shards else 0
            for first, last in self.spans(shard):
                taken = min(room, last - first + 1)
                room -= taken
                if taken:
                    kept.append((first, shard))
                if first + taken <= last:
                    spare.append((first + taken, last))
            if shard < shards:
                sizes[shard] = room
        return Ring(_joined(sorted([*kept, *_given(sorted(spare), sizes)])))

    def _parts(self) -> Iterator[tuple[int, int, int]]:
        """Give the ranges with their first and last points and their shards."""
        ends = [first for first, _ in self.ranges[1:]]
        for (first, shard), end in zip(self.ranges, [*ends, POINTS], strict=True):
            yield first, end - 1, shard


def _first_of(shard: int, shards: int) -> int:
    """Return the first point of a shard's part of an even ring."""
    return -(-shard * POINTS // shards)


def _given(spare: Iterable[tuple[int, int]], sizes: list[int]) -> Iterator[tuple[int, int]]:
    """Give spare points, in order, to shards that lack as many as `sizes` says."""
    needs = [(shard, size) for shard, size in enumerate(sizes) if size]
    for low, high in spare:
        first = low
        while first <= high:
            shard, size = needs.pop(0)
            taken = min(size, high - first + 1)
            yield first, shard
            first += taken
            if taken < size:
                needs.insert(0, (shard, size - taken))


def _joined(ranges: list[tuple[int, int]]) -> Ranges:
    """Return ranges without those that go on with the shard of the one before."""
    before = (-1, *(shard for _, shard in ranges))
    return tuple(one for one, owner in zip(ranges, before, strict=False) if one[1] != owner)
