"""Worlds of pages that change, for the simulation of freshness."""

import numpy as np
from laboratory.forecast import Drift

DAY_S = 86_400.0
MEDIAN_DAYS = 30.0
SIGMA = 1.5
VISITS_PER_PAGE = 0.5
PAGES_PER_HOST = 50
SEED = 20


class World:
    """Pages with an importance, a host, and a rate of change that is log-normal."""

    def __init__(
        self,
        pages: int,
        *,
        zipf: float = 1.0,
        host_share: float = 0.0,
        periodic_share: float = 0.0,
    ) -> None:
        rng = np.random.default_rng(SEED)
        importance = rng.permutation(1.0 / np.arange(1, pages + 1) ** zipf)
        self.importance = importance / importance.sum()
        self.hosts = rng.integers(0, max(pages // PAGES_PER_HOST, 1), pages)
        of_host = rng.normal(size=pages)[self.hosts]
        of_page = rng.normal(size=pages)
        mixed = host_share**0.5 * of_host + (1 - host_share) ** 0.5 * of_page
        self.rates_per_s = np.exp(SIGMA * mixed) / (MEDIAN_DAYS * DAY_S)
        self.requests_per_s = VISITS_PER_PAGE * pages / (30 * DAY_S)
        self._is_periodic = rng.random(pages) < periodic_share

    def drift(self, measured_from: float) -> Drift:
        """Return the pages at moment 0; every run sees the same chances."""
        return Drift(
            self.importance,
            self.rates_per_s,
            np.random.default_rng(SEED + 1),
            is_periodic=self._is_periodic,
            measured_from=measured_from,
        )
