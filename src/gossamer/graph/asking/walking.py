"""From page to page: the shortest way over links, and pages like a page."""

from random import Random

from msgspec import Struct, field

from gossamer.errors import ConfigError
from gossamer.graph.answers import AlikePlan, Likeness, shortest_path
from gossamer.graph.asking.opening import OpenedGraph

LIKENESS = {"cocitation": Likeness.cocited, "coupling": Likeness.coupled}
"""Linked from the same pages, or linking to the same pages."""
_SPARE = 100
"""More than are wanted: what is no web address (mailto and such) is no page."""


class LinkPath(Struct, frozen=True, kw_only=True):
    """A shortest path over links from one page to another."""

    start: str = field(name="from")
    end: str = field(name="to")
    path: list[str]
    """All pages on it, both ends included; empty if there is none, or none was found."""
    hops: int | None
    visited: int
    """Pages that were looked at."""
    gave_up: bool
    """The search was ended: there may be a path, and it is long."""


class SimilarPage(Struct, frozen=True, kw_only=True):
    """A page, and how similar it is to another."""

    url: str
    score: float
    shared: int
    """Pages that link to both (cocitation), or to which both link (coupling)."""


class SimilarPages(Struct, frozen=True, kw_only=True):
    """The pages that are most similar to one, by their links."""

    url: str
    by: str
    """cocitation or coupling."""
    pages: list[SimilarPage]


def path(graph: OpenedGraph, start: str, end: str) -> LinkPath | None:
    """Return a shortest way over links between two pages; None if one of them is not known."""
    first, last = graph.node(start), graph.node(end)
    if first is None or last is None:
        return None
    found = shortest_path(graph.out, graph.inward, first, last)
    return LinkPath(
        start=graph.words([first])[0],
        end=graph.words([last])[0],
        path=graph.words(found.nodes),
        hops=found.hops,
        visited=found.visited,
        gave_up=found.gave_up,
    )


def like(
    graph: OpenedGraph, url: str, by: str = "cocitation", most: int = 20
) -> SimilarPages | None:
    """Return the pages that are most like one; None if it is not known."""
    if by not in LIKENESS:
        raise ConfigError(f"like by: expected {' or '.join(LIKENESS)}, found {by!r}")
    node = graph.node(url)
    if node is None:
        return None
    drawn = Random(node)  # noqa: S311 - the same page is asked the same way each time
    plan = AlikePlan(most=most + _SPARE)
    likeness = Likeness(graph.out, graph.inward, graph.host_starts(), plan)
    last = graph.web_nodes()
    found = [one for one in LIKENESS[by](likeness, node, drawn) if one.node < last][:most]
    urls = graph.words([one.node for one in found])
    pages = [
        SimilarPage(url=name, score=one.score, shared=one.shared)
        for name, one in zip(urls, found, strict=True)
    ]
    return SimilarPages(url=graph.words([node])[0], by=by, pages=pages)
