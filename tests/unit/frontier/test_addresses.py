"""Hosts that share an address: the gap that each leaves, and who is to try when."""

import pickle

import pytest

from gossamer.config import PolitenessConfig
from gossamer.frontier import politeness
from gossamer.frontier.politeness import (
    ADDRESS_DELAY,
    LATE_S,
    MAX_AHEAD,
    AddressGaps,
    AddressQueues,
    AddressWait,
    HostDelays,
    address_gap_s,
)

HERE, THERE = "127.0.0.1", "127.0.0.2"
GAP_S = 0.25


def test_the_reason_of_a_host_that_waits_for_its_address_has_its_old_name() -> None:
    assert ADDRESS_DELAY == "address_delay"


def test_delay_zero_sets_the_address_gap_to_zero_too() -> None:
    assert address_gap_s(PolitenessConfig(delay_s=0.0)) == 0.0
    assert address_gap_s(PolitenessConfig()) == 0.25


def test_the_gap_of_an_address_is_never_longer_than_that_of_its_hosts() -> None:
    assert address_gap_s(PolitenessConfig(min_delay_s=0.1)) == 0.1
    assert address_gap_s(PolitenessConfig(delay_s=0.2)) == 0.2
    assert address_gap_s(PolitenessConfig(delay_s=9.0)) == 0.25


def test_a_host_leaves_the_gap_that_it_wants_itself() -> None:
    own = {"quick.test": 0.0, "tenth.test": 0.1, "slow.test": 9.0}
    gaps = AddressGaps(HostDelays(PolitenessConfig(), own))
    found = [gaps.of(host) for host in ("quick.test", "tenth.test", "slow.test", "other.test")]
    assert found == [0.0, 0.1, 0.25, 0.25]
    assert gaps.longest_s == 0.25
    assert AddressGaps(HostDelays(PolitenessConfig(delay_s=0.0), {"a.test": 0.1})).longest_s == 0.1
    assert AddressGaps(HostDelays(PolitenessConfig())).of("any.test") == 0.25
    assert AddressGaps(HostDelays(PolitenessConfig())).longest_s == 0.25


def wait(queues: AddressQueues, host: str, free_at: float, now: float = 0.0) -> float:
    return queues.wait(host, HERE, GAP_S, free_at, now)


def test_hosts_try_one_after_the_other_in_the_order_they_came() -> None:
    queues = AddressQueues()
    assert [wait(queues, host, 5.0) for host in "abc"] == [5.0, 5.25, 5.5]
    assert queues.wait("d", THERE, GAP_S, 7.0, 0.0) == 7.0


def test_a_host_that_tries_again_keeps_its_place() -> None:
    queues = AddressQueues()
    for host in "abc":
        wait(queues, host, 5.0)
    assert wait(queues, "b", 6.0, now=5.0) == 6.25
    queues.leave("a")
    assert [wait(queues, host, 6.0, now=5.0) for host in "cb"] == [6.25, 6.0]
    assert wait(queues, "a", 6.0, now=5.0) == 6.5


def test_a_host_that_does_not_come_at_its_moment_is_not_waited_for() -> None:
    queues = AddressQueues()
    for host in "abc":
        wait(queues, host, 5.0)
    assert wait(queues, "c", 6.0, now=5.0 + LATE_S) == 6.5
    assert wait(queues, "c", 6.0, now=5.01 + LATE_S) == 6.25
    assert queues.of("a") is None
    assert wait(queues, "a", 6.0, now=5.01 + LATE_S) == 6.5


def test_the_last_of_a_queue_that_is_late_leaves_no_empty_queue_behind() -> None:
    queues = AddressQueues()
    wait(queues, "a", 5.0)
    assert wait(queues, "b", 9.0, now=8.0) == 9.0
    assert queues.longest(9, 9.0) == {HERE: 1}
    queues.leave("b")
    queues.leave("b")
    assert queues.longest(9, 0.0) == {}
    assert wait(queues, "c", 9.0) == 9.0


def test_nobody_is_sent_further_away_than_a_minute() -> None:
    assert MAX_AHEAD * GAP_S == 60.0
    queues = AddressQueues()
    moments = [wait(queues, f"h{number}", 0.0) for number in range(MAX_AHEAD + 5)]
    assert moments == [GAP_S * min(number, MAX_AHEAD) for number in range(MAX_AHEAD + 5)]


def test_a_host_whose_name_leads_elsewhere_by_now_waits_there() -> None:
    queues = AddressQueues()
    wait(queues, "a", 5.0)
    wait(queues, "b", 5.0)
    assert queues.wait("a", THERE, GAP_S, 7.0, 0.0) == 7.0
    assert wait(queues, "b", 5.0) == 5.0
    assert queues.of("a") == AddressWait(THERE, 0)


def test_it_is_known_what_a_host_waits_for_and_who_else_does() -> None:
    queues = AddressQueues()
    for host in "abc":
        wait(queues, host, 5.0)
    queues.wait("d", THERE, GAP_S, 7.0, 0.0)
    assert queues.of("b") == AddressWait(HERE, 2)
    assert queues.of("nobody") is None
    assert queues.longest(1, 0.0) == {HERE: 3}
    assert queues.longest(5, 5.25 + LATE_S) == {HERE: 2, THERE: 1}
    assert queues.longest(5, 6.0 + LATE_S) == {THERE: 1}
    assert queues.longest(5, 9.0) == {}


def test_queues_of_hosts_that_are_gone_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(politeness, "ADDRESSES_KEPT", 4)
    queues = AddressQueues()
    for number in range(4):
        assert queues.of(f"old{number}") is None
        queues.wait(f"old{number}", f"10.0.0.{number}", GAP_S, 1.0, 9.0)
    assert queues.of("old0") == AddressWait("10.0.0.0", 0)
    queues.wait("new", HERE, GAP_S, 9.0, 1.0 + LATE_S)  # not yet late
    assert queues.of("old3") is not None
    for number in range(3):  # those that still wait are kept, and are not counted again at once
        queues.wait(f"new{number}", f"10.0.1.{number}", GAP_S, 9.0, 8.0)
        assert queues.of("old3") is not None
    queues.wait("last", THERE, GAP_S, 9.0, 8.0)
    assert queues.of("old3") is None
    assert len(queues.longest(99, 8.0)) == 5


def test_nothing_is_left_of_a_host_that_has_left() -> None:
    queues = AddressQueues()
    before = pickle.dumps(vars(queues))
    for host in "abc":
        wait(queues, host, 5.0)
    for host in "bac":
        queues.leave(host)
    assert pickle.dumps(vars(queues)) == before
