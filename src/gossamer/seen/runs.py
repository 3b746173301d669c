"""Tables in memory and runs on disk: the two levels of the set, and the work that joins them.

The newest fingerprints are in a table, of which a full one is flushed to a run; runs of like size
are merged. A run is sorted, holds each key once, is written whole and never changed: a header of
one page, then the keys as little-endian uint64. Ring bits come first in a key, so one domain's URLs
are neighbours, and a page of the file answers many of a document's links.
"""

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

import numpy as np
import xxhash

from gossamer.durable import replacing
from gossamer.errors import CannotGoOn, CorruptFile, rebuild_state_command
from gossamer.linux import expect_random, let_go, sync_data
from gossamer.seen.kernels import BLOCK_KEYS, Flags, Keys, add_to_filter, insert, search

_SMALLEST = 1 << 10
"""Slots of a table that holds little: small enough to stay in the processor's cache."""


class KeyTable:
    """A set of uint64 keys, at most half full, so that a test looks at one or two places."""

    __slots__ = ("count", "slots")

    def __init__(self) -> None:
        self.count = 0
        self.slots: Keys = np.zeros(_SMALLEST + 1, np.uint64)

    def add(self, keys: Keys) -> Keys:
        """Remember keys; return those that were not yet here, each once."""
        if 2 * (self.count + len(keys)) > len(self.slots):
            self._grow(self.count + len(keys))
        fresh = np.empty(len(keys), np.uint64)
        added = insert(self.slots, keys, fresh)
        self.count += added
        return fresh[:added]

    def keys(self) -> Keys:
        """Return every key once, in no order."""
        held = self.slots[:-1]
        held = held[held != 0]
        return np.append(held, np.uint64(0)) if self.slots[-1] else held

    def _grow(self, count: int) -> None:
        """Make room for so many keys: twice the slots, at least."""
        held = self.keys()
        self.slots = np.zeros((1 << (2 * count).bit_length()) + 1, np.uint64)
        insert(self.slots, held, np.empty(len(held), np.uint64))


MAGIC = b"GOSSRUN\n"
VERSION = 1
HEADER_BYTES = 4096
"""A whole page, so that each block of keys lies in one page too."""
CHUNK_KEYS = 128 * BLOCK_KEYS
"""Keys that are read, merged and written at a time: half a MiB."""
SYNC_CHUNKS = 64
"""Chunks between two syncs while a run is written: 32 MiB. Gigabytes that must reach the disk at
once would make everybody else who writes wait for them."""
LET_GO_BYTES = 16 * 1024 * 1024
LARGE_SHARE = 0.25
"""Share of the machine's memory above which pages of a run are read one by one: what would be
read ahead is not likely to be still there when it is wanted."""
KEYS_PER_WORD = 8
"""Eight bits of filter per key; about one in thirty absent keys passes it."""

_FIELDS = Struct("<8sQQQ")
_CHECKSUM = Struct("<Q")
_KEY_BYTES = 8


class RunIndex:
    """What is kept in memory of a run: every 512th key and a filter that knows most absent keys.

    The filter only ever says "certainly not here"; what passes it is looked up in the run.
    """

    __slots__ = ("_blocks", "_count", "words")

    def __init__(self, most_keys: int) -> None:
        self.words: Keys = np.zeros(most_keys // KEYS_PER_WORD + 1, np.uint64)
        self._blocks: list[Keys] = []
        self._count = 0

    def append(self, keys: Keys) -> None:
        """Take note of the next keys of the run."""
        add_to_filter(self.words, keys)
        self._blocks.append(keys[-self._count % BLOCK_KEYS :: BLOCK_KEYS].copy())
        self._count += len(keys)

    def index(self) -> Keys:
        """Return every 512th key, the first included."""
        return np.concatenate(self._blocks) if self._blocks else np.empty(0, np.uint64)


class Run:
    """One sorted file of keys, open for look-ups."""

    __slots__ = (
        "_held",
        "_index",
        "_map",
        "_words",
        "checksum",
        "count",
        "number",
        "path",
    )

    def __init__(self, path: Path, count: int, checksum: int, guide: RunIndex) -> None:
        self.path = path
        self.number = run_number(path)
        self.count = count
        self.checksum = checksum
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        if len(self._map) > LARGE_SHARE * os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE:
            expect_random(self._map)
        self._held: Keys = np.frombuffer(self._map, np.uint64, count, HEADER_BYTES)
        self._index, self._words = guide.index(), guide.words

    def search(self, keys: Keys, unknown: Flags) -> int:
        """Unflag the keys that are here; return how many had to be looked up on disk."""
        return search(keys, unknown, self._held, self._index, self._words)

    def let_go(self) -> None:
        """Give the mapped pages back: they stay in the system's cache, but are not ours.

        Piece by piece, since the interpreter is held meanwhile, and a thread may be at it.
        """
        for start in range(0, len(self._map), LET_GO_BYTES):
            length = min(LET_GO_BYTES, len(self._map) - start)
            let_go(self._map, start, length)

    def between(self, first: int, last: int) -> Iterator[Keys]:
        """Yield the keys from first to last, both included, in order, a chunk at a time."""
        held = self._held
        start = int(np.searchsorted(held, np.uint64(first)))
        end = int(np.searchsorted(held, np.uint64(last), side="right"))
        for at in range(start, end, CHUNK_KEYS):
            yield held[at : min(at + CHUNK_KEYS, end)].copy()


def run_path(folder: Path, number: int) -> Path:
    """Return the path of a run."""
    return folder / f"run-{number:010d}.keys"


def run_number(path: Path) -> int:
    """Return the number of a run by its file name."""
    return int(path.stem.removeprefix("run-"))


def write_run(path: Path, chunks: Iterable[Keys], most_keys: int) -> Run:
    """Write sorted chunks of keys as a run that is whole and durable once it has its name.

    `most_keys` is what the filter is made for: fewer may come.
    """
    guide = RunIndex(most_keys)
    digest = xxhash.xxh3_64()
    count = 0
    try:
        with replacing(path, temporary=path.with_suffix(".tmp")) as file:
            file.write(bytes(HEADER_BYTES))
            for number, keys in enumerate(chunks, 1):
                file.write(keys.data)
                digest.update(keys.data)
                guide.append(keys)
                count += len(keys)
                if number % SYNC_CHUNKS == 0:
                    sync_data(file.fileno())
            file.seek(0)
            file.write(_header(count, digest.intdigest()))
    except OSError as problem:
        raise CannotGoOn(
            f"cannot write {path}: {problem.strerror}; "
            "free some disk space, then run the crawl again"
        ) from problem
    return Run(path, count, digest.intdigest(), guide)


def open_run(path: Path) -> Run:
    """Return a run of an earlier session; its whole content is read once and must be undamaged."""
    count, checksum = _read_header(path)
    guide = RunIndex(count)
    for keys in checked_chunks(path):
        guide.append(keys)
    return Run(path, count, checksum, guide)


def verify(path: Path) -> int:
    """Return how many keys a run file holds; raise CorruptFile if it is not as it was written."""
    return sum(len(keys) for keys in checked_chunks(path))


def verify_as(path: Path, count: int, checksum: int) -> None:
    """Raise CorruptFile unless a run file is whole, and the one that was committed."""
    if _read_header(path) != (count, checksum):
        raise damaged(path, 0, "it is not the run that was committed")
    verify(path)


def checked_chunks(path: Path) -> Iterator[Keys]:
    """Yield the keys of a file in order; raise CorruptFile, at the end at the latest, if damaged.

    Read, not mapped: so a merge of gigabytes neither grows this process nor holds the interpreter.
    """
    count, expected = _read_header(path)
    digest = xxhash.xxh3_64()
    with path.open("rb") as file:
        file.seek(HEADER_BYTES)
        left = count * _KEY_BYTES
        while left:
            data = file.read(min(left, CHUNK_KEYS * _KEY_BYTES))
            if not data:
                raise damaged(path, file.tell(), "unexpected end of file")
            left -= len(data)
            digest.update(data)
            yield np.frombuffer(data, "<u8")
    if digest.intdigest() != expected:
        raise damaged(path, HEADER_BYTES, f"the checksum of its {count} keys does not match")


def damaged(path: Path, offset: int, found: str) -> CorruptFile:
    """Return the error for a run file that is not as written, with the command that helps."""
    return CorruptFile(path, offset, f"{found}; run {rebuild_state_command(path)}")


def merged(sources: Sequence[Iterator[Keys]]) -> Iterator[Keys]:
    """Yield the keys of several sorted sources in order, each key once, in bounded memory.

    Each round takes every key up to the smallest last key at hand, so no equal key stays behind.
    """
    heads = {number: next(source, None) for number, source in enumerate(sources)}
    while live := {number: head for number, head in heads.items() if head is not None}:
        limit = min(head[-1] for head in live.values())
        parts = []
        for number, head in live.items():
            cut = int(np.searchsorted(head, limit, side="right"))
            parts.append(head[:cut])
            heads[number] = head[cut:] if cut < len(head) else next(sources[number], None)
        keys = np.sort(np.concatenate(parts))
        is_first = np.ones(len(keys), np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
        yield keys[is_first]


def _header(count: int, checksum: int) -> bytes:
    fields = _FIELDS.pack(MAGIC, VERSION, count, checksum)
    return fields + _CHECKSUM.pack(xxhash.xxh3_64_intdigest(fields))


def _read_header(path: Path) -> tuple[int, int]:
    """Return count and checksum of a run file; raise CorruptFile unless header and length agree."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER_BYTES)
            found_bytes = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise damaged(path, 0, "the file is missing") from None
    if len(head) < _FIELDS.size + _CHECKSUM.size:
        raise damaged(path, len(head), "its header is incomplete")
    magic, version, count, checksum = _FIELDS.unpack_from(head)
    expected = _header(count, checksum).ljust(HEADER_BYTES, b"\0")
    if head != expected[: len(head)] or (magic, version) != (MAGIC, VERSION):
        raise damaged(path, 0, "its header is not valid")
    expected_bytes = HEADER_BYTES + count * _KEY_BYTES
    if found_bytes != expected_bytes:
        raise damaged(path, found_bytes, f"expected {expected_bytes} bytes")
    return count, checksum


@dataclass(slots=True, kw_only=True)
class RunJob:
    """A run that is due to be written: a flush of the frozen table, or a merge of runs.

    `do` may run in another thread: it reads only what nobody changes any more (the frozen table,
    the files of the runs) and touches nothing but its own new file. It can be done again after
    a failure.
    """

    path: Path
    frozen: KeyTable | None = None
    log: tuple[int, ...] = ()
    """Sequence numbers of the log rows that the new run makes superfluous."""
    replaces: tuple[Run, ...] = ()
    made: Run | None = None

    def do(self) -> None:
        """Write the run: temporary file, fsync, rename, fsync of the folder."""
        if self.frozen is not None:
            keys = np.sort(self.frozen.keys())
            self.made = write_run(self.path, [keys], len(keys))
        else:
            sources = [checked_chunks(run.path) for run in self.replaces]
            self.made = write_run(self.path, merged(sources), sum(r.count for r in self.replaces))
            for run in self.replaces:
                run.let_go()  # here, or whoever drops them waits until gigabytes are unmapped
