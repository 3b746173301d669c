"""AnchorTable: what links that lead to a URL say, by its key. One file, read where it is asked.

A head; turned keys, ascending; where the texts of each begin; URLs that redirect, by where they
lead; the texts.
"""

import mmap
import os
import shutil
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from struct import Struct
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.search.sources.anchor_spool import AnchorSpool, Row, turned
from gossamer.urls import fingerprint_of

MAGIC, VERSION = b"GOSSANCH", 1
FILE = "anchors"
MOST_TEXTS, MOST_CHARS = 16, 300
MOST_GATHERED = 256
"""Texts of a URL that are compared."""
MOST_REDIRECTS = 8
"""URLs whose anchors a page gets because they redirect to it."""
MAX_HOPS = 5
FOREIGN_WEIGHT = 4
"""A link of another host counts as so many of the own one."""
_HEAD = Struct("<8sQQQQ")
Said: TypeAlias = tuple[str, int, int]
"""A text, and how many links of the same host and of others have it."""
Keys: TypeAlias = NDArray[np.uint64]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Said]).decode


class AnchorTable:
    """What links say."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._keys = self._starts = self._ends = self._sources = memoryview(b"").cast("Q")
        """Looked up one by one, in which a view is five times as fast as an array."""
        self._texts = memoryview(b"")
        if path.exists():
            self._open()

    def of(self, url: str) -> tuple[str, ...]:
        """Return what links that lead to a URL say, the most frequent first."""
        if not len(self._keys):
            return ()
        key = turned(fingerprint_of(url))
        found = self._of_key(key)
        for source in self._redirected_to(key):
            found += self._of_key(source)
        return tuple(_most_frequent(found))

    def _open(self) -> None:
        with self._path.open("rb") as file:
            head = file.read(_HEAD.size).ljust(_HEAD.size, b"\0")
            magic, version, count, redirects, texts = _HEAD.unpack(head)
            size = os.fstat(file.fileno()).st_size
            if magic != MAGIC or version != VERSION:
                raise CorruptFile(
                    self._path, 0, "not a table of anchor texts, or one of another version"
                )
            if size != _HEAD.size + 8 * (2 * count + 1 + 2 * redirects) + texts:
                raise CorruptFile(self._path, size, f"expected the anchor texts of {count} URLs")
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        numbers = memoryview(mapped)[_HEAD.size : size - texts].cast("Q")
        self._keys = numbers[:count]
        self._starts = numbers[count : 2 * count + 1]
        self._ends = numbers[2 * count + 1 : 2 * count + 1 + redirects]
        self._sources = numbers[2 * count + 1 + redirects :]
        self._texts = memoryview(mapped)[size - texts :]

    def _of_key(self, key: int) -> list[Said]:
        place = bisect_left(self._keys, key)
        if place == len(self._keys) or self._keys[place] != key:
            return []
        start, end = self._starts[place], self._starts[place + 1]
        try:
            return _decode(self._texts[start:end])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptFile(self._path, start, str(error)) from error

    def _redirected_to(self, key: int) -> list[int]:
        first = bisect_left(self._ends, key)
        last = first
        while last < min(len(self._ends), first + MOST_REDIRECTS) and self._ends[last] == key:
            last += 1
        return list(self._sources[first:last])


def write_anchors(spool: AnchorSpool, folder: Path, work: Path) -> int:
    """Write the table of all that a spool has; return of how many URLs it tells."""
    ends, sources = _redirects(spool.redirects)
    paths = [work / name for name in ("keys", "starts", "texts")]
    count = at = 0
    with ExitStack() as stack:
        keys, starts, texts = (stack.enter_context(path.open("wb")) for path in paths)
        for rows in spool.parts():
            for key, block in _grouped(rows):
                keys.write(key.to_bytes(8, "little"))
                starts.write(at.to_bytes(8, "little"))
                texts.write(block)
                at += len(block)
                count += 1
        starts.write(at.to_bytes(8, "little"))
    with (folder / FILE).open("wb") as file:
        file.write(_HEAD.pack(MAGIC, VERSION, count, len(ends), at))
        for part in (paths[0], paths[1], ends, sources, paths[2]):
            if isinstance(part, Path):
                with part.open("rb") as source:
                    shutil.copyfileobj(source, file, 1 << 20)
                part.unlink()
            else:
                file.write(part.astype("<u8").tobytes())
    return count


def _grouped(rows: Iterable[Row]) -> Iterator[tuple[int, bytes]]:
    """Yield the keys of a part, ascending, and of each what is kept of it."""
    by_key: defaultdict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    for key, text, own, foreign in rows:
        texts = by_key[key]
        before = texts.get(text)
        if before is not None:
            texts[text] = (before[0] + own, before[1] + foreign)
        elif len(texts) < MOST_GATHERED:
            texts[text] = (own, foreign)
    for key in sorted(by_key):
        found = [(text, own, foreign) for text, (own, foreign) in by_key[key].items()]
        kept = sorted(found, key=_weight)[:MOST_TEXTS]
        yield key, _encode(kept)


def _weight(said: Said) -> tuple[float, str]:
    text, own, foreign = said
    return -(own + FOREIGN_WEIGHT * foreign), text


def _most_frequent(found: list[Said]) -> Iterator[str]:
    room = MOST_CHARS
    seen: set[str] = set()
    for text, _, _ in sorted(found, key=_weight):
        if text in seen:
            continue
        room -= len(text)
        if room < 0 or len(seen) == MOST_TEXTS:
            return
        seen.add(text)
        yield text


def _redirects(found: dict[int, int]) -> tuple[Keys, Keys]:
    """Return where chains of redirects end and what leads there, sorted by the first."""
    pairs: list[tuple[int, int]] = []
    for source, first in found.items():
        end = first
        for _ in range(MAX_HOPS):
            end = found.get(end, end)
        if end != source and end not in found:
            pairs.append((end, source))
    pairs.sort()
    return (
        np.array([end for end, _ in pairs], np.uint64),
        np.array([source for _, source in pairs], np.uint64),
    )
