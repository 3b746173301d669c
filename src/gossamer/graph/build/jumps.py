"""Where a URL leads in the end: redirects and canonical links, followed by choice."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.build.news import Arcs
from gossamer.graph.kinds import Kind
from gossamer.graph.rows import Ids

MAX_HOPS = 20


class Jumps:
    """The last URL of each chain of URLs that point on; a chain without an end is left alone."""

    def __init__(self, nodes: int, kinds: Kind, arcs: Iterable[Arcs]) -> None:
        self._kinds = np.uint8(kinds)
        nexts = np.arange(nodes, dtype=np.uint32)
        for sources, targets, ways in arcs:
            jumping = np.flatnonzero(ways & self._kinds)[::-1]  # of several the first one holds
            nexts[sources[jumping]] = targets[jumping]
        ends = np.arange(nodes, dtype=np.uint32)
        for _ in range(MAX_HOPS):
            ends = nexts[ends]
        has_end = nexts[ends] == ends
        self._ends: Ids = np.where(has_end, ends, np.arange(nodes, dtype=np.uint32))
        self._is_passed: NDArray[np.bool_] = self._ends != np.arange(nodes)

    def followed(self, arcs: Arcs) -> Arcs:
        """Return links as they count: to the ends of chains, without the chains themselves."""
        sources, targets, kinds = arcs
        is_hop = (kinds & self._kinds).astype(np.bool_) & self._is_passed[sources]
        keep = np.flatnonzero(~is_hop)
        return sources[keep], self._ends[targets[keep]], kinds[keep]
