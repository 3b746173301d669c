"""TextPlaces: where a text lies, by the fingerprint of the content that it was taken from.

A page whose content was stored before (a copy, or one that changed back) has no text record of its
own. Its text is that of the same content. texts: rows in the order of fingerprints, from the last
full build; texts.news: rows of later pages, in the order of reading.
"""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.model import StoreRef
from gossamer.search.sources.archive import TextPlace, text_of
from gossamer.store import ArchiveName, CrawlFolder, read_record

FILE, NEWS = "texts", "texts.news"
_SHARD_BITS, _EPOCH_BITS, _NUMBER_BITS = 16, 24, 24
_COLUMNS = 3
_ROW_BYTES = 8 * _COLUMNS
_FLUSH_ROWS = 100_000

Rows = NDArray[np.uint64]
"""Fingerprint, file and offset of each text."""


class TextPlaces:
    """Notes where texts lie, and finds them."""

    def __init__(self, folder: Path) -> None:
        self._news = folder / NEWS
        self._table = _read(folder / FILE)
        self._recent: dict[int, tuple[int, int]] | None = None
        self._unwritten: list[int] = []

    def note(self, fp: int, place: TextPlace) -> None:
        """Remember where the text of some content lies."""
        file = _packed(place.file)
        if file is None:
            return
        self._unwritten += (fp, file, place.offset)
        if self._recent is not None:
            self._recent[fp] = (file, place.offset)
        if len(self._unwritten) >= _FLUSH_ROWS * _COLUMNS:
            self.flush()

    def flush(self) -> None:
        """Write down what was noted."""
        if self._unwritten:
            with self._news.open("ab") as file:
                os.ftruncate(file.fileno(), file.tell() // _ROW_BYTES * _ROW_BYTES)
                file.write(np.array(self._unwritten, "<u8").tobytes())
            self._unwritten = []

    def find(self, fp: int) -> TextPlace | None:
        """Return where a text of this content lies."""
        if self._recent is None:
            self.flush()
            rows = _read(self._news).tolist()
            self._recent = {found: (file, offset) for found, file, offset in rows}
        if (near := self._recent.get(fp)) is not None:
            return TextPlace(_unpacked(near[0]), near[1])
        row = int(np.searchsorted(self._table[:, 0], np.uint64(fp)))
        if row < len(self._table) and int(self._table[row, 0]) == fp:
            return TextPlace(_unpacked(int(self._table[row, 1])), int(self._table[row, 2]))
        return None

    def seal(self) -> None:
        """Sort what was noted, so that it can be found without being read."""
        self.flush()
        path = self._news.with_name(FILE)
        rows = _read(self._news)
        rows[np.argsort(rows[:, 0], kind="stable")].tofile(path)
        self._news.unlink(missing_ok=True)
        self._table, self._recent = _read(path), None


def read_text(folder: CrawlFolder, place: TextPlace) -> str:
    """Return the text at a place; "" if it is not there any more."""
    try:
        return text_of(read_record(folder, StoreRef(place.file, place.offset, 0)))
    except (CorruptFile, ValueError):
        return ""


def _read(path: Path) -> Rows:
    """Return the whole rows of a file; none if there is no file."""
    try:
        count = path.stat().st_size // _ROW_BYTES
    except OSError:
        count = 0
    if not count:
        return np.empty((0, _COLUMNS), np.uint64)
    return np.memmap(path, "<u8", "r", shape=(count, _COLUMNS))


@lru_cache(maxsize=64)
def _packed(file: str) -> int | None:
    name = ArchiveName.parse(file)
    if name is None or name.shard >> _SHARD_BITS or name.epoch >> _EPOCH_BITS:
        return None
    if name.number >> _NUMBER_BITS:
        return None
    return name.shard << (_EPOCH_BITS + _NUMBER_BITS) | name.epoch << _NUMBER_BITS | name.number


def _unpacked(file: int) -> str:
    number = file & ((1 << _NUMBER_BITS) - 1)
    epoch = file >> _NUMBER_BITS & ((1 << _EPOCH_BITS) - 1)
    shard = file >> (_EPOCH_BITS + _NUMBER_BITS)
    return ArchiveName("text", shard, epoch, number).file_name
