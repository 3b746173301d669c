"""Places: where shards come from. Folders, object stores, machines; some of them away.

A folder has to be there when an index is opened. A store or a machine may be away: the others
answer meanwhile, and it is asked again, after waits that grow, until it is there.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.errors import CannotGoOn
from gossamer.ranks import NewestRanks, ranks_path
from gossamer.search.broker.fanout import reason_of
from gossamer.search.index_reader import MissingShard
from gossamer.search.manifest import (
    Manifest,
    image_folders,
    index_folder,
    read_manifest,
    shard_folders,
)
from gossamer.search.published import CachedIndex
from gossamer.search.remote import NodeHealth, OfferedShards, RemoteShard, SilentShard
from gossamer.search.shard import VERSION, IndexShard, LocalShard

STORE_S = 30.0
"""Between two looks at an object store: each is a request that may cost money."""
MOST_THREADS = 16


class Tiers(Struct, frozen=True):
    """Shards: those asked first, and those asked when the first are not enough."""

    high: Sequence[IndexShard]
    low: Sequence[IndexShard] = ()
    images: Sequence[IndexShard] = ()
    """Shards of images, which are asked for themselves."""
    absent: Sequence[MissingShard] = ()
    """Places that should have shards, too, and have not been there yet."""


class ShardSource(Protocol):
    """A place that shards come from."""

    @property
    def place(self) -> str:
        """Its folder or URL."""

    @property
    def may_be_away(self) -> bool:
        """Return False if an index cannot be opened without it."""

    def is_due(self) -> bool:
        """Return True if it is time to look at it again."""

    def look(self) -> bool:
        """Return True if the shards are others than at the last look; the first time they are."""

    def tiers(self) -> Tiers:
        """Open the shards."""


@dataclass(slots=True)
class _Member:
    source: ShardSource
    tiers: Tiers | None = None
    error: CannotGoOn | None = None
    """Of the last look."""
    is_changed: bool = False
    """The shards are others than those that are open."""


class Places:
    """Several places as one. One thread at a time may look at them."""

    def __init__(self, sources: Sequence[ShardSource]) -> None:
        self._members = [_Member(source) for source in sources]

    def first(self) -> Tiers:
        """Open the shards of all places that are there; raise if none is, or a folder is not."""
        self._look(self._members)
        for member in self._members:
            if member.error is not None and not member.source.may_be_away:
                raise member.error
        if all(member.error is not None for member in self._members):
            raise self._nobody()
        return self._together()

    def _nobody(self) -> CannotGoOn:
        """Return what to raise if all places are away: one line that names each."""
        errors = [(one.source.place, one.error) for one in self._members if one.error is not None]
        said = [
            f"{place} {error.reason}" if isinstance(error, SilentShard) else str(error)
            for place, error in errors
        ]
        is_silent = any(isinstance(error, SilentShard) for _, error in errors)
        advice = "; expected a `gossamer serve DIR --shard` there" if is_silent else ""
        return CannotGoOn("; ".join(said) + advice)

    def newer(self, *, is_all: bool) -> Tiers | None:
        """Return all shards if they are others by now, or a place that was away is there.

        `is_all`: also places that are not due are looked at. While the shards of a place cannot be
        had, those that are open will do.
        """
        absent = self._absent()
        self._look([one for one in self._members if is_all or one.source.is_due()])
        if any(member.is_changed for member in self._members) or self._absent() != absent:
            return self._together()
        return None

    def _look(self, members: Sequence[_Member]) -> None:
        """Look at places, at all of them at once: one that hangs does not keep the others away."""
        with ThreadPoolExecutor(min(MOST_THREADS, max(len(members), 1))) as threads:
            for _ in threads.map(_look_at, members):
                pass

    def _together(self) -> Tiers:
        for member in self._members:
            member.is_changed = False
        opened = [member.tiers for member in self._members if member.tiers is not None]
        return Tiers(
            [shard for tiers in opened for shard in tiers.high],
            [shard for tiers in opened for shard in tiers.low],
            [shard for tiers in opened for shard in tiers.images],
            self._absent(),
        )

    def _absent(self) -> list[MissingShard]:
        return [
            MissingShard(place=member.source.place, shard="", reason=reason_of(member.error))
            for member in self._members
            if member.tiers is None and member.error is not None
        ]


def _look_at(member: _Member) -> None:
    try:
        if member.source.look() or member.tiers is None or member.error is not None:
            tiers = member.source.tiers()
            member.is_changed = True
            member.tiers = tiers
        member.error = None
    except CannotGoOn as error:  # a build puts them into place, or nobody is there
        member.error = error


class FolderSource:
    """A crawl's folder."""

    may_be_away: Final = False

    def __init__(self, root: Path, *, is_ranked: bool) -> None:
        """Take a folder. `is_ranked`: its pages are told with their ranks."""
        self._root = root
        self._is_ranked = is_ranked
        self.place = str(root)
        self._last: object = None

    def is_due(self) -> bool:
        """Return True: a look costs next to nothing."""
        return True

    def look(self) -> bool:
        """Return True if another build has made the index since."""
        manifest = self._manifest()
        has = manifest.high_share > 0, manifest.images > 0
        now = manifest.born, manifest.shards, manifest.partition, *has
        before, self._last = self._last, now
        return now != before

    def tiers(self) -> Tiers:
        """Open the shards."""
        manifest, index = self._manifest(), index_folder(self._root)
        low = shard_folders(index, manifest, "low") if manifest.high_share else []
        high = shard_folders(index, manifest, "high")
        images = image_folders(index, manifest) if manifest.images else []
        ranks = NewestRanks(ranks_path(self._root)) if self._is_ranked else None
        shards = [[LocalShard(path, ranks) for path in some] for some in (high, low, images)]
        return Tiers(shards[0], shards[1], shards[2])

    def _manifest(self) -> Manifest:
        manifest = read_manifest(index_folder(self._root))
        if manifest is None:
            raise CannotGoOn(f"no index in {self._root}: run `gossamer build {self._root} index`")
        if manifest.organisation != "documents":
            raise CannotGoOn(
                f"the index in {self._root} is split by terms; "
                "expected one that is split by documents"
            )
        if manifest.version != VERSION:
            raise CannotGoOn(
                f"the index in {self._root} was built by another version of Gossamer: "
                f"run `gossamer build {self._root} index --full`"
            )
        return manifest


class StoreSource:
    """An object store, and the folder that its index is kept in."""

    may_be_away: Final = True

    def __init__(self, place: str, cached: CachedIndex, clock: Clock) -> None:
        self.place = place
        self._cached = cached
        self._folder = FolderSource(cached.root, is_ranked=True)
        self._clock = clock
        self._next_at = 0.0

    def is_due(self) -> bool:
        """Return True if it was not looked at for a while."""
        return self._clock.steady() >= self._next_at

    def look(self) -> bool:
        """Return True if another build has been published since; fetch what is new."""
        self._next_at = self._clock.steady() + STORE_S
        self._cached.sync()
        return self._folder.look()

    def tiers(self) -> Tiers:
        """Open the shards."""
        return self._folder.tiers()


class NodeSource:
    """Another machine."""

    may_be_away: Final = True

    def __init__(self, place: str, clock: Clock) -> None:
        """Take its URL; behind a # may stand which of its shards are asked, with commas."""
        address, _, names = place.partition("#")
        self.place = address.rstrip("/")
        self._wanted = frozenset(names.split(",")) if names else None
        self._clock = clock
        self._health = NodeHealth(clock)
        self._node = self._shard("")
        self._offer: OfferedShards | None = None

    def is_due(self) -> bool:
        """Return True unless it is away and left alone for a while."""
        return not self._health.refusal()

    def look(self) -> bool:
        """Return True if it offers other shards than before."""
        offer = self._chosen(self._node.offer())
        self._node.close()  # it is seldom asked
        before, self._offer = self._offer, offer
        return self._offer != before

    def _chosen(self, offer: OfferedShards) -> OfferedShards:
        """Return what is asked of an offer; raise if some of it is offered no more."""
        wanted = self._wanted
        if wanted is None:
            return offer
        if gone := sorted(wanted - set(offer.high)):
            raise CannotGoOn(f"{self.place} has no shard {', '.join(gone)} any more")
        high = [name for name in offer.high if name in wanted]
        images = [name for name in offer.images if name.removeprefix("images-") in wanted]
        return OfferedShards(high, [], images, born=offer.born)

    def tiers(self) -> Tiers:
        """Return its shards; nothing is asked."""
        offer = self._offer or OfferedShards([])
        names = offer.high, offer.low, offer.images
        shards = [[self._shard(f"/{name}") for name in some] for some in names]
        return Tiers(shards[0], shards[1], shards[2])

    def _shard(self, name: str) -> RemoteShard:
        return RemoteShard(f"{self.place}/shard{name}", clock=self._clock, health=self._health)
