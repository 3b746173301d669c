"""Pages as the broker of a term-partitioned index knows them: rows of facts, and what is shown."""

from collections.abc import Sequence

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.search.fields import FAST_FIELDS
from gossamer.search.messages import Candidate, Stored
from gossamer.search.terms.facets import FacetColumns
from gossamer.search.terms.layout import Opened, TermSet

_Shown = tuple[str, str, str, str, str, int]
_decode = msgspec.msgpack.Decoder(_Shown).decode
_ROW = len(FAST_FIELDS)
MOST_SHOWN_BYTES = 1 << 26
"""Of one page; what says that it is longer is damaged."""


class PageTable:
    """All pages of an index, by their numbers and by their keys."""

    def __init__(self, files: Opened, known: TermSet) -> None:
        rows = files.array("rows", np.uint64, _ROW * known.pages).reshape(-1, _ROW)
        self._rows = rows
        self._by_key = files.array("by_key", np.uint32, known.pages)
        self._keys = np.ascontiguousarray(rows[:, 0][self._checked(files, known.pages)])
        self._spans = files.array("stored_at", np.int64, 2 * known.pages).reshape(-1, 2)
        self.facets = FacetColumns(files, known)
        self._stored = files.array("stored", np.uint8)
        self._path = files.path("stored")

    def candidates(self, pages: Sequence[int], scores: Sequence[float]) -> list[Candidate]:
        """Return pages as candidates."""
        rows = self._rows[np.array(pages, np.int64)].tolist()
        return [Candidate(score, *row) for score, row in zip(scores, rows, strict=True)]

    def moments(self, pages: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return when pages were fetched."""
        return np.ascontiguousarray(self._rows[pages, 3])

    def numbers(self, keys: Sequence[int]) -> NDArray[np.int64]:
        """Return the numbers of pages, -1 for those that are not there."""
        wanted = np.array(keys, np.uint64)
        places = np.searchsorted(self._keys, wanted)
        found = np.full(len(wanted), -1, np.int64)
        is_in = np.flatnonzero(places < len(self._keys))
        hits = is_in[self._keys[places[is_in]] == wanted[is_in]]
        found[hits] = self._by_key[places[hits]]
        return found

    def stored(self, page: int) -> Stored:
        """Return a page as it is shown."""
        start, end = self._spans[page].tolist()
        if not 0 <= start < end <= len(self._stored):
            raise CorruptFile(self._path, start, "a page lies outside the file")
        try:
            frame = self._stored[start:end].tobytes()
            if zstandard.frame_content_size(frame) > MOST_SHOWN_BYTES:
                raise CorruptFile(self._path, start, "a page is too long")
            content = zstandard.ZstdDecompressor().decompress(frame)
            url, title, text, language, media_type, at = _decode(content)
        except (zstandard.ZstdError, msgspec.DecodeError, MemoryError) as problem:
            raise CorruptFile(self._path, start, f"a page cannot be read ({problem})") from problem
        return Stored(
            key=int(self._rows[page, 0]),
            url=url,
            title=title,
            text=text,
            language=language,
            media_type=media_type,
            at=at,
        )

    def _checked(self, files: Opened, pages: int) -> NDArray[np.uint32]:
        if pages and int(self._by_key.max()) >= pages:
            raise CorruptFile(files.path("by_key"), 0, "it refers to a page that is not there")
        return self._by_key
