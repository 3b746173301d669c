"""Best-first credit: what links get, and which grade it earns."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from orders.batches import grades_of, link_shares, unit_shares

from gossamer.frontier.order.best_first import (
    HOST_DISCOUNT,
    LOCAL,
    PASS_ON,
    SEED_CREDIT,
    unit_share,
)
from gossamer.frontier.order.grading import GRADES, grade_of

CREDITS = st.floats(min_value=0.0, max_value=2.0**100, width=32)
COUNTS = st.integers(min_value=0, max_value=10**9)
PAGES = st.lists(st.tuples(CREDITS, COUNTS, st.integers(0, 50)), max_size=20)


def test_a_page_of_an_unknown_domain_passes_on_a_unit_beside_its_credit() -> None:
    assert unit_share(2.0, 0, 3) == pytest.approx(0.85)


def test_a_page_of_a_domain_of_thirty_known_urls_passes_on_half_a_unit() -> None:
    assert unit_share(0.0, int(HOST_DISCOUNT), 1) == pytest.approx(0.85 / 2)


def test_a_page_without_links_has_a_share_that_nobody_gets() -> None:
    assert unit_share(1.0, 0, 0) == unit_share(1.0, 0, 1)


@given(CREDITS, COUNTS, st.integers(min_value=1, max_value=1000))
def test_links_together_get_what_the_page_passes_on_and_no_more(
    credit: float, known: int, links: int
) -> None:
    unit = 1 / (1 + known / HOST_DISCOUNT)
    assert unit_share(credit, known, links) * links == pytest.approx(PASS_ON * (credit + unit))


@given(CREDITS, COUNTS, st.integers(min_value=1, max_value=1000))
def test_a_larger_domain_never_earns_more(credit: float, known: int, links: int) -> None:
    assert unit_share(credit, known + 1, links) <= unit_share(credit, known, links)


def test_grades_are_powers_of_two_from_one_to_sixteen() -> None:
    given = [0.0, 2**-30, 2**-11, 0.49, 0.5, 1.0, 1.99, 2.0, 7.9, 8.0, SEED_CREDIT]
    assert [grade_of(credit) for credit in given] == [1, 1, 2, 11, 12, 13, 13, 14, 15, 16, 16]


@given(CREDITS)
def test_a_grade_is_the_clamped_logarithm(credit: float) -> None:
    expected = max(0, min(15, math.floor(math.log2(credit)) + 12)) + 1 if credit > 0 else 1
    assert grade_of(credit) == expected


@given(CREDITS, CREDITS)
def test_more_credit_never_has_a_lower_grade(one: float, other: float) -> None:
    low, high = sorted([one, other])
    assert 1 <= grade_of(low) <= grade_of(high) <= GRADES


@given(PAGES)
def test_a_batch_is_judged_as_page_by_page(pages: list[tuple[float, int, int]]) -> None:
    credit = np.array([page[0] for page in pages], np.float32)
    known = np.array([page[1] for page in pages], np.int64)
    links = np.array([page[2] for page in pages], np.int64)
    alone = [unit_share(float(c), int(k), int(n)) for c, k, n in pages]
    shares = unit_shares(credit, known, links)
    assert shares.dtype == np.float32
    assert shares.tolist() == np.array(alone, np.float32).tolist()
    assert grades_of(credit).tolist() == [grade_of(float(c)) for c in credit]


def test_a_link_within_the_domain_gets_a_quarter() -> None:
    shares = np.array([1.0, 8.0], np.float32)
    is_local = np.array([True, False, False, True, True])
    told = link_shares(shares, np.array([2, 3]), is_local)
    assert told.tolist() == [LOCAL, 1.0, 8.0, 2.0, 2.0]
    assert told.dtype == np.float32
