"""Which pages matter most? By PageRank or another measure, the best first."""

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gossamer.errors import ConfigError
from gossamer.graph.answers import (
    HitsPlan,
    Mask,
    NearnessPlan,
    RankPlan,
    harmonic,
    hits,
    indegrees,
    pagerank,
    save_ranks,
    universe_of,
)
from gossamer.graph.asking.opening import OpenedGraph
from gossamer.graph.kinds import VOTES, kind_names

Tell = Callable[[int, float], None]
Scores = NDArray[np.float64]


class RankOptions(Struct, frozen=True, kw_only=True):
    """What counts, and how much of it is wanted."""

    by: str = "pagerank"
    kinds: int = VOTES
    top: int = 20
    """0: all."""
    is_all: bool = False
    """URLs that were never fetched are listed, too."""


class RankedPage(Struct, frozen=True, kw_only=True):
    """A page and its rank."""

    url: str
    rank: float


class Ranking(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The best pages by some measure. As JSON, fields that are None may be absent."""

    pages: list[RankedPage]
    by: str
    """pagerank, harmonic, hubs, authorities or indegree."""
    kinds: list[str] | None
    """Kinds of links that counted; None if the graph has no kinds."""
    nodes: int
    newer_pages: int
    """Pages that are too new to be in the graph: they do not count."""
    sweeps: int | None = None
    rounds: int | None = None
    error_below: float | None = None
    """Bound of the error, all ranks together."""
    converged: bool | None = None
    saved: str | None = None
    """The file that the ranks were written to."""
    not_fetched: int = 0
    """URLs left out of the list because they were never fetched: ranked as high as its last."""


class NodeScores(Struct, frozen=True, kw_only=True):
    """A score per node, and how it was computed."""

    scores: Scores
    sweeps: int | None = None
    rounds: int | None = None
    error_below: float | None = None
    converged: bool | None = None
    universe: Mask | None = None


def rank(
    graph: OpenedGraph, options: RankOptions, tell: Tell | None = None
) -> tuple[Ranking, NodeScores]:
    """Return the best pages by some measure, and the scores of all."""
    if options.by not in MEASURES:
        raise ConfigError(f"rank by: expected {', '.join(MEASURES)}, found {options.by!r}")
    found = MEASURES[options.by](graph, options, tell)
    listed = web = found.scores[: graph.web_nodes()]
    if graph.pages is not None and not options.is_all:
        listed = np.where(graph.pages[: len(web)], web, 0.0)
    best = _best(listed, options.top)
    scores = found.scores[best].tolist()
    as_high = web >= scores[-1] if scores else np.zeros(len(web), np.bool_)
    pages = zip(graph.words(best), scores, strict=True)
    ranking = Ranking(
        pages=[RankedPage(url=url, rank=score) for url, score in pages],
        by=options.by,
        kinds=kind_names(options.kinds) if graph.has_kinds else None,
        nodes=graph.out.nodes,
        newer_pages=graph.crawl.stale if graph.crawl is not None else 0,
        sweeps=found.sweeps,
        rounds=found.rounds,
        error_below=found.error_below,
        converged=found.converged,
        not_fetched=int(np.count_nonzero(as_high & (listed == 0.0))),
    )
    return ranking, found


def save_rank(graph: OpenedGraph, ranking: NodeScores, path: Path) -> int:
    """Write the ranks of all web addresses to a file for others; return how many there are."""
    web = graph.web_nodes()
    universe = None if ranking.universe is None else ranking.universe[:web]
    return save_ranks(path, islice(graph.all_words(), web), ranking.scores[:web], universe)


def _by_pagerank(graph: OpenedGraph, options: RankOptions, tell: Tell | None) -> NodeScores:
    universe = None
    if graph.pages is not None:
        universe = universe_of(graph.inward, graph.pages, options.kinds)
        universe[graph.web_nodes() :] = False
    found = pagerank(graph.inward, RankPlan(kinds=options.kinds), universe=universe, tell=tell)
    return NodeScores(
        scores=found.scores,
        sweeps=found.sweeps,
        error_below=found.error,
        converged=found.is_converged,
        universe=universe,
    )


def _by_harmonic(graph: OpenedGraph, options: RankOptions, tell: Tell | None) -> NodeScores:
    found = harmonic(graph.inward, NearnessPlan(kinds=options.kinds), tell=tell)
    return NodeScores(scores=found.scores, rounds=found.rounds, error_below=found.error)


def _by_hits(name: str) -> Callable[[OpenedGraph, RankOptions, Tell | None], NodeScores]:
    def measure(graph: OpenedGraph, options: RankOptions, tell: Tell | None) -> NodeScores:
        found = hits(graph.out, HitsPlan(kinds=options.kinds), tell=tell)
        scores = found.hubs if name == "hubs" else found.authorities
        return NodeScores(scores=scores, rounds=found.rounds, converged=found.is_converged)

    return measure


def _by_indegree(graph: OpenedGraph, options: RankOptions, _tell: Tell | None) -> NodeScores:
    return NodeScores(scores=indegrees(graph.inward, options.kinds).astype(np.float64))


MEASURES: Mapping[str, Callable[[OpenedGraph, RankOptions, Tell | None], NodeScores]] = {
    "pagerank": _by_pagerank,
    "harmonic": _by_harmonic,
    "hubs": _by_hits("hubs"),
    "authorities": _by_hits("authorities"),
    "indegree": _by_indegree,
}


def _best(scores: Scores, top: int) -> NDArray[np.int64]:
    """Return the places of the highest scores above 0, the first of equals first."""
    count = min(top or len(scores), len(scores))
    if not count:
        return np.empty(0, np.int64)
    floor = np.partition(scores, len(scores) - count)[len(scores) - count]
    places = np.flatnonzero((scores >= floor) & (scores > 0))
    return places[np.argsort(-scores[places], kind="stable")][:count]
