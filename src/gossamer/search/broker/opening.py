"""From a place to an index that can be asked: a folder, an object store, other machines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from gossamer.clock import Clock
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.search.broker.broker import Broker, BrokerOptions, Tiers
from gossamer.search.broker.far import Offer, RemoteShard
from gossamer.search.broker.stores import CachedIndex, is_store
from gossamer.search.manifest import Manifest, index_folder, read_manifest, shard_folders
from gossamer.search.shard import VERSION, LocalShard

Place = str | Path
_FAR = ("http://", "https://")


class _Source(Protocol):
    """Where shards come from."""

    def look(self) -> bool:
        """Return True if the shards are others than at the last look; the first time they are."""

    def tiers(self) -> Tiers:
        """Open the shards."""


def open_finder(
    place: Place | Sequence[Place],
    *,
    cache: Path | None = None,
    options: BrokerOptions | None = None,
    clock: Clock | None = None,
) -> Broker:
    """Return an index that can be asked; several places are one index together.

    A place is a crawl's folder, an object store (s3://BUCKET/PREFIX, file:///FOLDER) or a server
    (http://HOST:PORT, as `gossamer serve DIR --shard` offers it). `cache`: where files of an object
    store are kept; the user's cache folder unless told otherwise.
    """
    places = [place] if isinstance(place, str | Path) else list(place)
    if not places:
        raise ConfigError("expected the folder or URL of an index, found none")
    sources = [_source(one, cache) for one in places]
    for source in sources:
        source.look()

    is_due = False

    def newer() -> Tiers | None:
        """Return other shards, if there are. While they cannot be had, those we have will do."""
        nonlocal is_due
        try:
            looks = [source.look() for source in sources]  # at all of them
            is_due = is_due or any(looks)
            tiers = _together(sources) if is_due else None
        except CannotGoOn:  # a build puts them into place, or a store cannot be reached
            return None
        is_due = False
        return tiers

    return Broker(_together(sources), options, clock=clock, newer=newer)


def _together(sources: Sequence[_Source]) -> Tiers:
    opened = [source.tiers() for source in sources]
    high = [shard for tiers in opened for shard in tiers.high]
    return Tiers(high, [shard for tiers in opened for shard in tiers.low])


def _source(place: Place, cache: Path | None) -> _Source:
    if isinstance(place, str) and place.startswith(_FAR):
        return _Far(place)
    if isinstance(place, str) and is_store(place):
        return _Kept(CachedIndex(place, cache))
    return _Near(Path(place))


class _Near:
    """A crawl's folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._last: object = None

    def look(self) -> bool:
        manifest = self._manifest()
        now = manifest.born, manifest.shards, manifest.partition, manifest.high_share > 0
        before, self._last = self._last, now
        return now != before

    def tiers(self) -> Tiers:
        manifest, index = self._manifest(), index_folder(self._root)
        low = shard_folders(index, manifest, "low") if manifest.high_share else []
        high = shard_folders(index, manifest, "high")
        return Tiers([LocalShard(path) for path in high], [LocalShard(path) for path in low])

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


class _Kept:
    """An object store, and the folder that it is kept in."""

    def __init__(self, cached: CachedIndex) -> None:
        self._cached = cached
        self._near = _Near(cached.root)

    def look(self) -> bool:
        self._cached.sync()
        return self._near.look()

    def tiers(self) -> Tiers:
        return self._near.tiers()


class _Far:
    """A server."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/") + "/shard"
        self._door = RemoteShard(self._url)
        self._offer = Offer([])

    def look(self) -> bool:
        before, self._offer = self._offer, self._door.offer()
        self._door.close()  # it is seldom asked
        return self._offer != before

    def tiers(self) -> Tiers:
        high, low = (
            [RemoteShard(f"{self._url}/{name}") for name in names]
            for names in (self._offer.high, self._offer.low)
        )
        return Tiers(high, low)
