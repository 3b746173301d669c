"""PageRank: how likely is a reader who follows links at random to be at a page?

With all that pages without links have going where a bored reader goes, too, PageRank is the
normalised solution of a linear system: x = base + damping * (what each page's linkers pass on).
It is solved by Gauss-Seidel sweeps over the rows of links *into* nodes: each uses what the sweep
has found so far, and half the sweeps of a power iteration are enough (ADR 25). All x only ever
rise, so what a sweep has moved bounds what is missing.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from gossamer.errors import ConfigError
from gossamer.graph.answers.kernels import ranking
from gossamer.graph.answers.picked import MEMORY_BYTES, Floats, Mask, Passes, inside, passes_over
from gossamer.graph.kinds import ALL
from gossamer.graph.rows import Adjacency, Ids, Rows

Tell: TypeAlias = Callable[[int, float], None]
"""Is told, after each sweep, how many there were and the bound on the error."""


class RankPlan(Struct, frozen=True, kw_only=True):
    """What counts, and when it is enough."""

    damping: float = 0.85
    error: float = 1e-11
    """The result's distance from the true one, summed over all nodes, is less than this."""
    most_sweeps: int = 1000
    kinds: int = ALL
    """Links of other kinds do not count, if the graph knows kinds."""
    memory_bytes: int = MEMORY_BYTES
    """A graph that takes more is read anew in every sweep, block by block."""


class Ranks(NamedTuple):
    """The rank of each node, and how it was come by."""

    scores: Floats
    """Their sum is 1; nodes outside the universe have 0."""
    sweeps: int
    error: float
    """A bound on the distance from the true ranks, summed over all nodes."""
    is_converged: bool
    is_in_memory: bool


def pagerank(
    inward: Adjacency,
    plan: RankPlan | None = None,
    *,
    universe: Mask | None = None,
    seeds: Ids | None = None,
    tell: Tell | None = None,
) -> Ranks:
    """Return the PageRank of all nodes of a universe (None: all), from the links into each.

    `inward` is the transpose of the graph. With `seeds` the bored reader goes to one of them and
    not to any node (personalised PageRank). Links that leave the universe do not count.
    """
    plan = plan or RankPlan()
    if not (0.0 <= plan.damping < 1.0 and plan.error > 0.0):
        raise ConfigError("PageRank: expected 0 <= damping < 1 and an error above 0")
    passes, is_in_memory = passes_over(inward, plan.kinds, plan.memory_bytes)
    mask = inside(inward, universe)
    solver = _Solver(passes, mask, _base(mask, seeds), plan.damping)
    sweeps, error = 0, np.inf
    while sweeps < plan.most_sweeps and error >= plan.error:
        error = solver.sweep()
        sweeps += 1
        if tell is not None:
            tell(sweeps, error)
    return Ranks(solver.scores(), sweeps, error, error < plan.error, is_in_memory)


def _base(mask: Mask, seeds: Ids | None) -> Floats:
    """Return where a bored reader goes: their sum is 1, or 0 if there is nowhere to go."""
    base = np.zeros(len(mask))
    if seeds is None:
        base[mask] = 1.0
    else:
        base[seeds] = 1.0
        base[~mask] = 0.0
    base /= max(float(base.sum()), 1.0)
    return base


class _Solver:
    """The state of a solution: what every node passes on to each of its links."""

    def __init__(self, passes: Passes, mask: Mask, base: Floats, damping: float) -> None:
        self._passes, self._base, self._damping = passes, base, damping
        self._inside = mask
        degrees = np.zeros(len(mask))
        count = ranking()["tally"]
        bits = self._inside.view(np.uint8)
        for rows in passes():
            count(*addresses(rows), bits.ctypes.data, degrees.ctypes.data)
        degrees[~self._inside] = 0.0
        self._share = np.divide(1.0, degrees, out=degrees, where=degrees > 0.0)
        self._passed = base * self._share

    def sweep(self) -> float:
        """Bring all rows up to date once; return a bound on what is still wrong with `scores`."""
        moved = np.zeros(2)
        run = ranking()["sweep"]
        for rows in self._passes():
            run(*addresses(rows), *self._addresses(), moved.ctypes.data)
        # Mass that is still under way was set free in this sweep, at most `damping` of what moved;
        # on its way it is multiplied by less than 1 / (1 - damping), and normalising doubles it.
        free, held = self._damping * float(moved[0]), max(float(moved[1]), 1.0)
        return 2.0 * free / (1.0 - self._damping) / held

    def scores(self) -> Floats:
        """Return the ranks as they are."""
        ranks = np.zeros(len(self._base))
        run = ranking()["finish"]
        for rows in self._passes():
            run(*addresses(rows), *self._addresses(), ranks.ctypes.data)
        ranks[~self._inside] = 0.0
        total = float(ranks.sum())
        return ranks / total if total else ranks

    def _addresses(self) -> tuple[int, int, int, float]:
        arrays = self._base, self._share, self._passed
        base, share, passed = (array.ctypes.data for array in arrays)
        return base, share, passed, self._damping


def addresses(rows: Rows) -> tuple[int, int, int, int]:
    """Return the rows as kernels want them."""
    return rows.offsets.ctypes.data, rows.targets.ctypes.data, rows.first, rows.nodes
