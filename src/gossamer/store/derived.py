"""Derived: a folder that is made from the archive and can be made again, such as the graph.

NAME/       the one that holds: its manifest was written last
NAME.new/   one that is being built, or, if it has a manifest, one that is whole
NAME.old/   one that was replaced and is being deleted
NAME.lock   held by the process that builds

It is made from what counts of the archive: the lengths that the shards' states have committed.
While a crawl runs, and after it was killed, a file may be longer; that part may vanish again, so it
is not read; nor, where the crawl has an object store, what is not shipped. A folder without any
state (an archive alone) is read as far as it is whole.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import DecodeError, Struct, json

from gossamer.durable import replace_file, sync
from gossamer.errors import CannotGoOn
from gossamer.store.archive import ROW_PREFIX, FileRow, read_file_row
from gossamer.store.ends import (
    EndsFinding,
    KnownEnds,
    KnownFile,
    Lengths,
    StateEnd,
    compare_ends,
    read_ends,
)
from gossamer.store.layout import ArchiveKind, ArchiveName, CrawlFolder
from gossamer.store.records import Record
from gossamer.store.scanning import KEPT_BYTES, BadRecord, scan_records
from gossamer.store.state import State

MANIFEST = "manifest.json"
LOOKS, LOOK_S = 3, 0.01


class BuiltElsewhere(CannotGoOn):
    """Another process builds the same at this moment."""


class Derived:
    """One such folder of a crawl. Killed at any step, nothing is lost: `settle` ends what began."""

    def __init__(self, root: Path, name: str, is_whole: Callable[[Path], bool]) -> None:
        self._root = root
        self._name = name
        self._is_whole = is_whole
        """Returns True if the manifest of a folder is there and is one of ours."""
        self.folder = root / name
        self._new = root / f"{name}.new"
        self._old = root / f"{name}.old"

    def whole(self) -> Path | None:
        """Return the folder that holds, also while it is being replaced; None if there is none."""
        for folder in (self.folder, self._new, self.folder):  # it may be moved between two checks
            if (folder / MANIFEST).exists():
                return folder
        return None

    @property
    def lock_path(self) -> Path:
        """The file that the process which builds keeps locked; it says how far that is."""
        return self._root / f"{self._name}.lock"

    @contextmanager
    def sole_builder(self) -> Iterator[None]:
        """Make sure that nobody else builds it."""
        try:
            lock = os.open(self.lock_path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise CannotGoOn(
                f"cannot build the {self._name} in {self._root}: {error.strerror}; "
                "build it in a copy that can be written"
            ) from error
        try:
            _take(lock)
            os.ftruncate(lock, 0)
            yield
        except BlockingIOError as error:
            raise BuiltElsewhere(
                f"another process builds the {self._name} of {self._root}; wait until it ends, "
                "or stop it"
            ) from error
        finally:
            os.close(lock)

    def settle(self) -> None:
        """Finish or delete what a killed builder left."""
        if self._is_whole(self._new):
            self.swap()
        remove(self._new)
        remove(self._old)

    def discard_unfinished(self) -> None:
        """Delete what was begun and not finished."""
        if not self._is_whole(self._new):
            remove(self._new)

    def fresh(self) -> Path:
        """Return an empty folder to build in."""
        remove(self._new)
        self._new.mkdir(parents=True)
        return self._new

    def swap(self) -> None:
        """Put the whole one of the new folder into its place. May be killed at any step."""
        remove(self._old)
        if self.folder.exists():
            self.folder.rename(self._old)
        self._new.rename(self.folder)
        sync(self._root)
        remove(self._old)


def _take(lock: int) -> None:
    """Lock a file; who only looks whether it is locked holds it for a moment."""
    for _ in range(LOOKS):
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(LOOK_S)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove(folder: Path) -> None:
    """Delete a folder; of a link to one, only the link."""
    if folder.is_symlink():
        folder.unlink(missing_ok=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)


ATTEMPTS = 5
"""Opening the state of a running crawl fails if a file is replaced at that moment."""


SHIPPED_LENGTHS = "shipped-lengths"


class ShippedLengths(Struct, frozen=True, kw_only=True):
    """How much of a shard's archive is in its object store, as of the last checkpoint."""

    newest: tuple[int, int]
    """Epoch and number of the last set of files; all before are whole in the store."""
    open: Lengths
    """Of that set, if it was open."""

    def of(self, name: ArchiveName, length: int) -> int:
        """Return how much of a file of the shard is shipped, of so much that is committed."""
        if name.age < self.newest or (name.age == self.newest and not self.open):
            return length
        return min(length, self.open.get(name.file_name, 0))


def note_shipped(state: Path, lengths: Lengths, closed: Collection[str]) -> None:
    """Let readers of a shard's archive know what a loss of this machine cannot take back."""
    ages = [name.age for name in map(ArchiveName.parse, lengths) if name is not None]
    if ages:
        left = {name: length for name, length in lengths.items() if name not in closed}
        content = json.encode(ShippedLengths(newest=max(ages), open=left))
        replace_file(state / SHIPPED_LENGTHS, content, is_synced=False)


def _shipped(state: Path, shard: int, lengths: Lengths) -> Lengths:
    """Return how much of the files of a shard counts, of so much that is committed."""
    try:
        shipped = json.decode((state / SHIPPED_LENGTHS).read_bytes(), type=ShippedLengths)
    except (FileNotFoundError, DecodeError, UnicodeDecodeError):
        return lengths
    names = {one: ArchiveName.parse(one) for one in lengths}
    return {
        one: shipped.of(name, lengths[one])
        if name is not None and name.shard == shard
        else lengths[one]
        for one, name in names.items()
    }


def counted_lengths(folder: CrawlFolder, *kinds: ArchiveKind) -> Lengths:
    """Return how many bytes of each file of some kinds count at this moment.

    Those of one shard are of one commit: texts and links fit together. Where there is an object
    store they are of one checkpoint: nothing counts that a loss of this machine would take back.
    """
    sizes = {
        name.file_name: folder.archive_path(name.file_name).stat().st_size
        for name in folder.archive_names()
        if name.kind in kinds
    }
    states = [path for path in sorted((folder.root / "state").glob("[0-9]*")) if State.exists(path)]
    if not states:
        return sizes
    committed: Lengths = {}
    for path in states:
        rows, _ = _file_rows(path)
        lengths = {name: row.length for name, row in rows.items()}
        committed |= _shipped(path, int(path.name), lengths)
    return {name: min(size, committed.get(name, 0)) for name, size in sizes.items()}


def far_files(folder: CrawlFolder) -> list[str]:
    """Return the archive files that are in the object store, and not on this disk.

    A state that cannot be read knows of none.
    """
    found: set[str] = set()
    for path in sorted((folder.root / "state").glob("[0-9]*")):
        with suppress(CannotGoOn):
            rows, _ = _file_rows(path, may_be_empty=True) if State.exists(path) else ({}, None)
            found |= {name for name, row in rows.items() if row.is_far}
    return sorted(name for name in found if not folder.archive_path(name).exists())


def has_shrunk(covered: Mapping[str, int], counted: Mapping[str, int]) -> bool:
    """Return True if something that was read does not count any more."""
    return any(counted.get(name, 0) < length for name, length in covered.items())


def has_more(covered: Mapping[str, int], counted: Mapping[str, int]) -> bool:
    """Return True if something counts that was not read."""
    return any(end > covered.get(name, 0) for name, end in counted.items())


class RecordRange:
    """Iterate over the readable records of a file from one offset to another.

    `reached` is the end of the last record that was dealt with: the next one was asked for. What
    cannot be read is passed over, but for the end of the range, which is tried again.
    """

    def __init__(
        self,
        path: Path,
        start: int,
        end: int,
        bad: list[BadRecord],
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self._path = path
        self._end = end
        self._kept_bytes = kept_bytes
        """Of a longer block, only so much is handed out."""
        self._bad = bad
        """Takes what cannot be read."""
        self.reached = start
        self.is_torn = False
        """Its end cannot be read."""

    def __iter__(self) -> Iterator[Record]:
        if self.reached >= self._end:
            return
        for found in scan_records(self._path, self.reached, self._end, kept_bytes=self._kept_bytes):
            if isinstance(found, BadRecord):
                self._bad.append(found)
                self.is_torn = found.end >= self._end
                self.reached = self.reached if self.is_torn else found.end
                continue
            yield found
            self.reached = found.offset + found.length


def is_locked(folder: CrawlFolder) -> bool:
    """Return True if a process crawls in a folder, without asking it anything."""
    try:
        lock = os.open(folder.lock_path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def ends_findings(folder: CrawlFolder, shards: Iterable[int]) -> list[EndsFinding]:
    """Compare the ends files with all states of a folder together, and with the archive's files.

    Nothing is written. The shards are those whose states hold, as the shard map says; a state that
    does not exist knows nothing.
    """
    known = KnownEnds(files={}, states={})
    ends = read_ends(folder)  # first: beside a crawl that runs, the states grow
    for shard in shards:
        if not State.exists(folder.state(shard)):
            continue
        rows, known.states[shard] = _file_rows(folder.state(shard), may_be_empty=True)
        for name, row in rows.items():
            old = known.files.get(name, KnownFile(length=0, synced=0))
            length, synced = max(old.length, row.length), max(old.synced, row.synced)
            is_far = old.is_far or row.is_far
            known.files[name] = KnownFile(length=length, synced=synced, is_far=is_far)
    sizes = {name.file_name: _uncut_size(folder, name) for name in folder.archive_names()}
    return compare_ends(ends, known, sizes)


def _uncut_size(folder: CrawlFolder, name: ArchiveName) -> int:
    """Return how long a file is, with the end that a repair cut off and kept in lost+found.

    A repair that was killed before its commit is done again, and not taken for damage.
    """
    size = folder.archive_path(name.file_name).stat().st_size
    tail = folder.tail_path(name, size)
    return size + tail.stat().st_size if tail.exists() else size


def _file_rows(path: Path, *, may_be_empty: bool = False) -> tuple[dict[str, FileRow], StateEnd]:
    """Return the commit table of a shard, and how far its state is."""
    for attempt in range(ATTEMPTS):
        try:
            state = State.open(path, is_read_only=True, may_be_empty=may_be_empty)
        except CannotGoOn:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        try:
            rows = [read_file_row(key, value) for key, value in state.scan(ROW_PREFIX)]
            end = state.end()
        finally:
            state.close()
        return dict(rows), end
    raise CannotGoOn(f"cannot read {path}")
