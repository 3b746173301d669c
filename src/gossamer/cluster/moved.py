"""Moved domains: points of the ring that are with another shard than the ring says.

The shard that the ring gives a domain to, its home, decides where it is when the first URL of it is
to be queued: with a shard of the region that it is near to, or here. It writes that down, sends the
URL there, and from then on passes on what comes. Nobody else has to know: to them the domain is its
home's. Whoever got it learns so by the letter, and writes it down with that letter's tasks.

    g + ring point      who has it; on the home and on the shard that has it

The letter leaves when the row is shipped: a home that comes back from an older checkpoint has given
nothing away that it does not know of, so no domain ever has two owners.
"""

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, msgpack

from gossamer.cluster.regions import RegionChoice, RegionRules, ShardRegions, shard_near
from gossamer.cluster.ring import POINTS, TEXT_BITS, Ring
from gossamer.model import LinkKind, Row, Task

MOVED_ROWS = b"g"
RING_BYTES = 3


class MovedDomain(Struct, frozen=True, array_like=True):
    """Who has a point of the ring, and why."""

    shard: int
    host: str = ""
    """The first one of it that was to be queued."""
    rule: str = ""


_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(MovedDomain).decode


class MovedDomains:
    """What a shard has given away, and what it was given. Rows in, rows out."""

    def __init__(
        self,
        ring: Ring,
        shard: int,
        rows: Iterable[tuple[bytes, bytes]] = (),
        regions: ShardRegions = (),
        rules: RegionRules | None = None,
        has_rows: Callable[[int], bool] = lambda _point: False,
    ) -> None:
        """Know what `rows` say. `has_rows`: anything of a point is here already.

        Without rules, nothing more is given away.
        """
        self._ring = ring
        self._shard = shard
        self._regions = regions
        self._rules = rules if shard < len(regions) else None
        self._has_rows = has_rows
        self._owners = {point: one.shard for point, one in moved_rows(rows)}
        self._stays = bytearray(POINTS // 8 if self._rules is not None else 0)
        """A bit for each point of which something was queued here since we began."""
        self._new: list[Row] = []
        self._unshipped = {point: 0 for point, to in self._owners.items() if to != shard}
        """Points that were given away, with the commit that says so, until that is shipped: where
        we begin anew, all."""
        self._commits = 0

    @property
    def owners(self) -> Mapping[int, int]:
        """Return by point who has it, where that is not as the ring says. It changes."""
        return self._owners

    @property
    def has_uncommitted(self) -> bool:
        """Return True if a commit would write anything."""
        return bool(self._new)

    @property
    def waits(self) -> bool:
        """Return True if something was given away and that is not shipped."""
        return bool(self._unshipped)

    def owner_of(self, key: int) -> int:
        """Return the shard to which a URL is to be sent, by its key."""
        owner = self._owners.get(key >> TEXT_BITS)
        return owner if owner is not None else self._ring.owner_of(key)

    def given_to(self, key: int) -> int | None:
        """Return the shard that has a URL from us; None if we have given it to none."""
        owner = self._owners.get(key >> TEXT_BITS)
        return None if owner == self._shard else owner

    def goes(self, task: Task) -> bool:
        """Return True if a task that is ours by the ring goes to another shard, from now on too."""
        point = task.url.key >> TEXT_BITS
        if (owner := self._owners.get(point)) is not None:
            return owner != self._shard
        if self._rules is None or self._stays[point >> 3] >> (point & 7) & 1:
            return False
        choice = self._choice(self._rules, task)
        if choice is not None and self._regions[self._shard] not in choice.regions:
            to = shard_near(point, choice, self._regions)
            if to is not None and not self._has_rows(point):
                self._give(point, MovedDomain(to, task.url.host, choice.rule))
                return True
        self._stays[point >> 3] |= 1 << (point & 7)
        return False

    @staticmethod
    def _choice(rules: RegionRules, task: Task) -> RegionChoice | None:
        """Return where a task's domain is to be; a seed that comes now has labels of its own."""
        is_labelled = task.kind is LinkKind.SEED and task.labels
        said = rules.choice_of_seed(task.labels) if is_labelled else None
        return said or rules.choice(task.url.host)

    def _give(self, point: int, moved: MovedDomain) -> None:
        self._owners[point] = moved.shard
        self._unshipped[point] = self._commits + 1
        self._new.append((moved_key(point), _encode(moved)))

    def take(self, points: Iterable[int]) -> None:
        """Be given points by their homes."""
        for point in points:
            if self._owners.get(point) != self._shard:
                self._owners[point] = self._shard
                self._new.append((moved_key(point), _encode(MovedDomain(self._shard))))

    def given_in(self, tasks: Iterable[Task], to: int) -> list[int]:
        """Return the points of tasks for a shard that it has from us."""
        points = {task.url.key >> TEXT_BITS for task in tasks} if self._owners else set[int]()
        return sorted(point for point in points if self._owners.get(point) == to)

    def holds(self, task: Task) -> bool:
        """Return True if a task may not leave yet: it is not shipped that its domain was given."""
        return task.url.key >> TEXT_BITS in self._unshipped

    def rows_to_commit(self) -> list[Row]:
        """Return what was given away, and what we were given, since the last commit."""
        rows, self._new = self._new, []
        return rows

    def committed(self, commits: int) -> None:
        """Note that so many commits have happened."""
        self._commits = commits

    def durable(self, commits: int) -> None:
        """Note that so many commits are shipped."""
        if self._unshipped:
            self._unshipped = {point: n for point, n in self._unshipped.items() if n > commits}


def moved_key(point: int) -> bytes:
    """Return the key of the row of a point."""
    return MOVED_ROWS + point.to_bytes(RING_BYTES, "big")


def moved_rows(rows: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[int, MovedDomain]]:
    """Give the points of rows, and who has them."""
    for key, value in rows:
        yield int.from_bytes(key[1 : 1 + RING_BYTES], "big"), _decode(value)


def owner_in_state(
    ring: Ring, key: int, read: Callable[[int, bytes], bytes | None]
) -> tuple[int, MovedDomain | None]:
    """Return the shard that has a URL, and what its home has written down about that.

    `read` returns a row of a shard's state.
    """
    home = ring.owner_of(key)
    value = read(home, moved_key(key >> TEXT_BITS))
    moved = _decode(value) if value is not None else None
    return (home if moved is None else moved.shard), moved


def taken_points(rows: Iterable[tuple[bytes, bytes]], shard: int) -> list[int]:
    """Return the points that a shard has from other homes, in order."""
    return sorted(point for point, one in moved_rows(rows) if one.shard == shard)
