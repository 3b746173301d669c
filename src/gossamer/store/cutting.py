"""A cut: the files of a state as they were after one write, in links and prefixes.

RocksDB's own checkpoint brings rows from memory into a file first, with the interpreter's lock
held: hundreds of milliseconds in which nothing is fetched. What is copied here instead is what a
process that dies leaves behind, and what every start reads: table files, the MANIFEST that says
which of them count, and the logs of the rows that no table has yet.

The loop says which row was the last (`State.sequence`), and goes on writing. Aside, files are
linked: RocksDB writes the MANIFEST before it deletes a table that counted, so whatever counts by a
MANIFEST that has not grown meanwhile is linked. The logs are cut behind the row. If a table has
later rows, which is so when one is made at this very moment, there is no such cut, and the next is
tried. Nor is there one that ends before the row: what a start would find must reach just that.
This file alone knows RocksDB's formats.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gossamer.errors import CannotGoOn

ATTEMPTS = 50
CURRENT = "CURRENT"
_TABLE = re.compile(r"(\d+)\.sst")
_LOG = re.compile(r"(\d+)\.log")
_OTHER = re.compile(r"IDENTITY|OPTIONS-\d+|rocksdict-config\.json")
BLOCK_BYTES = 32 * 1024
HEADER_BYTES = 7
"""Of a piece of a record: a checksum, a length, and which piece it is."""
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
BATCH_HEADER_BYTES = 12
LEVEL = 1
"""Of compression: rows of a log are links, which take a quarter of their size."""
PIECE_BYTES = 16 * 1024 * 1024
"""Of a log, in one object."""
LOW_BITS = 127
"""Of a byte of a number; the high one says that more follow."""
IGNORABLE = 1 << 13
"""Set in the numbers of fields that older versions may pass over; all of them have a length."""


class StateCut(NamedTuple):
    """A state that was linked into a folder, with what does not count, or was written since."""

    folder: Path
    manifest: str
    manifest_bytes: int


class CutFiles(NamedTuple):
    """What of a cut counts."""

    files: list[str]
    """Those that are whole, and stay as they are, but for the MANIFEST and CURRENT."""
    logs: dict[str, int]
    """By log, in order: how many bytes of it count."""


def link_state(state: Path, folder: Path) -> StateCut:
    """Link the files of a state into a new folder. Others may write to it, and it may flush."""
    folder.mkdir()
    for _ in range(ATTEMPTS):
        current = (state / CURRENT).read_bytes()
        manifest = current.decode("ascii", "replace").strip()
        with suppress(FileNotFoundError):
            size = (state / manifest).stat().st_size
            _link_all(state, folder)
            _link(state / manifest, folder / manifest)
            if (state / CURRENT).read_bytes() != current:
                continue
            if (state / manifest).stat().st_size == size:
                (folder / CURRENT).write_bytes(current)
                return StateCut(folder, manifest, size)
    raise CannotGoOn(f"the state {state} changes faster than it can be copied; it is tried again")


def _link_all(state: Path, folder: Path) -> None:
    """Link whatever may count."""
    for entry in os.scandir(state):
        if any(kind.fullmatch(entry.name) for kind in (_TABLE, _LOG, _OTHER)):
            with suppress(FileNotFoundError):  # it did not count any more
                _link(Path(entry.path), folder / entry.name)


def _link(path: Path, to: Path) -> None:
    with suppress(FileExistsError):
        os.link(path, to)


def packed(content: bytes) -> bytes:
    """Return a stretch of a log as it is shipped."""
    import zstandard  # noqa: PLC0415 - few commands ship

    return zstandard.ZstdCompressor(level=LEVEL).compress(content)


def unpacked(content: bytes) -> bytes:
    """Return a stretch of a log as it was written."""
    import zstandard  # noqa: PLC0415 - few commands read what was shipped

    try:
        if zstandard.frame_content_size(content) <= PIECE_BYTES:
            return zstandard.ZstdDecompressor().decompress(content)
    except zstandard.ZstdError as error:
        raise CannotGoOn(f"the store is damaged: a stretch of a log: {error}") from error
    raise CannotGoOn("the store is damaged: a stretch of a log is too long")


class _LogPart(NamedTuple):
    """What of a log belongs to a cut."""

    end: int = 0
    """How many bytes."""
    last: int = 0
    """The last of its rows; 0 if it has none."""
    later: int = 0
    """The first row of the batch after it; 0 if there is none."""


@dataclass(slots=True)
class LiveFiles:
    """Which files of a state count, by a MANIFEST and logs that grow."""

    _manifest: str = ""
    _read: int = 0
    """Bytes of it, up to the end of a whole record."""
    _tables: set[int] = field(default_factory=set)
    _first_log: int = 0
    """Rows of logs before that one are in tables."""
    _newest: int = 0
    """The last row that a table has."""
    _written: int = 0
    """The last row that was written when a MANIFEST was: a start without logs goes on after it."""
    _logs: dict[str, _LogPart] = field(default_factory=dict)
    """By log: what belonged to the last cut."""

    def settled(self, cut: StateCut, sequence: int) -> CutFiles | None:
        """Leave in a folder what counts up to a row; None if it has others, or not all of them."""
        self._read_manifest(cut)
        if self._newest > sequence:
            return None
        there = {int(found[1]): one for one in cut.folder.iterdir() if (found := _table(one))}
        if missing := self._tables - there.keys():
            raise CannotGoOn(f"a copy of the state lacks {min(missing):06d}.sst; it is made again")
        for number, path in there.items():
            if number not in self._tables:
                path.unlink()
        names = sorted(one.name for one in cut.folder.iterdir())
        logs = [name for name in names if (of := _LOG.fullmatch(name)) and self._counts(of)]
        known = {name: self._logs.get(name, _LogPart()) for name in logs}
        parts = {n: _part_of(cut.folder / n, part, sequence) for n, part in known.items()}
        if not self._is_just(sequence, list(parts.values())):
            return None
        self._logs = parts
        whole = [one for one in names if not _LOG.fullmatch(one)]
        return CutFiles(whole, {name: part.end for name, part in parts.items()})

    def _is_just(self, sequence: int, parts: list[_LogPart]) -> bool:
        """Return True if a start with some logs would find all rows up to one, and no other.

        RocksDB numbers rows without gaps. A start goes on after the last row of the logs, or after
        the one that the MANIFEST has if there are none.
        """
        last = max((part.last for part in parts), default=0)
        later = min((part.later for part in parts if part.later), default=sequence + 1)
        return later == sequence + 1 and (last or self._written) == sequence

    def _counts(self, log: re.Match[str]) -> bool:
        return int(log[1]) >= self._first_log

    def _read_manifest(self, cut: StateCut) -> None:
        """Take in what a MANIFEST has more than before; leave half an edit at its end off."""
        path = cut.folder / cut.manifest
        with path.open("rb") as file:
            content = file.read(cut.manifest_bytes)
        if cut.manifest != self._manifest:
            self._manifest, self._read, self._tables = cut.manifest, 0, set()
        for record, end in _records(content[self._read :], self._read):
            self._apply(record)
            self._read = end
        path.unlink()  # it is a link, which grows
        path.write_bytes(content[: self._read])

    def _apply(self, record: bytes) -> None:
        """Take in one edit of the set of files."""
        fields = _Fields(record)
        while not fields.at_end:
            kind = fields.number()
            if kind in (_NEW, _NEW_2, _NEW_3, _NEW_4):
                number, newest = fields.new_file(kind)
                self._tables.add(number)
                self._newest = max(self._newest, newest)
            elif kind == _DELETED:
                fields.number()
                self._tables.discard(fields.number())
            elif kind in (_LOG_NUMBER, _LEAST_LOG):
                self._first_log = max(self._first_log, fields.number())
            elif kind == _LAST_ROW:
                self._written = max(self._written, fields.number())
            else:
                fields.skip(kind)


_LOG_NUMBER, _LAST_ROW, _DELETED, _NEW, _LEAST_LOG = 2, 4, 6, 7, 10
_NEW_2, _NEW_3, _NEW_4 = 100, 102, 103
_COMPACT_CURSOR, _FAMILY_DROP = 5, 202
_WITH_NUMBER = frozenset((3, 9, 200, 203, 300))
_WITH_LENGTH = frozenset((1, 201))
_LAST_FIELD = 1


def _part_of(log: Path, known: _LogPart, sequence: int) -> _LogPart:
    """Return what of a log a cut has, from where an earlier one ended.

    A record is a batch: the number of its first row, and how many there are.
    """
    part = known._replace(later=0)
    with log.open("rb") as file:
        file.seek(part.end)
        for batch, end in _records(file.read(), part.end):
            first = int.from_bytes(batch[:8], "little")
            rows = int.from_bytes(batch[8:BATCH_HEADER_BYTES], "little")
            if first + rows - 1 > sequence:
                return part._replace(later=first)
            part = _LogPart(
                end, first + rows - 1 if rows else part.last
            )  # a start writes an empty one
    return part


class _Fields:
    """The fields of one record of a MANIFEST."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._content)

    def number(self) -> int:
        """Return a number: seven bits in each byte, the low ones first."""
        value = shift = 0
        while True:
            byte = self._content[self._at]
            self._at += 1
            value |= (byte & LOW_BITS) << shift
            if byte <= LOW_BITS:
                return value
            shift += 7

    def new_file(self, kind: int) -> tuple[int, int]:
        """Return the number of a file that was added, and that of its last row."""
        self.number()  # its level
        number = self.number()
        if kind == _NEW_3:
            self.number()
        self.number()  # its size
        self._pass()
        self._pass()
        newest = 0
        if kind != _NEW:
            self.number()
            newest = self.number()
        if kind == _NEW_4:
            while self.number() != _LAST_FIELD:
                self._pass()
        return number, newest

    def skip(self, kind: int) -> None:
        """Pass over a field that says nothing about which files count."""
        if kind in _WITH_NUMBER:
            self.number()
        elif kind in _WITH_LENGTH or kind & IGNORABLE:
            self._pass()
        elif kind == _COMPACT_CURSOR:
            self.number()
            self._pass()
        elif kind != _FAMILY_DROP:
            raise CannotGoOn(f"a MANIFEST has a field {kind}, which is not known: other RocksDB?")

    def _pass(self) -> None:
        length = self.number()
        self._at += length


def _records(content: bytes, start: int) -> Iterator[tuple[bytes, int]]:
    """Yield the whole records of a MANIFEST or log from a position on, and where each ends."""
    at, pieces = 0, b""
    while True:
        left = BLOCK_BYTES - (start + at) % BLOCK_BYTES
        if left < HEADER_BYTES:
            at += left
            continue
        if at + HEADER_BYTES > len(content):
            return
        length, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        end = at + HEADER_BYTES + length
        if kind not in (WHOLE, FIRST, MIDDLE, LAST) or end > len(content):
            return
        pieces += content[at + HEADER_BYTES : end]
        at = end
        if kind in (WHOLE, LAST):
            yield pieces, start + at
            pieces = b""


def _table(path: Path) -> re.Match[str] | None:
    return _TABLE.fullmatch(path.name)
