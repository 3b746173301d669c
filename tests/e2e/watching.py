"""How fresh a watch should be: the shipped watchlist over the same rates, without a network."""

from collections.abc import Callable, Sequence

import numpy as np

from gossamer.frontier.revisit import Watchlist
from gossamer.testing.changing import ChangingWeb, Page
from gossamer.testing.forecast import Drift

DRAWS = 5
"""Simulations whose mean is the prediction: each draws its own changes."""


def predicted_freshness(
    web: ChangingWeb,
    moments: Sequence[float],
    begin: float,
    weight: Callable[[Page], float],
    prior_s: float,
) -> float:
    """Return the freshness that looks at these moments would come to, if nothing stood in the way.

    The moments are those at which the server was really asked: so a machine that is slow, or was
    stopped for a while, is held to the budget that it had. Which page is looked at, and what is
    learned from it, is decided by a watchlist that has no fetches, hosts or deaths to wait for.
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
        watchlist = Watchlist(1.0 / prior_s)
        for key, page in enumerate(pages):
            watchlist.add(key, page.host, weight(page), None, 0.0)
        found.append(_look(drift, watchlist, moments))
    return sum(found) / len(found)


def _look(drift: Drift, watchlist: Watchlist, moments: Sequence[float]) -> float:
    """Look at one page at each moment, as the watchlist says; return the freshness."""
    rate_per_s = len(moments) / (moments[-1] - moments[0])
    plan_at = 0.0
    for now in moments:
        if now >= plan_at:
            watchlist.replan(now, rate_per_s)
            plan_at = now + 1.0
        for key in watchlist.take_due(now, moments[-1] + 1e6, 1):
            changed = drift.visit(np.array([key]), np.array([now]))
            watchlist.visited(key, now, changed=bool(changed[0]))
    return drift.freshness(moments[-1])
