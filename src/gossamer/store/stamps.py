"""Stamps: whether what a crawl has stored is what it was, for whoever keeps answers about it."""

from pathlib import Path

from msgspec import Struct

from gossamer.store.layout import CrawlFolder

_Stamp = tuple[int, int, int]


class ContentStamp(Struct, frozen=True):
    """What a crawl's folder was like. Equal: nothing was committed in between."""

    removals: tuple[object, ...]
    """Equal: nothing was removed, and no setting was changed."""
    commits: tuple[object, ...] = ()


def content_stamp(folder: CrawlFolder) -> ContentStamp | None:
    """Return the stamp of a crawl's folder at this moment; None if nothing tells of commits.

    A purge makes another folder of the state; each commit writes into the ends file of its shard.
    """
    commits = tuple(stamp_of(folder.ends_path(shard)) for shard in _shards(folder))
    if not commits:
        return None
    state = _renamed(folder.root / "state")
    removals = (state, stamp_of(folder.purge_path), stamp_of(folder.config_path))
    return ContentStamp(removals, commits)


def stamp_of(path: Path) -> _Stamp | None:
    """Return what changes when a file is written or replaced; None if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _shards(folder: CrawlFolder) -> list[int]:
    """Return the shards that have a state: of a crawl that was split, the old ones are gone."""
    try:
        names = [path.name for path in (folder.root / "state").iterdir()]
    except OSError:
        return []
    shards = sorted(int(name) for name in names if name.isdecimal())
    return [shard for shard in shards if folder.ends_path(shard).exists()]


def _renamed(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns
