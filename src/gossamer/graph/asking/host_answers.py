"""One level up: which hosts matter most, and which links to which?"""

import re
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from gossamer.errors import ConfigError
from gossamer.graph.answers import HostGraph, host_graph, rank_hosts
from gossamer.graph.asking.opening import OpenedGraph
from gossamer.graph.asking.ranking import RankOptions
from gossamer.graph.kinds import ALL, kind_names

NO_HOST = "(no host)"
"""Where whatever is no web address belongs. It has links, but no rank."""
_PORT = re.compile(r":[0-9]+$")


class HostRow(Struct, frozen=True, kw_only=True):
    """A host among others."""

    host: str
    rank: float
    """Its PageRank in the graph of hosts."""
    urls: int
    inside: int
    """Links between its own pages."""
    links_in: int
    links_out: int


class HostTable(Struct, frozen=True, kw_only=True):
    """The hosts of a graph, those with the highest rank first."""

    hosts: list[HostRow]
    total: int
    arcs: int
    """Pairs of hosts of which the one links to the other."""


class RankedHost(Struct, frozen=True, kw_only=True):
    """A host and its rank."""

    host: str
    rank: float
    urls: int


class HostRanking(Struct, frozen=True, kw_only=True):
    """The best hosts by PageRank."""

    hosts: list[RankedHost]
    by: str
    kinds: list[str] | None
    """Kinds of links that counted; None if the graph has no kinds."""


class HostWeight(Struct, frozen=True, kw_only=True):
    """Another host, and the number of links from or to it."""

    host: str
    links: int


class HostLinks(Struct, frozen=True, kw_only=True):
    """The hosts that link to a host, and those it links to, most links first."""

    host: str
    urls: int
    inside: int
    """Links between its own pages."""
    incoming: list[HostWeight] = field(name="in")
    outgoing: list[HostWeight] = field(name="out")


class _Ranked(NamedTuple):
    """A graph of hosts and their ranks."""

    web: HostGraph
    ranks: NDArray[np.float64]
    best: list[int]
    """Their places, the best first; without `NO_HOST`, unless there is nothing else."""


def hosts(graph: OpenedGraph, limit: int | None = 20, kinds: int = ALL) -> HostTable:
    """Return the hosts, those with the highest rank first, and the links between them."""
    return hosts_in(_host_graph(graph, kinds), limit)


def hosts_in(web: HostGraph, limit: int | None = 20) -> HostTable:
    """Return the hosts of a graph of hosts, those with the highest rank first."""
    web, ranks, best = _ranked(web)
    coming = np.zeros(len(web.names), np.int64)
    np.add.at(coming, web.out.targets, web.weights)
    going = _sums(web)
    told = [
        HostRow(
            host=web.names[place],
            rank=float(ranks[place]),
            urls=int(web.sizes[place]),
            inside=int(web.inside[place]),
            links_in=int(coming[place]),
            links_out=int(going[place]),
        )
        for place in best[:limit]
    ]
    return HostTable(hosts=told, total=len(best), arcs=web.out.arcs)


def rank_of_hosts(graph: OpenedGraph, options: RankOptions) -> HostRanking:
    """Return the best hosts by PageRank: each has one vote per host that it links to."""
    expect_pagerank(options)
    kinds = kind_names(options.kinds) if graph.has_kinds else None
    return ranked_hosts_in(_host_graph(graph, options.kinds), options, kinds)


def expect_pagerank(options: RankOptions) -> None:
    """Refuse any other measure of hosts."""
    if options.by != "pagerank":
        raise ConfigError(f"rank by: hosts can only be ranked by pagerank, found {options.by!r}")


def ranked_hosts_in(web: HostGraph, options: RankOptions, kinds: list[str] | None) -> HostRanking:
    """Return the best hosts of a graph of hosts, of links of some kinds."""
    web, ranks, best = _ranked(web)
    told = [
        RankedHost(host=web.names[place], rank=float(ranks[place]), urls=int(web.sizes[place]))
        for place in best[: options.top or None]
    ]
    return HostRanking(hosts=told, by=options.by, kinds=kinds)


def host(
    graph: OpenedGraph, name: str, limit: int | None = 20, kinds: int = ALL
) -> HostLinks | None:
    """Return which hosts link to one, and to which it links, most links first; None if unknown.

    It may be given with its port or without, which means all its ports, or as any URL of it.
    """
    return host_in(_host_graph(graph, kinds), name, limit)


def host_in(web: HostGraph, name: str, limit: int | None = 20) -> HostLinks | None:
    """Return the same of a host in a graph of hosts."""
    start = name.lower().find("://") + 3 if "://" in name else 0
    wanted = name.lower()[:start] + name.lower()[start:].partition("/")[0]
    places = [place for place, one in enumerate(web.names) if wanted in _spellings(one)]
    if not places:
        return None
    sources = np.repeat(np.arange(web.out.nodes), np.diff(web.out.offsets))
    mine, at_me = np.isin(sources, places), np.isin(web.out.targets, places)
    outward = mine & ~at_me
    return HostLinks(
        host=wanted,
        urls=int(web.sizes[places].sum()),
        inside=int(web.inside[places].sum()),
        incoming=_heaviest(web, sources[at_me & ~mine], web.weights[at_me & ~mine], limit),
        outgoing=_heaviest(web, web.out.targets[outward], web.weights[outward], limit),
    )


def _spellings(origin: str) -> tuple[str, str, str]:
    bare = origin.partition("://")[2] or origin
    return origin, bare, _PORT.sub("", bare)


def _ranked(web: HostGraph) -> _Ranked:
    voting = web
    if len(web.names) > 1 and web.names[-1] == NO_HOST:
        voting = web._replace(sizes=np.append(web.sizes[:-1], 0))
    ranks = rank_hosts(voting).scores
    order = np.argsort(-ranks, kind="stable")
    return _Ranked(web, ranks, [place for place in order.tolist() if voting.sizes[place]])


def _host_graph(graph: OpenedGraph, kinds: int) -> HostGraph:
    names, firsts = graph.hosts()
    return host_graph(graph.out, [name or NO_HOST for name in names], firsts, kinds=kinds)


def _sums(web: HostGraph) -> NDArray[np.int64]:
    """Return how many links leave each host."""
    total = np.append(0, np.cumsum(web.weights))
    found: NDArray[np.int64] = total[web.out.offsets[1:]] - total[web.out.offsets[:-1]]
    return found


def _heaviest(
    web: HostGraph, others: NDArray[np.integer], weights: NDArray[np.int64], limit: int | None
) -> list[HostWeight]:
    """Return hosts and how many links each stands for, the most first."""
    places, where = np.unique(others, return_inverse=True)
    sums = np.zeros(len(places), np.int64)
    np.add.at(sums, where, weights)
    order = np.argsort(-sums, kind="stable")[:limit]
    return [HostWeight(host=web.names[places[n]], links=int(sums[n])) for n in order.tolist()]
