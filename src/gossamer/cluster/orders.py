"""What each shard says of itself, and what is ordered of all of them: outages and probation. Pure.

Is the network there, and is anything left but hosts that are down? How many requests may go to what
is on probation while anything else waits: a tenth of the requests of the last minutes, and of the
pages that are left. A crawl of one shard asks the same questions of itself.
"""

import math
from collections import deque

from msgspec import Struct

NETWORK_HOSTS = 5
"""So many hosts that fail together mean that the network is away; or all, if there are fewer."""
LEAST_HOSTS = 2
"""One host alone never means that: whether it or the network is away cannot be told."""
TOGETHER_S = 30.0
ASK_EVERY_S = 10.0
"""While the network is away, one host is asked so often whether it is back."""
SETTLED_S = 2.0
"""For so long nothing else may have been left: a letter may be on its way to another shard."""
BRIEF_S = 5.0
"""A failed probe is something to be committed: what else there is to do for less than this does not
begin the wait for parked hosts anew."""
PROBES, PROBES_ALONE = 4, 1
"""Failed probes after which a host that never answered is given up when nothing else is left, and
if it is the only host of the crawl and refuses the connection."""


class ShardOutages(Struct, frozen=True, array_like=True):
    """How a shard stands with hosts that are down."""

    is_waiting: bool = False
    """It has nothing left to do, or nothing but to wait for parked hosts."""
    parked_hosts: int = 0
    hosts: int = 0
    """Known to it."""
    answered_hosts: int = 0
    """Of these have ever answered."""
    answered_s: float | None = None
    """Since any of them answered last, in this run."""
    failed_s: tuple[float, ...] = ()
    """Since each of those that had answered and then failed did so, the last ones first."""


class OutageOrders(Struct, frozen=True, tag=True):
    """What a shard is to do about hosts that are down."""

    is_network_away: bool = False
    """Ask nobody, unless told to; give up nobody."""
    asks: int = 0
    """One host that had answered is to be asked whenever this number has grown."""
    give_up_after: int | None = None
    """Hosts that never answered are given up after so many probes; None while there is anything
    else left to do in any shard."""


class Outages:
    """What is known of the outages in all shards, and since when."""

    def __init__(self, shards: int, wait_at_end_s: float) -> None:
        self._shards = shards
        self._wait_at_end_s = wait_at_end_s
        self._told: dict[int, tuple[ShardOutages, float]] = {}
        self._away_since: float | None = None
        self._left_since: float | None = None
        """Since when nothing but parked hosts has been left, but for brief moments."""
        self._busy_since: float | None = None
        """Since when something else has been left to do."""
        self._asked_at = 0.0
        self._asks: dict[int, int] = {}

    def add_shard(self) -> None:
        """Count one shard more."""
        self._shards += 1

    def note(self, shard: int, told: ShardOutages, now: float) -> None:
        """Note how a shard stands."""
        self._told[shard] = told, now

    def lost(self, shard: int) -> None:
        """Note that a shard died: nothing is known of it."""
        self._told.pop(shard, None)

    def look(self, now: float) -> None:
        """Draw conclusions from what all shards have said; call it about once a second."""
        if self._away_since is None and self._is_away(now):
            self._away_since = self._asked_at = now
        elif self._away_since is not None and self._last_answer() > self._away_since:
            self._away_since = None
        if self._away_since is not None and now - self._asked_at >= ASK_EVERY_S:
            self._asked_at = now
            self._ask_one()
        self._look_at_end(now)

    def _look_at_end(self, now: float) -> None:
        """Note since when nothing but parked hosts has been left."""
        if self._away_since is not None:
            self._left_since = self._busy_since = None
        elif self._are_parked_left():
            was_brief = self._busy_since is None or now - self._busy_since < BRIEF_S
            if self._left_since is None or not was_brief:
                self._left_since = now
            self._busy_since = None
        elif self._busy_since is None:
            self._busy_since = now

    def orders(self, shard: int, now: float) -> OutageOrders:
        """Return what a shard is to do."""
        return OutageOrders(
            is_network_away=self.is_network_away,
            asks=self._asks.get(shard, 0),
            give_up_after=self._give_up_after() if self._has_settled(now) else None,
        )

    @property
    def is_network_away(self) -> bool:
        """Return True if so many hosts failed together that the network must be away."""
        return self._away_since is not None

    def seconds_to_end(self, now: float) -> float | None:
        """Return how long parked hosts are still waited for; None while anything else is left."""
        if not self._has_settled(now) or self._left_since is None:
            return None
        return max(0.0, self._left_since + self._wait_at_end_s - now)

    def _has_settled(self, now: float) -> bool:
        if self._left_since is None or self._busy_since is not None:
            return False
        return now - self._left_since >= SETTLED_S

    def _give_up_after(self) -> int:
        is_alone = sum(told.hosts for told, _ in self._told.values()) == 1
        return PROBES_ALONE if is_alone else PROBES

    def _are_parked_left(self) -> bool:
        told = [one for one, _ in self._told.values()]
        is_waiting = len(told) == self._shards and all(one.is_waiting for one in told)
        return is_waiting and any(one.parked_hosts for one in told)

    def _is_away(self, now: float) -> bool:
        """Return True if enough hosts that had answered failed together, and none answered since.

        Where there are fewer than enough, all of them must have failed.
        """
        if len(self._told) < self._shards:
            return False
        last = self._last_answer()
        failed = [at - s for told, at in self._told.values() for s in told.failed_s]
        lately = sum(moment >= last and now - moment <= TOGETHER_S for moment in failed)
        answered = sum(told.answered_hosts for told, _ in self._told.values())
        return lately >= LEAST_HOSTS and lately >= min(NETWORK_HOSTS, answered)

    def _last_answer(self) -> float:
        """Return when any host answered last in this run."""
        moments = (
            at - told.answered_s for told, at in self._told.values() if told.answered_s is not None
        )
        return max(moments, default=-math.inf)

    def _ask_one(self) -> None:
        """Let the shard that was asked least ask one of the hosts that had answered."""
        able = [shard for shard, (told, _) in self._told.items() if told.answered_hosts]
        if able:
            shard = min(able, key=lambda one: (self._asks.get(one, 0), one))
            self._asks[shard] = self._asks.get(shard, 0) + 1


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
    used_open: int = 0
    """The same while nothing else waited: they earn nobody a share."""


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
    used_open: int = 0


class ProbationShare:
    """What all shards have said, and what was requested in the last minutes."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._told: dict[int, ShardProbation] = {}
        self._slices: deque[_Slice] = deque()

    def add_shard(self) -> None:
        """Count one shard more."""
        self._shards += 1

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
        self._slices[-1].used_open += max(0, told.used_open - before.used_open)

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
        free = requests - used - sum(one.used_open for one in self._slices)
        left = free // (ONE_IN - 1) - used
        return max(0, left if pages_left is None else min(left, pages_left // ONE_IN))
