"""From places to an index that can be asked: folders, object stores, other machines."""

from collections.abc import Sequence
from pathlib import Path

from gossamer.clock import Clock, SystemClock
from gossamer.errors import ConfigError
from gossamer.search.broker.broker import Broker, BrokerOptions
from gossamer.search.broker.places import (
    FolderSource,
    NodeSource,
    Places,
    ShardSource,
    StoreSource,
    Tiers,
)
from gossamer.search.manifest import Manifest, image_folders
from gossamer.search.published import CachedIndex
from gossamer.search.shard import LocalShard
from gossamer.store import is_store

Place = str | Path
_SERVERS = ("http://", "https://")


def open_reader(
    place: Place | Sequence[Place],
    *,
    cache: Path | None = None,
    options: BrokerOptions | None = None,
    clock: Clock | None = None,
) -> Broker:
    """Return an index that can be asked; several places are one index together.

    A place is a crawl's folder, an object store (s3://BUCKET/PREFIX, file:///FOLDER) or a server
    (http://HOST:PORT, as `gossamer serve DIR --shard` offers it). Stores and servers may be away,
    as long as one place is there. `cache`: where files of an object store are kept; the user's
    cache folder unless told otherwise.
    """
    given = [place] if isinstance(place, str | Path) else list(place)
    if not given:
        raise ConfigError("expected the folder or URL of an index, found none")
    clock = clock or SystemClock()
    several = len(given) > 1  # a single folder has its ranks beside it, for whoever asks
    sources = [_source(one, cache, clock, is_ranked=several) for one in dict.fromkeys(given)]
    places = Places(sources)
    return Broker(places.first(), options, clock=clock, places=places)


def open_images(index: Path, manifest: Manifest) -> Broker | None:
    """Return the images of an index in a folder, however its pages are split."""
    if not manifest.images:
        return None
    return Broker(Tiers([LocalShard(path) for path in image_folders(index, manifest)]))


def _source(place: Place, cache: Path | None, clock: Clock, *, is_ranked: bool) -> ShardSource:
    if isinstance(place, str) and place.startswith(_SERVERS):
        return NodeSource(place, clock)
    if isinstance(place, str) and is_store(place):
        return StoreSource(place, CachedIndex(place, cache), clock)
    return FolderSource(Path(place), is_ranked=is_ranked)
