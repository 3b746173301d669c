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
from gossamer.graph.asking.opening import Opened
from gossamer.graph.kinds import VOTES, kind_names

Facts = dict[str, object]
Tell = Callable[[int, float], None]
Scores = NDArray[np.float64]


class RankWish(Struct, frozen=True, kw_only=True):
    """What counts, and how much of it is wanted."""

    by: str = "pagerank"
    kinds: int = VOTES
    top: int = 20
    """0: all."""


class Ranking(Struct, frozen=True, kw_only=True):
    """A score per node, and how it was come by."""

    scores: Scores
    facts: Mapping[str, object]
    universe: Mask | None = None


def rank(graph: Opened, wish: RankWish, tell: Tell | None = None) -> tuple[Facts, Ranking]:
    """Return the best pages by some measure, and the scores of all."""
    if wish.by not in MEASURES:
        raise ConfigError(f"rank by: expected {', '.join(MEASURES)}, found {wish.by!r}")
    ranking = MEASURES[wish.by](graph, wish, tell)
    best = _best(ranking.scores[: graph.web_nodes()], wish.top)
    urls = graph.words(best)
    scores = ranking.scores[best].tolist()
    pages = [{"url": url, "rank": score} for url, score in zip(urls, scores, strict=True)]
    facts: Facts = {
        "pages": pages,
        "by": wish.by,
        "kinds": kind_names(wish.kinds) if graph.has_kinds else None,
        "nodes": graph.out.nodes,
        "newer_pages": graph.crawl.stale if graph.crawl is not None else 0,
    }
    return {**facts, **ranking.facts}, ranking


def save_rank(graph: Opened, ranking: Ranking, path: Path) -> int:
    """Write the ranks of all web addresses to a file for others; return how many there are."""
    web = graph.web_nodes()
    universe = None if ranking.universe is None else ranking.universe[:web]
    return save_ranks(path, islice(graph.all_words(), web), ranking.scores[:web], universe)


def _by_pagerank(graph: Opened, wish: RankWish, tell: Tell | None) -> Ranking:
    universe = None
    if graph.pages is not None:
        universe = universe_of(graph.inward, graph.pages, wish.kinds)
        universe[graph.web_nodes() :] = False
    found = pagerank(graph.inward, RankPlan(kinds=wish.kinds), universe=universe, tell=tell)
    facts = {"sweeps": found.sweeps, "error_below": found.error, "converged": found.is_converged}
    return Ranking(scores=found.scores, facts=facts, universe=universe)


def _by_harmonic(graph: Opened, wish: RankWish, tell: Tell | None) -> Ranking:
    found = harmonic(graph.inward, NearnessPlan(kinds=wish.kinds), tell=tell)
    return Ranking(scores=found.scores, facts={"rounds": found.rounds, "error_below": found.error})


def _by_hits(name: str) -> Callable[[Opened, RankWish, Tell | None], Ranking]:
    def measure(graph: Opened, wish: RankWish, tell: Tell | None) -> Ranking:
        found = hits(graph.out, HitsPlan(kinds=wish.kinds), tell=tell)
        facts = {"rounds": found.rounds, "converged": found.is_converged}
        scores = found.hubs if name == "hubs" else found.authorities
        return Ranking(scores=scores, facts=facts)

    return measure


def _by_indegree(graph: Opened, wish: RankWish, _tell: Tell | None) -> Ranking:
    return Ranking(scores=indegrees(graph.inward, wish.kinds).astype(np.float64), facts={})


MEASURES: Mapping[str, Callable[[Opened, RankWish, Tell | None], Ranking]] = {
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
