"""The splitter: which links stay here, and which go to the shard that owns their host?

It stands where the pipeline expects the seen test. A foreign link is not ours to call new: it is
passed on, unless it was passed on a moment ago (nearly all links of a page were).
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from gossamer.cluster.moved import MovedDomains
from gossamer.cluster.ring import TEXT_BITS, Ring
from gossamer.model import Task

SENT_KEPT = 131_072
"""Keys per generation of the memory of what was sent; two are kept. It is only there to save
messages: the receiver's own seen test decides."""


class Seen(Protocol):
    """New to us?"""

    def new_among(self, keys: Collection[int]) -> list[int]:
        """Return those of the keys that were never added, in order."""

    def add(self, keys: Sequence[int]) -> None:
        """Remember keys."""


class Splitter:
    """The seen test of one shard among several, and the way that new tasks take."""

    def __init__(
        self, ring: Ring, shard: int, seen: Seen, moved: MovedDomains | None = None
    ) -> None:
        self._moved = moved if moved is not None else MovedDomains(ring, shard)
        self._shard = shard
        self._owners = self._moved.owners
        self._firsts = [first << TEXT_BITS for first, _ in ring.ranges]
        self._are_ours = [owner == shard for _, owner in ring.ranges]
        """By range of the ring, from the first key in `_firsts` on."""
        self._seen = seen
        self._sent: set[int] = set()
        self._sent_before: set[int] = set()

    def is_ours(self, key: int) -> bool:
        """Return True if this shard owns a URL."""
        if self._owners and (owner := self._owners.get(key >> TEXT_BITS)) is not None:
            return owner == self._shard
        return self._are_ours[bisect_right(self._firsts, key) - 1]

    def new_among(self, keys: Collection[int]) -> list[int]:
        """Return those of the keys that are new to us, or foreign and not just sent, in order."""
        firsts, are_ours = self._firsts, self._are_ours
        if self._owners:
            ours = [key for key in keys if self.is_ours(key)]
        else:
            ours = [key for key in keys if are_ours[bisect_right(firsts, key) - 1]]
        new = self._seen.new_among(ours)
        if len(ours) == len(keys):
            return new
        known = set(ours).difference(new)
        sent, before = self._sent, self._sent_before
        return [key for key in keys if key not in known and key not in sent and key not in before]

    def add(self, keys: Sequence[int]) -> None:
        """Remember keys: ours in the seen set, foreign ones for a while."""
        ours = [key for key in keys if self.is_ours(key)]
        if ours:
            self._seen.add(ours)
        if len(ours) < len(keys):
            self._sent.update(key for key in keys if not self.is_ours(key))
            if len(self._sent) >= SENT_KEPT:
                self._sent, self._sent_before = set(), self._sent

    def route(
        self,
        tasks: Iterable[Task],
        keep: Callable[[list[Task]], None],
        post: Callable[[list[Task]], None],
    ) -> None:
        """Hand our own tasks to `keep` and those of other shards to `post`."""
        ours: list[Task] = []
        others: list[Task] = []
        for task in tasks:
            is_ours = self.is_ours(task.url.key) and not self._moved.goes(task)
            (ours if is_ours else others).append(task)
        if ours:
            keep(ours)
        if others:
            post(others)
