"""What of a shard is in the store: each file as objects, what is missing is uploaded.

    files of the state   once each: they do not change
    its logs             what has been added, packed: their rows are not in files yet
    open archive files   what has been added, as stretches
    closed ones          whole, under their own names, in place of their stretches

Objects are made under names that nobody else uses, and count when a manifest names them.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from gossamer.crawl.forgetting import read_note
from gossamer.crawl.opening import CREDITS, ShardFolder
from gossamer.crawl.restoring import is_whole
from gossamer.linux import sync_data
from gossamer.store import (
    LOG_PIECE_BYTES,
    ArchiveName,
    CutFiles,
    Lengths,
    Objects,
    ShardManifest,
    ShippedFile,
    bring_whole,
    objects_of_far,
    packed,
    shipped_digest,
    store_of,
)

READ_BYTES = 1024 * 1024
PART_BYTES = 16 * 1024 * 1024
"""Of an archive file, in one object while it is open."""
INLINE_BYTES = 8 * 1024
"""Files up to this are in the manifest itself."""
INLINE_LOG_BYTES = 512
"""Stretches of logs up to this are, too; there may be many."""
MOST_STRETCHES = 64
"""Of the logs: with more of them the rows are brought into files."""
ROOT_FILES = ("crawl.toml", "state/shards.json", "state/near.seed", "scores")
"""Files of the whole crawl. Not secrets.toml, nor what knows their digests: secrets stay on the
machine that was given them."""


class StateFiles(NamedTuple):
    """A state as it is in the store."""

    files: dict[str, ShippedFile]
    logs: dict[str, list[ShippedFile]]


class _Identity(NamedTuple):
    """What a file that does not change is known by, in one process."""

    name: str
    inode: int
    size: int
    modified_ns: int


class _ShippedLog(NamedTuple):
    """What is in the store of a log."""

    bytes: int = 0
    stretches: Sequence[ShippedFile] = ()


@dataclass(slots=True, kw_only=True)
class Uploads:
    """The objects of one shard; everything here is called in threads, one at a time."""

    objects: Objects
    place: ShardFolder
    prefix: str
    """Of the shard, in the store."""
    stem: str
    """Of its owner."""
    nonce: str = field(default_factory=lambda: token_hex(4))
    _last: dict[str, ShippedFile] = field(default_factory=dict)
    """The files of the last manifest."""
    _known: dict[_Identity, ShippedFile] = field(default_factory=dict)
    _logs: dict[str, _ShippedLog] = field(default_factory=dict)
    """Those of this process: RocksDB begins new ones whenever it opens a state."""
    _objects_of: dict[str, list[ShippedFile]] = field(default_factory=dict)
    """By archive file: what is in the store of it."""
    _stretched: list[str] = field(default_factory=list)
    """Archive files that are closed, and in the store in stretches."""
    _wholes: dict[str, ShippedFile] = field(default_factory=dict)
    """By archive file: the object that takes the place of its stretches."""

    def begin_with(self, archive: dict[str, list[ShippedFile]]) -> None:
        """Note what is in the store of the archive, but for files that were written anew."""
        note = read_note(self.place.folder)
        anew = note.names if note is not None else frozenset()
        self._objects_of = {name: files for name, files in archive.items() if name not in anew}

    def note_files(self, manifest: ShardManifest) -> None:
        """Note which files are in the store: those of the last manifest."""
        self._last = manifest.files

    def state_files(self, folder: Path, counted: CutFiles, runs: Iterable[str]) -> StateFiles:
        """Return the files of a cut, and of known URLs beside it."""
        files = {name: self._file(folder / "rows" / name, name) for name in counted.files}
        files |= {f"seen/{one}": self._file(folder / "seen" / one, f"seen/{one}") for one in runs}
        if (credit := self.place.state / CREDITS).exists():
            files[CREDITS] = self._file(credit, CREDITS)
        self._logs = {
            name: self._with_more(name, folder / "rows" / name, length)
            for name, length in counted.logs.items()
        }
        return StateFiles(files, {n: list(one.stretches) for n, one in self._logs.items()})

    @property
    def has_many_stretches(self) -> bool:
        """Return True if the logs want to be brought into files."""
        return sum(len(one.stretches) for one in self._logs.values()) >= MOST_STRETCHES

    def root_files(self) -> dict[str, ShippedFile]:
        """Return the files of the whole crawl."""
        whole = self.place.folder.root
        return {n: self._file(whole / n, n) for n in ROOT_FILES if (whole / n).exists()}

    def archive_files(
        self, lengths: Lengths, closed: Iterable[str], *, has_ended: bool
    ) -> dict[str, list[ShippedFile]]:
        """Return the objects of each archive file up to its length, and of indexes."""
        archive: dict[str, list[ShippedFile]] = {}
        over = frozenset(closed)
        for name, length in lengths.items():
            is_last = has_ended and name in over
            archive[name] = self._stretches(name, length, is_over=name in over, is_last=is_last)
        for name in over:
            archive |= self._index_of(name)
        self._stretched = [name for name in sorted(over) if len(archive[name]) > 1]
        return archive

    @property
    def to_merge(self) -> list[str]:
        """Return the closed files of which there are stretches only."""
        return [name for name in self._stretched if name not in self._wholes]

    def merge(self, name: str) -> None:
        """Upload a closed file as a whole: until now it is there in stretches."""
        path = bring_whole(self.place.folder.archive_path(name))
        length = sum(one.size for one in self._objects_of[name])
        self._wholes[name] = self._put_whole(name, path, length)

    def far_objects(self, names: Iterable[str]) -> dict[str, list[ShippedFile]]:
        """Return the objects of files that are in this store only: other shards shipped them."""
        folder = self.place.folder
        if store_of(folder) != self.objects.url:
            return {}
        found = {name: objects_of_far(folder, name) for name in names}
        return {
            name: [
                ShippedFile(*one)
                for one in zip(objects.names, objects.sizes, objects.digests, strict=True)
            ]
            for name, objects in found.items()
            if objects is not None
        }

    def _file(self, path: Path, name: str) -> ShippedFile:
        """Return a file as it is in the store, uploaded now if it is not there."""
        found = path.stat()
        if found.st_size <= INLINE_BYTES:
            content = path.read_bytes()
            return ShippedFile("", len(content), _digest(content), content)
        known = _Identity(name, found.st_ino, found.st_size, found.st_mtime_ns)
        if known not in self._known:
            digest = _digest_of(path)
            last = self._last.get(name)
            if last is None or (last.size, last.digest) != (found.st_size, digest):
                where = self._new_name(name)
                self.objects.put(where, path)
                last = ShippedFile(where, found.st_size, digest)
            self._known[known] = last
        return self._known[known]

    def _new_name(self, name: str) -> str:
        return f"{self.prefix}/files/{self.stem}-{token_hex(4)}-{name.replace('/', '-')}"

    def _with_more(self, name: str, path: Path, length: int) -> _ShippedLog:
        """Return a log as it is in the store, uploaded now what it has more than before."""
        shipped = self._logs.get(name, _ShippedLog())
        if shipped.bytes == length:
            return shipped
        _sync_data(path)  # a power loss must not take from us what the store has
        stretches = list(shipped.stretches)
        with path.open("rb") as file:
            file.seek(shipped.bytes)
            for start in range(shipped.bytes, length, LOG_PIECE_BYTES):
                content = packed(file.read(min(LOG_PIECE_BYTES, length - start)))
                where = self._new_name(name) if len(content) > INLINE_LOG_BYTES else ""
                if where:
                    self.objects.put(where, content)
                inside = b"" if where else content
                stretches.append(ShippedFile(where, len(content), _digest(content), inside))
        return _ShippedLog(length, stretches)

    def _stretches(
        self, name: str, length: int, *, is_over: bool, is_last: bool
    ) -> list[ShippedFile]:
        """Return the objects of an archive file, what is missing uploaded now."""
        shipped = self._objects_of.get(name, [])
        path = self.place.folder.archive_path(name)
        start = sum(one.size for one in shipped)
        if start < length:
            bring_whole(path)  # it is in another store only
            _sync_data(path)  # as that of a log
        if (whole := self._wholes.pop(name, None)) is not None and whole.size == length:
            shipped = [whole]
        elif is_over and not is_whole(shipped) and (start == 0 or is_last):
            shipped = [self._put_whole(name, path, length)]
        elif start < length:
            folder = self._folder_of(name, shipped)
            shipped = [*shipped, *self._put_stretches(folder, path, start, length)]
        self._objects_of[name] = shipped
        return shipped

    def _put_whole(self, name: str, path: Path, length: int) -> ShippedFile:
        """Upload a closed file under its own name, unless another owner has used that."""
        where = f"archive/{name}"
        if length > PART_BYTES or not self.objects.create_file(where, path):
            where = f"archive/{token_hex(4)}-{name}"  # in parts, which cannot be exclusive
            self.objects.put(where, path)
        return ShippedFile(where, length, _digest_of(path))

    def _folder_of(self, name: str, shipped: Sequence[ShippedFile]) -> str:
        """Return where the stretches of a file go; a file store has no folder beside an object.

        One of that name was uploaded by an owner before us, who did not come to ship it.
        """
        if shipped and (folder := shipped[-1].name.rpartition("/")[0]) != "archive":
            return folder
        is_taken = self.objects.exists(f"archive/{name}")
        return f"archive/{token_hex(4)}-{name}" if is_taken else f"archive/{name}"

    def _put_stretches(
        self, folder: str, path: Path, start: int, length: int
    ) -> Iterator[ShippedFile]:
        with path.open("rb") as file:
            while start < length:
                file.seek(start)
                content = file.read(min(PART_BYTES, length - start))
                end = start + len(content)
                where = f"{folder}/{start:014d}-{end:014d}-{self.nonce}"
                self.objects.put(where, content)
                yield ShippedFile(where, len(content), _digest(content))
                start = end

    def _index_of(self, name: str) -> dict[str, list[ShippedFile]]:
        """Return the CDXJ index of a closed pages file, uploaded now if that is needed."""
        parsed = ArchiveName.parse(name)
        if parsed is None or parsed.kind != "pages":
            return {}
        path = self.place.folder.archive / parsed.cdxj_name
        if not path.exists():
            return {}
        held = self._objects_of.get(parsed.cdxj_name)
        if held is None or held[0].size != path.stat().st_size:
            held = [self._put_whole(parsed.cdxj_name, path, path.stat().st_size)]
            self._objects_of[parsed.cdxj_name] = held
        return {parsed.cdxj_name: held}


def _digest(content: bytes) -> str:
    return shipped_digest((content,))


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return shipped_digest(iter(partial(file.read, READ_BYTES), b""))


def _sync_data(path: Path) -> None:
    """Bring a file to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_data(descriptor)
    finally:
        os.close(descriptor)
