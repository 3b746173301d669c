"""Orders with an exact priority queue: what is compared with, and the oracle of the frontier."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gossamer.frontier.order.opic import START_CREDIT, TO_LINKS

from .graph import Ids, Offsets, Scores
from .web import BROOD, Walk

GIVEN, BACKLINKS, OPIC, OPIC_LAMBDA = 0, 1, 2, 3
"""What a page's key is: a score given beforehand, its back-links, or its credit."""
SPREAD_FETCHES = 100
"""Fetches between two gifts of the Lambda page."""
SCATTER = 2_654_435_761
"""Makes numbers that look random of numbers that follow each other."""


class Heap(NamedTuple):
    """Waiting pages, the one with the largest key first, among equals the one known longest."""

    pages: Ids
    place: Ids
    """Where a page lies in `pages`; -1: it is unknown, -2: it was fetched."""
    key: Scores
    born: Ids
    count: Ids
    """How many are waiting, and how many ever were."""


class Plan(NamedTuple):
    """A walk as the compiled loop wants it."""

    kind: int
    offsets: Offsets
    targets: Ids
    starts: Ids
    seeds: int
    fetches: int
    cross: int


def replay_exact(
    walk: Walk, kind: int, given: Scores | None = None
) -> tuple[NDArray[np.int64], int]:
    """Return the pages in the order of their keys, and how many links were seen."""
    plan = Plan(
        kind,
        walk.graph.offsets,
        walk.graph.targets,
        walk.starts,
        walk.seeds,
        walk.fetches,
        walk.cross,
    )
    key = np.zeros(walk.pages)
    if given is not None:
        key[: len(given)] = given
    heap = Heap(
        np.zeros(walk.pages, np.int32),
        np.full(walk.pages, -1, np.int32),
        key,
        np.zeros(walk.pages, np.int32),
        np.zeros(2, np.int32),
    )
    return run(plan, heap)


@njit(cache=True)
def run(plan: Plan, heap: Heap) -> tuple[NDArray[np.int64], int]:
    """Fetch the best page, let its links gain, and so on."""
    order = np.zeros(plan.fetches, np.int64)
    jump, links, broods, pot, level = 0, 0, 0, 0.0, 0.0
    for turn in range(plan.fetches):
        while heap.count[0] == 0:
            stop = max(jump + 1, plan.seeds)
            for start in plan.starts[jump:stop]:
                if heap.place[start] == -1:
                    gain(plan.kind, heap, start, 1.0, level)
            jump = stop
        page = pop(heap)
        order[turn] = page
        credit = heap.key[page] + level
        heap.key[page] = -level
        targets = links_of(plan, page, broods)
        broods += page >= len(plan.offsets) - 1
        links += len(targets)
        kept = credit
        if plan.kind == OPIC_LAMBDA:
            kept = credit * TO_LINKS if len(targets) else 0.0
            pot += credit - kept
        for target in targets:
            gain(plan.kind, heap, target, kept / len(targets), level)
        if turn % SPREAD_FETCHES == 0 and plan.kind == OPIC_LAMBDA:
            level += pot / heap.count[1]
            pot = 0.0
    return order, links


@njit(cache=True)
def links_of(plan: Plan, page: int, broods: int) -> Ids:
    """Return a page's links; a page of the trap makes its brood."""
    root = len(plan.offsets) - 1
    if page < root:
        return plan.targets[plan.offsets[page] : plan.offsets[page + 1]]
    found = np.empty(1 + BROOD + plan.cross, np.int32)
    fresh = root + 1 + broods * BROOD
    found[0] = page
    found[1 : 1 + BROOD] = np.arange(fresh, fresh + BROOD)
    for place in range(1 + BROOD, len(found)):
        found[place] = root + (page + place) * SCATTER % (fresh - root)
    return found


@njit(cache=True)
def gain(kind: int, heap: Heap, page: int, share: float, level: float) -> None:
    """Let a page have a share, and its place in the queue."""
    is_new = heap.place[page] == -1
    if kind in (OPIC, OPIC_LAMBDA):
        if is_new and kind == OPIC_LAMBDA:
            heap.key[page] = START_CREDIT - level
        heap.key[page] += share
    elif kind == BACKLINKS:
        heap.key[page] += 1.0
    if is_new:
        last = heap.count[0]
        heap.pages[last] = page
        heap.place[page] = last
        heap.born[page] = heap.count[1]
        heap.count[0] += 1
        heap.count[1] += 1
    if heap.place[page] >= 0:
        rise(heap, heap.place[page])


@njit(cache=True)
def is_before(heap: Heap, one: int, other: int) -> bool:
    """Tell whether one page comes before another."""
    if heap.key[one] != heap.key[other]:
        return heap.key[one] > heap.key[other]
    return heap.born[one] < heap.born[other]


@njit(cache=True)
def rise(heap: Heap, place: int) -> None:
    """Move the page at a place up to where it belongs."""
    page = heap.pages[place]
    while place > 0:
        above = (place - 1) >> 1
        if not is_before(heap, page, heap.pages[above]):
            break
        heap.pages[place] = heap.pages[above]
        heap.place[heap.pages[place]] = place
        place = above
    heap.pages[place] = page
    heap.place[page] = place


@njit(cache=True)
def pop(heap: Heap) -> int:
    """Take the first page: the last one takes its place and sinks to where it belongs."""
    first = heap.pages[0]
    heap.place[first] = -2
    heap.count[0] -= 1
    last = heap.count[0]
    if last == 0:
        return first
    page, place = heap.pages[last], 0
    while 2 * place + 1 < last:
        below = 2 * place + 1
        if below + 1 < last and is_before(heap, heap.pages[below + 1], heap.pages[below]):
            below += 1
        if not is_before(heap, heap.pages[below], page):
            break
        heap.pages[place] = heap.pages[below]
        heap.place[heap.pages[place]] = place
        place = below
    heap.pages[place] = page
    heap.place[page] = place
    return first
