"""Spool: what links records say, on disk and without the text of URLs: a hash stands for each.

The texts go once to the sorter of names, which numbers them. A hash that two URLs share is found
then, and everything is read again with another hash.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from gossamer.errors import CannotGoOn
from gossamer.graph.build.news.archive import PageRecord
from gossamer.graph.kinds import kind_of
from gossamer.graph.names import NameSorter, keys_of

Hashes: TypeAlias = NDArray[np.uint64]
Hash: TypeAlias = Callable[[bytes], int]

BATCH_LINKS = 1 << 16
RECENT_SLOTS = 1 << 21
"""Of the table of hashes that were met lately, 32 MiB: most links are repeated soon."""
READ_LINKS = 1 << 21
SETTLED = {"fetched": True, "redirected": True, "gone": False}
"""Outcomes that say what a URL links to now, and whether it is a page. Others add nothing: of
`unchanged` that is known, and one that failed or was refused had no page before."""


def hash_of(attempt: int) -> Hash:
    """Return how URLs are hashed: fast at first, later in a way that nobody can prepare for."""
    if attempt == 0:
        return xxhash.xxh3_64_intdigest
    key = attempt.to_bytes(8, "little")

    def slow(text: bytes) -> int:
        digest = hashlib.blake2b(text, digest_size=8, key=key).digest()
        return int.from_bytes(digest, "little")

    return slow


class Pages(NamedTuple):
    """What is known of the records of a spool, in the order of reading."""

    hashes: Hashes
    at: NDArray[np.float64]
    links: NDArray[np.int64]
    """How many links each has."""
    is_page: NDArray[np.bool_]


class Spool:
    """Takes records; gives them back as hashes and numbers."""

    def __init__(self, folder: Path, names: NameSorter, hash_url: Hash) -> None:
        self._names = names
        self._hash = hash_url
        # No number lies in its own slot, so that none seems to have been met.
        self._recent = np.arange(1, RECENT_SLOTS + 1, dtype=np.uint64)
        self._recent_check = np.zeros(RECENT_SLOTS, np.int64)
        self._hashes_file = _file(folder)
        self._kinds_file = _file(folder)
        self._pages: list[Pages] = []
        self._targets: list[str] = []
        self._kinds: list[int] = []
        self._sources: list[tuple[str, float, int, bool]] = []
        self.links = 0

    def add(self, record: PageRecord) -> None:
        """Take a record, if it says anything about links."""
        is_page = SETTLED.get(record.outcome)
        if is_page is None:
            return
        links = record.links if is_page else []
        if links:
            targets, kinds, _, rels = zip(*links, strict=True)
            self._targets += targets
            is_nofollow = "nofollow" in record.robots or "none" in record.robots
            code = _code_if_nofollow if is_nofollow else _code
            self._kinds += map(code, kinds, rels)
        self._sources.append((record.url, record.at, len(links), is_page))
        if len(self._targets) + len(self._sources) >= BATCH_LINKS:
            self.flush()

    def add_pages(self, pages: Pages, targets: Hashes, kinds: NDArray[np.uint8]) -> None:
        """Take records whose URLs were `hashed`."""
        self._write(pages, targets, kinds)

    def hashed(self, urls: list[str]) -> Hashes:
        """Return the hashes of URLs; names that were not met lately go to the sorter.

        Python's own hash makes sure that it is the same name: one that shares another's hash must
        reach the sorter to be found.
        """
        hash_url = self._hash
        hashes = np.fromiter((hash_url(url.encode()) for url in urls), np.uint64, len(urls))
        checks = np.fromiter(map(hash, urls), np.int64, len(urls))
        slots = (hashes & np.uint64(RECENT_SLOTS - 1)).astype(np.int64)
        is_known = (self._recent[slots] == hashes) & (self._recent_check[slots] == checks)
        new = np.flatnonzero(~is_known)
        self._recent[slots[new]] = hashes[new]
        self._recent_check[slots[new]] = checks[new]
        self._names.add(keys_of([urls[n] for n in new.tolist()]))
        return hashes

    def flush(self) -> None:
        """Hash and write what was gathered: now all names are with the sorter."""
        if not self._sources:
            return
        urls, at, links, is_page = zip(*self._sources, strict=True)
        pages = Pages(
            self.hashed(list(urls)),
            np.array(at, np.float64),
            np.array(links, np.int64),
            np.array(is_page, np.bool_),
        )
        targets = self.hashed(self._targets)
        kinds = np.fromiter(self._kinds, np.uint8, len(self._kinds))
        self._targets, self._kinds, self._sources = [], [], []
        self._write(pages, targets, kinds)

    def pages(self) -> Pages:
        """Return what is known of all records."""
        empty = Pages(
            np.empty(0, np.uint64), np.empty(0), np.empty(0, np.int64), np.empty(0, np.bool_)
        )
        return Pages(*(np.concatenate(column) for column in zip(empty, *self._pages, strict=True)))

    def arcs(self) -> Iterator[tuple[Hashes, NDArray[np.uint8]]]:
        """Yield targets and kinds of all links, in order and part by part."""
        for start in range(0, self.links, READ_LINKS):
            count = min(READ_LINKS, self.links - start)
            yield (
                np.frombuffer(_read(self._hashes_file, 8 * start, 8 * count), np.uint64),
                np.frombuffer(_read(self._kinds_file, start, count), np.uint8),
            )

    def close(self) -> None:
        """Give the files back."""
        self._hashes_file.close()
        self._kinds_file.close()

    def _write(self, pages: Pages, targets: Hashes, kinds: NDArray[np.uint8]) -> None:
        self._pages.append(pages)
        self.links += len(targets)
        try:
            self._hashes_file.write(targets.data)
            self._kinds_file.write(kinds.data)
        except OSError as error:
            raise CannotGoOn(
                f"cannot write links: {error.strerror or error}; free disk space, then build again"
            ) from error


@lru_cache(4096)
def _code(kind: str, rel: str) -> int:
    return int(kind_of(kind, is_nofollow="nofollow" in rel.split()))


@lru_cache(4096)
def _code_if_nofollow(kind: str, rel: str) -> int:  # noqa: ARG001 -- the page's word covers it
    return int(kind_of(kind, is_nofollow=True))


def _file(folder: Path) -> IO[bytes]:
    try:
        return TemporaryFile(dir=folder, prefix="links-")
    except OSError as error:
        raise CannotGoOn(
            f"cannot write to {folder}: {error.strerror or error}; check its permissions"
        ) from error


def _read(file: IO[bytes], start: int, count: int) -> bytes:
    file.seek(start)
    return file.read(count)
