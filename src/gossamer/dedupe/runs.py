"""BandRun: the band entries of many pages on disk, sorted; written whole and never changed.

A file is a page of header, then for each of 12 bands a directory by the top bits and the entries.
Entries of equal keys follow each other in the order of page numbers, the oldest first.
"""

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from struct import Struct, error

import numpy as np
import xxhash

from gossamer.dedupe.kernels import natives
from gossamer.dedupe.kernels.sketching import BANDS, Ints, Words
from gossamer.durable import replacing
from gossamer.errors import CannotGoOn, CorruptFile

MAGIC = b"GOSSNEAR"
VERSION = 1
HEADER_BYTES = 4096
PER_PLACE_BITS = 5
"""Each place of a directory has about 32 entries: four cache lines to search in."""
_FIELDS = Struct(f"<8sQQ{BANDS}Q")
_CHECKSUM = Struct("<Q")


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
        mapped.madvise(mmap.MADV_RANDOM)
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
            bands.ctypes.data,
            len(bands),
            self._words.ctypes.data,
            self._places.ctypes.data,
            self.shift,
            pairs.ctypes.data,
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
            natives()["merge"](
                whole.ctypes.data, len(whole), more.ctypes.data, len(more), out.ctypes.data
            )
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
                natives()["direct"](
                    entries.ctypes.data, len(entries), 64 - bits, directory.ctypes.data, 1 << bits
                )
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
    except (OSError, error) as problem:
        raise CorruptFile(path, 0, f"it cannot be read ({problem})") from problem
    if head != _header(counts, bits) or (magic, version) != (MAGIC, VERSION):
        raise CorruptFile(path, 0, "its header is not valid")
    expected = HEADER_BYTES + 8 * (BANDS * ((1 << bits) + 1) + sum(counts))
    if found_bytes != expected:
        raise CorruptFile(path, found_bytes, f"expected {expected} bytes")
    return counts, bits
