"""Hosts: who links to whom, one level up. Nodes of a host are consecutive."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import Bug
from gossamer.graph.answers.kernels import groups
from gossamer.graph.answers.picked import Mask, rows_in, transposed
from gossamer.graph.answers.rank import RankPlan, Ranks, addresses, pagerank
from gossamer.graph.kinds import ALL
from gossamer.graph.rows import Adjacency, Csr, Ids, Places


class HostGraph(NamedTuple):
    """Hosts and the links between them."""

    names: Sequence[str]
    sizes: Places
    """How many nodes each has; with a universe: how many of those."""
    out: Csr
    """Which others each links to; its links to itself are counted apart."""
    weights: Places
    """For each arc of `out`, how many links it stands for."""
    inside: Places
    """For each host, how many links stay there."""


def host_graph(
    out: Adjacency,
    names: Sequence[str],
    first_nodes: Places,
    *,
    kinds: int = ALL,
    universe: Mask | None = None,
) -> HostGraph:
    """Return the graph of hosts: host `names[i]` has the nodes from `first_nodes[i]` to the next.

    The first host begins at node 0.
    """
    bounds = np.append(np.asarray(first_nodes, np.int64), out.nodes)
    group = np.repeat(np.arange(len(names), dtype=np.uint32), np.diff(bounds))
    if len(group) != out.nodes:
        raise Bug(f"hosts of {len(group)} nodes for a graph of {out.nodes}")
    parts = [np.empty((0, 3), np.int64)]
    counts, met = np.zeros(len(names), np.int64), np.empty(len(names), np.uint32)
    for rows in rows_in(out, kinds):
        arcs = np.empty((len(rows.targets), 3), np.int64)
        arrays = group, counts, met, arcs
        found = groups()["gather"](*addresses(rows), *(array.ctypes.data for array in arrays))
        parts.append(arcs[:found].copy())
    counted = group if universe is None else group[universe]
    return summed(names, np.bincount(counted, minlength=len(names)), np.concatenate(parts))


def rank_hosts(hosts: HostGraph, plan: RankPlan | None = None) -> Ranks:
    """Return the PageRank of hosts: each has one vote per host, however many links it has there."""
    return pagerank(transposed(hosts.out), plan, universe=hosts.sizes > 0)


def arcs_of(hosts: HostGraph) -> Places:
    """Return (source, target, links) of all hosts, their links to themselves included."""
    count = len(hosts.names)
    sources = np.repeat(np.arange(count), np.diff(hosts.out.offsets))
    between = np.stack([sources, hosts.out.targets.astype(np.int64), hosts.weights], axis=1)
    inside = np.flatnonzero(hosts.inside)
    itself = np.stack([inside, inside, hosts.inside[inside]], axis=1)
    return np.concatenate([between, itself]).astype(np.int64)


def summed(names: Sequence[str], sizes: NDArray[np.int64], arcs: Places) -> HostGraph:
    """Return the graph of (source, target, links), which may come several times."""
    count = max(len(names), 1)
    keys, place = np.unique(arcs[:, 0] * count + arcs[:, 1], return_inverse=True)
    weights = np.zeros(len(keys), np.int64)
    np.add.at(weights, place, arcs[:, 2])
    sources, targets = keys // count, (keys % count).astype(np.uint32)
    is_inside = sources == targets
    inside = np.zeros(len(names), np.int64)
    inside[sources[is_inside]] = weights[is_inside]
    between = ~is_inside & (weights > 0)
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum(np.bincount(sources[between], minlength=len(names)), out=offsets[1:])
    whole = Csr(offsets, targets[between])
    return HostGraph(names, sizes.astype(np.int64), whole, weights[between], inside)


def hosts_of(nodes: Ids, first_nodes: Places) -> NDArray[np.int64]:
    """Return the number of the host that each node belongs to."""
    return np.searchsorted(first_nodes, nodes, side="right") - 1
