"""Pages that change in simulated time."""

from typing import Any

import numpy as np
import pytest
from laboratory.forecast import Budget, Drift, Watched, predict, run

from gossamer.frontier.revisit import Belief, Watchlist

pytestmark = pytest.mark.slow  # simulates months


class Evenly:
    """Every page at the same interval."""

    def __init__(self, count: int, gap_s: float) -> None:
        self._gap_s = gap_s
        self._due_at = np.full(count, gap_s)

    def replan(self, now: float) -> None:
        """Nothing to plan."""

    def take(self, now: float, until: float, at_most: int) -> np.ndarray:
        assert now < until
        return np.flatnonzero(self._due_at <= until)[:at_most]

    def visited(self, rows: np.ndarray, at: np.ndarray, changed: np.ndarray) -> None:
        assert len(rows) == len(changed) == len(at)
        self._due_at[rows] += self._gap_s


def drift(count: int, rate: float, **more: Any) -> Drift:
    return Drift(np.ones(count), np.full(count, rate), np.random.default_rng(1), **more)


@pytest.mark.parametrize("gap_s", [0.5, 1.0, 4.0])
def test_random_changes_and_even_visits_give_the_freshness_of_the_book(gap_s: float) -> None:
    budget = Budget(requests_per_s=1_000 / gap_s, span_s=400.0, window_s=0.05, replan_s=1e9)
    done = run(drift(500, 1.0), Evenly(500, gap_s), budget)
    assert done.freshness == pytest.approx((1 - np.exp(-gap_s)) / gap_s, rel=0.02)
    assert done.changes_found / done.visits == pytest.approx(1 - np.exp(-gap_s), rel=0.03)


def test_a_period_longer_than_the_interval_is_seen_every_time() -> None:
    pages = drift(400, 0.1, is_periodic=np.ones(400, np.bool_))
    budget = Budget(requests_per_s=1_000.0, span_s=200.0, window_s=0.02, replan_s=1e9)
    done = run(pages, Evenly(400, 1.0), budget)
    assert done.freshness == pytest.approx(1 - 0.5 / 10.0, rel=0.01)
    assert done.changes_found == pytest.approx(400 * 200 * 0.1, rel=0.02)


def test_only_the_time_asked_for_is_measured() -> None:
    never_visited = drift(100, 0.01, measured_from=300.0)
    assert never_visited.freshness(400.0) == pytest.approx(np.exp(-3.0) * (1 - np.exp(-1.0)))


def test_the_budget_is_never_exceeded_and_nearly_used() -> None:
    rng = np.random.default_rng(3)
    rates, importance = rng.lognormal(0.0, 1.0, 300) / 100, rng.pareto(1.0, 300) + 0.1
    watchlist = Watchlist(0.003)
    for key in range(300):
        watchlist.add(key, key % 7, float(importance[key]), None, 0.0)
    budget = Budget(requests_per_s=3.0, span_s=5_000.0, window_s=1.0, replan_s=50.0)
    done = run(Drift(importance, rates, rng), Watched(watchlist, 3.0), budget)
    assert 0.9 * 15_000 < done.visits <= 15_000


def test_the_plan_alone_keeps_to_the_budget() -> None:
    """Nobody counts here but the watchlist: as many pages as it likes may be taken."""
    rng = np.random.default_rng(3)
    watchlist = Watchlist(0.01)
    for key in range(400):
        watchlist.add(key, key % 7, float(rng.pareto(1.0)) + 0.1, None, 0.0)
    visits = 0
    for second in range(4_000):
        if second % 20 == 0:
            watchlist.replan(second, 2.0)
        for key in watchlist.take_due(second, second + 1.0, 10_000):
            watchlist.visited(key, second + 1.0, changed=rng.random() < 0.3)
            visits += 1
    assert visits <= 2.0 * 4_000 * 1.1


def test_learning_comes_close_to_what_the_true_rates_allow() -> None:
    rng = np.random.default_rng(5)
    count = 200
    rates, importance = rng.lognormal(0.0, 1.0, count) / 60, 1.0 / np.arange(1, count + 1)
    learner, knower = Watchlist(1 / 300), Watchlist(1 / 300)
    for key in range(count):
        learner.add(key, key % 5, float(importance[key]), None, 0.0)
    budget = Budget(requests_per_s=4.0, span_s=4_000.0, window_s=0.5, replan_s=50.0)
    pages = Drift(importance, rates, rng, measured_from=1_500.0)
    found = predict(pages, learner, budget)
    for key in range(count):
        knower.add(key, key, float(importance[key]), Belief(1e9, 1e9 / float(rates[key])), 0.0)
    knower.replan(0.0, 4.0)
    assert found == pytest.approx(knower.expected_freshness(), rel=0.04)
