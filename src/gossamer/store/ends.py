"""Ends: how far each archive file is durable, kept beside the archive (`archive/ends-SS`).

The state says the same, but a state can be lost, cut or replaced by an older copy, and would then
have the archive cut to match. A state that knows less than these files say is refused.

Every line is a claim of its own, with a checksum: "so much of these files is durable, and the state
has known it durably". A claim is written last: archive synced, then the state's log, then this. So
it may be behind, or torn and then absent, but it is never ahead, and the file need not be synced.

    0, 4096    two slots, overwritten in turn: the files that are open, and how far the state is
    8192 ...   appended: files that were closed

How far a state is: the number of its last row, as RocksDB counts them. That is of one database: one
that was made anew (by a re-split, or from the archive) has another identity and is not compared.
Lengths are: files stay with their names, whichever state knows them. A length is only ever lowered
when records are known to be lost (`lower_ends`), durably and before the state is lowered.
"""

import os
import zlib
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn
from gossamer.log import tell
from gossamer.store.layout import ArchiveName, CrawlFolder

Lengths: TypeAlias = dict[str, int]
"""How much of each archive file, by name, was read, counts, or is durable."""

SLOT_BYTES = 4096
"""A block of the file system: what tears one slot leaves the other whole."""
SLOTS = 2


class CommittedEnds(NamedTuple):
    """How much of each archive file of this run the state has committed."""

    open: Lengths
    closed: Lengths


class StateEnd(Struct, frozen=True, array_like=True):
    """How far a database is: which one, and the number of its last row."""

    identity: str
    sequence: int


class _Claim(Struct, frozen=True, array_like=True):
    """One line: which write it was, the lengths, and how far the state was."""

    number: int
    lengths: Lengths
    state: StateEnd | None = None


class Ends(Struct, frozen=True, kw_only=True):
    """What is durable: of each archive file, and of each shard's state."""

    lengths: Lengths
    states: dict[int, StateEnd]


class EndsFinding(Struct, frozen=True, kw_only=True):
    """Something durable that the state does not know, or that is not there any more."""

    kind: Literal["state_older", "rows_missing", "file_short", "file_missing"]
    file: str
    """An archive file; of missing rows, the state's folder."""
    expected: int
    """So many bytes of the file are durable, or so many rows were written."""
    found: int
    """So many the state knows, or the file has."""


class KnownFile(Struct, frozen=True, kw_only=True):
    """What a state knows of an archive file: how much of it counts, and is on the disk."""

    length: int
    synced: int
    is_far: bool = False
    """It is in the object store, whole: this disk need not have it."""


class KnownEnds(Struct, frozen=True, kw_only=True):
    """What all states of a folder know together, and how far each of them is."""

    files: dict[str, KnownFile]
    states: dict[int, StateEnd]


def compare_ends(ends: Ends, known: KnownEnds, sizes: Mapping[str, int]) -> list[EndsFinding]:
    """Compare all ends with what all states together know, and both with the files themselves.

    A state that knows more than the ends is as it should be after a crash. A file may be shorter
    than the state believes (after a power loss), but not shorter than what was once durable.
    """
    found = [
        EndsFinding(kind="state_older", file=name, expected=length, found=committed)
        for name, length in sorted(ends.lengths.items())
        if (committed := known.files[name].length if name in known.files else 0) < length
    ]
    for shard, end in sorted(ends.states.items()):
        state = known.states.get(shard)
        if state is not None and state.identity == end.identity and state.sequence < end.sequence:
            name, expected = f"state/{shard:02d}", end.sequence
            found.append(
                EndsFinding(kind="rows_missing", file=name, expected=expected, found=state.sequence)
            )
    if found:
        return found
    for name, row in sorted(known.files.items()):
        if row.is_far:
            continue
        durable, size = max(ends.lengths.get(name, 0), row.synced), sizes.get(name)
        if size is None and durable:
            found.append(EndsFinding(kind="file_missing", file=name, expected=durable, found=0))
        elif size is not None and size < durable:
            found.append(EndsFinding(kind="file_short", file=name, expected=durable, found=size))
    return found


def read_ends(folder: CrawlFolder) -> Ends:
    """Return what is durable, as far as all ends files know."""
    ends = Ends(lengths={}, states={})
    for shard in folder.ends_shards():
        one = _read(folder, shard)
        _merge(ends.lengths, one.lengths)
        if one.state is not None:
            ends.states[shard] = one.state
    return ends


class EndsFile:
    """The ends file of a shard that runs, and the only writer of it."""

    def __init__(self, folder: CrawlFolder, shard: int, closed: Lengths) -> None:
        self._path = folder.ends_path(shard)
        self._closed = set(closed)
        self._last = closed
        self._size = self._path.stat().st_size
        self._number = 0

    @classmethod
    def begin(
        cls, folder: CrawlFolder, shard: int, lengths: Mapping[str, int], state: StateEnd | None
    ) -> "EndsFile":
        """Write anew what is durable of all files that a shard owns, which all are closed.

        A shard may own files of shards that are no more; these have ends files of their own.
        """
        by_shard = _by_shard(lengths, [shard])
        try:
            for number, closed in by_shard.items():
                if number == shard:
                    _replace(folder, number, _Claim(0, closed, state), is_synced=False)
                elif _read(folder, number).lengths != closed:
                    _replace(folder, number, _Claim(0, closed), is_synced=False)
            return cls(folder, shard, by_shard[shard])
        except OSError as error:
            raise CannotGoOn(
                f"cannot write {folder.ends_path(shard)}: {error.strerror or error}; "
                "free some disk space or check its permissions, then run the crawl again"
            ) from error

    def write(self, ends: CommittedEnds, state: StateEnd) -> None:
        """Say that so much is durable: archive and state have been synced since it was committed.

        It must not be called while another call is under way. A disk that refuses is told, and
        the file is behind.
        """
        closed: Lengths = {}
        if ends.closed is not self._last:  # thousands of files, and seldom one more
            closed = {name: n for name, n in ends.closed.items() if name not in self._closed}
        lines = _lines(closed)
        self._number += 1
        slot = _slot(_Claim(self._number, ends.open, state))
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                if lines:
                    _write_at(fd, lines, self._size)
                _write_at(fd, slot, (self._number % SLOTS) * SLOT_BYTES)
            finally:
                os.close(fd)
        except OSError as error:
            tell("ends.unwritten", path=str(self._path), error=error.strerror or str(error))
            return
        self._size += len(lines)
        self._closed.update(closed)
        self._last = ends.closed


def replace_ends(folder: CrawlFolder, lengths: Mapping[str, int]) -> None:
    """Replace all ends files durably: the state that will hold was made anew."""
    for shard, closed in _by_shard(lengths, folder.ends_shards()).items():
        _replace(folder, shard, _Claim(0, closed), is_synced=True)


def lower_ends(folder: CrawlFolder, lengths: Mapping[str, int]) -> None:
    """Take back claims on files that lost records, durably: before the state forgets them, too."""
    for shard in folder.ends_shards():
        claim = _read(folder, shard)
        lowered = {name: min(n, lengths.get(name, n)) for name, n in claim.lengths.items()}
        if lowered != claim.lengths:
            _replace(folder, shard, _Claim(0, lowered, claim.state), is_synced=True)


def _by_shard(lengths: Mapping[str, int], shards: Iterable[int]) -> dict[int, Lengths]:
    """Return lengths by the shards that the files are named after, some of which have none."""
    found: dict[int, Lengths] = {shard: {} for shard in shards}
    for name, length in lengths.items():
        if (parsed := ArchiveName.parse(name)) is not None:
            found.setdefault(parsed.shard, {})[name] = length
    return found


def _replace(folder: CrawlFolder, shard: int, claim: _Claim, *, is_synced: bool) -> None:
    """Write a file whose claims are on closed files alone."""
    slot = _slot(_Claim(0, {}, claim.state))
    content = slot * SLOTS + _lines(claim.lengths)
    replace_file(folder.ends_path(shard), content, is_synced=is_synced)


def _lines(closed: Mapping[str, int]) -> bytes:
    return b"".join(_line(_Claim(0, {name: length})) for name, length in sorted(closed.items()))


def _slot(claim: _Claim) -> bytes:
    return _line(claim)[:-1].ljust(SLOT_BYTES - 1) + b"\n"


def _line(claim: _Claim) -> bytes:
    text = msgspec.json.encode(claim)
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _read(folder: CrawlFolder, shard: int) -> _Claim:
    """Return what all whole lines of an ends file say together; a torn one is absent."""
    try:
        content = folder.ends_path(shard).read_bytes()
    except FileNotFoundError:
        return _Claim(0, {})
    lengths: Lengths = {}
    newest = _Claim(-1, {})
    for line in content.split(b"\n"):
        checksum, _, text = line.strip().partition(b" ")
        if checksum != b"%08x" % zlib.crc32(text):
            continue
        try:
            claim = msgspec.json.decode(text, type=_Claim)
        except msgspec.DecodeError:  # of a later version
            continue
        _merge(lengths, claim.lengths)
        if claim.state is not None and claim.number > newest.number:
            newest = claim
    return _Claim(0, lengths, newest.state)


def _merge(lengths: Lengths, more: Mapping[str, int]) -> None:
    for name, length in more.items():
        lengths[name] = max(length, lengths.get(name, 0))


def _write_at(fd: int, data: bytes, offset: int) -> None:
    while data:
        count = os.pwrite(fd, data, offset)
        data, offset = data[count:], offset + count
