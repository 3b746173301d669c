"""TermsWriter: puts prepared pages into a term-partitioned index, which is whole at the end."""

import shutil
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from gossamer.durable import sync
from gossamer.search.fields import FAST_FIELDS, TEXT_FIELDS
from gossamer.search.page import Prepared
from gossamer.search.terms.facets import COLUMNS, FacetNumbers
from gossamer.search.terms.layout import TermSet, place_of, read_set, seal_of, write_set
from gossamer.search.terms.lengths import norms_of
from gossamer.search.terms.lists import ShardFiles
from gossamer.search.terms.merging import Merger, Placing
from gossamer.search.terms.runs import RUN_TOKENS, Runs
from gossamer.search.terms.tags import tags_of
from gossamer.urls import fingerprint_of

_LEVEL = 3
_SCRATCH = ("rows", "lengths", "ends", COLUMNS)
_LENGTHS = len(TEXT_FIELDS) + 1
_AT = FAST_FIELDS.index("at")


class TermsWriter:
    """Writes a set, in place of the one that is there. Nothing of it counts before `close`."""

    def __init__(
        self,
        folder: Path,
        shards: int,
        *,
        placed: Mapping[str, int] | None = None,
        run_tokens: int = RUN_TOKENS,
    ) -> None:
        before = read_set(folder)
        self._folder, self._shards, self._placed = folder, shards, dict(placed or {})
        self._generation = before.generation + 1 if before else 1
        self._place = place_of(folder, self._generation)
        shutil.rmtree(self._place, ignore_errors=True)
        self._scratch = self._place / "scratch"
        self._scratch.mkdir(parents=True)
        self._runs = Runs(self._scratch, run_tokens)
        self._stored = (self._place / "stored").open("wb")
        self._press = zstandard.ZstdCompressor(level=_LEVEL).compress
        self._pages = 0
        self._files = [(self._scratch / name).open("wb") for name in _SCRATCH]
        self._facets = FacetNumbers()
        self._languages: dict[str, int] = {}
        """The number of each language that was met."""
        self._having: Counter[str] = Counter()
        self._gone: list[tuple[int, int]] = []
        """Keys of pages that were taken out, and how many pages there were by then."""

    def add(self, page: Prepared) -> None:
        """Put a page in, in place of an older one with its URL."""
        texts = [*page.words, "\0".join(tags_of(page))]
        lengths = self._runs.take([_bytes(text) for text in texts], self._pages)
        lengths[-1] = self._languages.setdefault(page.language, len(self._languages))
        shown = (page.url, page.title, page.text, page.language, page.media_type, page.at)
        self._stored.write(self._press(msgspec.msgpack.encode(shown)))
        rows, sizes, ends, facets = self._files
        rows.write(array("Q", [getattr(page, name) for name in FAST_FIELDS]).tobytes())
        sizes.write(array("I", lengths).tobytes())
        ends.write(array("Q", (self._stored.tell(),)).tobytes())
        facets.write(self._facets.row(page))
        self._pages += 1

    def delete(self, url: str) -> None:
        """Take a page out, if it is in."""
        self._gone.append((fingerprint_of(url), self._pages))

    def commit(self) -> None:
        """Do nothing: a set counts when it is whole."""

    def pages(self) -> int:
        """Return how many pages count; before the end, how many were put in."""
        return self._pages

    def languages(self) -> dict[str, int]:
        """Return how many pages of each language there are; before the end, none."""
        return dict(self._having.most_common())

    def close(self) -> None:
        """Make the set whole, for good and for readers."""
        self._runs.close()
        for file in (*self._files, self._stored):
            file.close()
        rows = np.fromfile(self._scratch / "rows", np.uint64).reshape(-1, len(FAST_FIELDS))
        is_alive = _alive(rows[:, 0], self._gone)
        lengths = np.fromfile(self._scratch / "lengths", np.uint32).reshape(-1, _LENGTHS)[is_alive]
        self._write_pages(rows[is_alive], is_alive)
        self._facets.write(self._scratch / COLUMNS, self._place, is_alive)
        self._write_lists(np.where(is_alive, np.cumsum(is_alive) - 1, -1))
        self._replicate(norms_of(lengths[:, :-1]), rows[is_alive, _AT])
        shutil.rmtree(self._scratch)
        self._announce(lengths)
        self._pages = len(lengths)

    def _write_pages(self, rows: NDArray[np.uint64], is_alive: NDArray[np.bool]) -> None:
        """Write what is known of pages beside their words."""
        ends = np.fromfile(self._scratch / "ends", np.uint64)
        begins = np.concatenate((np.zeros(1, np.uint64), ends[:-1]))[: len(ends)]
        spans = np.stack((begins, ends), axis=1)[is_alive]
        rows.tofile(self._place / "rows")
        np.argsort(rows[:, 0]).astype(np.uint32).tofile(self._place / "by_key")
        spans.tofile(self._place / "stored_at")

    def _write_lists(self, numbers: NDArray[np.int64]) -> None:
        """Merge the runs into the shards' lists."""
        shards = [ShardFiles(self._place / f"{number:02}") for number in range(self._shards)]
        placing = Placing(self._shards, self._placed)
        for shard, lists in Merger(self._runs, numbers, placing).lists():
            shards[shard].add(lists)
        for files in shards:
            files.close()

    def _replicate(self, norms: NDArray[np.uint8], moments: NDArray[np.uint64]) -> None:
        """Give every shard what it has to know of all pages."""
        for number in range(self._shards):
            norms.tofile(self._place / f"{number:02}" / "norms")
            moments.tofile(self._place / f"{number:02}" / "moments")

    def _announce(self, lengths: NDArray[np.uint32]) -> None:
        """Say that the set is there, and delete the one before."""
        names = list(self._languages)
        pages = np.bincount(lengths[:, -1], minlength=len(names)).tolist()
        self._having = Counter(dict(zip(names, pages, strict=True)))
        files = [path for path in self._place.rglob("*") if path.is_file()]
        made = TermSet(
            generation=self._generation,
            shards=self._shards,
            pages=len(lengths),
            tokens=tuple(lengths[:, :-1].sum(axis=0, dtype=np.int64).tolist()),
            languages=dict(self._having),
            placed=self._placed,
            seals={str(path.relative_to(self._place)): seal_of(path) for path in files},
        )
        for folder in {path.parent for path in files}:
            sync(folder)
        write_set(self._folder, made)
        for path in self._folder.iterdir():
            if path.is_dir() and path != self._place and path.name.isdigit():
                shutil.rmtree(path, ignore_errors=True)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _alive(keys: NDArray[np.uint64], gone: Iterable[tuple[int, int]]) -> NDArray[np.bool]:
    """Return which pages count: of each key the newest, unless it was taken out later."""
    is_alive = np.zeros(len(keys), np.bool)
    order = np.lexsort((np.arange(len(keys)), keys))
    is_newest = np.append(keys[order][1:] != keys[order][:-1], True)[: len(keys)]
    is_alive[order[is_newest]] = True
    newest = dict(zip(keys[order[is_newest]].tolist(), order[is_newest].tolist(), strict=True))
    for key, by_then in gone:
        if key in newest and newest[key] < by_then:
            is_alive[newest[key]] = False
    return is_alive
