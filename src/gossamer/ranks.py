"""Ranks: what URLs are worth, as a file by key. The graph writes it; frontier and index read it.

A head of 32 bytes (magic, version, count, xxh3 of the rest), then all keys, ascending, then a
32-bit float for each: 12 bytes per URL. 1.0 is the mean of all pages.
"""

import mmap
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import Struct
from typing import TypeAlias

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from gossamer.durable import replacing
from gossamer.errors import CannotGoOn, CorruptFile

MAGIC, VERSION = b"GOSSRANK", 1
URL_BYTES = 12
_HEAD = Struct("<8sQQQ")


class RankState(msgspec.Struct, frozen=True, kw_only=True):
    """How old the ranks of a crawl are."""

    at: float
    """When they were computed."""
    urls: int
    """URLs that have one."""
    is_current: bool
    """Nothing was added to the graph since, and nothing is in the index that is not in the graph.
    """


Chosen: TypeAlias = NDArray[np.bool_]


class RankFile:
    """The ranks of URLs, on disk."""

    def __init__(
        self, keys: NDArray[np.uint64], scores: NDArray[np.float32], digest: int = 0
    ) -> None:
        self._keys, self._scores = keys, scores
        self.digest = digest
        """Tells files apart."""

    @classmethod
    def open(cls, path: Path, *, is_checked: bool = True) -> "RankFile":
        """Return a file's ranks; raise `CorruptFile` if it is not what was written.

        All of it is read for that, unless one look-up is not worth it.
        """
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD.size)
                size = os.fstat(file.fileno()).st_size
                magic, version, count, digest = _HEAD.unpack(head.ljust(_HEAD.size, b"\0"))
                if magic != MAGIC or version != VERSION:
                    raise CorruptFile(
                        path,
                        0,
                        "not a ranks file, or one of another version; run `gossamer rank DIR`",
                    )
                if size != _HEAD.size + URL_BYTES * count:
                    raise CorruptFile(path, size, f"expected the ranks of {count} URLs")
                mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except OSError as problem:
            raise CannotGoOn(f"cannot read {path}: {problem.strerror}") from problem
        if is_checked and xxhash.xxh3_64_intdigest(memoryview(mapped)[_HEAD.size :]) != digest:
            raise CorruptFile(
                path, _HEAD.size, "the checksum does not match; run `gossamer rank DIR`"
            )
        keys = np.frombuffer(mapped, "<u8", count, _HEAD.size)
        scores = np.frombuffer(mapped, "<f4", count, _HEAD.size + 8 * count)
        if is_checked and not (np.isfinite(scores).all() and (scores >= 0).all()):
            raise CorruptFile(path, _HEAD.size + 8 * count, "a rank is negative or not a number")
        return cls(keys, scores, digest)

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, key: int) -> float | None:
        """Return the rank of a URL, 1.0 for the mean of all; None if it is not known here."""
        place = int(np.searchsorted(self._keys, np.uint64(key)))
        if place < len(self._keys) and int(self._keys[place]) == key:
            return float(self._scores[place])
        return None

    def write_part(self, path: Path, is_chosen: Callable[[NDArray[np.uint64]], Chosen]) -> int:
        """Write the ranks of some keys to a file; return how many."""
        chosen = is_chosen(self._keys)
        return write_ranks(path, self._keys[chosen], self._scores[chosen].astype(np.float64))

    def of_all(self, keys: Sequence[int]) -> NDArray[np.float32]:
        """Return the ranks of URLs; 0 for those that are not known here."""
        asked = np.array(keys, np.uint64)
        if not len(self._keys) or not len(asked):
            return np.zeros(len(asked), np.float32)
        places = np.searchsorted(self._keys, asked)
        places[places == len(self._keys)] = 0
        return np.where(self._keys[places] == asked, self._scores[places], np.float32(0.0))


class NewestRanks:
    """The ranks in a file that may be replaced, as they were when they were last looked after."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = (0, 0)
        self._file: RankFile | None = None
        self.renew()

    def renew(self) -> None:
        """Take up another file; one that is damaged leaves no ranks."""
        try:
            found = self._path.stat()
        except OSError:
            self._stamp, self._file = (0, 0), None
            return
        stamp = (found.st_ino, found.st_mtime_ns)
        if stamp != self._stamp:
            try:
                self._file = RankFile.open(self._path)
            except CannotGoOn:
                self._file = None
            self._stamp = stamp

    def of_all(self, keys: Sequence[int]) -> list[float]:
        """Return the ranks of URLs; 0 for those that are not known here."""
        file = self._file
        found: list[float] = [0.0] * len(keys) if file is None else file.of_all(keys).tolist()
        return found


def ranks_path(root: Path) -> Path:
    """Return where the graph of a crawl leaves the ranks of its pages."""
    return root / "graph" / "ranks"


def read_rank_state(root: Path) -> RankState | None:
    """Return how old the ranks beside a crawl's graph are; None if there are none."""
    path = ranks_path(root)
    try:
        file = path.stat()
        graph = path.with_name("manifest.json").stat()
    except OSError:
        return None
    is_current = file.st_mtime_ns >= graph.st_mtime_ns
    urls = max(file.st_size - _HEAD.size, 0) // URL_BYTES
    return RankState(at=file.st_mtime, urls=urls, is_current=is_current)


class _Graph(msgspec.Struct):
    """Of the manifest of a graph: how much of each links file it has."""

    covered: dict[str, int] = {}  # msgspec copies it


def graph_lengths(root: Path) -> dict[str, int]:
    """Return how much of each links file a crawl's graph has; nothing if there is none."""
    try:
        manifest = ranks_path(root).with_name("manifest.json").read_bytes()
        return msgspec.json.decode(manifest, type=_Graph).covered
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def crawl_ranks(root: Path) -> RankFile | None:
    """Return the ranks of a crawl's pages; None if there are none yet."""
    path = ranks_path(root)
    return RankFile.open(path) if path.is_file() else None


def write_ranks(path: Path, keys: NDArray[np.uint64], scores: NDArray[np.float64]) -> int:
    """Write ranks whole or not at all; return how many. Of a key that comes twice the best counts.

    1.0 should be the mean of all pages.
    """
    order = np.lexsort((-scores, keys))
    keys, ranks = keys[order].astype("<u8"), scores[order].astype("<f4")
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    keys, ranks = keys[is_first], ranks[is_first]
    digest = xxhash.xxh3_64(keys.tobytes())
    digest.update(ranks.tobytes())
    try:
        with replacing(path) as file:
            file.write(_HEAD.pack(MAGIC, VERSION, len(keys), digest.intdigest()))
            keys.tofile(file)
            ranks.tofile(file)
    except OSError as problem:
        raise CannotGoOn(
            f"cannot write {path}: {problem.strerror}; free some disk space"
        ) from problem
    return len(keys)
