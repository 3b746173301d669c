"""What is on probation has a tenth of the requests while anything else waits, over all shards."""

import pytest

from gossamer.cluster import ProbationShare, ShardProbation
from gossamer.cluster.orders import ProbationOrders


def told(
    requests: int = 0, used: int = 0, *, wants: bool = True, is_waited: bool = True
) -> ShardProbation:
    return ShardProbation(is_waited=is_waited, wants=wants, requests=requests, used=used)


def share_of(*shards: tuple[ShardProbation, ShardProbation], at: float = 10.0) -> ProbationShare:
    """Return a share whose shards said one thing first and another later."""
    share = ProbationShare(len(shards))
    for moment, which in ((0.0, 0), (at, 1)):
        for number, both in enumerate(shards):
            share.note(number, both[which], moment)
    return share


@pytest.mark.parametrize(
    ("requests", "used", "granted"),
    [(0, 0, 0), (8, 0, 0), (9, 0, 1), (17, 0, 1), (18, 0, 2), (10, 1, 1), (18, 1, 1), (19, 1, 2),
     (100, 10, 10), (100, 50, 50)],
)  # fmt: skip
def test_one_of_ten_requests_may_go_to_what_is_on_probation(
    requests: int, used: int, granted: int
) -> None:
    share = share_of((told(), told(requests, used)))
    assert share.orders(0, None) == ProbationOrders(is_open=False, granted=granted)


@pytest.mark.parametrize(
    ("requests", "used_open", "granted"), [(90, 0, 10), (90, 81, 1), (90, 90, 0), (90, 99, 0)]
)
def test_requests_on_probation_while_nothing_else_waited_earn_no_share(
    requests: int, used_open: int, granted: int
) -> None:
    later = ShardProbation(wants=True, requests=requests, used_open=used_open)
    assert share_of((told(), later)).orders(0, None).granted == granted
    before = ShardProbation(wants=True, requests=500, used_open=400)
    after = ShardProbation(wants=True, requests=500 + requests, used_open=400 + used_open)
    assert share_of((before, after)).orders(0, None).granted == granted


def test_requests_before_the_first_report_do_not_count() -> None:
    share = share_of((told(900, 40), told(918, 40)))
    assert share.orders(0, None).granted == 42


@pytest.mark.parametrize(("later", "granted"), [(300.0, 10), (300.1, 0)])
def test_only_the_requests_of_the_last_five_minutes_count(later: float, granted: int) -> None:
    share = ProbationShare(1)
    share.note(0, told(), 0.0)
    share.note(0, told(90), 0.0)
    share.note(0, told(90), later)
    assert share.orders(0, None).granted == granted


@pytest.mark.parametrize(("second", "granted"), [(29.9, 0), (30.0, 10)])
def test_requests_are_counted_in_slices_of_thirty_seconds(second: float, granted: int) -> None:
    share = ProbationShare(1)
    share.note(0, told(), 0.0)
    share.note(0, told(90), second)
    share.note(0, told(90), 320.0)
    assert share.orders(0, None).granted == granted


def test_what_was_used_leaves_the_window_as_well() -> None:
    share = ProbationShare(1)
    share.note(0, told(), 0.0)
    share.note(0, told(10, 10), 1.0)
    share.note(0, told(100, 10), 100.0)
    assert share.orders(0, None).granted == 10
    share.note(0, told(100, 10), 301.0)
    assert share.orders(0, None).granted == 20


def test_a_shard_that_begins_again_counts_from_nothing_and_takes_nothing_back() -> None:
    share = share_of((told(100, 5), told(0, 0)))
    assert share.orders(0, None).granted == 0
    share.note(0, told(9, 0), 11.0)
    assert share.orders(0, None).granted == 1


def test_the_requests_of_all_shards_are_shared_among_those_that_want() -> None:
    share = share_of((told(), told(45)), (told(), told(36, 3)), (told(), told(30, wants=False)))
    granted = [share.orders(shard, None).granted for shard in range(3)]
    assert granted == [0 + 5, 3 + 4, 0]
    assert sum(granted) - 3 == (111 - 3) // 9 - 3


@pytest.mark.parametrize(("left", "granted"), [(None, 10), (200, 10), (99, 9), (9, 0), (0, 0)])
def test_a_tenth_of_the_pages_that_are_left_is_the_most(left: int | None, granted: int) -> None:
    assert share_of((told(), told(90))).orders(0, left).granted == granted


def test_when_nothing_else_waits_in_any_shard_there_is_no_limit() -> None:
    idle = told(90, 2, is_waited=False)
    share = share_of((told(), idle), (told(), idle))
    assert share.orders(0, None) == ProbationOrders(is_open=True, granted=2)
    share.note(1, told(90, 2), 11.0)
    assert share.orders(0, None) == ProbationOrders(is_open=False, granted=2 + 8)
    assert share.orders(1, 0) == ProbationOrders(is_open=False, granted=2)


def test_a_shard_that_wants_nothing_hears_whether_anything_waits() -> None:
    share = share_of((told(), told(90, 4, wants=False, is_waited=False)))
    assert share.orders(0, None) == ProbationOrders(is_open=True, granted=4)


def test_nothing_is_granted_before_all_shards_have_spoken() -> None:
    share = ProbationShare(2)
    assert share.orders(0, None) == ProbationOrders()
    share.note(0, told(), 0.0)
    share.note(0, told(90, 3, is_waited=False), 1.0)
    assert share.orders(0, None) == ProbationOrders(is_open=False, granted=3)
    assert share.orders(1, None) == ProbationOrders(is_open=False, granted=0)


def test_a_lost_shard_may_have_anything_waiting() -> None:
    idle = told(90, is_waited=False)
    share = share_of((told(), idle), (told(), idle))
    share.lost(1)
    assert share.orders(0, None) == ProbationOrders(is_open=False, granted=0)
    share.lost(1)
    share.note(1, told(5, is_waited=False), 12.0)
    assert share.orders(0, None).is_open
    assert share.orders(1, None).is_open


def test_what_a_lost_shard_had_requested_still_counts() -> None:
    share = share_of((told(), told(45)), (told(), told(45)))
    share.lost(1)
    share.note(1, told(0, wants=False), 12.0)
    assert share.orders(0, None).granted == 10


def test_before_a_shard_says_otherwise_something_waits_there() -> None:
    assert ShardProbation() == told(wants=False)
    assert ProbationOrders() == ProbationOrders(is_open=False, granted=0)
