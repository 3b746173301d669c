"""A web graph in memory, from whatever file there is, and its PageRank."""

from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gossamer.graph.bv import BVGraph
from gossamer.urls import registrable_domain

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]
Scores = NDArray[np.float64]

DAMPING = 0.85
TOLERANCE = 1e-10
MAX_ITERATIONS = 200


class Graph(NamedTuple):
    """Pages 0 to n - 1; the links of page x are `targets[offsets[x]:offsets[x + 1]]`."""

    name: str
    offsets: Offsets
    targets: Ids
    hosts: Ids
    """The registrable domain of each page, as a number."""

    @property
    def nodes(self) -> int:
        """Return the number of pages."""
        return len(self.offsets) - 1

    @property
    def links(self) -> int:
        """Return the number of links."""
        return len(self.targets)

    def with_link(self, source: int, target: int) -> "Graph":
        """Return the graph with one more link."""
        targets = np.insert(self.targets, self.offsets[source + 1], target)
        offsets = self.offsets.copy()
        offsets[source + 1 :] += 1
        return self._replace(targets=targets.astype(np.int32), offsets=offsets)


def load(base: Path, host_ids: int) -> Graph:
    """Return the graph of BASE.graph and BASE.properties, or of a file with an edge per line.

    Ids are taken to be in URL order: where there are no URLs, `host_ids` of them make a host.
    """
    if base.with_name(base.name + ".properties").exists():
        found = BVGraph.open(base).csr()
        targets = found.targets.view(np.int32)
        return Graph(base.name, found.offsets, targets, blocks(found.nodes, host_ids))
    return read_edges(base, host_ids)


def blocks(nodes: int, host_ids: int) -> Ids:
    """Return stand-ins for hosts: so many consecutive ids each."""
    return (np.arange(nodes) // host_ids).astype(np.int32)


def read_edges(path: Path, host_ids: int) -> Graph:
    """Return the graph of a file with `source target` per line: numbers, or URLs without blanks."""
    pairs = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    sources = [pair[0] for pair in pairs if len(pair) >= 2]
    targets = [pair[1] for pair in pairs if len(pair) >= 2]
    if all(word.isdigit() for word in (*sources[:100], *targets[:100])):
        ends = np.array([sources, targets], dtype=np.int64)
        nodes = int(ends.max()) + 1
        return from_edges(path.name, ends, blocks(nodes, host_ids))
    names = sorted({*sources, *targets})
    ids = {name: number for number, name in enumerate(names)}
    ends = np.array([[ids[one] for one in sources], [ids[one] for one in targets]], dtype=np.int64)
    return from_edges(path.name, ends, domains(names))


def domains(names: list[str]) -> Ids:
    """Return the registrable domain of each URL, as a number; what is no URL is a domain itself."""
    numbers: dict[str, int] = {}
    hosts = ((urlsplit(name).hostname or name) for name in names)
    found = [numbers.setdefault(registrable_domain(host), len(numbers)) for host in hosts]
    return np.array(found, dtype=np.int32)


def from_edges(name: str, ends: NDArray[np.int64], hosts: Ids) -> Graph:
    """Return the graph of pairs of ids, each link once."""
    nodes = len(hosts)
    keys = np.unique(ends[0] * nodes + ends[1])
    offsets = np.searchsorted(keys, np.arange(nodes + 1) * nodes)
    return Graph(name, offsets.astype(np.int64), (keys % nodes).astype(np.int32), hosts)


def power_law(nodes: int, host_ids: int, seed: int) -> Graph:
    """Return a web that is made up: most links stay in a host and prefer its first pages.

    Out-degrees and host sizes have heavy tails; targets are drawn by Zipf's law, in the host for
    three links of four and else in another host, chosen by Zipf's law too.
    """
    draw = np.random.default_rng(seed)
    sizes = np.minimum(draw.zipf(1.6, nodes), nodes // 50 + 1).astype(np.int64) * host_ids // 64
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), nodes)) + 1]
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    firsts[-1] = nodes
    hosts = np.repeat(np.arange(len(sizes)), np.diff(firsts)).astype(np.int32)
    degrees = np.minimum(draw.zipf(1.8, nodes) * 3, 400)
    sources = np.repeat(np.arange(nodes), degrees)
    popular = draw.permutation(len(sizes))
    away = popular[(draw.zipf(1.3, len(sources)) - 1) % len(sizes)]
    host = np.where(draw.random(len(sources)) < 0.75, hosts[sources], away)
    extent = np.diff(firsts)[host]
    inside = np.floor(extent * draw.random(len(sources)) ** 3).astype(np.int64)
    ends = np.stack([sources, firsts[host] + inside])
    return from_edges(f"power-law-{nodes}", ends, hosts)


def pagerank(graph: Graph) -> Scores:
    """Return the PageRank of every page: damping .85, pages without links spread over all."""
    rank = np.full(graph.nodes, 1.0 / graph.nodes)
    for _ in range(MAX_ITERATIONS):
        new = step(graph.offsets, graph.targets, rank, DAMPING)
        change = float(np.abs(new - rank).sum())
        rank = new
        if change < TOLERANCE:
            break
    return rank / rank.sum()


@njit(cache=True)
def step(offsets: Offsets, targets: Ids, rank: Scores, damping: float) -> Scores:
    """Return the ranks after one more iteration."""
    nodes = len(rank)
    new = np.zeros(nodes)
    dangling = 0.0
    for page in range(nodes):
        first, end = offsets[page], offsets[page + 1]
        if first == end:
            dangling += rank[page]
            continue
        share = rank[page] / (end - first)
        for place in range(first, end):
            new[targets[place]] += share
    for page in range(nodes):
        new[page] = damping * (new[page] + dangling / nodes) + (1.0 - damping) / nodes
    return new
