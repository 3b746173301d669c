"""The budget of a watch: never more than the rate, looks first, new pages with what they may."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.crawl.revisit.budget import RequestBudget

STEPS = st.lists(
    st.tuples(st.floats(0.0, 3.0), st.integers(0, 50), st.booleans()), min_size=1, max_size=60
)


@given(st.floats(0.01, 200.0), st.floats(0.0, 1.0), STEPS)
def test_no_more_is_asked_than_the_rate_and_one_burst_allow(
    rate: float, share: float, steps: list[tuple[float, int, bool]]
) -> None:
    budget = RequestBudget(rate, share, 0.0, 0)
    now, requests = 0.0, 0
    for elapsed_s, wanted, _ in steps:
        now += elapsed_s
        budget.pass_time(now, requests)
        requests += min(wanted, budget.left(0))
        assert requests <= rate * now + max(1.0, rate) + 1e-6


@given(st.floats(0.1, 100.0), STEPS)
def test_what_is_under_way_counts_as_asked(
    rate: float, steps: list[tuple[float, int, bool]]
) -> None:
    budget = RequestBudget(rate, 0.5, 0.0, 0)
    now, requests, in_flight = 0.0, 0, 0
    for elapsed_s, wanted, ends in steps:
        now += elapsed_s
        if ends:
            requests, in_flight = requests + in_flight, 0
        budget.pass_time(now, requests)
        in_flight += min(wanted, budget.left(in_flight))
        assert requests + in_flight <= rate * now + max(1.0, rate) + 1e-6


def test_the_next_request_may_be_begun_when_it_is_said() -> None:
    budget = RequestBudget(4.0, 0.5, 0.0, 100)
    budget.pass_time(0.0, 101)
    assert budget.left(0) == 0
    assert budget.next_at(0) == 0.25
    budget.pass_time(0.25, 101)
    assert budget.left(0) == 1


def test_new_pages_get_their_share_and_what_looks_leave() -> None:
    budget = RequestBudget(10.0, 0.2, 0.0, 0)
    new = looks = 0
    for step in range(1, 1001):
        budget.pass_time(step / 100, new + looks)
        if budget.may_crawl(0):
            budget.spent_on_new()
            new += 1
        elif budget.left(0):
            looks += 1
    assert new + looks >= 99
    assert 18 <= new <= 35
    idle = RequestBudget(10.0, 0.2, 0.0, 0)
    new = 0
    for step in range(1, 1001):
        idle.pass_time(step / 100, new)
        if idle.may_crawl(0):
            idle.spent_on_new()
            new += 1
    assert new >= 90


def test_a_share_of_nothing_has_no_next_moment() -> None:
    budget = RequestBudget(1.0, 0.0, 0.0, 0)
    budget.pass_time(0.0, 1)
    assert budget.next_new_at(0) is None
    assert budget.for_revisits(has_new=True) == 1.0
    assert RequestBudget(2.0, 0.25, 0.0, 0).for_revisits(has_new=True) == 1.5
