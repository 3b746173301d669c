"""How many requests may go to what is on probation while anything else waits? Pure.

A tenth of the requests of the last minutes, and of the pages that are left. Each shard says what it
has to do and how many requests it has made; what follows from all shards is ordered of each. A
crawl of one shard asks the same questions of itself.
"""

from collections import deque

from msgspec import Struct

ONE_IN = 10
"""Of so many requests one may go to what is on probation."""
WINDOW_S, SLICE_S = 300.0, 30.0


class ShardProbation(Struct, frozen=True, array_like=True):
    """How a shard stands with what is on probation."""

    is_waited: bool = True
    """Something waits here that is free of suspicion, and may be asked for."""
    wants: bool = False
    """It holds tasks that could go."""
    requests: int = 0
    used: int = 0
    """Requests for what is on probation while anything else waited, since it started."""


class ProbationOrders(Struct, frozen=True, tag=True):
    """What a shard may do about what is on probation."""

    is_open: bool = False
    """Nothing else waits in any shard."""
    granted: int = 0
    """So many requests in all, since the shard started, may be made while anything else waits."""


class _Slice(Struct):
    """Requests within some seconds."""

    since: float
    requests: int = 0
    used: int = 0


class ProbationShare:
    """What all shards have said, and what was requested in the last minutes."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._told: dict[int, ShardProbation] = {}
        self._slices: deque[_Slice] = deque()

    def note(self, shard: int, told: ShardProbation, now: float) -> None:
        """Note how a shard stands."""
        before = self._told.get(shard, told)
        self._told[shard] = told
        if not self._slices or now >= self._slices[-1].since + SLICE_S:
            self._slices.append(_Slice(now))
        while self._slices[0].since + WINDOW_S < now:
            self._slices.popleft()
        self._slices[-1].requests += max(0, told.requests - before.requests)
        self._slices[-1].used += max(0, told.used - before.used)

    def lost(self, shard: int) -> None:
        """Note that a shard died: nothing is known of it."""
        self._told.pop(shard, None)

    def orders(self, shard: int, pages_left: int | None) -> ProbationOrders:
        """Return what a shard may do; `pages_left` is None if the pages are not limited."""
        told = self._told.get(shard)
        if told is None or len(self._told) < self._shards:
            return ProbationOrders(granted=0 if told is None else told.used)
        is_open = not any(one.is_waited for one in self._told.values())
        wanting = [number for number, one in sorted(self._told.items()) if one.wants]
        if not told.wants or is_open:
            return ProbationOrders(is_open, told.used)
        share, rest = divmod(self._left(pages_left), len(wanting))
        return ProbationOrders(is_open, told.used + share + (wanting.index(shard) < rest))

    def _left(self, pages_left: int | None) -> int:
        """Return how many more requests of all shards may go to what is on probation."""
        requests = sum(one.requests for one in self._slices)
        used = sum(one.used for one in self._slices)
        left = (requests - used) // (ONE_IN - 1) - used
        return max(0, left if pages_left is None else min(left, pages_left // ONE_IN))
