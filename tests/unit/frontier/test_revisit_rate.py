"""How often a page changes, learned from visits."""

import random

import pytest

from gossamer.frontier.revisit import DEFAULT_PRIOR, Belief, first_belief, learn
from gossamer.frontier.revisit.change_rate import MOST_CHANGES


def mean(belief: Belief) -> float:
    return belief.a / belief.b


def test_a_first_belief_is_its_prior() -> None:
    assert mean(first_belief(0.25)) == pytest.approx(0.25)


@pytest.mark.parametrize("prior", [0.04, 0.2, 1.0])
@pytest.mark.parametrize("gap", [0.1, 1.0, 3.0])
def test_the_estimate_has_no_bias_that_stays(prior: float, gap: float) -> None:
    rng = random.Random(4)
    estimates = []
    for _ in range(200):
        belief = first_belief(prior)
        for _ in range(100 + int(60 / gap)):
            elapsed = rng.lognormvariate(0.0, 1.0) * gap
            changed = rng.expovariate(1.0) < elapsed
            belief = learn(belief, elapsed, changed=changed)
        estimates.append(mean(belief))
    assert 0.75 < sum(estimates) / len(estimates) < 1.25


def test_dates_tell_more_than_changed_alone() -> None:
    """Visits every 5 changes nearly always find one: only the date shows how long it is ago."""
    rng = random.Random(4)
    errors = {True: 0.0, False: 0.0}
    for _ in range(300):
        plain = dated = first_belief(0.2)
        for _ in range(10):
            age = rng.expovariate(1.0)
            plain = learn(plain, 5.0, changed=age < 5.0)
            dated = learn(dated, 5.0, changed=age < 5.0, modified_ago_s=age)
        errors[False] += abs(mean(plain) - 1.0)
        errors[True] += abs(mean(dated) - 1.0)
    assert errors[True] < 0.8 * errors[False]


@pytest.mark.parametrize("age", [-1.0, 0.0, 10.5])
def test_a_date_that_is_not_between_the_visits_is_ignored(age: float) -> None:
    belief = first_belief(0.1)
    plain = learn(belief, 10.0, changed=True)
    assert learn(belief, 10.0, changed=True, modified_ago_s=age) == plain


def test_a_change_within_no_time_counts_as_one() -> None:
    assert learn(Belief(2.0, 8.0), 0.0, changed=True) == Belief(3.0, 8.0, seen=1.0)


def test_a_belief_can_be_overturned_however_long_it_was_held() -> None:
    belief = first_belief(1.0)
    for _ in range(1_000):
        belief = learn(belief, 1.0, changed=True)
    assert belief.a <= MOST_CHANGES
    for _ in range(40):
        belief = learn(belief, 20.0, changed=False)
    assert mean(belief) < 0.1


def test_the_prior_fades_with_everything_else_that_is_forgotten() -> None:
    after = learn(Belief(20.0, 100.0, 2.0, 40.0), 1.0, changed=True, modified_ago_s=0.5)
    assert after.a == MOST_CHANGES
    assert mean(after) == pytest.approx(21.0 / 100.5)
    assert (after.prior_a, after.prior_b) == pytest.approx((2.0 * 20 / 21, 40.0 * 20 / 21))


def test_a_page_a_thousand_times_quicker_than_its_prior_is_found_out() -> None:
    belief = Belief(2.0, 2_000.0, 2.0, 2_000.0)
    for _ in range(200):
        belief = learn(belief, 1.0, changed=True, modified_ago_s=0.9)
    assert 0.8 < mean(belief) < 1.3


def test_the_default_prior_is_slow() -> None:
    assert pytest.approx(1 / (150 * 86_400)) == DEFAULT_PRIOR


def test_the_first_change_of_a_page_that_is_too_fast_for_its_prior_counts() -> None:
    belief = learn(first_belief(DEFAULT_PRIOR), 5.0, changed=False)
    belief = learn(belief, 5.0, changed=True)
    assert mean(belief) == pytest.approx(0.1)


def test_a_change_that_was_to_be_expected_sooner_or_later_moves_a_belief_a_little() -> None:
    belief = first_belief(DEFAULT_PRIOR)
    for _ in range(100):
        belief = learn(belief, 86_400.0, changed=False)
    assert mean(learn(belief, 86_400.0, changed=True)) < 2 * mean(belief)
