"""How fresh should it have been? A watchlist over the same rates, without a network."""

from collections.abc import Callable, Sequence

import numpy as np

from laboratory.changing.web import ChangingWeb, Page
from laboratory.forecast import Drift
from laboratory.forecast.predict import Watchlist

DRAWS = 5
"""Simulations whose mean is the prediction: each draws its own changes."""
REPLAN_S = 1.0
_FAR_S = 1e9


def foretold_freshness(
    web: ChangingWeb,
    moments: Sequence[float],
    begin: float,
    weight: Callable[[Page], float],
    watch: Callable[[Sequence[Page]], Watchlist],
) -> float:
    """Return the freshness, from a moment on, that looks at given moments should come to.

    The moments are those at which a server was really asked: so a machine that is slow, or was
    stopped for a while, is held to the budget that it had. Which page is looked at, and what is
    learned from it, is decided by a watchlist (of the pages that stay, numbered as they come) that
    has no fetches, gaps or deaths to wait for.
    """
    pages = [page for page in web.fates.values() if page.gone_at is None]
    found: list[float] = []
    for draw in range(DRAWS):
        drift = Drift(
            np.array([weight(page) for page in pages]),
            np.array([page.rate_per_s for page in pages]),
            np.random.default_rng(draw),
            is_periodic=np.array([page.is_periodic for page in pages]),
            measured_from=begin,
        )
        found.append(_look(drift, watch(pages), moments))
    return sum(found) / len(found)


def _look(drift: Drift, watchlist: Watchlist, moments: Sequence[float]) -> float:
    """Look at one page at each moment, as the watchlist says; return the freshness."""
    rate_per_s = len(moments) / (moments[-1] - moments[0])
    plan_at = 0.0
    for now in moments:
        if now >= plan_at:
            watchlist.replan(now, rate_per_s)
            plan_at = now + REPLAN_S
        for key in watchlist.take_due(now, now + _FAR_S, 1):
            changed = drift.visit(np.array([key]), np.array([now]))
            watchlist.visited(key, now, changed=bool(changed[0]))
    return drift.freshness(moments[-1])
