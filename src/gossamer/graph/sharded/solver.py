"""One shard of a PageRank that several solve together. Pure: vectors come in and go out."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CannotGoOn
from gossamer.graph.answers.kernels import ranking
from gossamer.graph.answers.picked import passes_over, universe_of
from gossamer.graph.answers.rank import addresses
from gossamer.graph.asking import OpenedGraph

Floats = NDArray[np.float64]
Nodes = NDArray[np.int64]


class ShardShape(NamedTuple):
    """What of a shard stays the same from sweep to sweep, by its own numbers of nodes."""

    own: NDArray[np.bool_]
    """Nodes of the shard that count."""
    share: Floats
    """One over the links of each node of the shard, 0 of one without links and of all others."""
    outgoing: dict[int, Nodes]
    """By other shard: which nodes of ours link to it."""
    incoming: dict[int, Nodes]
    """By other shard: which nodes of it link to ours."""


def shape_of(graph: OpenedGraph, owner: NDArray[np.int32], shard: int, kinds: int) -> ShardShape:
    """Return what counts in the graph of a shard."""
    is_own = owner == shard
    pages = graph.pages if graph.pages is not None else np.zeros(len(owner), np.bool_)
    universe = universe_of(graph.inward, pages & is_own, kinds)
    universe[graph.web_nodes() :] = False
    degrees = np.zeros(len(owner))
    count, bits = ranking()["tally"], np.ascontiguousarray(universe).view(np.uint8)
    passes, _ = passes_over(graph.inward, kinds, 0)
    for rows in passes():
        count(*addresses(rows), bits.ctypes.data, degrees.ctypes.data)
    degrees[~(universe & is_own)] = 0.0
    share = np.divide(1.0, degrees, out=degrees, where=degrees > 0.0)
    outgoing, incoming = _boundary(graph, owner, shard)
    return ShardShape(universe & is_own, share, outgoing, incoming)


def _boundary(
    graph: OpenedGraph, owner: NDArray[np.int32], shard: int
) -> tuple[dict[int, Nodes], dict[int, Nodes]]:
    """Return which nodes of a shard link to others, by shard, and which of others link to it."""
    most = int(owner.max(initial=0)) + 1
    pairs = [np.empty(0, np.int64)]
    strangers = [np.empty(0, np.int64)]
    for rows in graph.out.blocks():
        sources, to = rows.sources().astype(np.int64), owner[rows.targets]
        leads_out = (owner[sources] == shard) & (to != shard) & (to >= 0)
        pairs.append(np.unique(sources[leads_out] * most + to[leads_out]))
        leads_in = (owner[sources] != shard) & (to == shard)
        strangers.append(np.unique(sources[leads_in]))
    links, others = np.concatenate(pairs), np.concatenate(strangers)
    return (
        {int(to): links[links % most == to] // most for to in np.unique(links % most)},
        {int(one): others[owner[others] == one] for one in np.unique(owner[others])},
    )


class ShardSolver:
    """The ranks of one shard on their way: what each of its nodes passes on to each of its links.

    As in `answers.rank`: rows of links into nodes are solved one after the other, and each uses
    what was found before. What nodes of other shards pass on is given.
    """

    def __init__(
        self,
        graph: OpenedGraph,
        shape: ShardShape,
        kinds: int,
        base: float,
        damping: float,
        memory_bytes: int,
    ) -> None:
        self.shape = shape
        self._passes, _ = passes_over(graph.inward, kinds, memory_bytes)
        self._damping = damping
        self._base = np.where(shape.own, base, 0.0)
        self._passed = self._base * shape.share

    @property
    def bytes(self) -> int:
        """Return how much memory it takes."""
        return 3 * self._base.nbytes

    def passed_to(self, shards: list[int]) -> Floats:
        """Return what our nodes pass on to each of their links, for those that lead to others."""
        none = np.empty(0, np.int64)
        found = [self._passed[self.shape.outgoing.get(to, none)] for to in shards]
        return np.concatenate([np.empty(0), *found])

    def take(self, shard: int, passed: Floats) -> None:
        """Take what the nodes of another shard pass on."""
        nodes = self.shape.incoming.get(shard, np.empty(0, np.int64))
        if len(nodes) != len(passed):
            raise CannotGoOn(
                f"the graphs of two shards do not fit together: {len(nodes)} and {len(passed)} "
                "pages link from one to the other; build the graph with --full"
            )
        self._passed[nodes] = passed

    def sweep(self) -> tuple[float, float]:
        """Bring all rows up to date once; return how much rank has moved, and how much there is."""
        moved = np.zeros(2)
        run = ranking()["sweep"]
        for rows in self._passes():
            run(*addresses(rows), *self._arrays(), moved.ctypes.data)
        return float(moved[0]), float(moved[1])

    def scores(self) -> Floats:
        """Return the ranks of our nodes as they are, not scaled; 0 for all others."""
        ranks = np.zeros(len(self._base))
        run = ranking()["finish"]
        for rows in self._passes():
            run(*addresses(rows), *self._arrays(), ranks.ctypes.data)
        ranks[~self.shape.own] = 0.0
        return ranks

    def park(self, path: Path) -> None:
        """Write down how far it is."""
        np.save(path, self._passed, allow_pickle=False)

    def go_on(self, path: Path) -> None:
        """Go on from what was written down."""
        self._passed = np.load(path, allow_pickle=False)

    def _arrays(self) -> tuple[int, int, int, float]:
        arrays = self._base, self.shape.share, self._passed
        base, share, passed = (array.ctypes.data for array in arrays)
        return base, share, passed, self._damping
