"""What a crawl meets: the links of pages, as they are fetched, and perhaps a trap behind a seed.

A trap page has links to fresh trap pages, to itself and, in the cross-linked kind, to as many known
trap pages: it never ends. The n-th trap page that is fetched makes the n-th brood of fresh pages,
so that page numbers need no table.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .graph import Graph, Ids

BROOD = 20
"""Fresh pages behind each page of a trap."""


class Walk(NamedTuple):
    """One crawl to replay: where it begins, how long it is, and what lies in wait."""

    graph: Graph
    starts: Ids
    """The seeds, then pages to jump to when nothing else is left."""
    seeds: int
    fetches: int
    cross: int = -1
    """Links of a trap page to known trap pages; -1: there is no trap."""

    @property
    def pages(self) -> int:
        """Return how many pages may come to be known, those of the trap included."""
        fresh = 1 + BROOD * (self.fetches + 1) if self.cross >= 0 else 0
        return self.graph.nodes + fresh

    def hosts(self) -> Ids:
        """Return the host of every page; the trap is one of its own."""
        honest = self.graph.hosts
        trap = np.full(self.pages - len(honest), honest.max() + 1, np.int32)
        return np.concatenate([honest, trap])

    def jumps(self) -> Iterator[Ids]:
        """Yield the seeds together, then one page after the other."""
        yield self.starts[: self.seeds]
        for place in range(self.seeds, len(self.starts)):
            yield self.starts[place : place + 1]


class Web:
    """Answers as the pages of a walk would; pages of the trap come into being as they are asked."""

    def __init__(self, walk: Walk) -> None:
        self._graph = walk.graph
        self._cross = walk.cross
        self._broods = 0
        self._random = np.random.default_rng(int(walk.starts[0]))

    def links_of(self, pages: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many links each page has, and all their targets, one after the other."""
        offsets, nodes = self._graph.offsets, self._graph.nodes
        is_trap = pages >= nodes
        honest = pages[~is_trap]
        firsts = offsets[honest]
        degrees = np.zeros(len(pages), np.int64)
        degrees[~is_trap] = offsets[honest + 1] - firsts
        if is_trap.any():
            degrees[is_trap] = 1 + BROOD + self._cross
        begins = np.cumsum(degrees) - degrees
        if not is_trap.any():
            return degrees, self._graph.targets[ranges(firsts, degrees)].astype(np.int64)
        targets = np.empty(int(degrees.sum()), np.int64)
        sizes = degrees[~is_trap]
        targets[ranges(begins[~is_trap], sizes)] = self._graph.targets[ranges(firsts, sizes)]
        for page, begin in zip(pages[is_trap], begins[is_trap], strict=True):
            targets[begin : begin + 1 + BROOD + self._cross] = self._trap_links(int(page))
        return degrees, targets

    def _trap_links(self, page: int) -> Ids:
        """Return the links of a trap page: itself, its brood, and pages that exist already."""
        root = self._graph.nodes
        fresh = root + 1 + self._broods * BROOD
        known = self._random.integers(root, fresh, self._cross)
        self._broods += 1
        brood = np.arange(fresh, fresh + BROOD)
        return np.concatenate([[page], brood, known]).astype(np.int32)


def ranges(firsts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of all ranges that begin and are as long as told, one after the other."""
    skipped = np.cumsum(sizes) - sizes
    return np.repeat(firsts - skipped, sizes) + np.arange(int(sizes.sum()))
