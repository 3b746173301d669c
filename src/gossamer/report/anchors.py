"""Anchor texts: what the link says by which a URL was found. They are in the links archive only.

Which are wanted is known first, as 8 bytes for each pair of page and target; the texts wait in an
unnamed temporary file. A million URLs take about 24 MB of memory.
"""

import mmap
from array import array
from collections.abc import Iterable
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from gossamer.report.snapshot import Snapshot

BATCH = 1 << 17
"""Links that are compared at once with the wanted ones."""
CHARS = 500
"""Of an anchor text: what is longer is no name of a page."""


def pair_key(page: str, target: str) -> int:
    """Return a number that stands for a link."""
    return xxh3_64_intdigest(f"{page}\n{target}".encode())


class AnchorTexts:
    """The texts of links, by page and target. None at first; `find_anchors` makes others."""

    def __init__(self) -> None:
        self._pairs: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._start: NDArray[np.int64] = np.zeros(0, np.int64)
        self._length: NDArray[np.int16] = np.zeros(0, np.int16)
        self._texts: mmap.mmap | bytes = b""

    @classmethod
    def of_links(cls, snapshot: Snapshot, wanted: "array[int]") -> "AnchorTexts":
        """Read the texts of wanted links, given as pair keys, from the links archive."""
        found = cls()
        found._pairs = np.unique(np.asarray(wanted, np.uint64))
        found._start = np.zeros(len(found._pairs), np.int64)
        found._length = np.zeros(len(found._pairs), np.int16)
        with TemporaryFile() as file:
            keys, texts = array("Q"), list[bytes]()
            for page in snapshot.linking_pages():
                for target, _, text, _ in page.links:
                    if text:
                        keys.append(pair_key(page.url, target))
                        texts.append(text[:CHARS].encode("utf-8", "replace"))
                if len(keys) >= BATCH:
                    file.write(found._take(keys, texts, file.tell()))
                    keys, texts = array("Q"), []
            file.write(found._take(keys, texts, file.tell()))
            if file.tell():
                file.flush()
                found._texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return found

    def _take(self, keys: "array[int]", texts: list[bytes], offset: int) -> bytes:
        """Note where the texts of those links will lie that are wanted and have none; return them.

        A page may have several links to one target: the first with a text counts.
        """
        distinct, first = np.unique(np.asarray(keys, np.uint64), return_index=True)
        place = np.searchsorted(self._pairs, distinct)
        is_inside = place < len(self._pairs)
        distinct, first, place = distinct[is_inside], first[is_inside], place[is_inside]
        is_wanted = (self._pairs[place] == distinct) & (self._length[place] == 0)
        chosen: list[bytes] = []
        for index, where in zip(first[is_wanted], place[is_wanted], strict=True):
            text = texts[index]
            self._start[where], self._length[where] = offset, len(text)
            offset += len(text)
            chosen.append(text)
        return b"".join(chosen)

    def of(self, page: str, target: str) -> str:
        """Return the text of a link; "" if it is not known."""
        if not len(self._pairs) or not page:
            return ""
        key = np.uint64(pair_key(page, target))
        place = int(np.searchsorted(self._pairs, key))
        if place == len(self._pairs) or self._pairs[place] != key:
            return ""
        start, length = int(self._start[place]), int(self._length[place])
        return bytes(self._texts[start : start + length]).decode("utf-8", "replace")


def find_anchors(snapshot: Snapshot, wanted: Iterable[tuple[str, str]]) -> AnchorTexts:
    """Return the texts of wanted links, each a page and a target."""
    keys = array("Q", (pair_key(page, target) for page, target in wanted if page))
    return AnchorTexts.of_links(snapshot, keys) if keys else AnchorTexts()
