"""A second crawl by `--order best` or `opic` that has the ranks of a first one."""

import numpy as np

from gossamer.frontier.order.prior_ranks import RANK_CREDIT
from gossamer.graph.answers import pagerank, transposed, universe_of
from gossamer.graph.rows import Csr

from .classes import Grades, Pages, Rule
from .graph import Graph, Scores


class Informed:
    """A rule whose pages start with credit for the rank that they had in a first crawl."""

    def __init__(self, rule: Rule, held: Scores, ranks: Scores) -> None:
        self._rule, self._held = rule, held
        self._starts = np.maximum(ranks - 1.0, 0.0) * RANK_CREDIT

    def start(self, pages: Pages) -> None:
        """See `Rule`."""
        self._rule.start(pages)

    def meet(self, pages: Pages) -> None:
        """See `Rule`."""
        self._rule.meet(pages)
        self._held[pages] += self._starts[pages].astype(np.float32)

    def pass_on(self, pages: Pages, degrees: Pages, targets: Pages) -> None:
        """See `Rule`."""
        self._rule.pass_on(pages, degrees, targets)

    def grades(self, pages: Pages) -> Grades:
        """See `Rule`."""
        return self._rule.grades(pages)


def ranks_after(graph: Graph, fetched: Pages) -> Scores:
    """Return the ranks that a crawl's graph gives to all it has met, 1.0 for the mean."""
    is_page = np.zeros(graph.nodes, np.bool_)
    is_page[fetched] = True
    degrees = np.diff(graph.offsets)
    offsets = np.concatenate(([0], np.cumsum(np.where(is_page, degrees, 0)))).astype(np.int64)
    known = Csr(offsets, graph.targets[np.repeat(is_page, degrees)].astype(np.uint32))
    universe = universe_of(known, is_page)
    return pagerank(transposed(known), universe=universe).scores * int(universe.sum())
