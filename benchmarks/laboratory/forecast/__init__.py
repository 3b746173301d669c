"""HOW FRESH SHOULD IT BE? Pages that change at known rates, and what visits to them bring.

`predict` runs any watchlist over such pages, without a network and in no time, and returns the
freshness to hold a real run against.
"""

from laboratory.forecast.drift import Drift
from laboratory.forecast.predict import Budget, Policy, Run, Watched, predict, run

__all__ = ["Budget", "Drift", "Policy", "Run", "Watched", "predict", "run"]
