"""Whatever happens to a watchlist, a page is due when it should be, and never while it is out."""

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.examples import examples

from gossamer.frontier.revisit import DEFAULT_PRIOR, Belief, Watchlist, first_belief, learn
from gossamer.frontier.revisit.change_rate import MOST_CHANGES

RATES = st.floats(1e-9, 1e3)
TIMES = st.floats(1e-3, 1e9)
KEYS = st.one_of(st.integers(0, 40), st.sampled_from([2**40, 2**63, 2**64 - 1]))


@given(RATES, st.lists(st.tuples(TIMES, st.booleans(), st.none() | TIMES), max_size=40))
def test_a_belief_moves_the_right_way_and_stays_sane(
    prior: float, visits: list[tuple[float, bool, float | None]]
) -> None:
    belief = first_belief(prior)
    for elapsed_s, changed, age_s in visits:
        after = learn(belief, elapsed_s, changed=changed, modified_ago_s=age_s)
        assert 0.0 < after.a <= MOST_CHANGES
        assert 0.0 < after.b < math.inf
        before_mean, after_mean = belief.a / belief.b, after.a / after.b
        if not changed:
            assert after_mean <= before_mean
        elif age_s is None or age_s > elapsed_s:
            assert after_mean >= before_mean * (1 - 1e-9)
        belief = after


@given(st.floats(2.0, MOST_CHANGES), TIMES, TIMES)
def test_a_visit_never_unlearns_what_was_known(a: float, b: float, elapsed_s: float) -> None:
    after = learn(Belief(a, b), elapsed_s, changed=True)
    if after.b == elapsed_s:  # it was unlike anything believed
        assert after.a / after.b > a / b
        return
    scale = after.a / MOST_CHANGES if after.a == MOST_CHANGES else 1.0
    assert after.a >= min(a, MOST_CHANGES) * (1 - 1e-9)
    assert after.b * scale >= b * (1 - 1e-9) * a / (a + 1)


@given(
    gap_s=st.floats(1.0, 3.2e7),
    visits_per_change=st.floats(0.5, 8.0),
    prior_s=st.floats(1.0, 3.2e8),
    seed=st.integers(0, 2**32),
)
def test_a_belief_converges_to_any_rate_from_any_prior(
    gap_s: float, visits_per_change: float, prior_s: float, seed: int
) -> None:
    """From a change per second to one per year, whatever was believed before."""
    rng, belief = Random(seed), first_belief(1.0 / prior_s)
    elapsed_s = gap_s / visits_per_change
    chance = -math.expm1(-elapsed_s / gap_s)
    for _ in range(400):
        belief = learn(belief, elapsed_s, changed=rng.random() < chance)
    assert gap_s / 4 < belief.b / belief.a < 4 * gap_s


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.floats(1.0, 1e6), st.data())
def test_a_visit_that_found_a_change_never_makes_a_page_seem_slower(
    found: list[bool], elapsed_s: float, data: st.DataObject
) -> None:
    """Of two histories that differ in one visit, the one with the change believes more changes."""
    belief = first_belief(DEFAULT_PRIOR)
    place = data.draw(st.integers(0, len(found) - 1))
    beliefs = []
    for said in (False, True):
        belief = first_belief(DEFAULT_PRIOR)
        for changed in [*found[:place], said, *found[place + 1 :]]:
            belief = learn(belief, elapsed_s, changed=changed)
        beliefs.append(belief.a / belief.b)
    assert beliefs[1] >= beliefs[0] * (1 - 1e-9)


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(
    pages=st.lists(
        st.tuples(RATES, st.floats(1e-6, 1e6), st.integers(0, 3)), min_size=1, max_size=30
    ),
    per_s=st.floats(1e-6, 1e3),
    has_limits=st.booleans(),
)
def test_one_page_is_planned_as_all_are(
    pages: list[tuple[float, float, int]], per_s: float, *, has_limits: bool
) -> None:
    """Adding a page again computes its moment alone; `replan` computes those of all at once."""
    watchlist = Watchlist(1e-3)
    for key, (rate, importance, host) in enumerate(pages):
        watchlist.add(key, host, importance, first_belief(rate), 0.0)
        watchlist.hint(key, 0.0)
    watchlist.replan(0.0, per_s, (lambda host: per_s * (host + 1) / 8) if has_limits else None)
    for key, (_, importance, host) in enumerate(pages):
        planned = watchlist.planned(key)
        watchlist.add(key, host, importance, None, 0.0)
        alone = watchlist.planned(key)
        assert planned is not None
        assert alone is not None
        assert alone.due_at == pytest.approx(planned.due_at, rel=1e-2, abs=1e-3 / per_s)


class WatchMachine(RuleBasedStateMachine):
    """A watchlist beside a plain dictionary of what must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.watchlist = Watchlist(0.01)
        self.watched: set[int] = set()
        self.out: set[int] = set()
        self.held: dict[int, float] = {}

    @rule(key=KEYS, importance=st.floats(0.0, 10.0))
    def add(self, key: int, importance: float) -> None:
        self.watchlist.add(key, key % 3, importance, None, self.now)
        self.watched.add(key)
        self.held.pop(key, None)

    @rule(key=KEYS)
    def remove(self, key: int) -> None:
        self.watchlist.remove(key)
        for known in (self.watched, self.out):
            known.discard(key)
        self.held.pop(key, None)

    @rule(per_s=st.floats(1e-3, 10.0), has_limits=st.booleans())
    def replan(self, per_s: float, *, has_limits: bool) -> None:
        limit = (lambda host: 0.1 * per_s * host) if has_limits else None
        self.watchlist.replan(self.now, per_s, limit)

    @rule(ahead_s=st.floats(0.0, 1e4), at_most=st.integers(0, 10))
    def take(self, ahead_s: float, at_most: int) -> None:
        until = self.now + ahead_s
        first = self.watchlist.next_due_at()
        taken = self.watchlist.take_due(self.now, until, at_most)
        assert len(taken) == len(set(taken)) <= at_most
        assert set(taken) <= self.watched - self.out
        assert bool(taken) == (first is not None and first <= until and at_most > 0)
        assert all(self.held.pop(key, 0.0) <= until for key in taken)
        self.out |= set(taken)

    @rule(changed=st.booleans(), age_s=st.none() | st.floats(0.0, 1e4))
    def end_visits(self, age_s: float | None, *, changed: bool) -> None:
        for key in self.out:
            belief = self.watchlist.visited(key, self.now, changed=changed, modified_ago_s=age_s)
            assert belief.a > 0.0
            assert belief.b > 0.0
        self.out.clear()

    @rule(wait_s=st.floats(0.0, 1e5))
    def give_back(self, wait_s: float) -> None:
        for key in sorted(self.out)[:2]:
            self.watchlist.give_back(key, self.now + wait_s)
            self.held[key] = self.now + wait_s
            self.out.discard(key)

    @rule(key=KEYS)
    def hint(self, key: int) -> None:
        self.watchlist.hint(key, self.now)

    @rule(seconds=st.floats(0.0, 1e4))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def everything_watched_is_planned(self) -> None:
        assert len(self.watchlist) == len(self.watched)
        moments = []
        for key in self.watched:
            planned = self.watchlist.planned(key)
            assert planned is not None
            if key in self.out:
                assert planned.due_at is None
            elif planned.due_at is not None:
                moments.append(planned.due_at)
        assert self.watchlist.next_due_at() == min(moments, default=None)


TestWatchlist = WatchMachine.TestCase
TestWatchlist.settings = settings(max_examples=examples(40), stateful_step_count=30, deadline=None)
