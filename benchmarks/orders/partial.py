"""Partial PageRank: every so often the ranks of all that is known, from the links seen so far."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .graph import DAMPING, Ids, Offsets, Scores
from .web import Walk, Web

Pages = NDArray[np.int64]

STRETCHES = 100
"""Ranks are computed anew each time when one page in so many was fetched, or all that waited."""
ITERATIONS = 2
"""Iterations each time, from the last ranks on."""


def replay_partial(walk: Walk) -> tuple[Pages, int]:
    """Return the pages in the order of their ranks as known, and how many links were seen."""
    graph, web = walk.graph, Web(walk)
    rank, is_known = np.zeros(walk.pages), np.zeros(walk.pages, np.bool_)
    order = waiting = np.zeros(0, np.int64)
    jumps = walk.jumps()
    links = 0
    while len(order) < walk.fetches:
        if not len(waiting):
            waiting = meet(next(jumps), is_known)
            continue
        pages, waiting = best(
            rank, waiting, min(graph.nodes // STRETCHES, walk.fetches - len(order))
        )
        _, targets = web.links_of(pages)
        links += len(targets)
        waiting = np.concatenate([waiting, meet(targets, is_known)])
        order = np.concatenate([order, pages])
        for _ in range(ITERATIONS):
            rank = iterate(graph.offsets, graph.targets, order, rank)
    return order, links


def meet(targets: Ids, is_known: NDArray[np.bool_]) -> Pages:
    """Return the pages among the targets that were not known; now they are."""
    new = np.unique(targets[~is_known[targets]]).astype(np.int64)
    is_known[new] = True
    return new


def best(rank: Scores, waiting: Pages, count: int) -> tuple[Pages, Pages]:
    """Return the waiting pages of highest rank, and the others."""
    if count >= len(waiting):
        return waiting, waiting[:0]
    places = np.argpartition(-rank[waiting], count)
    return waiting[places[:count]], waiting[places[count:]]


@njit(cache=True)
def iterate(offsets: Offsets, targets: Ids, fetched: Pages, rank: Scores) -> Scores:
    """Return the ranks after one more iteration: a unit for every page, whether known or not."""
    new = np.full(len(rank), 1.0 - DAMPING)
    for page in fetched:
        first, end = offsets[page], offsets[page + 1]
        if first < end:
            share = DAMPING * rank[page] / (end - first)
            for place in range(first, end):
                new[targets[place]] += share
    return new
