"""Archive files that are in the object store only: read by ranges, of which some are kept.

    far/store          the URL of the store that they are in
    far/NAME           as long as the file; of its blocks those that were read, holes between them
    far/NAME.objects   which objects it consists of
    far/NAME.blocks    this boot of the machine, then a byte for each block that is here

`CrawlFolder.archive_path` leads to `far/NAME` where `archive/NAME` is not there, and `open_archive`
opens either. Whoever reads holds a shared lock; when there is more than may be kept, the blocks of
files that nobody reads go. A block counts only when it is whole, and only until the machine is
booted again: nothing here is synced.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, Union

from msgspec import DecodeError, Struct, json

from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.linux import boot_id
from gossamer.store.layout import FAR, CrawlFolder

if TYPE_CHECKING:
    from io import FileIO

    from gossamer.store.checkpoints import ShippedFile
    from gossamer.store.objects import Objects

GB = 1000**3
DEFAULT_BYTES = 10 * GB
CACHE_BYTES = "GOSSAMER_CACHE_BYTES"
BLOCK_BYTES = 128 * 1024
MOST_AHEAD = 64
"""Blocks that are fetched at once where a file is read from its beginning on."""
LOOK_AGAIN_BYTES = 64 * BLOCK_BYTES
"""So much is fetched between two looks at how much there is."""
FILE_MODE = 0o644
BOOT_BYTES = 36
_OBJECTS, _BLOCKS, _STORE = ".objects", ".blocks", "store"


class FarObjects(Struct, frozen=True, kw_only=True):
    """The objects that a file consists of, in order."""

    names: list[str]
    sizes: list[int]
    digests: list[str]

    @property
    def size(self) -> int:
        """Return how long the file is."""
        return sum(self.sizes)

    @property
    def is_final(self) -> bool:
        """Return True if nothing is appended to the file any more."""
        return len(self.names) == 1 and self.names[0].count("/") == 1

    def pieces(self, start: int, end: int) -> Iterator[tuple[str, int, int]]:
        """Give the parts of objects that make up some bytes: name, first byte, length."""
        at = 0
        for name, size in zip(self.names, self.sizes, strict=True):
            first, last = max(start, at), min(end, at + size)
            if first < last:
                yield name, first - at, last - first
            at += size


def cache_bytes() -> int:
    """Return how much of an object store may be kept on this disk."""
    said = os.environ.get(CACHE_BYTES, "").strip()
    if said and not said.isdecimal():
        raise ConfigError(f"{CACHE_BYTES}: expected a number of bytes, found {said!r}")
    return int(said) if said else DEFAULT_BYTES


def open_archive(path: Path) -> "ArchiveFile":
    """Open an archive file for reading without a buffer, wherever it is."""
    return FarFile(path) if path.parent.name == FAR else path.open("rb", buffering=0)


def bytes_at(file: "ArchiveFile", length: int, at: int) -> bytes:
    """Return bytes of an open archive file from a position on, fewer at its end."""
    if isinstance(file, FarFile):
        return file.bytes_at(at, length)
    return os.pread(file.fileno(), length, at)


def note_far(folder: CrawlFolder, url: str, archive: Mapping[str, Sequence["ShippedFile"]]) -> None:
    """Make a place for each of some archive files that are in a store."""
    if not archive:
        return
    folder.far.mkdir(parents=True, exist_ok=True)
    if store_of(folder) != url:
        replace_file(folder.far / _STORE, url.encode())
    for name, files in archive.items():
        objects = FarObjects(
            names=[one.name for one in files],
            sizes=[one.size for one in files],
            digests=[one.digest for one in files],
        )
        path = folder.far / name
        if _objects_of(path) != objects:
            replace_file(_beside(path, _OBJECTS), json.encode(objects))
        if not path.exists():  # a removal was killed half way: the blocks of the file went with it
            _beside(path, _BLOCKS).unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            if os.fstat(descriptor).st_size != objects.size:
                os.ftruncate(descriptor, objects.size)
        finally:
            os.close(descriptor)


def store_of(folder: CrawlFolder) -> str:
    """Return the URL of the store that a crawl's far files are in; "" if there are none."""
    try:
        return (folder.far / _STORE).read_text("utf-8").strip()
    except FileNotFoundError:
        return ""


def objects_of_far(folder: CrawlFolder, name: str) -> FarObjects | None:
    """Return the objects of an archive file that is in the store only; None of another."""
    return _objects_of(folder.far / name) if folder.is_far(name) else None


def forget_far(folder: CrawlFolder, name: str) -> None:
    """Let a place go: the file is in the archive folder, or counts no more."""
    place = folder.far / name  # blocks first: killed in between, none counts that is not here
    for path in (_beside(place, _BLOCKS), place, _beside(place, _OBJECTS)):
        path.unlink(missing_ok=True)


def bring_whole(path: Path) -> Path:
    """Return a file with all bytes of an archive file: itself, or its place, filled."""
    if path.parent.name != FAR:
        return path
    with FarFile(path) as file:
        if not file.fill():
            raise CannotGoOn(
                f"{path.name} is in the object store only, and this disk has no room for it: "
                f"free some space, or set {CACHE_BYTES}"
            )
    return path


class ReadableFile(Protocol):
    """What is read of a file, from wherever it was set to."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most so many."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Set where to read next; return that."""


class FarFile:
    """An archive file in the object store, open for reading. Of one thread."""

    def __init__(self, path: Path) -> None:
        """Take the path of its place."""
        objects = _objects_of(path)
        if objects is None:
            raise FileNotFoundError(2, os.strerror(2), str(path))
        self._path = path
        self._objects = objects
        self._at = 0
        self._window = (0, b"")
        """What was fetched last, and from which byte on."""
        self._ahead = 1
        self._kept = LOOK_AGAIN_BYTES
        """How much was fetched since it was last looked how much there is."""
        self._has_room = False
        self._place = _locked_place(path)
        """None if nothing can be kept."""
        self._blocks = _opened_blocks(_beside(path, _BLOCKS)) if self._place is not None else None

    def __enter__(self) -> Self:
        """Be open in a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close at its end."""
        self.close()

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Set where to read next; return that."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._objects.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, fewer at the end."""
        content = self.bytes_at(self._at, size)
        self._at += len(content)
        return content

    def bytes_at(self, at: int, length: int) -> bytes:
        """Return bytes from a position on, fewer at the end."""
        end = min(at + length, self._objects.size)
        parts: list[bytes] = []
        while at < end:
            parts.append(self._piece(at, end))
            at += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def fill(self) -> bool:
        """Fetch all that is missing; return False if it cannot be kept."""
        for block in range(-(-self._objects.size // BLOCK_BYTES)):
            if not self._has(block):
                self._fetch(block)
            if not self._has(block):
                return False
        return True

    def close(self) -> None:
        """Let the file go; closing twice does no harm."""
        for descriptor in (self._place, self._blocks):
            if descriptor is not None:
                os.close(descriptor)
        self._place = self._blocks = None

    def _piece(self, at: int, end: int) -> bytes:
        """Return bytes from a position on, at least one."""
        first, content = self._window
        if not first <= at < first + len(content):
            block = at // BLOCK_BYTES
            if self._place is not None and self._has(block):
                found = os.pread(self._place, min(end, (block + 1) * BLOCK_BYTES) - at, at)
                if found:
                    return found
            self._fetch(block)
            first, content = self._window
        return content[at - first : end - first]

    def _has(self, block: int) -> bool:
        return self._blocks is not None and os.pread(self._blocks, 1, _flag_at(block)) == b"\1"

    def _fetch(self, block: int) -> None:
        """Fetch a block, and more behind it if those before were wanted, too."""
        start, behind = block * BLOCK_BYTES, self._window[0] + len(self._window[1])
        self._ahead = min(2 * self._ahead, MOST_AHEAD) if start == behind and start else 1
        count = 1
        while count < self._ahead and not self._has(block + count):
            count += 1
        end = min(start + count * BLOCK_BYTES, self._objects.size)
        content = self._fetched(start, end)
        self._window = (start, content)
        self._look_for_room(len(content))
        if self._place is not None and self._blocks is not None and self._has_room:
            whole = len(content) // BLOCK_BYTES
            if end == self._objects.size and self._objects.is_final:
                whole = count  # nothing comes behind it
            with suppress(OSError):  # a full disk costs only that it is fetched again
                if os.pwrite(self._place, content, start) == len(content):
                    os.pwrite(self._blocks, b"\1" * whole, _flag_at(block))

    def _look_for_room(self, more: int) -> None:
        """Find out whether what is fetched may be kept; if there is too much, others go first."""
        self._kept += more
        if self._kept >= LOOK_AGAIN_BYTES:
            most = cache_bytes() - LOOK_AGAIN_BYTES
            self._has_room = most > 0 and _kept_bytes(self._path.parent, most, self._path) <= most
            self._kept = 0

    def _fetched(self, start: int, end: int) -> bytes:
        """Return bytes as they are in the store."""
        url = store_of(CrawlFolder(self._path.parent.parent))
        found = _from_store(url, self._objects, start, end)
        if found is None:  # the owner has put one object in the place of several
            self._objects = _newest_objects(url, self._path.name) or self._objects
            found = _from_store(url, self._objects, start, end)
        if found is None:
            raise CannotGoOn(f"{url} is damaged: objects of {self._path.name} are missing")
        return found


ArchiveFile: TypeAlias = Union["FileIO", FarFile]


def _from_store(url: str, objects: FarObjects, start: int, end: int) -> bytes | None:
    """Return bytes of a file; None if an object of it is not there."""
    store = _objects_at(url)
    parts: list[bytes] = []
    for name, first, length in objects.pieces(start, end):
        try:
            part = store.piece(name, first, length)
        except CannotGoOn:
            if store.exists(name):
                raise
            return None
        if len(part) != length:
            raise CannotGoOn(f"{url}/{name} is damaged: it is shorter than it was")
        parts.append(part)
    return b"".join(parts)


def _newest_objects(url: str, name: str) -> FarObjects | None:
    """Return the objects that a file consists of by the newest checkpoint."""
    from gossamer.store.checkpoints import CrawlStore  # noqa: PLC0415 - hardly ever needed

    store = CrawlStore(_objects_at(url))
    found = store.charter()
    for manifest in store.consistent_manifests(found[1]) if found is not None else ():
        if files := manifest.archive.get(name):
            return FarObjects(
                names=[one.name for one in files],
                sizes=[one.size for one in files],
                digests=[one.digest for one in files],
            )
    return None


@lru_cache(maxsize=8)
def _objects_at(url: str) -> "Objects":
    from gossamer.store.objects import Objects  # noqa: PLC0415 - most archives are here

    return Objects(url)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _objects_of(path: Path) -> FarObjects | None:
    """Return what a place says of its objects; None if there is none."""
    try:
        return json.decode(_beside(path, _OBJECTS).read_bytes(), type=FarObjects)
    except FileNotFoundError:
        return None
    except (DecodeError, UnicodeDecodeError) as error:
        raise CannotGoOn(f"{_beside(path, _OBJECTS)} is damaged: {error}") from error


def _locked_place(path: Path) -> int | None:
    """Open a place and hold it, so that its blocks stay; None if there is none to be written."""
    try:
        place = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    fcntl.flock(place, fcntl.LOCK_SH)
    return place


def _flag_at(block: int) -> int:
    return BOOT_BYTES + block


def _opened_blocks(path: Path) -> int | None:
    """Open the list of blocks; one of another boot is begun anew. None if it cannot be written."""
    try:
        blocks = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except OSError:
        return None
    boot = boot_id().encode()[:BOOT_BYTES].ljust(BOOT_BYTES)
    if not boot.strip() or os.pread(blocks, len(boot), 0) != boot:
        os.ftruncate(blocks, 0)
        os.pwrite(blocks, boot, 0)
    return blocks


def _kept_bytes(far: Path, most: int, ours: Path) -> int:
    """Return how much is kept in a folder, after files that nobody reads have gone if needed."""
    places = [one for one in far.iterdir() if _beside(one, _OBJECTS).exists()]
    found = [(one.stat(), one) for one in places]
    kept = sum(status.st_blocks * 512 for status, _ in found)
    for status, place in sorted(found, key=lambda pair: pair[0].st_mtime):
        if kept > most and place != ours and status.st_blocks and _emptied(place):
            kept -= status.st_blocks * 512
    return kept


def _emptied(place: Path) -> bool:
    """Let the blocks of a file go; return False if somebody reads it."""
    descriptor = os.open(place, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = os.fstat(descriptor).st_size
        _beside(place, _BLOCKS).unlink(missing_ok=True)
        os.ftruncate(descriptor, 0)
        os.ftruncate(descriptor, size)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
