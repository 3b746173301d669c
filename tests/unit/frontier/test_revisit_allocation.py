"""The budget goes where it buys most, and every page gets something."""

import numpy as np
import pytest
from revisits.policies import plan_visits

from gossamer.frontier.revisit.allocation import (
    Demand,
    find_level,
    freshness,
    phase,
    phases,
    share_out,
    spread,
    spreads,
    visit_rates,
)


def demand_of(count: int, seed: int = 1, floor: float = 0.0) -> Demand:
    rng = np.random.default_rng(seed)
    importance, rate = rng.pareto(1.0, count) + 0.01, rng.lognormal(0.0, 1.5, count)
    return Demand(np.sqrt(importance * rate), rate, np.full(count, floor))


@pytest.mark.parametrize("budget", [0.001, 1.0, 50.0, 1e5])
@pytest.mark.parametrize("start", [0.0, 1e-9, 0.3, 1e9])
def test_the_level_spends_the_budget_wherever_the_search_starts(
    budget: float, start: float
) -> None:
    demand = demand_of(1_000)
    level = find_level(demand, budget, start)
    assert visit_rates(demand, level).sum() == pytest.approx(budget, rel=1e-3)


def test_no_visit_would_bring_more_elsewhere() -> None:
    """At random moments freshness is f / (f + rate), for which the rule is exact."""
    demand = demand_of(40)
    importance = demand.gain**2 / demand.rate
    visits = visit_rates(demand, find_level(demand, 20.0))
    gain = importance * demand.rate / (visits + demand.rate) ** 2
    visited = visits > 0.0
    assert np.ptp(gain[visited]) < 1e-3 * gain[visited].mean()
    assert gain[~visited].max(initial=0.0) <= gain[visited].min() * 1.001


def test_even_intervals_come_close_to_the_best_that_can_be_found_by_trying() -> None:
    rng = np.random.default_rng(2)
    importance, rate = rng.pareto(1.0, 4) + 0.1, rng.lognormal(0.0, 1.0, 4)
    keys = np.arange(4, dtype=np.uint64)
    ours = (importance * freshness(rate, plan_visits(keys, importance, rate, 3.0))).sum()
    steps = np.linspace(1e-6, 3.0, 41)
    first, second, third = (axis.ravel() for axis in np.meshgrid(steps, steps, steps))
    fourth = 3.0 - first - second - third
    tried = np.stack((first, second, third, fourth))[:, fourth > 0.0]
    best = (importance[:, None] * freshness(rate[:, None], tried)).sum(axis=0).max()
    assert 0.97 * best < ours <= best * 1.001


def test_a_host_gets_no_more_than_it_allows_and_the_rest_goes_to_others() -> None:
    demand = demand_of(600, floor=1e-3)
    host = np.arange(600) % 6
    most = np.array([0.5, 1.0, 2.0, 1e9, 1e9, 1e9])
    level, shares = share_out(demand, host, most, 40.0)
    loads = np.bincount(host, visit_rates(demand, shares.level[host], shares.floor[host]))
    assert (loads <= most * 1.001).all()
    assert loads.sum() == pytest.approx(40.0, rel=0.01)
    assert level > find_level(demand, 40.0)


def test_where_no_host_allows_enough_each_gets_what_it_allows() -> None:
    demand = demand_of(300, floor=1e-2)
    host = np.arange(300) % 3
    most = np.array([0.5, 0.2, 3.0])
    _, shares = share_out(demand, host, most, 1_000.0)
    loads = np.bincount(host, visit_rates(demand, shares.level[host], shares.floor[host]))
    assert loads == pytest.approx(most, rel=1e-2)


def test_pages_that_are_worth_nothing_get_their_floor() -> None:
    demand = Demand(np.zeros(10), np.ones(10), np.full(10, 0.01))
    assert visit_rates(demand, find_level(demand, 5.0)) == pytest.approx(np.full(10, 0.01))


def test_spread_and_phase_of_many_keys_are_those_of_each() -> None:
    keys = [0, 1, 2, 977, 2**40, 2**63, 2**64 - 1]
    column = np.array(keys, np.uint64)
    assert spreads(column).tolist() == [spread(key) for key in keys]
    assert phases(column).tolist() == pytest.approx([phase(key) for key in keys])
    assert all(0.0 <= spread(key) < 1.0 and 0.0 < phase(key) <= 1.0 for key in keys)
