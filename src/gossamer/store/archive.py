"""Archive: the shard's open pages, text and links files. Appended in groups, rotated by size.

The three files of a set carry the same number and are rotated together, so that a page, its text
and its links always lie in one set. Appending is `write(2)` without a buffer: what was appended
survives kill -9, and the state says how much of it counts (`rows_to_commit`).

The protocol, per group: `append`, then one state write that contains `rows_to_commit()`, then
`note_committed`. If the write failed, call `undo` instead.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeAlias

import msgspec
from msgspec import Struct

from gossamer.config import StoreConfig
from gossamer.durable import sync
from gossamer.errors import CannotGoOn
from gossamer.linux import sync_data
from gossamer.model import Row, StoreRef
from gossamer.store.ends import CommittedEnds, Lengths
from gossamer.store.entry import ArchiveEntry
from gossamer.store.layout import KINDS, ArchiveKind, ArchiveName, CrawlFolder
from gossamer.store.warc import write_cdxj

COPY_BYTES = 128 * 1024

ROW_PREFIX = b"a"
"""Keys of the commit table: this byte, then the file's name."""

Opening: TypeAlias = Callable[[str], bytes]
"""Makes the first bytes of a new archive file from its name: a warcinfo member, or nothing."""


class FileRow(Struct, frozen=True, gc=False, array_like=True):
    """What the state knows of an archive file: how much of it counts, and is on the disk."""

    length: int
    synced: int
    is_closed: bool = False
    cdxj_length: int | None = None
    """How long the index of a pages file is; None before it is written, and in older rows."""
    is_far: bool = False
    """Whole in the object store, and not expected on this disk: never taken for lost."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(FileRow).decode


def file_row(file_name: str, row: FileRow) -> Row:
    """Return the row of the commit table for a file."""
    return ROW_PREFIX + file_name.encode("ascii"), _encode(row)


def read_file_row(key: bytes, value: bytes) -> tuple[str, FileRow]:
    """Return file name and facts from a row of the commit table."""
    return key[len(ROW_PREFIX) :].decode("ascii"), _decode(value)


@dataclass(slots=True, kw_only=True, eq=False)
class _File:
    """One archive file that was opened by this process."""

    name: ArchiveName
    path: Path
    fd: int
    length: int = 0
    kept: int = 0
    """Length before the group that was appended last."""
    synced: int = 0
    cdx: list[bytes] = field(default_factory=list)
    cdxj_length: int | None = None
    kept_cdx: int = 0
    is_closed: bool = False
    is_done: bool = False
    """Closed, on the disk as far as that is wanted, and indexed."""
    is_told: bool = False
    """Its last row was handed out: nothing more is to be done for it."""

    def row(self) -> Row:
        """Return the file's row of the commit table."""
        synced = min(self.synced, self.length)
        row = FileRow(self.length, synced, self.is_closed, self.cdxj_length)
        return file_row(self.name.file_name, row)


class Archive:
    """The files that a shard appends to. Made anew at every start, with a new epoch."""

    def __init__(
        self, folder: CrawlFolder, shard: int, epoch: int, config: StoreConfig, opening: Opening
    ) -> None:
        self._folder = folder
        self._shard = shard
        self._epoch = epoch
        self._config = config
        self._opening = opening
        self._number = 0
        self._open: dict[ArchiveKind, _File] = {}
        self._retired: list[_File] = []
        self._appended: tuple[tuple[_File, int], ...] = ()
        self._closed: Lengths = {}
        self.committed = CommittedEnds({}, {})
        """What the state has committed of the files of this run: replaced, never changed."""
        self._spent: list[IO[bytes]] = []
        """Temporary files of the last group: closed when it is known to be committed."""
        self._is_new = False

    @classmethod
    def open(
        cls, folder: CrawlFolder, shard: int, epoch: int, config: StoreConfig, opening: Opening
    ) -> "Archive":
        """Return an archive that will write files of this shard and epoch, none yet opened."""
        _make_folder(folder.archive)
        return cls(folder, shard, epoch, config, opening)

    @property
    def group_bytes(self) -> int:
        """Return how many bytes the last group added to all files."""
        return sum(file.length - file.kept for file in self._open.values())

    def ends(self) -> tuple[int, int, dict[ArchiveKind, int]]:
        """Return epoch and number of the open set, and how long its files are."""
        lengths = {kind: file.length for kind, file in self._open.items()}
        return self._epoch, self._number, lengths

    def open_index(self) -> tuple[list[str], list[bytes]]:
        """Return the pages files that have no index yet, and the lines that it will have.

        Of what is not committed, nothing.
        """
        files = [file for file in self._retired if file.name.kind == "pages" and not file.is_done]
        lines = [line for file in files for line in file.cdx]
        if (file := self._open.get("pages")) is not None:
            files.append(file)
            is_committed = self.committed.open.get(file.name.file_name, 0) >= file.length
            lines += file.cdx if is_committed else file.cdx[: file.kept_cdx]
        return [file.name.file_name for file in files], lines

    def append(self, entries: Sequence[ArchiveEntry]) -> list[StoreRef | None]:
        """Append a group: pages first, then texts, links last. Return where each page lies.

        If the disk refuses, everything of the group is cut off again and `CannotGoOn` is raised.
        """
        self._begin_group()
        try:
            refs = self._append_pages(entries)
            if any(texts := [entry.text for entry in entries]):
                _write_all(self._file("text"), texts)
            if any(links := [entry.links for entry in entries]):
                _write_all(self._file("links"), links)
        except (OSError, CannotGoOn) as error:
            self.undo()
            if isinstance(error, CannotGoOn):
                raise
            raise _cannot("append to", self._folder.archive, error) from error
        self._appended = self._marks()
        return refs

    def undo(self) -> None:
        """Cut off the group that was appended last, as if `append` had not been called."""
        for kind, file in list(self._open.items()):
            with suppress(OSError):  # a disk that cannot even shorten: the next start cuts too
                os.ftruncate(file.fd, file.kept)
                if file.kept == 0:
                    file.path.unlink(missing_ok=True)
            file.length = file.kept
            del file.cdx[file.kept_cdx :]
            if file.kept == 0:
                os.close(file.fd)
                del self._open[kind]
        self._spent.clear()
        self._appended = self._marks()

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that make the last group count; they belong into its state write."""
        for file in self._retired:
            file.is_told = file.is_done
        return [file.row() for file in (*self._retired, *self._open.values())]

    @property
    def has_rotated(self) -> bool:
        """Return True if files were closed and are not yet synced and indexed."""
        return any(not file.is_done for file in self._retired)

    def note_committed(self) -> None:
        """Note that the rows of `rows_to_commit` are in the state."""
        closed = {file.name.file_name: file.length for file in self._retired}
        if not closed.keys() <= self._closed.keys():
            self._closed = self._closed | closed
        lengths = {file.name.file_name: file.length for file in self._open.values()}
        self.committed = CommittedEnds(lengths, self._closed)

    def sync(self) -> dict[str, int]:
        """Bring what was appended to the disk; return the lengths that are safe, by file.

        May be called from a thread while the owner appends; not from two threads at once, and not
        during `close`. Indexes of rotated files are written here too.
        """
        marks, retired = self._appended, list(self._retired)
        try:
            if self._is_new:
                self._is_new = False
                sync(self._folder.archive)
            for file in retired:
                self._finish(file)
            for file, length in marks:
                if file.synced < length and not file.is_done:
                    sync_data(file.fd)
                    file.synced = max(file.synced, length)
        except OSError as error:
            raise _cannot("sync", self._folder.archive, error) from error
        return {file.name.file_name: file.synced for file in (*retired, *(m[0] for m in marks))}

    def close(self) -> None:
        """Sync all files and write their indexes. `rows_to_commit` then has the last rows."""
        self._close_spent()
        self._retire()
        try:
            for file in self._retired:
                self._finish(file)
            if self._retired:
                sync(self._folder.archive)
        except OSError as error:
            raise _cannot("close", self._folder.archive, error) from error
        for file in self._retired:
            _release(file)

    def _begin_group(self) -> None:
        """Take the previous group as committed, and rotate if a file has grown too large."""
        self._close_spent()
        for file in [file for file in self._retired if file.is_told]:
            _release(file)
            self._retired.remove(file)
        if any(file.length >= self._config.file_bytes for file in self._open.values()):
            self._retire()
            self._number += 1
        for file in self._open.values():
            file.kept = file.length
            file.kept_cdx = len(file.cdx)

    def _append_pages(self, entries: Sequence[ArchiveEntry]) -> list[StoreRef | None]:
        refs: list[StoreRef | None] = []
        if not any(entry.pages or entry.large is not None for entry in entries):
            return [None] * len(entries)
        file = self._file("pages")
        waiting: list[bytes] = []
        at = file.length
        for entry in entries:
            ref = None
            waiting.append(entry.pages)
            offset, length = at + entry.page_offset, entry.page_length
            at += len(entry.pages)
            if entry.large is not None:
                _write_all(file, waiting)
                waiting.clear()
                _copy_all(file, entry.large)
                at = file.length
                self._spent.append(entry.large)
            if length:
                ref = StoreRef(file.name.file_name, offset, length)
                if entry.cdx is not None:
                    file.cdx.append(entry.cdx.line(ref))
            refs.append(ref)
        _write_all(file, waiting)
        return refs

    def _file(self, kind: ArchiveKind) -> _File:
        """Return the open file of a kind, made now if there is none."""
        file = self._open.get(kind)
        if file is None:
            name = ArchiveName(kind, self._shard, self._epoch, self._number)
            path = self._folder.archive / name.file_name
            # O_EXCL: a file of this epoch that exists was written by another owner of this shard.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            file = _File(name=name, path=path, fd=os.open(path, flags, 0o644))
            self._open[kind] = file
            self._is_new = True
            _write_all(file, [self._opening(name.file_name)])
        return file

    def _retire(self) -> None:
        """Close the set: nothing is appended to it any more."""
        for kind in KINDS:
            file = self._open.pop(kind, None)
            if file is None:
                continue
            file.kept = file.length
            file.is_closed = True
            self._retired.append(file)
        self._appended = ()

    def _finish(self, file: _File) -> None:
        if file.is_done:
            return
        if file.synced < file.length:
            sync_data(file.fd)
            file.synced = file.length
        if file.name.kind == "pages":
            path = self._folder.archive / file.name.cdxj_name
            file.cdxj_length = write_cdxj(path, file.cdx, is_synced=True)
            file.cdx = []
        file.is_done = True

    def _marks(self) -> tuple[tuple[_File, int], ...]:
        """Return the files and their lengths at a group boundary, as one value for `sync`.

        Links come last, as they are written: of what they name when synced, all is on the disk.
        """
        files = (self._open[kind] for kind in KINDS if kind in self._open)
        return tuple((file, file.length) for file in files)

    def _close_spent(self) -> None:
        for large in self._spent:
            large.close()
        self._spent.clear()


def _release(file: _File) -> None:
    if file.fd >= 0:
        os.close(file.fd)
        file.fd = -1


def _write_all(file: _File, parts: Sequence[bytes]) -> None:
    data = memoryview(b"".join(parts))
    while data:
        count = os.write(file.fd, data)
        file.length += count
        data = data[count:]


def _copy_all(file: _File, source: IO[bytes]) -> None:
    source.seek(0)
    while part := source.read(COPY_BYTES):
        _write_all(file, [part])


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot("make", path, error) from error


def _cannot(doing: str, path: Path, error: OSError) -> CannotGoOn:
    return CannotGoOn(
        f"cannot {doing} {path}: {error.strerror or error}; no data was damaged; "
        "free some disk space or check its permissions, then run the crawl again"
    )
