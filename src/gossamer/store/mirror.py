"""A mirror: a crawl's newest checkpoint in its store, as an ordinary folder that is only read.

    CACHE/CRAWL/crawl      the folder: places for its archive files, its `state` leads to one of
    CACHE/CRAWL/states/N   the states of one checkpoint; files that did not change are linked
    CACHE/CRAWL/peek       the same folder, but of its archive only what single questions needed
    CACHE/CRAWL/held       which objects are here

What is here is not fetched again. Whoever reads holds a lock on the states it reads, so that they
stay until it is done. Of the archive there are the indexes; its files are read by ranges (`far`).
A cache that grows beyond its limit loses the crawls that were not asked for longest.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import IO, NamedTuple
from uuid import uuid4

from msgspec import DecodeError, Struct, field, json

from gossamer.durable import replace_file, replacing
from gossamer.errors import CannotGoOn, ConfigError, NotShippedYet
from gossamer.model import StoreRef
from gossamer.store.checkpoints import CrawlCharter, CrawlStore, ShardManifest, ShippedFile
from gossamer.store.cutting import unpacked
from gossamer.store.digests import ShippedDigest
from gossamer.store.ends import Lengths, replace_ends
from gossamer.store.far import note_far
from gossamer.store.layout import ArchiveName, CrawlFolder
from gossamer.store.objects import Objects

GB = 1000**3
_CRAWL = re.compile(r"[0-9a-f]{8,64}")
_STORE_URL = re.compile(r"(?ms)(^\[store\][^\n]*$(?:(?!^\[).)*?)^url = [^\n]*")
_STATE = "state/"
FILE_MODE = 0o644


class CacheRoom(Struct, frozen=True):
    """Where caches of crawls are, and how much they may take together."""

    folder: Path
    bytes: int


class Checkpoint(NamedTuple):
    """What the newest manifests of a crawl say, all of one moment."""

    number: int
    """Of the charter."""
    charter: CrawlCharter
    manifests: list[ShardManifest]

    @property
    def archive(self) -> dict[str, list[ShippedFile]]:
        """Return the objects of each archive file."""
        return {name: files for one in self.manifests for name, files in one.archive.items()}


class _Held(Struct, kw_only=True):
    """Which objects are in a cache."""

    states: dict[str, ShippedFile] = field(default_factory=dict)
    """By the name below the folder of states."""
    logs: dict[str, list[ShippedFile]] = field(default_factory=dict)
    """The same, of the logs of states."""
    version: int = 0
    """Number of the folder of states; 0 for none."""
    root: dict[str, ShippedFile] = field(default_factory=dict)
    archive: dict[str, list[ShippedFile]] = field(default_factory=dict)
    peeked: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """By archive file: from where to where it is in the folder for single questions."""


def newest_checkpoint(store: CrawlStore) -> Checkpoint:
    """Return the newest checkpoint of a crawl's store; refuse a place that is none."""
    url = store.objects.url
    if (found := store.consistent_point()) is None:
        raise ConfigError(f"{url} has no crawl: expected the URL of a `gossamer crawl --store URL`")
    number, charter, manifests = found
    if not charter.generation:
        raise NotShippedYet(url)
    if _CRAWL.fullmatch(charter.crawl) is None:
        raise CannotGoOn(f"{url} is damaged: {charter.crawl!r} names no crawl")
    if not all(one.files for one in manifests):  # a shard of a cluster that was only claimed
        raise NotShippedYet(url)
    return Checkpoint(number, charter, manifests)


class Mirror:
    """The cache of one crawl. `folder` can be read until this is closed."""

    def __init__(self, url: str, room: CacheRoom) -> None:
        self._store = CrawlStore(Objects(url))
        self._room = room
        self._lock: int | None = None
        """On the states that are read."""

    def close(self) -> None:
        """Let the cache go."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def whole(self) -> Path:
        """Return the folder of the newest checkpoint; its archive is read by ranges."""
        point = newest_checkpoint(self._store)
        with self._updating(point) as cache:
            cache.bring_archive(point.archive)  # first: states must not be ahead of it
            cache.bring_states(point)
            cache.lead_to_newest(cache.folder.root)
            replace_ends(cache.folder, _lengths(point.archive))
            self._hold(cache)
        return cache.folder.root

    def part(self) -> "PartialMirror":
        """Return the folder of the newest checkpoint without its archive."""
        point = newest_checkpoint(self._store)
        with self._updating(point, is_whole=False) as cache:
            cache.bring_states(point)
            indexes = {n: one for n, one in point.archive.items() if _is_index(n)}
            cache.begin_peek(indexes, point.archive)
            self._hold(cache)
        return PartialMirror(self, point, cache.peek)

    def bring_record(self, point: Checkpoint, ref: StoreRef) -> None:
        """Bring the record at a position of the archive."""
        with self._updating(point, is_whole=False) as cache:
            cache.bring_range(ref.file, point.archive[ref.file], ref.offset, ref.length)

    @contextmanager
    def _updating(self, point: Checkpoint, *, is_whole: bool = True) -> "Iterator[_Cache]":
        """Give the cache, for us alone to change."""
        place = self._room.folder / point.charter.crawl
        files = [*_state_files(point).values()]
        files += [one for some in _state_logs(point).values() for one in some]
        if is_whole:
            files += [one for n, some in point.archive.items() if _is_index(n) for one in some]
        with _locked(place):
            self._make_room(place, sum(one.size for one in files))
            yield _Cache(self._store, place)

    def _make_room(self, place: Path, wanted: int) -> None:
        """Remove what was not asked for longest, until so much fits; refuse what never does."""
        room, url = self._room, self._store.objects.url
        if wanted > room.bytes:
            raise CannotGoOn(
                f"{url} has {wanted / GB:.3g} GB, and caches may take {room.bytes / GB:.3g} GB: "
                f"`gossamer restore {url} --into DIR` makes a folder of it, or set "
                "GOSSAMER_CACHE_BYTES"
            )
        others = [one for one in room.folder.iterdir() if _is_cache(one) and one != place]
        others.sort(key=lambda one: one.stat().st_mtime)
        left = room.bytes - wanted - sum(map(_bytes_in, others))
        while left < 0 and others:
            oldest = others.pop(0)
            left += _bytes_in(oldest)
            _remove_unless_read(oldest)
        os.utime(place)

    def _hold(self, cache: "_Cache") -> None:
        """Keep the newest states as long as we read them; let others go that nobody reads."""
        self.close()
        self._lock = os.open(cache.newest_states, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        for states in cache.older_states():
            _remove_unless_read(states)


class PartialMirror:
    """A crawl's folder without its archive, into which single records are brought."""

    def __init__(self, mirror: Mirror, point: Checkpoint, folder: Path) -> None:
        self._mirror = mirror
        self._point = point
        self.folder = folder

    def has(self, ref: StoreRef) -> bool:
        """Return True if the checkpoint has the record at a position."""
        files = self._point.archive.get(ref.file, [])
        return 0 <= ref.offset < ref.offset + ref.length <= _size(files)

    def bring(self, ref: StoreRef) -> None:
        """Bring the record at a position."""
        self._mirror.bring_record(self._point, ref)


class _Cache:
    """What is in the cache of one crawl; held by who changes it."""

    def __init__(self, store: CrawlStore, place: Path) -> None:
        self._store = store
        self._place = place
        self._held = _read_held(place / "held")
        self.folder = CrawlFolder(place / "crawl")
        self.peek = place / "peek"

    @property
    def newest_states(self) -> Path:
        """Return the folder of the newest states."""
        return self._place / "states" / str(self._held.version)

    @property
    def has_states(self) -> bool:
        """Return True if there are any."""
        return self.newest_states.is_dir()

    def older_states(self) -> list[Path]:
        """Return the folders of other states, whole ones and begun ones."""
        return [one for one in (self._place / "states").iterdir() if one != self.newest_states]

    def bring_states(self, point: Checkpoint) -> None:
        """Bring the states and settings of a checkpoint, unless they are here."""
        files, logs = _state_files(point), _state_logs(point)
        root = {n: one for m in point.manifests for n, one in m.root.items()}
        ours = {name: one for name, one in root.items() if not name.startswith(_STATE)}
        held = self._held
        if (held.states, held.logs, held.root) == (files, logs, ours) and self.has_states:
            return
        for name, file in ours.items():
            if self._held.root.get(name) != file:
                with replacing(_inside(self.folder.root, name), is_synced=False) as out:
                    self._copy(file, out)
        self._bring_version(files, logs)
        self._held.root = ours
        _disown(self.folder.root)
        self._save()

    def _bring_version(
        self, files: Mapping[str, ShippedFile], logs: Mapping[str, list[ShippedFile]]
    ) -> None:
        """Make another folder of states, and let `state` lead to it."""
        before, number = self.newest_states, self._held.version + 1
        place = self._place / "states" / str(number)
        shutil.rmtree(place, ignore_errors=True)
        for name, file in files.items():
            path = _inside(place, name)
            if self._held.states.get(name) == file and (before / name).exists():
                os.link(before / name, path)
            else:
                with path.open("wb") as out:
                    self._copy(file, out)
        for name, stretches in logs.items():
            self._bring_log(name, stretches, before, _inside(place, name))
        for shard in {name.partition("/")[0] for name in files if "/" in name}:
            (place / shard / "IDENTITY").write_text(str(uuid4()), "ascii")  # a database of its own
        _disown(place)
        self._held.states, self._held.version = dict(files), number
        self._held.logs = dict(logs)

    def _bring_log(self, name: str, stretches: list[ShippedFile], before: Path, path: Path) -> None:
        """Bring a log; what is here of it is not fetched again."""
        held = self._held.logs.get(name, [])
        if not held or stretches[: len(held)] != held or not (before / name).exists():
            held = []
        with path.open("wb") as out:
            if held:
                out.write((before / name).read_bytes())
            for one in stretches[len(held) :]:
                piece = BytesIO()
                self._copy(one, piece)
                out.write(unpacked(piece.getvalue()))

    def lead_to_newest(self, root: Path) -> None:
        """Let the states of a folder be the newest."""
        _lead(root / "state", Path("..", "states", str(self._held.version)))

    def bring_archive(self, archive: Mapping[str, list[ShippedFile]]) -> None:
        """Bring what is missing of the indexes, and make places for archive files."""
        self.folder.archive.mkdir(parents=True, exist_ok=True)
        far = {name: files for name, files in archive.items() if ArchiveName.parse(name)}
        note_far(self.folder, self._store.objects.url, far)
        for name in far:
            (self.folder.archive / name).unlink(missing_ok=True)  # of an older version
        for name, files in archive.items():
            path = _inside(self.folder.archive, name)
            if name in far or (self._held.archive.get(name) == files and path.exists()):
                continue
            with replacing(path, is_synced=False) as out:
                for file in files:
                    self._copy(file, out)
            self._held.archive[name] = files
            self._save()

    def begin_peek(
        self, indexes: Mapping[str, list[ShippedFile]], archive: Mapping[str, list[ShippedFile]]
    ) -> None:
        """Make the folder for single questions: states, indexes of pages, and names of files."""
        place = CrawlFolder(self.peek)
        place.archive.mkdir(parents=True, exist_ok=True)
        self.lead_to_newest(place.root)
        for name in self._held.root:
            _lead(place.root / name, Path("..", "crawl", name))
        for name, files in indexes.items():
            path = _inside(place.archive, name)
            if not path.exists() or path.stat().st_size != _size(files):
                with replacing(path, is_synced=False) as out:
                    for file in files:
                        self._copy(file, out)
        for name in archive:
            if ArchiveName.parse(name) is not None:
                (place.archive / name).touch()

    def bring_range(self, name: str, files: list[ShippedFile], start: int, length: int) -> None:
        """Bring some bytes of an archive file to where they are in it."""
        ranges = self._held.peeked.setdefault(name, [])
        if any(first <= start and start + length <= last for first, last in ranges):
            return
        path = _inside(self.peek / "archive", name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            at = 0
            for file in files:
                first, last = max(start, at), min(start + length, at + file.size)
                if first < last:
                    content = self._range(file, first - at, last - first)
                    os.pwrite(descriptor, content, first)
                at += file.size
        finally:
            os.close(descriptor)
        ranges.append((start, start + length))
        self._save()

    def _range(self, file: ShippedFile, start: int, length: int) -> bytes:
        objects = self._store.objects
        content = objects.read_range(file.name, start, length)
        if content is None or len(content) != length:
            raise CannotGoOn(f"{objects.url}/{file.name} is damaged: it is shorter than it was")
        return content

    def _copy(self, file: ShippedFile, out: IO[bytes]) -> None:
        copy_shipped(self._store.objects, file, out)

    def _save(self) -> None:
        replace_file(self._place / "held", json.encode(self._held), is_synced=False)


def copy_shipped(objects: Objects, file: ShippedFile, out: IO[bytes]) -> None:
    """Write what a file has in the store; raise if that is not what was shipped."""
    if not file.name:
        out.write(file.content)
        return
    hashed, size = ShippedDigest(file.digest), 0
    pieces = objects.stream(file.name)
    if pieces is None:
        raise CannotGoOn(f"{objects.url}/{file.name} is missing")
    for piece in pieces:
        hashed.update(piece)
        size += len(piece)
        if size > file.size:
            break
        out.write(piece)
    if size != file.size or hashed.text() != file.digest:
        raise CannotGoOn(f"{objects.url}/{file.name} is damaged: other bytes")


def _is_cache(place: Path) -> bool:
    """Return True if a folder is the cache of a crawl; published indexes have theirs beside it."""
    return _CRAWL.fullmatch(place.name) is not None and (place / "states").is_dir()


def _state_files(point: Checkpoint) -> dict[str, ShippedFile]:
    """Return the files of all states, by their names below the folder of states."""
    found = {f"{one.shard:02d}/{n}": f for one in point.manifests for n, f in one.files.items()}
    for one in point.manifests:
        found |= {
            n.removeprefix(_STATE): file for n, file in one.root.items() if n.startswith(_STATE)
        }
    newer = point.charter.root.items()
    return found | {n.removeprefix(_STATE): file for n, file in newer if n.startswith(_STATE)}


def _state_logs(point: Checkpoint) -> dict[str, list[ShippedFile]]:
    """Return the logs of all states, by their names below the folder of states."""
    return {f"{one.shard:02d}/{n}": some for one in point.manifests for n, some in one.logs.items()}


def _is_index(name: str) -> bool:
    return ArchiveName.parse(name) is None


def _lengths(archive: Mapping[str, list[ShippedFile]]) -> Lengths:
    return {n: _size(some) for n, some in archive.items() if ArchiveName.parse(n) is not None}


def _size(files: Iterable[ShippedFile]) -> int:
    return sum(file.size for file in files)


def _disown(folder: Path) -> None:
    """Let settings not name the store: this copy is not the crawl that is kept there."""
    path = folder / "crawl.toml"
    if path.exists():
        said = path.read_text("utf-8", errors="surrogateescape")
        if (other := _STORE_URL.sub(r"\1# url = \"\"", said, count=1)) != said:
            replace_file(path, other.encode("utf-8", errors="surrogateescape"), is_synced=False)


def _read_held(path: Path) -> _Held:
    try:
        return json.decode(path.read_bytes(), type=_Held)
    except (FileNotFoundError, DecodeError, UnicodeDecodeError):
        return _Held()


def _lead(path: Path, to: Path) -> None:
    """Let a link lead elsewhere, at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() and path.readlink() == to:
        return
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(to)
    fresh.replace(path)


def _inside(folder: Path, name: str) -> Path:
    """Return the path of a file below a folder; a store must not name any other."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts:
        raise CannotGoOn(f"the store is damaged: it names a file {name!r}")
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Let nobody else change a cache meanwhile, nor remove it."""
    while True:
        (place / "states").mkdir(parents=True, exist_ok=True)
        lock = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_still(place, lock):  # and was not removed while we waited
                yield
                return
        finally:
            os.close(lock)


def _is_still(place: Path, descriptor: int) -> bool:
    """Return True if a folder is the one that was opened under its name."""
    try:
        return place.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def _remove_unless_read(place: Path) -> None:
    """Remove a cache, or the states of one, unless somebody reads it."""
    locks: list[int] = []
    try:
        for one in (place, *place.glob("states/*")):
            locks.append(os.open(one, os.O_RDONLY | os.O_CLOEXEC))
            fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(place, ignore_errors=True)
    except (BlockingIOError, FileNotFoundError):
        return
    finally:
        for lock in locks:
            os.close(lock)


def _bytes_in(place: Path) -> int:
    """Return how many bytes a cache takes; a file with several names counts once."""
    found: dict[int, int] = {}
    for path in place.rglob("*"):
        with suppress(FileNotFoundError):
            status = path.lstat()
            found[status.st_ino] = status.st_blocks * 512
    return sum(found.values())
