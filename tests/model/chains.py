"""The store of the model, what a chain consists of, and how a number of it is written and held."""

import enum
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tests.model.rules import DAY, HOUR, KEPT, LATE, LEASE

if TYPE_CHECKING:
    from tests.model.world import World

LONG_AGO = -10_000


class Lost(Exception):
    """A restore that cannot be completed."""


class LetterKey(NamedTuple):
    """What tells the letters of a shard apart."""

    epoch: int
    number: int


class Original(NamedTuple):
    """A page whose content was given away: others may refer to it."""

    url: int
    shard: int
    number: int
    """The manifest that has it."""


class StoredFile(NamedTuple):
    """A file of a shard's state: where it is, and what it contains."""

    name: tuple[int, ...]
    content: float


@dataclass
class ShardState:
    """What a shard knows; what is committed of it is on the disk."""

    low: int
    high: int
    seen: set[int] = field(default_factory=set)
    queue: list[int] = field(default_factory=list)
    outbox: dict[LetterKey, int] = field(default_factory=dict)
    stored: list[int] = field(default_factory=list)
    asked_at: dict[int, int] = field(default_factory=dict)
    relies: dict[int, int] = field(default_factory=dict)
    """By shard, the highest manifest whose receipts, or whose originals, were used."""
    copies: dict[int, int] = field(default_factory=dict)
    """By page that is stored as a copy: the page that it refers to."""
    firsts: dict[int, Original] = field(default_factory=dict)
    """By content of which this shard has the claims: the first page."""
    given: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By point that is another shard's by now: that shard, and the commit that says so."""
    taken: set[int] = field(default_factory=set)
    """Points that are ours, although the range of another shard has them."""
    commits: int = 0

    def copy(self) -> "ShardState":
        return ShardState(
            self.low,
            self.high,
            set(self.seen),
            list(self.queue),
            dict(self.outbox),
            list(self.stored),
            dict(self.asked_at),
            dict(self.relies),
            dict(self.copies),
            dict(self.firsts),
            dict(self.given),
            set(self.taken),
            self.commits,
        )

    def half(
        self, points: list[int], low: int, high: int, taken: frozenset[int] = frozenset()
    ) -> "ShardState":
        """Return the part of a range: its rows, and neither letters nor pages.

        `taken` are points outside of it that it is to have, too.
        """
        return ShardState(
            low,
            high,
            {url for url in self.seen if low <= points[url] < high or points[url] in taken},
            [url for url in self.queue if low <= points[url] < high or points[url] in taken],
            asked_at=dict(self.asked_at),
            relies=dict(self.relies),
            firsts={c: first for c, first in self.firsts.items() if low <= c < high},
            given={p: to for p, to in self.given.items() if low <= p < high},
            taken=set(taken),
            commits=self.commits,
        )


@dataclass(frozen=True)
class Manifest:
    """A link of a shard's chain."""

    state: ShardState
    epoch: int = 0
    nonce: float = 0.0
    lineage: float = 0.0
    node: int = -1
    files: tuple[StoredFile, ...] = ()
    heirs: tuple[int, ...] = ()
    """The chains in which the shard goes on as two: nothing comes after this."""
    part: tuple[int, int, bool] | None = None
    """All of this is of a shard that was split: its owner keeps one range, and perhaps the rest."""
    is_settled: bool = True
    """Nobody who had the shard before its writer may still be asking for pages."""
    is_last: bool = False
    """Its writer has ended."""


@dataclass(frozen=True)
class Charter:
    """A link of the crawl's own chain."""

    ranges: dict[int, tuple[int, int]]
    nonce: float = 0.0
    intent: tuple[int, int, int, int] | None = None
    """A split that is wanted: the shard, where, and the chains of both halves."""
    is_ended: bool = False


Link: TypeAlias = Manifest | Charter
CHARTER = -1
"""The chain of the charter; the others have the numbers of shards."""


class ModelStore:
    """An object store: get, put, put-if-absent, list, delete."""

    def __init__(self) -> None:
        self.chains: dict[int, dict[int, Link]] = defaultdict(dict)
        self.files: dict[tuple[int, ...], float] = {}
        self.alive: tuple[int, int] | None = None
        self._unnamed: dict[tuple[int, ...], int] = {}

    def create(self, chain: int, number: int, link: Link) -> bool:
        if number in self.chains[chain]:
            return False
        self.chains[chain][number] = link
        return True

    def newest(self, chain: int, *, by_walking: bool = False) -> int:
        """Return the highest number of a chain, 0 if it has none."""
        numbers = self.chains[chain]
        if not by_walking:
            return max(numbers, default=0)
        number = min(numbers, default=0)
        while number + 1 in numbers:
            number += 1
        return number

    def manifest(self, shard: int) -> Manifest:
        """Return the newest of a shard, as a reader finds it."""
        found = self.chains[shard][self.newest(shard)]
        assert isinstance(found, Manifest)
        return found

    def sweep(self, now: int) -> None:
        """Delete old manifests, the oldest first, and files that two sweeps found unnamed."""
        named: set[tuple[int, ...]] = set()
        for links in self.chains.values():
            for number in sorted(links)[:-KEPT]:
                del links[number]
            for link in links.values():
                if isinstance(link, Manifest):
                    named.update(file.name for file in link.files)
        self._unnamed = {
            name: self._unnamed.get(name, now) for name in self.files if name not in named
        }
        for name, since in self._unnamed.items():
            if now - since > DAY:
                del self.files[name]


class Outcome(enum.Enum):
    """What is known of a put-if-absent."""

    OURS = enum.auto()
    ANOTHERS = enum.auto()
    UNKNOWN = enum.auto()


class LatePut(NamedTuple):
    """A put that is under way."""

    chain: int
    number: int
    link: Link
    begun_at: int


class Hold:
    """What a process believes to hold of a chain: its newest number, and for how long."""

    def __init__(self, world: "World", chain: int) -> None:
        self.world = world
        self.chain = chain
        self.number = 0
        self.link: Link | None = None
        self.offered: Link | None = None
        self.tries = 0
        self.confirmed_at = LONG_AGO
        self.is_lost = False
        self._offered_at = 0
        self._asked_at: int | None = None
        self._was_held: bool | None = None

    @property
    def is_leased(self) -> bool:
        """True while nobody else may act."""
        return self.world.now - self.confirmed_at < LEASE or not self.world.rules.has_leases

    @property
    def is_expired(self) -> bool:
        """True if it was not confirmed for so long that nothing may be written any more."""
        is_old = self.world.now - self.confirmed_at > HOUR
        return is_old and self.world.rules.stops_after_an_hour

    def read(self) -> Link | None:
        """Learn the newest link; it is another's until an offer has won."""
        is_walking = not self.world.rules.newest_is_of_a_listing
        self.number = self.world.store.newest(self.chain, by_walking=is_walking)
        self.link = self.world.store.chains[self.chain].get(self.number)
        return self.link

    def offer(self, link: Link) -> Outcome:
        """Try to make a link the next one. As long as that is unknown, only this one is tried."""
        if self.offered is None:
            self.tries, self._offered_at = 0, self.world.now
        self.offered = link
        outcome = self._put(link)
        self.tries += 1
        if outcome is not Outcome.UNKNOWN:
            self.offered = None
        if outcome is Outcome.OURS:
            self.number, self.link = self.number + 1, link
            self.confirmed_at = max(self.confirmed_at, self._offered_at)
        return outcome

    def _put(self, link: Link) -> Outcome:
        world, links, number = self.world, self.world.store.chains[self.chain], self.number + 1
        luck = world.luck()
        if luck < 0.08:
            world.late.append(LatePut(self.chain, number, link, world.now))
            return Outcome.UNKNOWN
        if not world.rules.create_is_exclusive and self.chain != CHARTER:
            links[number] = link
            return Outcome.OURS
        is_new = world.store.create(self.chain, number, link)
        if is_new and luck > 0.93:
            return Outcome.UNKNOWN  # the answer is lost
        is_ours = links[number].nonce == link.nonce
        if not is_ours and self.tries and not world.rules.reads_what_exists:
            return Outcome.OURS
        if is_ours and world.rules.checks_the_predecessor and number > 1:
            is_ours = number - 1 in links
        return Outcome.OURS if is_ours else Outcome.ANOTHERS

    def confirm(self) -> None:
        """Ask, be answered, or hear the answer: one of them each time."""
        world = self.world
        if self._asked_at is None:
            self._asked_at, self._was_held = world.now, None
        elif self._was_held is None:
            links = world.store.chains[self.chain]
            after = links.get(self.number + 1)
            is_mine = after is None or (self.offered and after.nonce == self.offered.nonce)
            if not is_mine or self.number not in links:
                self.is_lost = True
            self._was_held = after is None
        else:
            if self._was_held:
                is_strict = world.rules.leases_count_from_the_question
                self.confirmed_at = self._asked_at if is_strict else world.now
            self._asked_at = None


def land(world: "World", put: LatePut) -> None:
    """Execute a put that was under way, unless it took too long."""
    if world.now - put.begun_at <= LATE:
        world.store.create(put.chain, put.number, put.link)
