"""Adaptive OPIC: credit is neither made nor lost, and a gift to all pages is one addition."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from orders.batches import opic_grades_of, opic_shares

from gossamer.frontier.order.opic import START_CREDIT, Lambda, opic_grade_of, opic_share

CREDITS = st.floats(min_value=0.0, max_value=1e6, width=32)
CRAWLS = st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=4)))
"""Fetches, one after another: which page of ten, and the pages that it links to."""


def test_nine_tenths_go_to_the_links_and_one_to_the_lambda_page() -> None:
    split = opic_share(10.0, 3)
    assert split.each == pytest.approx(3.0)
    assert split.to_lambda == pytest.approx(1.0)


def test_without_links_all_goes_to_the_lambda_page() -> None:
    assert opic_share(10.0, 0) == (0.0, 10.0)


@given(CREDITS, st.integers(0, 1000))
def test_a_page_gives_away_what_it_has(credit: float, links: int) -> None:
    each, to_lambda = opic_share(credit, links)
    assert each * links + to_lambda == pytest.approx(credit)


class NaivePages:
    """Adaptive OPIC as in the book: every gift of the Lambda page visits every page."""

    def __init__(self) -> None:
        self.credit: dict[int, float] = {}
        self.pot = 0.0

    def fetch(self, page: int, links: list[int]) -> None:
        for one in (page, *links):
            self.credit.setdefault(one, START_CREDIT)
        each, to_lambda = opic_share(self.credit[page], len(links))
        self.credit[page] = 0.0
        for link in links:
            self.credit[link] += each
        self.pot += to_lambda

    def spread(self) -> None:
        gift = self.pot / max(1, len(self.credit))
        self.credit = {page: credit + gift for page, credit in self.credit.items()}
        self.pot = 0.0


class LeveledPages:
    """The same with one level for all."""

    def __init__(self) -> None:
        self.stored: dict[int, float] = {}
        self.to_all = Lambda()

    def fetch(self, page: int, links: list[int]) -> None:
        for one in (page, *links):
            if one not in self.stored:
                self.stored[one] = self.to_all.meet()
        each, to_lambda = opic_share(self.stored[page] + self.to_all.level, len(links))
        self.stored[page] = -self.to_all.level
        for link in links:
            self.stored[link] += each
        self.to_all.pot += to_lambda


@given(CRAWLS, st.integers(1, 5))
def test_one_level_is_worth_as_much_as_a_visit_to_every_page(
    crawl: list[tuple[int, list[int]]], every: int
) -> None:
    naive, leveled = NaivePages(), LeveledPages()
    for turn, (page, links) in enumerate(crawl):
        naive.fetch(page, links)
        leveled.fetch(page, links)
        if turn % every == 0:
            naive.spread()
            leveled.to_all.spread()
    level = leveled.to_all.level
    assert {page: stored + level for page, stored in leveled.stored.items()} == pytest.approx(
        naive.credit
    )
    assert leveled.to_all.known == len(naive.credit)


@given(CRAWLS)
def test_credit_is_neither_made_nor_lost(crawl: list[tuple[int, list[int]]]) -> None:
    pages = LeveledPages()
    for turn, (page, links) in enumerate(crawl):
        pages.fetch(page, links)
        if turn % 3 == 0:
            pages.to_all.spread()
    to_all = pages.to_all
    total = sum(pages.stored.values()) + to_all.level * to_all.known + to_all.pot
    assert total == pytest.approx(START_CREDIT * to_all.known)


def test_the_lambda_page_survives_a_restart() -> None:
    to_all = Lambda(pot=1.5, level=0.25, known=7)
    kept = msgspec.msgpack.encode(to_all)
    assert msgspec.msgpack.decode(kept, type=Lambda) == to_all
    to_all.spread()
    assert to_all == Lambda(pot=0.0, level=0.25 + 1.5 / 7, known=7)


def test_a_lambda_page_that_knows_no_page_keeps_what_it_has() -> None:
    to_all = Lambda(pot=2.0)
    to_all.spread()
    assert to_all == Lambda(pot=2.0)


def test_a_page_with_nothing_but_its_start_has_the_lowest_grade() -> None:
    assert [opic_grade_of(credit) for credit in (0.0, 1.0, 1.5, 2.0, 9.0)] == [1, 1, 12, 13, 16]


@given(CREDITS, CREDITS)
def test_more_credit_never_has_a_lower_grade(one: float, other: float) -> None:
    low, high = sorted([one, other])
    assert opic_grade_of(low) <= opic_grade_of(high)


@given(st.lists(st.tuples(CREDITS, st.integers(0, 50)), max_size=20))
def test_a_batch_is_judged_as_page_by_page(pages: list[tuple[float, int]]) -> None:
    credit = np.array([page[0] for page in pages], np.float32)
    links = np.array([page[1] for page in pages], np.int64)
    alone = [opic_share(float(one), count) for one, count in zip(credit, links, strict=True)]
    each, to_lambda = opic_shares(credit, links)
    assert each.tolist() == np.array([split.each for split in alone], np.float32).tolist()
    assert to_lambda == pytest.approx(sum(split.to_lambda for split in alone))
    excess = credit - np.float32(START_CREDIT)
    beyond = [opic_grade_of(float(one) + START_CREDIT) for one in excess]
    assert opic_grades_of(credit).tolist() == beyond
