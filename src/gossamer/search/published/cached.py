"""CachedIndex: an index of an object store in a folder of this machine, as new as can be had.

Files of the engine never change, so only those that are new are fetched. They are in place before
the lists that name them: a kill in between leaves the index that was there before.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import xxhash
from msgspec import UNSET

from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn
from gossamer.ranks import ranks_path
from gossamer.search.manifest import index_folder, write_manifest
from gossamer.search.published.seal import (
    FILES,
    RANKS,
    SEAL,
    Seal,
    SealedFile,
    digest_of,
    read_seal,
)
from gossamer.store import Objects, TooLarge

META = "meta.json"
_TRIES = 3


class CachedIndex:
    """An index of an object store, and the folder that it is kept in."""

    def __init__(self, url: str, cache: Path | None = None, objects: Objects | None = None) -> None:
        self._given = objects
        self._url = url.rstrip("/")
        self.root = (cache or _user_cache()) / xxhash.xxh3_64_hexdigest(self._url.encode())
        """The folder that can be opened, as if it were a crawl's."""

    @cached_property
    def _objects(self) -> Objects:
        """What is at the URL, which may be away when this is made."""
        return self._given or Objects(self._url)

    def sync(self) -> bool:
        """Bring the folder up to date; tell whether there was anything new."""
        try:
            index_folder(self.root).mkdir(parents=True, exist_ok=True)
            with self._alone():
                return self._synced()
        except TooLarge as error:
            raise CannotGoOn(f"{error}; publish the index again") from error
        except OSError as error:
            raise CannotGoOn(
                f"cannot write to {self.root}: {error.strerror}; free some disk space"
            ) from error

    def _synced(self) -> bool:
        for _ in range(_TRIES):
            content = self._objects.read(SEAL)
            if content is None:
                raise CannotGoOn(
                    f"no index at {self._url}: run `gossamer build DIR index --publish {self._url}`"
                )
            before = self._kept()
            if content == before:
                return False
            seal = read_seal(content, self._url)
            if self._fetched(seal) and self._fetched_ranks(seal, before):
                self._put_in_place(seal, content, before)
                return True
        raise CannotGoOn(f"{self._url} is incomplete: files are missing; publish the index again")

    def _fetched(self, seal: Seal) -> bool:
        """Fetch the files that are new; tell whether all of them were there."""
        index = index_folder(self.root)
        for name, file in seal.files.items():
            path = index / name
            if path.is_file() and path.stat().st_size == file.size:
                continue
            path.parent.mkdir(exist_ok=True)
            if not self._save(FILES + name, file, path):
                return False
        return True

    def _fetched_ranks(self, seal: Seal, before: bytes | None) -> bool:
        """Fetch the ranks if they are others; tell whether they were there."""
        path = ranks_path(self.root)
        known = read_seal(before, str(self.root)).ranks if before is not None else UNSET
        if not isinstance(seal.ranks, SealedFile):
            path.unlink(missing_ok=True)
            return True
        if seal.ranks == known and path.is_file():
            return True
        path.parent.mkdir(exist_ok=True)
        return self._save(RANKS + seal.ranks.digest, seal.ranks, path)

    def _save(self, name: str, file: SealedFile, path: Path) -> bool:
        part = path.with_name(f"{path.name}.part")
        if not self._objects.save(name, part, file.size):
            return False
        if part.stat().st_size != file.size or digest_of(part) != file.digest:
            part.unlink()
            raise CannotGoOn(f"{self._url}/{name} is damaged; publish the index again")
        part.replace(path)
        return True

    def _put_in_place(self, seal: Seal, content: bytes, before: bytes | None) -> None:
        """Make the new files count, and delete those that neither this nor the last seal has."""
        index = index_folder(self.root)
        for shard, meta in seal.metas.items():
            (index / shard).mkdir(exist_ok=True)
            replace_file(index / shard / META, meta.encode())
        write_manifest(index, seal.manifest, is_sealed=False)
        replace_file(self.root / SEAL, content)
        wanted = set(seal.files)
        if before is not None:
            wanted |= read_seal(before, str(self.root)).files.keys()
        for path in index.glob("*/*"):
            if (
                path.name != META
                and path.name[0] != "."
                and f"{path.parent.name}/{path.name}" not in wanted
            ):
                path.unlink()

    def _kept(self) -> bytes | None:
        """Return the seal of what is in the folder, if all of it is."""
        try:
            content = (self.root / SEAL).read_bytes()
            seal = read_seal(content, str(self.root))
        except (OSError, CannotGoOn):
            return None
        index = index_folder(self.root)
        sizes = {name: _size(index / name) for name in seal.files}
        is_whole = all(sizes[name] == file.size for name, file in seal.files.items())
        return content if is_whole else None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with (self.root / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _user_cache() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "gossamer" / "index"
