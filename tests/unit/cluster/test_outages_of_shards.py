"""What follows from the outages of all shards together."""

import msgspec
import pytest
from msgspec.structs import replace

from gossamer.cluster.orders import OutageOrders, Outages, ShardOutages

BUSY = ShardOutages(hosts=20, answered_hosts=10, answered_s=0.0)
FAILING = ShardOutages(
    hosts=20, answered_hosts=10, answered_s=9.0, failed_s=(0.0, 1.0, 2.0, 3.0, 4.0)
)
WAITING = ShardOutages(is_waiting=True, parked_hosts=1, hosts=20, answered_hosts=10)
IDLE = ShardOutages(is_waiting=True, hosts=3)


def watched(*shards: ShardOutages, now: float = 100.0, wait_at_end_s: float = 60.0) -> Outages:
    outages = Outages(len(shards), wait_at_end_s)
    tell(outages, *shards, now=now)
    return outages


def tell(outages: Outages, *shards: ShardOutages, now: float) -> None:
    for number, told in enumerate(shards):
        outages.note(number, told, now)
    outages.look(now)


def test_five_hosts_that_fail_together_mean_that_the_network_is_away() -> None:
    assert watched(FAILING).is_network_away


def test_four_of_ten_do_not() -> None:
    assert not watched(replace(FAILING, failed_s=(0.0, 1.0, 2.0, 3.0))).is_network_away


def test_hosts_of_all_shards_count_together() -> None:
    two, three = (replace(FAILING, failed_s=tuple(map(float, range(n)))) for n in (2, 3))
    assert watched(two, three).is_network_away
    assert not watched(two, two).is_network_away


def test_all_of_fewer_than_five_hosts_mean_it_too() -> None:
    three = replace(FAILING, answered_hosts=3, failed_s=(0.0, 1.0, 2.0))
    assert watched(three).is_network_away
    assert not watched(replace(three, failed_s=(0.0, 1.0))).is_network_away


def test_one_host_alone_never_does() -> None:
    assert not watched(replace(FAILING, answered_hosts=1, failed_s=(0.0,))).is_network_away


@pytest.mark.parametrize(("oldest_s", "is_away"), [(30.0, True), (30.1, False)])
def test_they_must_fail_within_half_a_minute(oldest_s: float, *, is_away: bool) -> None:
    told = replace(FAILING, answered_s=40.0, failed_s=(0.0, 1.0, 2.0, 3.0, oldest_s))
    assert watched(told).is_network_away is is_away


def test_failures_before_an_answer_of_any_shard_do_not_count() -> None:
    assert not watched(FAILING, replace(BUSY, answered_s=3.5)).is_network_away
    assert watched(FAILING, replace(BUSY, answered_s=4.0)).is_network_away


def test_nothing_is_concluded_before_every_shard_has_spoken() -> None:
    outages = Outages(2, 60.0)
    outages.note(0, FAILING, 100.0)
    outages.look(100.0)
    assert not outages.is_network_away


def test_hosts_that_failed_without_any_answer_in_this_run_count() -> None:
    assert watched(replace(FAILING, answered_s=None)).is_network_away


def test_the_network_is_away_until_somebody_answers() -> None:
    outages = watched(FAILING)
    quiet = replace(FAILING, failed_s=())
    tell(outages, replace(quiet, answered_s=1009.0), now=1100.0)
    assert outages.is_network_away
    tell(outages, replace(quiet, answered_s=0.5), now=1101.0)
    assert not outages.is_network_away


def test_one_host_is_asked_every_ten_seconds_in_turn_over_the_shards() -> None:
    failing = replace(FAILING, answered_s=None)
    outages = watched(failing, failing)
    asked = []
    for second in range(101, 131):
        tell(outages, failing, failing, now=float(second))
        asked.append([outages.orders(shard, float(second)).asks for shard in (0, 1)])
    assert asked[8] == [0, 0]
    assert asked[9] == [1, 0]
    assert asked[19] == [1, 1]
    assert asked[-1] == [2, 1]


def test_a_shard_without_hosts_that_answered_is_not_told_to_ask() -> None:
    shards = replace(IDLE, is_waiting=False), replace(FAILING, answered_s=None)
    outages = watched(*shards)
    tell(outages, *shards, now=110.0)
    assert [outages.orders(shard, 110.0).asks for shard in (0, 1)] == [0, 1]


def test_hosts_are_given_up_only_when_nothing_but_parked_hosts_is_left_anywhere() -> None:
    outages = watched(WAITING, replace(BUSY, is_waiting=False))
    tell(outages, WAITING, replace(BUSY, is_waiting=False), now=103.0)
    assert outages.orders(0, 103.0) == OutageOrders()
    tell(outages, WAITING, IDLE, now=104.0)
    assert outages.orders(0, 105.9) == OutageOrders()
    assert outages.orders(0, 106.0) == OutageOrders(give_up_after=4)
    assert outages.orders(1, 106.0) == OutageOrders(give_up_after=4)


def test_the_only_host_of_a_crawl_is_given_up_after_one_probe() -> None:
    alone = replace(WAITING, hosts=1, answered_hosts=0)
    outages = watched(alone, replace(IDLE, hosts=0))
    assert outages.orders(0, 102.0).give_up_after == 1


def test_shards_that_are_merely_idle_wait_for_nobody() -> None:
    outages = watched(IDLE, IDLE)
    assert outages.orders(0, 200.0) == OutageOrders()
    assert outages.seconds_to_end(200.0) is None


def test_the_crawl_ends_when_it_has_waited_long_enough() -> None:
    outages = watched(WAITING)
    assert outages.seconds_to_end(101.9) is None
    assert outages.seconds_to_end(102.0) == 58.0
    tell(outages, WAITING, now=161.0)
    assert outages.seconds_to_end(161.0) == 0.0


def test_the_wait_begins_anew_when_something_else_was_to_be_done() -> None:
    outages = watched(WAITING)
    tell(outages, replace(WAITING, is_waiting=False), now=150.0)
    assert outages.seconds_to_end(155.0) is None
    tell(outages, WAITING, now=160.0)
    assert outages.seconds_to_end(170.0) == 50.0


def test_a_failed_probe_that_is_committed_does_not_begin_the_wait_anew() -> None:
    outages = watched(WAITING)
    tell(outages, replace(WAITING, is_waiting=False), now=150.0)
    assert outages.seconds_to_end(150.0) is None
    assert outages.orders(0, 150.0).give_up_after is None
    tell(outages, WAITING, now=154.9)
    assert outages.seconds_to_end(155.0) == 5.0


def test_a_shard_that_died_is_waited_for() -> None:
    outages = watched(WAITING, WAITING)
    outages.lost(1)
    outages.look(110.0)
    assert outages.seconds_to_end(120.0) is None


def test_no_clock_runs_while_the_network_is_away() -> None:
    waiting = replace(WAITING, answered_s=9.0, failed_s=FAILING.failed_s)
    outages = watched(WAITING)
    tell(outages, waiting, now=103.0)
    assert outages.is_network_away
    tell(outages, replace(waiting, answered_s=4906.0, failed_s=()), now=5000.0)
    assert outages.seconds_to_end(5000.0) is None
    assert outages.orders(0, 5000.0).give_up_after is None
    tell(outages, replace(WAITING, answered_s=0.0), now=5001.0)
    tell(outages, replace(WAITING, answered_s=1.0), now=5002.0)
    assert outages.seconds_to_end(5010.0) is not None
    assert not outages.is_network_away


def test_an_answer_of_the_moment_in_which_the_network_went_does_not_bring_it_back() -> None:
    outages = watched(FAILING, now=100.0)
    tell(outages, replace(FAILING, answered_s=1.0), now=101.0)
    assert outages.is_network_away
    tell(outages, replace(FAILING, answered_s=0.5), now=101.0)
    assert not outages.is_network_away


def test_what_a_shard_says_once_a_second_is_sent_without_names() -> None:
    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(BUSY))
    assert sent == [False, 0, 20, 10, 0.0, []]
