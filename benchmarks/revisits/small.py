"""A handful of pages, whose time scale nobody knows, and sitemaps that say the wrong thing."""

import numpy as np
from laboratory.forecast import Budget, Drift, Watched, run
from numpy.typing import NDArray

from gossamer.frontier.revisit import Watchlist
from gossamer.model import NO_CLAIM, ChangeFrequency, SitemapClaim
from revisits.policies import best_visits
from revisits.worlds import DAY_S

SCALES_S = {"minutes": 60.0, "hours": 3_600.0, "days": DAY_S, "months": 30 * DAY_S}
"""Median time between two changes."""
SIGMA = 1.5
SPANS, MEASURED = 12.0, 4.0
"""Medians that are simulated, and those at their end that count."""
CLAIMS = (ChangeFrequency.HOURLY, ChangeFrequency.WEEKLY, ChangeFrequency.NEVER)
TRUE_GAPS_S = {"fast": 60.0, "medium": DAY_S / 4, "slow": 30 * DAY_S}


def share_of_optimum(pages: int, median_s: float, visits_per_median: float, seed: int) -> float:
    """Return the freshness of a watchlist that knows nothing, as a share of the best intervals'."""
    rng = np.random.default_rng(seed)
    importance = rng.permutation(1.0 / np.arange(1, pages + 1))
    importance /= importance.sum()
    rates = np.exp(SIGMA * rng.normal(size=pages)) / median_s
    per_s = visits_per_median * pages / median_s
    span_s = SPANS * median_s
    budget = Budget(
        requests_per_s=per_s, span_s=span_s, window_s=0.5 / per_s, replan_s=median_s / 30
    )
    watchlist = Watchlist()
    for key, weight in enumerate(importance.tolist()):
        watchlist.add(key, key // 50, weight, None, 0.0)
    measured_from = span_s - MEASURED * median_s
    drift = Drift(importance, rates, np.random.default_rng(seed + 1), measured_from=measured_from)
    found = run(drift, Watched(watchlist, per_s), budget).freshness
    return found / _best_freshness(importance, rates, per_s)


def _best_freshness(
    importance: NDArray[np.float64], rates: NDArray[np.float64], per_s: float
) -> float:
    visits = best_visits(importance, rates, per_s)
    gaps = rates / np.maximum(visits, 1e-300)
    return float((importance * np.where(visits > 0.0, -np.expm1(-gaps) / gaps, 0.0)).sum())


def looks_by_claim(days: float, per_s: float, *, are_claims_heard: bool = True) -> dict[str, int]:
    """Return the visits to nine pages of a host, by what is claimed of them and what is so."""
    names = [f"{claim.word} {true}" for claim in CLAIMS for true in TRUE_GAPS_S]
    watchlist, count = Watchlist(), len(names)
    for key in range(count):
        claim = SitemapClaim(CLAIMS[key // 3]) if are_claims_heard else NO_CLAIM
        watchlist.add(key, 0, 1.0, None, 0.0, claim)
    rates = np.array([1.0 / gap_s for _ in CLAIMS for gap_s in TRUE_GAPS_S.values()])
    drift = Drift(np.ones(count), rates, np.random.default_rng(5))
    policy = _Counted(watchlist, per_s, count)
    span_s = days * DAY_S
    step = Budget(requests_per_s=per_s, span_s=span_s, window_s=0.5 / per_s, replan_s=60.0)
    run(drift, policy, step)
    return dict(zip(names, policy.visits.tolist(), strict=True))


class _Counted:
    """A watchlist as a policy that counts the visits to each page."""

    def __init__(self, watchlist: Watchlist, per_s: float, pages: int) -> None:
        self._policy = Watched(watchlist, per_s)
        self.visits = np.zeros(pages, np.int64)

    def replan(self, now: float) -> None:
        """Share the budget out anew."""
        self._policy.replan(now)

    def take(self, now: float, until: float, at_most: int) -> NDArray[np.int64]:
        """Return the pages to visit next."""
        return self._policy.take(now, until, at_most)

    def visited(
        self, rows: NDArray[np.int64], at: NDArray[np.float64], changed: NDArray[np.bool_]
    ) -> None:
        """Hear what the visits found."""
        self.visits[rows] += 1
        self._policy.visited(rows, at, changed)
