"""Restoring from a crawl that runs: one shard's manifest after the other, then what they name."""

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tests.model.chains import Lost, Manifest, ShardState, StoredFile

if TYPE_CHECKING:
    from tests.model.world import World

MOST_STEPS = 500


class Verdict(NamedTuple):
    """What is wrong with what readers see."""

    lost: int
    twice: int
    dangling: int = 0
    """Copies whose original is not there, and domains of which their home does not know that they
    are another shard's: it would crawl them, too."""

    @property
    def is_bad(self) -> bool:
        return bool(self.lost or self.twice or self.dangling)


class RestoreReader:
    """Reads a set of manifests while the crawl goes on."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self._steps = 0
        self._begin()

    def _begin(self) -> None:
        """Read everything, by the newest charter."""
        self._ranges = self.world.charter.ranges
        self._missing = sorted(self._ranges)
        self._taken: dict[int, tuple[int, Manifest]] = {}
        self._files: list[StoredFile] | None = None

    @property
    def has_all(self) -> bool:
        """True when only files are left to read."""
        return self._files is not None

    def step(self) -> bool:
        """Read one object; return True when all are read."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Lost("no set of manifests that needs none that is missing")
        if self._missing:
            self._read(self._missing.pop())
        elif self._files is None:
            rules = self.world.rules
            if rules.readers_look_again and self._ranges != self.world.charter.ranges:
                self._begin()
                return False
            self._missing = sorted(self._behind()) if rules.readers_go_forward else []
            if not self._missing:
                self._files = [f for _, manifest in self._taken.values() for f in manifest.files]
        elif self._files:
            file = self._files.pop()
            if self.world.store.files.get(file.name) != file.content:
                raise Lost(f"file {file.name}, which a set of manifests names")
        else:
            return True
        return False

    def _read(self, shard: int) -> None:
        store = self.world.store
        number = store.newest(shard)
        self._taken[shard] = (number, store.manifest(shard))

    def _behind(self) -> set[int]:
        """Return the shards whose manifests are behind what others rely on."""
        behind = set()
        for _, manifest in self._taken.values():
            for shard, number in manifest.state.relies.items():
                if shard in self._taken and self._taken[shard][0] < number:
                    behind.add(shard)
        return behind

    def verdict(self) -> Verdict:
        """Judge the crawl that goes on from there."""
        return judged(self.world, [manifest.state for _, manifest in self._taken.values()])


def judged(world: "World", states: list[ShardState]) -> Verdict:
    """Let a crawl end by itself from the states of its shards, on one quiet machine; judge it."""
    stored = Counter(url for state in states for url in state.stored)
    copies = {url: first for state in states for url, first in state.copies.items()}
    dangling = sum(first not in stored or first in copies for first in copies.values())
    dangling += sum(
        point not in home.given
        for state in states
        for point in state.taken
        for home in states
        if home.low <= point < home.high and home is not state
    )
    seen = set().union(*(state.seen for state in states))
    todo = [url for state in states for url in state.queue]
    found = [url for state in states for url in state.outbox.values()]
    while todo or found:
        if found:
            url = found.pop()
            if url not in seen:
                seen.add(url)
                todo.append(url)
        else:
            url = todo.pop()
            stored[url] += 1
            found += world.links[url]
    twice = sum(times - 1 for times in stored.values())
    return Verdict(len(world.reachable - stored.keys()), twice, dangling)
