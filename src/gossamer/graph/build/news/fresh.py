"""Fresh: what some records say, by numbers: names in order, what became of pages, their links.

Of several records of a URL the newest holds. Numbers are ranks among the names that occur in the
records, whatever a graph that exists calls them.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import Bug
from gossamer.graph.build.news.spool import Hash, Hashes, Pages, Spool
from gossamer.graph.names import UrlMapWriter, url_of
from gossamer.graph.rows import Ids, Kinds

Arcs: TypeAlias = tuple[Ids, Ids, Kinds]
"""Sources, targets and kinds of some links."""


class Fresh(NamedTuple):
    """What is new, by numbers of its own."""

    names: Path
    """The URL map whose node numbers are used here."""
    nodes: int
    sources: Ids
    """URLs of which it is known what they link to; ascending."""
    is_page: NDArray[np.bool_]
    """Whether each of them is a page; one that is not is gone."""
    at: NDArray[np.float64]
    """When that was learned."""
    links: int
    """How many links there are at most: some may come twice."""
    arcs: Callable[[], Iterator[Arcs]]
    is_lean: bool
    """Every name is that of a page or of a link's target."""


class Numbers:
    """Hash of a URL -> its number."""

    def __init__(self, hashes: Hashes) -> None:
        order = np.argsort(hashes)
        self._hashes = hashes[order]
        self._numbers = order.astype(np.uint32)

    def __len__(self) -> int:
        return len(self._hashes)

    @property
    def has_collision(self) -> bool:
        """Return True if two URLs share a hash."""
        return bool((self._hashes[1:] == self._hashes[:-1]).any())

    def of(self, hashes: Hashes) -> Ids:
        """Return the numbers of URLs, each of which is known."""
        places = np.searchsorted(self._hashes, hashes)
        places[places == len(self._hashes)] = 0
        if len(hashes) and not (self._hashes[places] == hashes).all():
            raise Bug("a link leads to a URL that was not numbered")
        return self._numbers[places]


def number_names(batches: Iterable[list[bytes]], path: Path, hash_url: Hash) -> Numbers:
    """Write the URL map of sorted names; return their numbers by hash."""
    writer = UrlMapWriter(path)
    hashes = [np.empty(0, np.uint64)]
    for keys in batches:
        writer.add(keys)
        texts = (url_of(key).encode() for key in keys)
        hashes.append(np.fromiter(map(hash_url, texts), np.uint64, len(keys)))
    writer.close()
    return Numbers(np.concatenate(hashes))


def settle(spool: Spool, numbers: Numbers, names: Path) -> Fresh:
    """Return what the newest record of each URL says."""
    pages = spool.pages()
    is_newest = _newest(pages)
    sources = numbers.of(pages.hashes)
    chosen = np.flatnonzero(is_newest)
    chosen = chosen[np.argsort(sources[chosen])]

    def arcs() -> Iterator[Arcs]:
        ends = np.cumsum(pages.links)
        start = 0
        for hashes, kinds in spool.arcs():
            records = _records_of(ends, start, start + len(hashes))
            start += len(hashes)
            keep = is_newest[records]
            if not keep.all():
                records, hashes, kinds = records[keep], hashes[keep], kinds[keep]  # noqa: PLW2901 -- what is left of them
            yield sources[records], numbers.of(hashes), kinds

    return Fresh(
        names=names,
        nodes=len(numbers),
        sources=sources[chosen],
        is_page=pages.is_page[chosen],
        at=pages.at[chosen],
        links=int(pages.links[chosen].sum()),
        arcs=arcs,
        is_lean=bool(is_newest.all() and pages.is_page.all()),
    )


def _newest(pages: Pages) -> NDArray[np.bool_]:
    """Tell of each record whether it is its URL's newest; of two at one moment, the later read."""
    order = np.lexsort((np.arange(len(pages.hashes)), pages.at, pages.hashes))
    hashes = pages.hashes[order]
    is_last = np.ones(len(order), np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=is_last[:-1])
    is_newest = np.empty(len(order), np.bool_)
    is_newest[order] = is_last
    return is_newest


def _records_of(ends: NDArray[np.int64], start: int, end: int) -> NDArray[np.int64]:
    """Return the record of each link from `start` to `end - 1`."""
    first = int(np.searchsorted(ends, start, side="right"))
    last = int(np.searchsorted(ends, end, side="left"))
    until = np.minimum(ends[first : last + 1], end)
    return np.repeat(np.arange(first, first + len(until)), np.diff(until, prepend=start))
