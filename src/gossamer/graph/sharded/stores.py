"""A crawl's store as the graphs of its shards see it: which shards, whose pages, where to work."""

from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gossamer.cluster import Ring
from gossamer.durable import replacing
from gossamer.errors import ConfigError
from gossamer.graph.names import UrlMap
from gossamer.graph.sharded.rounds import Rounds
from gossamer.store import (
    CacheRoom,
    Checkpoint,
    CrawlFolder,
    CrawlStore,
    LinkExchange,
    Objects,
    ShippedFile,
    UrlOwners,
    copy_shipped,
    newest_checkpoint,
)

NOBODY = -1
"""Who owns what has no host."""
SETTINGS = "crawl.toml"
_DIGEST_BYTES = 16
_READ_BYTES = 1 << 20


class Owners(Protocol):
    """Who can tell the shard of a URL."""

    def of(self, url: str) -> int | None:
        """Return the shard of a URL; None of what has no host."""


class CrawlShards:
    """The shards of a crawl's store, as of its newest checkpoint."""

    def __init__(self, url: str, room: CacheRoom) -> None:
        self.objects = Objects(url)
        self.point: Checkpoint = newest_checkpoint(CrawlStore(self.objects))
        charter = self.point.charter
        ring = Ring.of(charter.ranges, charter.shards)
        self.numbers = ring.numbers
        self.owners = UrlOwners(ring.owner)
        self.owner_of_point = ring.owner
        self.exchange = LinkExchange(self.objects, charter.layout)
        self.rounds = Rounds(self.objects, charter.layout)
        self._place = room.folder / "graphs" / f"{charter.crawl}-{charter.layout:04d}"

    @property
    def url(self) -> str:
        """Return where the store is."""
        return self.objects.url

    def archive_of(self, shard: int) -> dict[str, list[ShippedFile]]:
        """Return the archive files of a shard."""
        return next(one.archive for one in self.point.manifests if one.shard == shard)

    def place(self, name: str) -> CrawlFolder:
        """Return a folder of this machine, with the settings of the crawl."""
        folder = CrawlFolder(self._place / name)
        folder.archive.mkdir(parents=True, exist_ok=True)
        files = (one.root[SETTINGS] for one in self.point.manifests if SETTINGS in one.root)
        if (settings := next(files, None)) is not None:
            with replacing(folder.config_path, is_synced=False) as out:
                copy_shipped(self.objects, settings, out)
        return folder

    def expect(self, shards: tuple[int, ...]) -> None:
        """Refuse shards that there are not."""
        if unknown := sorted(set(shards) - set(self.numbers)):
            raise ConfigError(
                f"--shard: {self.url} has the shards {self.numbers[0]} to {self.numbers[-1]}, "
                f"found {unknown[0]}"
            )

    def put_file(self, name: str, path: Path) -> ShippedFile:
        """Bring a file into the store."""
        self.objects.put(name, path)
        hashed = blake2b(digest_size=_DIGEST_BYTES)
        with path.open("rb", buffering=0) as file:
            while part := file.read(_READ_BYTES):
                hashed.update(part)
        return ShippedFile(name, path.stat().st_size, hashed.hexdigest())


def owners_of(names: UrlMap, owners: Owners) -> NDArray[np.int32]:
    """Return which shard has each URL of a map, in their order; `NOBODY` of what has no host."""
    hosts, bounds = names.hosts()
    of_host = np.fromiter(
        (_owner(owners, f"{origin}/") if origin else NOBODY for origin in hosts),
        np.int32,
        len(hosts),
    )
    found = np.repeat(of_host, np.diff(bounds))
    if hosts and not hosts[-1]:
        last = int(bounds[-2])
        rest = names.urls(range(last, len(names)))
        found[last:] = np.fromiter((_owner(owners, url) for url in rest), np.int32, len(rest))
    return found


def _owner(owners: Owners, url: str) -> int:
    found = owners.of(url)
    return NOBODY if found is None else found
