"""Rows of `images`: which stored page shows which image, and what is known of the image.

Sizes and the difference hash were noted when the image was read in the crawl; nothing is decoded
here, so no image bomb goes off. About 150 bytes of memory per stored image.
"""

from array import array
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gossamer.model import LinkKind
from gossamer.report import DROPPED
from gossamer.store import CrawlFolder, counted_lengths
from gossamer.tables.archive import ArchiveStretch
from gossamer.tables.rows import Batch, Row, body_bytes
from gossamer.urls import read_canonical

HASH_DIGITS = 16


class _ImageNotes(Struct):
    """What was noted of an image."""

    width: int = 0
    height: int = 0
    dhash: str = ""


_decode = msgspec.json.Decoder(_ImageNotes).decode
_NOTHING = _ImageNotes()


class StoredImages:
    """Width, height, bytes and hash of the images in an archive, by URL. The last visit counts."""

    def __init__(self, folder: CrawlFolder) -> None:
        keys, sizes, hashes = array("Q"), array("Q"), array("Q")
        of_content: dict[int, int] = {}
        counted = counted_lengths(folder, "links", "pages")
        for found in ArchiveStretch(folder, {}, counted):
            said, page = found.said, found.page
            is_image = said.media_type.startswith("image/")
            if said.outcome not in {"fetched", DROPPED} or not is_image:
                continue
            is_own = page is not None and page.headers.get("warc-type") != "revisit"
            size = body_bytes(page) if page is not None and is_own else 0
            if said.fp is not None and is_own:
                of_content[said.fp] = size
            elif said.fp is not None:  # a copy: its bytes are stored with the first one
                size = of_content.get(said.fp, 0)
            if said.outcome == DROPPED:
                continue
            notes = _notes(bytes(said.notes))
            keys.append(read_canonical(said.url).key)
            sizes.extend((notes.width, notes.height, size, len(notes.dhash) == HASH_DIGITS))
            hashes.append(int(notes.dhash or "0", 16))
        distinct, last = np.unique(np.asarray(keys, np.uint64)[::-1], return_index=True)
        last = len(keys) - 1 - last
        self._keys: NDArray[np.uint64] = distinct
        self._sizes: NDArray[np.uint64] = np.asarray(sizes, np.uint64).reshape(-1, 4)[last]
        self._hashes: NDArray[np.uint64] = np.asarray(hashes, np.uint64)[last]

    def of(self, url: str) -> tuple[int | None, int | None, int | None, str]:
        """Return width, height, bytes and hash of an image; None and "" if that is not known."""
        key = np.uint64(read_canonical(url).key)
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or self._keys[place] != key:
            return None, None, None, ""
        width, height, size, has_hash = self._sizes[place].tolist()
        said = f"{int(self._hashes[place]):016x}" if has_hash else ""
        return width or None, height or None, size or None, said


def _notes(block: bytes) -> _ImageNotes:
    """Return what was noted; nothing if a processor of the user's own noted something else."""
    try:
        notes = _decode(block)
        int(notes.dhash or "0", 16)
    except (msgspec.DecodeError, ValueError):
        return _NOTHING
    return notes


def image_rows(folder: CrawlFolder, links: Iterator[Batch]) -> Iterator[Row]:
    """Yield the images among the links of pages, each once for a page that shows it."""
    images = StoredImages(folder)
    for page, shown in groupby(_shown(links), itemgetter(0)):
        alts: dict[str, str] = {}
        for _, url, alt in shown:
            alts[url] = alts.get(url) or alt
        for url, alt in alts.items():
            yield (url, page, alt, *images.of(url))


def _shown(links: Iterator[Batch]) -> Iterator[tuple[str, str, str]]:
    """Yield page, image and alternative text of each link to an image."""
    for batch in links:
        columns = (batch.columns[name] for name in ("kind", "source", "target", "anchor"))
        for kind, page, url, alt in zip(*columns, strict=True):
            if kind == LinkKind.IMAGE:
                yield page, url, alt
