"""NearSet: which known pages say nearly the same? Rows in, rows out; it never opens the database.

The newest pages lie in memory and, as log rows, in the state; the rest in files: `records`, where
page n has its 112 bytes at 112 n, and runs of band entries. What is lost can be made anew from the
archive, so damage is reported, not repaired.

A run is written whole and never changed: a page of header, then for each of 12 bands a directory by
the top bits and the entries. Entries of equal keys follow each other in the order of page numbers,
the oldest first.
"""

import mmap
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import xxhash
from msgspec import Struct, msgpack
from numpy.typing import NDArray

from gossamer.dedupe.kernels import natives
from gossamer.dedupe.kernels.bands import COPY, LABEL, MOST_PER_KEY
from gossamer.dedupe.kernels.sketching import BANDS, NUMBER_BITS, RECORD, Ints, Words
from gossamer.dedupe.sketch import Sketches
from gossamer.durable import replacing, sync
from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.linux import expect_random
from gossamer.model import Row

MAGIC = b"GOSSNEAR"
VERSION = 1
HEADER_BYTES = 4096
PER_PLACE_BITS = 5
"""Each place of a directory has about 32 entries: four cache lines to search in."""
_FIELDS = struct.Struct(f"<8sQQ{BANDS}Q")
_CHECKSUM = struct.Struct("<Q")


class BandRun:
    """One file of entries, open for look-ups."""

    __slots__ = ("_entries", "_places", "_words", "count", "number", "path", "shift")

    def __init__(self, path: Path) -> None:
        counts, bits = _read_header(path)
        self.path = path
        self.number = run_number(path)
        self.count = max(counts)
        self.shift = 64 - bits
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        expect_random(mapped)
        self._words: Words = np.frombuffer(mapped, np.uint64)
        self._entries: list[Words] = []
        places: list[int] = []
        at = HEADER_BYTES // 8
        for count in counts:
            start = at + (1 << bits) + 1
            places += [at, start]
            at = start + count
            self._entries.append(self._words[start:at])
        self._places: Ints = np.array(places, np.int64)

    def entries(self, band: int) -> Words:
        """Return the entries of a band, in order."""
        return self._entries[band]

    def search(self, bands: Words, pairs: Ints) -> Ints:
        """Return page << 27 | candidate for all pages and bands; `pairs` is room for them."""
        found = natives()["search"](
            bands,
            len(bands),
            self._words,
            self._places,
            self.shift,
            pairs,
        )
        return pairs[:found].copy()


def run_path(folder: Path, number: int) -> Path:
    """Return the place of a run."""
    return folder / f"bands-{number:010d}.near"


def run_number(path: Path) -> int:
    """Return the number of a run by its file name."""
    return int(path.stem.removeprefix("bands-"))


def run_files(folder: Path) -> set[Path]:
    """Return the runs in a folder, half-written ones included."""
    name = "bands-" + "[0-9]" * 10
    return {*folder.glob(name + ".near"), *folder.glob(name + ".tmp")}


def merge_runs(runs: Sequence[BandRun]) -> Iterator[Words]:
    """Yield the entries of several runs, in order, band by band."""
    for band in range(BANDS):
        whole = runs[0].entries(band)
        for run in runs[1:]:
            more = run.entries(band)
            out = np.empty(len(whole) + len(more), np.uint64)
            natives()["merge"](whole, len(whole), more, len(more), out)
            whole = out
        yield whole


def write_run(path: Path, bands: Iterable[Words], most: int, *, is_synced: bool) -> BandRun:
    """Write the sorted entries of each band, at most `most`; the file is whole once it is named."""
    counts: list[int] = []
    bits = max(4, most.bit_length() - PER_PLACE_BITS)
    directory = np.empty((1 << bits) + 1, np.int64)
    try:
        with replacing(path, temporary=path.with_suffix(".tmp"), is_synced=is_synced) as file:
            file.write(bytes(HEADER_BYTES))
            for entries in bands:
                natives()["direct"](entries, len(entries), 64 - bits, directory, 1 << bits)
                file.write(directory.data)
                file.write(entries.data)
                counts.append(len(entries))
            file.seek(0)
            file.write(_header(counts, bits))
    except OSError as problem:
        raise CannotGoOn(
            f"cannot write {path}: {problem.strerror}; "
            "free some disk space, then run the crawl again"
        ) from problem
    return BandRun(path)


def _header(counts: Sequence[int], bits: int) -> bytes:
    fields = _FIELDS.pack(MAGIC, VERSION, bits, *counts)
    return fields + _CHECKSUM.pack(xxhash.xxh3_64_intdigest(fields))


def _read_header(path: Path) -> tuple[list[int], int]:
    """Return counts and directory bits; raise CorruptFile unless header and length agree."""
    try:
        with path.open("rb") as file:
            head = file.read(_FIELDS.size + _CHECKSUM.size)
            found_bytes = os.fstat(file.fileno()).st_size
        magic, version, bits, *counts = _FIELDS.unpack_from(head)
    except (OSError, struct.error) as problem:
        raise CorruptFile(path, 0, f"it cannot be read ({problem})") from problem
    if head != _header(counts, bits) or (magic, version) != (MAGIC, VERSION):
        raise CorruptFile(path, 0, "its header is not valid")
    expected = HEADER_BYTES + 8 * (BANDS * ((1 << bits) + 1) + sum(counts))
    if found_bytes != expected:
        raise CorruptFile(path, found_bytes, f"expected {expected} bytes")
    return counts, bits


LOG, MANIFEST = b"NL", b"NR"
"""Prefixes of rows: sequence → sketches not yet in files; run number → pages that runs hold."""
FLUSH_PAGES = 65_536
FAN_IN = 4
"""So many runs of similar size are merged into one."""
BATCH_PAGES = 256
RECORD_BYTES = 8 * RECORD
MOST_PAGES = 1 << NUMBER_BITS
_NUMBER = MOST_PAGES - 1
_FIRST_ROOM = 256
Outdated: TypeAlias = Callable[[Words], NDArray[np.bool_]]


class _RunRow(Struct, frozen=True, array_like=True):
    """A line of the manifest: how many pages there were when the run was written, and its size."""

    pages: int
    count: int


def slots_for(pages: int) -> int:
    """Return a power of two of slots that the entries of so many pages fill at most by half."""
    return 1 << (2 * BANDS * pages).bit_length()


class RecentPages:
    """The newest pages, in no run yet: records, band keys, and a hash table of band entries."""

    __slots__ = ("_bands", "_slots", "count", "records")

    def __init__(self) -> None:
        self.count = 0
        self.records: Words = np.empty((_FIRST_ROOM, RECORD), np.uint64)
        self._bands: Words = np.empty((_FIRST_ROOM, BANDS), np.uint64)
        self._slots: Words = np.zeros(slots_for(_FIRST_ROOM), np.uint64)

    def add(self, pages: Sketches, first: int) -> None:
        """Add pages; those here are numbered from `first` on."""
        count = self.count + len(pages)
        if count > len(self.records):
            self._grow(2 * count, first)
        self.records[self.count : count] = pages.records
        self._bands[self.count : count] = pages.bands
        self._insert(self.count, count, first)
        self.count = count

    def probe(self, bands: Words, pairs: Ints) -> Ints:
        """Return page << 27 | number for each page that shares a band with one of these."""
        found = natives()["probe"](
            bands,
            len(bands),
            self._slots,
            len(self._slots) - 1,
            pairs,
            len(pairs),
        )
        return pairs[:found].copy()

    def set_states(self, places: Ints, states: Words) -> None:
        """Set the last word of records, by their place here; those below 0 are not here."""
        here = places >= 0
        self.records[places[here], 13] = states[here]

    def sorted_entries(self, first: int) -> Sequence[Words]:
        """Return the entries of each band in order, for a run."""
        numbers = np.arange(first, first + self.count, dtype=np.uint64)
        found: list[Words] = []
        for band in range(BANDS):
            keys = self._bands[: self.count, band]
            held = keys != 0
            found.append(np.sort(keys[held] | numbers[held]))
        return found

    def _grow(self, room: int, first: int) -> None:
        self.records = _longer(self.records, room)
        self._bands = _longer(self._bands, room)
        self._slots = np.zeros(slots_for(room), np.uint64)
        self._insert(0, self.count, first)

    def _insert(self, start: int, end: int, first: int) -> None:
        natives()["insert"](
            self._bands[start:],
            end - start,
            first + start,
            self._slots,
            len(self._slots) - 1,
        )


def _longer(array: Words, room: int) -> Words:
    longer = np.empty((room, array.shape[1]), np.uint64)
    longer[: len(array)] = array
    return longer


class NearSet:
    """The sketches of all pages that are nobody's copy, with a quick look-up by band."""

    def __init__(
        self, folder: Path, *, is_synced: bool = True, flush_pages: int = FLUSH_PAGES
    ) -> None:
        self._folder = folder
        self._flush_pages = flush_pages
        self._is_synced = is_synced
        self._runs: list[BandRun] = []
        self._next_run = 1
        self._flushed = 0
        self._mapped: Words = np.empty((0, RECORD), np.uint64)
        self._recent = RecentPages()
        self._log: list[int] = []
        self._next_log = 0
        self._rows: list[Row] = []
        self._replaced: list[Path] = []
        self._pairs: Ints = np.empty(BATCH_PAGES * (BANDS * MOST_PER_KEY + 1), np.int64)

    @classmethod
    def open(
        cls,
        folder: Path,
        rows: Iterable[tuple[bytes, bytes]],
        *,
        is_synced: bool = True,
        flush_pages: int = FLUSH_PAGES,
    ) -> "NearSet":
        """Return the set as of the committed rows; raise `CorruptFile` if its files are not whole.

        Files that the manifest does not name are deleted: what the rows say must be durable by now.
        """
        known = cls(folder, is_synced=is_synced, flush_pages=flush_pages)
        folder.mkdir(parents=True, exist_ok=True)
        log: dict[int, bytes] = {}
        for key, value in rows:
            number = int.from_bytes(key[len(LOG) :], "big")
            if key.startswith(LOG):
                log[number] = value
            elif key.startswith(MANIFEST):
                row = msgpack.decode(value, type=_RunRow)
                known._runs.append(BandRun(run_path(folder, number)))
                known._flushed = max(known._flushed, row.pages)
        named = {run.path for run in known._runs}
        for path in run_files(folder) - named:
            path.unlink()
        known._next_run = 1 + max((run.number for run in known._runs), default=0)
        known._map_records()
        for number in sorted(log):
            known._recent.add(Sketches.unpacked(log[number]), known._flushed)
            known._log.append(number)
            known._next_log = number + 1
        return known

    @property
    def pages(self) -> int:
        """Return how many pages are held."""
        return self._flushed + self._recent.count

    def label_and_add(self, new: Sketches, outdated: Outdated | None = None) -> Words:
        """Compare pages with all that came before, and add them; return labels, one per row.

        `outdated` says which records are of pages that have changed since: those no longer count.

        A label's words are described in `kernels.bands`. The next `rows_to_commit` has what must be
        written with whatever is made of them.
        """
        labels = [
            self._label_and_add(new.only(slice(start, start + BATCH_PAGES)), outdated)
            for start in range(0, len(new), BATCH_PAGES)
        ]
        if self._recent.count >= self._flush_pages:
            self.flush()
        return np.concatenate(labels) if labels else np.empty((0, LABEL), np.uint64)

    def look_up(self, bands: Words) -> Ints:
        """Return page << 27 | number for each page that shares a band with one that is held."""
        found = [np.empty(0, np.int64)]
        for start in range(0, len(bands), BATCH_PAGES):
            some = bands[start : start + BATCH_PAGES]
            parts = [self._recent.probe(some, self._pairs)]
            parts += [run.search(some, self._pairs) for run in self._runs]
            found += [part + (start << NUMBER_BITS) for part in parts if len(part)]
        return np.unique(np.concatenate(found)) if len(found) > 1 else found[0]

    def _label_and_add(self, new: Sketches, outdated: Outdated | None) -> Words:
        count = len(new)
        known = self.look_up(new.bands)
        within = _pairs_within(new.bands, self._pairs)
        labels = np.empty((0, LABEL), np.uint64)
        records = new.records
        if len(known) or len(within):
            numbers, places = np.unique(known & _NUMBER, return_inverse=True)
            others = self.records(numbers)
            if outdated is not None and len(others):
                others[outdated(others), 13] |= COPY
            records = np.concatenate((records, others))
            pairs = np.empty((len(known) + len(within), 2), np.int64)
            pairs[: len(known), 0] = known >> NUMBER_BITS
            pairs[: len(known), 1] = count + places
            pairs[len(known) :, 0] = within >> NUMBER_BITS
            pairs[len(known) :, 1] = within & _NUMBER
            pairs = np.ascontiguousarray(pairs[np.argsort(pairs[:, 0], kind="stable")])
            labels = np.empty((len(pairs) + count, LABEL), np.uint64)
            made = natives()["settle"](records, pairs, len(pairs), labels)
            labels = labels[:made]
            self._recent.set_states(numbers - self._flushed, records[count:, 13])
        kept = np.flatnonzero(records[:count, 13] < COPY)
        self._add(Sketches(records[:count], new.bands).only(kept))
        return labels

    def _add(self, kept: Sketches) -> None:
        if not len(kept) or self.pages + len(kept) > MOST_PAGES:
            return
        self._recent.add(kept, self._flushed)
        self._rows.append((_row_key(LOG, self._next_log), kept.packed()))
        self._log.append(self._next_log)
        self._next_log += 1

    def records(self, numbers: Ints) -> Words:
        """Return copies of the records of pages, by ascending number."""
        cut = int(np.searchsorted(numbers, self._flushed))
        recent = self._recent.records[numbers[cut:] - self._flushed]
        return np.concatenate((self._mapped[numbers[:cut]], recent))

    def rows_to_commit(self) -> list[Row]:
        """Return what changed since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def flush(self) -> None:
        """Bring the recent pages into files; merge runs when there are many of a size."""
        if not self._recent.count:
            return
        for path in self._replaced:  # the rows that replaced them are long durable
            path.unlink(missing_ok=True)
        self._replaced.clear()
        self._append_records()
        self._flushed += self._recent.count
        path = run_path(self._folder, self._next_run)
        bands = self._recent.sorted_entries(self._flushed - self._recent.count)
        self._install(write_run(path, bands, self._recent.count, is_synced=self._is_synced), ())
        self._rows += [(_row_key(LOG, number), None) for number in self._log]
        self._log.clear()
        self._recent = RecentPages()
        while mergeable := mergeable_runs(self._runs, self._flush_pages):
            path = run_path(self._folder, self._next_run)
            most = sum(run.count for run in mergeable)
            made = write_run(path, merge_runs(mergeable), most, is_synced=self._is_synced)
            self._install(made, mergeable)

    def _install(self, made: BandRun, replaces: Iterable[BandRun]) -> None:
        self._next_run += 1
        gone = {run.number for run in replaces}
        self._replaced += [run.path for run in replaces]
        self._runs = [run for run in self._runs if run.number not in gone]
        self._runs.append(made)
        row = msgpack.encode(_RunRow(self._flushed, made.count))
        self._rows.append((_row_key(MANIFEST, made.number), row))
        self._rows += [(_row_key(MANIFEST, number), None) for number in gone]

    def _append_records(self) -> None:
        """Write the recent pages' records behind the others, at their places: it can be redone."""
        path = self._folder / "records"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                os.ftruncate(file, self._flushed * RECORD_BYTES)
                os.lseek(file, 0, os.SEEK_END)
                data = memoryview(self._recent.records[: self._recent.count].tobytes())
                while data:
                    data = data[os.write(file, data) :]
                if self._is_synced:
                    os.fsync(file)
            finally:
                os.close(file)
            if self._is_synced:
                sync(self._folder)
        except OSError as problem:
            raise CannotGoOn(
                f"cannot write {path}: {problem.strerror}; free some disk space"
            ) from problem
        self._map_records(self._flushed + self._recent.count)

    def _map_records(self, pages: int | None = None) -> None:
        pages = self._flushed if pages is None else pages
        if not pages:
            return
        path = self._folder / "records"
        try:
            with path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), pages * RECORD_BYTES, prot=mmap.PROT_READ)
        except (OSError, ValueError) as problem:
            raise CorruptFile(path, 0, f"expected {pages} records ({problem})") from problem
        self._mapped = np.frombuffer(mapped, np.uint64).reshape(-1, RECORD)


def verify_near(folder: Path, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise `CorruptFile` if the files are not those that the rows name; nothing is compiled."""
    pages = 0
    for key, value in rows:
        if key.startswith(MANIFEST):
            BandRun(run_path(folder, int.from_bytes(key[len(MANIFEST) :], "big")))
            pages = max(pages, msgpack.decode(value, type=_RunRow).pages)
    path = folder / "records"
    if pages and (not path.exists() or path.stat().st_size < pages * RECORD_BYTES):
        raise CorruptFile(path, 0, f"expected {pages} records")


def mergeable_runs(runs: list[BandRun], flush_pages: int) -> tuple[BandRun, ...]:
    """Return the oldest runs of a size class that is full, or none."""
    classes: dict[int, list[BandRun]] = {}
    for run in runs:
        size, merges = run.count // flush_pages, 0
        while size >= FAN_IN:
            size, merges = size // FAN_IN, merges + 1
        classes.setdefault(merges, []).append(run)
    for _, mergeable in sorted(classes.items()):
        if len(mergeable) >= FAN_IN:
            return tuple(sorted(mergeable[:FAN_IN], key=lambda run: run.number))
    return ()


def _pairs_within(bands: Words, pairs: Ints) -> Ints:
    """Return page << 27 | earlier page for each two pages of a batch that share a band."""
    if len(bands) < 2:  # noqa: PLR2004 -- a pair takes two
        return np.empty(0, np.int64)
    slots = np.zeros(slots_for(len(bands)), np.uint64)
    mask = len(slots) - 1
    kernels = natives()
    kernels["insert"](bands, len(bands), 0, slots, mask)
    found = kernels["probe"](bands, len(bands), slots, mask, pairs, len(pairs))
    both = pairs[:found]
    both = both[(both & _NUMBER) < (both >> NUMBER_BITS)]
    return np.unique(both)


def _row_key(prefix: bytes, number: int) -> bytes:
    return prefix + number.to_bytes(8, "big")
