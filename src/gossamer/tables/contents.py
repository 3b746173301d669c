"""Contents: what is known of a body that was stored once and belongs to several pages.

A page whose content is that of another has neither a body nor a text of its own in the archive: it
is a WARC revisit record. Its words and bytes are those of the page that has them. In memory a
content takes 40 bytes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DTYPE = np.dtype(
    [
        *(("fp", "<u8"), ("words", "<u4"), ("bytes", "<u8")),
        *(("file", "<u4"), ("page", "<u8"), ("text", "<i8")),
    ]
)
_MOST_RECENT = 65_536


class StoredContent(NamedTuple):
    """A body that is in the archive."""

    words: int
    bytes: int
    file: str
    """The pages file."""
    page: int
    """Offset of the page record in it."""
    text: int
    """Offset of the text record in the text file of the same set; -1: it has none."""


class Contents:
    """Contents by fingerprint; the first of several holds."""

    def __init__(
        self,
        files: list[str] | None = None,
        rows: NDArray[np.void] | None = None,
        *,
        keeps_fresh: bool = False,
    ) -> None:
        """Take what is known. `keeps_fresh`: what is noted can be asked for by `take_fresh`."""
        self._keeps_fresh = keeps_fresh
        self.files = list(files or [])
        self._rows = _sorted(rows) if rows is not None else np.empty(0, DTYPE)
        self._fps = np.ascontiguousarray(self._rows["fp"])
        self._recent: dict[int, tuple[int, int, int, int, int]] = {}
        self._fresh: list[NDArray[np.void]] = []
        self._numbers = {file: number for number, file in enumerate(self.files)}

    def note(self, fp: int, content: StoredContent) -> bool:
        """Take a content; return False if it is known."""
        if self.find(fp) is not None:
            return False
        number = self._numbers.setdefault(content.file, len(self.files))
        if number == len(self.files):
            self.files.append(content.file)
        row = (content.words, content.bytes, number, content.page, content.text)
        self._recent[fp & _MASK] = row
        if len(self._recent) >= _MOST_RECENT:
            self._merge()
        return True

    def find(self, fp: int) -> StoredContent | None:
        """Return the content with a fingerprint."""
        fp &= _MASK
        row: Sequence[int] | None = self._recent.get(fp)
        if row is None:
            place = int(np.searchsorted(self._fps, np.uint64(fp)))
            if place == len(self._fps) or int(self._fps[place]) != fp:
                return None
            _, *row = self._rows[place].item()
        words, size, number, page, text = row
        return StoredContent(words, size, self.files[number], page, text)

    def take_fresh(self) -> NDArray[np.void]:
        """Return what was noted since the last time."""
        self._merge()
        fresh, self._fresh = self._fresh, []
        return np.concatenate(fresh) if fresh else np.empty(0, DTYPE)

    def _merge(self) -> None:
        if self._recent:
            new = np.array([(fp, *row) for fp, row in self._recent.items()], DTYPE)
            if self._keeps_fresh:
                self._fresh.append(new)
            self._rows = _sorted(np.concatenate([self._rows, new]))
            self._fps = np.ascontiguousarray(self._rows["fp"])
            self._recent = {}


_MASK = (1 << 64) - 1


def _sorted(rows: NDArray[np.void]) -> NDArray[np.void]:
    return rows[np.argsort(rows["fp"], kind="stable")]
