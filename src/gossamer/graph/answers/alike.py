"""Pages like this one: linked from the same pages (co-citation), or linking to the same (coupling).

A page counts for less the more links it has, and so do the many pages of one host that say the
same: k of them count as sqrt(k), those of the page's own host as a quarter of that. What all pages
link to is like none of them: a score is divided by the square root of both degrees (Salton's
cosine), with a few links added so that a page with one link is not the best by accident.
"""

from random import Random
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gossamer.graph.answers.chosen import degrees_of, rows_of
from gossamer.graph.answers.hosts import hosts_of
from gossamer.graph.rows import Adjacency, Ids, Places

OWN_HOST = 0.25
FEW = 4.0
"""Links that each page is given in addition: what two have in common must be more than chance."""


class AlikePlan(Struct, frozen=True, kw_only=True):
    """How much work is done, and how much of it is shown."""

    most: int = 20
    """Pages to find."""
    most_between: int = 1_000
    """Pages between the two that are looked at; of more, so many are drawn."""
    most_links: int = 1_000
    """Links of each of them that are looked at; of more, so many in a row from a random place."""
    shortlist: int = 1_000
    """Candidates whose degree is asked for."""


class Alike(NamedTuple):
    """A node that is like another."""

    node: int
    score: float
    """From 0 to about 1."""
    shared: int
    """How many of the pages that were looked at connect the two."""


class Likeness:
    """Finds the pages that are most like a page, by the company that they keep."""

    def __init__(
        self,
        out: Adjacency,
        inward: Adjacency,
        first_nodes: Places | None = None,
        plan: AlikePlan | None = None,
    ) -> None:
        self._out, self._inward = out, inward
        self._first_nodes = first_nodes
        """The first node of each host; None if hosts do not matter."""
        self._plan = plan or AlikePlan()

    def cocited(self, node: int, random: Random) -> list[Alike]:
        """Return the nodes that are linked from the same nodes as one, the most similar first."""
        return self._like(node, self._inward, self._out, random)

    def coupled(self, node: int, random: Random) -> list[Alike]:
        """Return the nodes that link to the same nodes as one, the most similar first."""
        return self._like(node, self._out, self._inward, random)

    def _like(self, node: int, there: Adjacency, back: Adjacency, random: Random) -> list[Alike]:
        """Go a step along one graph and a step back along the other, and weigh who is met."""
        plan = self._plan
        between = np.asarray(there.successors(node), np.uint32)
        between = between[between != node]
        degree = len(between)
        if degree > plan.most_between:
            chosen = random.sample(range(degree), plan.most_between)
            between = between[np.sort(np.array(chosen))]
        met, counts, lengths = _met(back, between, random, plan.most_links)
        weights = _weights(node, between, self._first_nodes) / np.log2(2.0 + lengths)
        nodes, place = np.unique(met, return_inverse=True)
        raw = np.bincount(place, weights=np.repeat(weights, counts), minlength=len(nodes))
        shared = np.bincount(place, minlength=len(nodes))
        raw[nodes == node] = 0.0
        best = np.argsort(-raw, kind="stable")[: plan.shortlist]
        best = best[raw[best] > 0.0]
        nodes, raw, shared = nodes[best], raw[best], shared[best]
        full = degree / max(len(between), 1)
        scores = raw * full / np.sqrt((degree + FEW) * (degrees_of(there, nodes) + FEW))
        order = np.lexsort((nodes, -scores))[: plan.most]
        return [Alike(int(nodes[i]), float(scores[i]), int(shared[i])) for i in order]


def _weights(node: int, between: Ids, first_nodes: Places | None) -> NDArray[np.float64]:
    """Return what each page between is worth for the host that it is of."""
    if first_nodes is None:
        return np.ones(len(between))
    hosts = hosts_of(between, first_nodes)
    _, place, counts = np.unique(hosts, return_inverse=True, return_counts=True)
    weights = 1.0 / np.sqrt(counts[place].astype(np.float64))
    own = hosts_of(np.array([node], np.uint32), first_nodes)[0]
    weights[hosts == own] *= OWN_HOST
    return weights


def _met(
    back: Adjacency, between: Ids, random: Random, most_links: int
) -> tuple[Ids, Places, Places]:
    """Return whom the pages between connect with, how many each of them, and how many it could."""
    lengths = degrees_of(back, between)
    is_long = lengths > most_links
    if not is_long.any():
        offsets, met = rows_of(back, between)
        return met, np.diff(offsets), lengths
    parts: list[Ids] = [np.empty(0, np.uint32)]
    for page, length in zip(between.tolist(), lengths.tolist(), strict=True):
        row = back.successors(page)
        if length > most_links:
            start = random.randrange(length - most_links + 1)
            row = row[start : start + most_links]
        parts.append(row)
    return np.concatenate(parts), np.minimum(lengths, most_links), lengths
