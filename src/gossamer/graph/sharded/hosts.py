"""The hosts of a store's shards: each shard has its own and their links, and together they are all.

A host belongs to one shard, which has all links out of its pages. So the graph of hosts is the sum
of what shards say of their own hosts; what that is lies in the store beside the graph of the shard,
made by whoever asks first. Memory of who asks is that of hosts, not of URLs.
"""

from contextlib import suppress
from itertools import pairwise

import numpy as np
from msgspec import Struct, json
from numpy.typing import NDArray

from gossamer.errors import CannotGoOn
from gossamer.graph.answers import HostGraph, arcs_of, host_graph, summed
from gossamer.graph.asking import (
    NO_HOST,
    HostLinks,
    HostRanking,
    HostTable,
    RankOptions,
    expect_pagerank,
    host_in,
    hosts_in,
    ranked_hosts_in,
)
from gossamer.graph.kinds import ALL, kind_names
from gossamer.graph.names import key_of
from gossamer.graph.sharded.parts import ShardGraph, StoredGraph


class ShardHosts(Struct, frozen=True, kw_only=True):
    """What a shard says of its hosts, and of those that they link to."""

    names: list[str]
    sizes: list[int]
    """How many URLs each has; 0 of hosts of other shards."""
    arcs: bytes
    """(source, target, links) by place in `names`: 64-bit numbers, three for each."""


def stored_hosts(graph: StoredGraph, limit: int | None) -> HostTable:
    """Return the hosts of a store, those with the highest rank first."""
    return hosts_in(hosts_of_store(graph, ALL), limit)


def stored_host(graph: StoredGraph, name: str, limit: int | None) -> HostLinks | None:
    """Return which hosts link to one, and to which it links; None if it is not in the store."""
    return host_in(hosts_of_store(graph, ALL), name, limit)


def stored_hosts_ranked(graph: StoredGraph, options: RankOptions) -> HostRanking:
    """Return the best hosts of a store by PageRank."""
    expect_pagerank(options)
    web = hosts_of_store(graph, options.kinds)
    return ranked_hosts_in(web, options, kind_names(options.kinds))


def hosts_of_store(graph: StoredGraph, kinds: int) -> HostGraph:
    """Return the hosts of a store and the links between them, by links of some kinds."""
    places: dict[str, int] = {}
    sizes: list[int] = []
    parts = [np.empty((0, 3), np.int64)]
    for shard in graph.whole.shards:
        found = _of_shard(graph, shard, kinds)
        for name, size in zip(found.names, found.sizes, strict=True):
            place = places.setdefault(name, len(places))
            if place == len(sizes):
                sizes.append(0)
            sizes[place] += size
        at = np.array([places[name] for name in found.names], np.int64)
        arcs = np.frombuffer(found.arcs, np.int64).reshape(-1, 3)
        parts.append(np.stack([at[arcs[:, 0]], at[arcs[:, 1]], arcs[:, 2]], axis=1))
    if NO_HOST in places:
        sizes[places[NO_HOST]] += _hostless(graph)
    names = sorted(places, key=lambda name: (name == NO_HOST, key_of(f"{name}/")))
    order = np.array([places[name] for name in names], np.int64)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    rows = np.concatenate(parts)
    rows[:, :2] = number[rows[:, :2]]
    return summed(names, np.array(sizes, np.int64)[order], rows)


def _of_shard(graph: StoredGraph, shard: int, kinds: int) -> ShardHosts:
    rounds = graph.crawl.rounds
    name = f"{rounds.prefix(graph.number)}/hosts-{kinds}/{shard:04d}"
    if (found := rounds.read(name, ShardHosts)) is None:
        found = _counted(graph.shard(shard), kinds)
        graph.close_shards()
        with suppress(CannotGoOn):  # a store that is only read: whoever asks next counts again
            graph.crawl.objects.put(name, json.encode(found))
    return found


def _counted(part: ShardGraph, kinds: int) -> ShardHosts:
    """Return the hosts of one shard: links out of hosts of others are theirs to tell."""
    origins, firsts = part.graph.hosts()
    names = [origin or NO_HOST for origin in origins]
    own: NDArray[np.bool_] = part.owners() == part.shard
    web = host_graph(part.graph.out, names, firsts, kinds=kinds)
    bounds = np.append(firsts, len(own))
    sizes = [int(own[a:b].sum()) for a, b in pairwise(bounds.tolist())]
    is_own = np.array([own[first] for first in firsts], np.bool_)
    if names and names[-1] == NO_HOST:
        is_own[-1] = sizes[-1] > 0
    arcs = arcs_of(web)
    arcs = arcs[is_own[arcs[:, 0]]]
    return ShardHosts(names=names, sizes=sizes, arcs=arcs.tobytes())


def _hostless(graph: StoredGraph) -> int:
    """Return how many URLs belong to no shard; several may have the same."""
    parts = (graph.crawl.rounds.part(graph.number, shard) for shard in graph.whole.shards)
    return len({one for part in parts if part is not None for one in part.hostless})
