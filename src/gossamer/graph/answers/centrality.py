"""Other ways to be important: many links, good company (HITS), being near to all (harmonic).

Harmonic centrality adds up one over the distance from every other node: exactly by breadth-first
search where that is cheap, else by HyperBall (Boldi and Vigna 2013): every node has a HyperLogLog
counter of who reaches it within t steps, and a round unites those of its linkers.
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gossamer.errors import ConfigError
from gossamer.graph.answers.kernels import balls, hubs
from gossamer.graph.answers.picked import (
    MEMORY_BYTES,
    Floats,
    Mask,
    Passes,
    inside,
    loaded,
    passes_over,
    rows_in,
)
from gossamer.graph.answers.rank import Tell, addresses
from gossamer.graph.kinds import ALL
from gossamer.graph.rows import Adjacency, Kinds

EXACT_STEPS = 200_000_000
"""Up to so many steps (nodes times links and nodes) harmonic centrality is computed exactly."""
LEAST_REGISTER_BITS, MOST_REGISTER_BITS = 4, 12


class HitsPlan(Struct, frozen=True, kw_only=True):
    """What counts, and when it is enough."""

    error: float = 1e-9
    """Enough when a round changes the hubs by less, summed over all nodes."""
    most_rounds: int = 500
    kinds: int = ALL
    memory_bytes: int = MEMORY_BYTES


class HitsScores(NamedTuple):
    """How good each node is at pointing out good pages, and at being pointed at by good hubs."""

    hubs: Floats
    authorities: Floats
    """Their sums are 1 each, or 0 without links."""
    rounds: int
    is_converged: bool


class NearnessPlan(Struct, frozen=True, kw_only=True):
    """What counts, and how exactly."""

    register_bits: int = 7
    """Counters have 2 to this many registers: with 128 a count is 9 % off (standard deviation)."""
    seed: int = 0
    """The same seed gives the same counters."""
    most_rounds: int = 1000
    kinds: int = ALL
    exact_steps: int = EXACT_STEPS
    memory_bytes: int = MEMORY_BYTES
    """For counters, two per node: they have fewer registers if that is not enough."""


class Nearness(NamedTuple):
    """How near each node is to all others that reach it."""

    scores: Floats
    """The sum, over all others, of one over the number of links on the way to this node."""
    rounds: int
    """The longest of all shortest paths, about; 0 if computed exactly."""
    error: float
    """Relative standard deviation of a counter; 0 if computed exactly."""


def indegrees(inward: Adjacency, kinds: int = ALL) -> NDArray[np.int64]:
    """Return how many nodes link to each."""
    found = np.zeros(inward.nodes, np.int64)
    for rows in rows_in(inward, kinds):
        found[rows.first : rows.first + rows.nodes] = np.diff(rows.offsets)
    return found


def hits(
    out: Adjacency,
    plan: HitsPlan | None = None,
    *,
    universe: Mask | None = None,
    tell: Tell | None = None,
) -> HitsScores:
    """Return hubs and authorities (Kleinberg): hubs point at authorities, and the reverse.

    All nodes of a universe (None: all) are equally good hubs at first.
    """
    plan = plan or HitsPlan()
    passes, _ = passes_over(out, plan.kinds, plan.memory_bytes)
    hub = inside(out, universe).astype(np.float64)
    hub /= max(hub.sum(), 1.0)
    authority = np.zeros(out.nodes)
    rounds, change = 0, np.inf
    while rounds < plan.most_rounds and change >= plan.error:
        authority = _moved("push", passes, hub)
        new = _moved("pull", passes, authority)
        change = float(np.abs(new - hub).sum())
        hub, rounds = new, rounds + 1
        if tell is not None:
            tell(rounds, change)
    return HitsScores(hub, authority, rounds, change < plan.error)


def _moved(how: str, passes: Passes, given: Floats) -> Floats:
    """Return what comes of one step along all links, its sum 1."""
    sums = np.zeros(len(given))
    run = hubs()[how]
    for rows in passes():
        run(*addresses(rows), given.ctypes.data, sums.ctypes.data)
    return sums / (float(sums.sum()) or 1.0)


def harmonic(
    inward: Adjacency, plan: NearnessPlan | None = None, *, tell: Tell | None = None
) -> Nearness:
    """Return the harmonic centrality of all nodes, from the links into each."""
    plan = plan or NearnessPlan()
    if not LEAST_REGISTER_BITS <= plan.register_bits <= MOST_REGISTER_BITS:
        raise ConfigError(f"registers: expected {LEAST_REGISTER_BITS} to {MOST_REGISTER_BITS} bits")
    if inward.nodes * (inward.nodes + inward.arcs) <= plan.exact_steps:
        return Nearness(_exact(inward, plan.kinds), 0, 0.0)
    passes, _ = passes_over(inward, plan.kinds, plan.memory_bytes)
    fitting = (plan.memory_bytes // max(2 * inward.nodes, 1)).bit_length() - 1
    bits = max(min(plan.register_bits, fitting), LEAST_REGISTER_BITS)
    counters = _Balls(inward.nodes, bits, plan.seed)
    rounds = 0
    while rounds < plan.most_rounds and (grown := counters.grow(passes)):
        rounds += 1
        if tell is not None:
            tell(rounds, float(grown))
    return Nearness(counters.closeness, rounds, 1.04 / sqrt(1 << bits))


def _exact(inward: Adjacency, kinds: int) -> Floats:
    whole = loaded(inward, kinds)
    closeness = np.zeros(whole.nodes)
    queue, seen = np.empty(whole.nodes, np.uint32), np.zeros(whole.nodes, np.uint32)
    balls()["reach_all"](
        whole.offsets.ctypes.data,
        whole.targets.ctypes.data,
        whole.nodes,
        queue.ctypes.data,
        seen.ctypes.data,
        closeness.ctypes.data,
    )
    return closeness


class _Balls:
    """Who reaches each node within so many steps, as counters."""

    def __init__(self, nodes: int, register_bits: int, seed: int) -> None:
        self._registers = 1 << register_bits
        self._old = _first_counters(nodes, register_bits, seed)
        self._new = self._old.copy()
        self._was, self._has = np.ones(nodes, np.uint8), np.ones(nodes, np.uint8)
        self._powers, self._zeros = _tables(self._registers)
        self._sizes, self.closeness = np.zeros(nodes), np.zeros(nodes)
        self._rounds = 0
        self._weigh()
        self.closeness[:] = 0.0  # a node is not near to itself

    def grow(self, passes: Passes) -> int:
        """Let all balls grow by a step; return how many did."""
        run = balls()["grow"]
        arrays = self._old, self._new, self._was, self._has
        rest = [array.ctypes.data for array in arrays]
        grown = sum(run(*addresses(rows), self._registers, *rest) for rows in passes())
        self._rounds += 1
        self._old, self._new = self._new, self._old
        self._weigh()
        self._was, self._has = self._has, self._was
        return grown

    def _weigh(self) -> None:
        """Add up who has come into a ball, as of `old`, in the round that has just ended."""
        arrays = self._old, self._has, self._powers, self._zeros, self._sizes, self.closeness
        balls()["weigh"](
            len(self._has),
            self._registers,
            *(array.ctypes.data for array in arrays),
            float(max(self._rounds, 1)),
        )


def _first_counters(nodes: int, register_bits: int, seed: int) -> Kinds:
    """Return a counter for each node that holds the node alone."""
    with np.errstate(over="ignore"):
        mixed = np.arange(nodes, dtype=np.uint64) + np.uint64(seed * 0x5851F42D4C957F2D % 2**64)
        mixed += np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    place = (mixed & np.uint64((1 << register_bits) - 1)).astype(np.int64)
    rest = (mixed >> np.uint64(register_bits)) | np.uint64(1 << 63 >> register_bits)
    lowest = rest & (~rest + np.uint64(1))
    counters = np.zeros((nodes, 1 << register_bits), np.uint8)
    counters[np.arange(nodes), place] = np.log2(lowest.astype(np.float64)).astype(np.uint8) + 1
    return counters.reshape(-1)


def _tables(registers: int) -> tuple[Floats, Floats]:
    """Return powers of a half (the first place has the factor), and the correction by zeros."""
    powers = 0.5 ** np.arange(66.0)
    powers[0] = registers * registers / (2.0 * log(2.0))
    zeros = np.array([registers * _sigma(count / registers) for count in range(registers + 1)])
    return powers, zeros


def _sigma(share: float) -> float:
    """Return Ertl's correction for registers that are still zero."""
    if share >= 1.0:
        return float("inf")
    total, power, weight = share, share, 1.0
    while power > 1e-300:  # noqa: PLR2004 -- nothing to add after
        power *= power
        total += power * weight
        weight *= 2.0
    return total
