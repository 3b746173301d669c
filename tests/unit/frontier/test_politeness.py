import pytest

from gossamer.config import PolitenessConfig
from gossamer.frontier.outage import THROTTLES, FailureClass, HostFailure
from gossamer.frontier.politeness import (
    HostAnswer,
    HostDelays,
    gap_after_fetch,
    gap_after_throttle,
    note_answer,
    note_restart,
)
from gossamer.frontier.rows import HostOutage, HostState


def gap(latency_s: float, crawl_delay_s: float | None = None, **knobs: float) -> tuple[float, str]:
    found = gap_after_fetch(
        PolitenessConfig(**knobs), latency_s=latency_s, crawl_delay_s=crawl_delay_s
    )
    return found.seconds, found.reason


def test_a_quick_host_waits_the_minimum() -> None:
    assert gap(0.01) == (1.0, "min_delay")


def test_a_slow_host_waits_ten_times_what_it_took() -> None:
    assert gap(0.5) == (5.0, "adaptive_delay")


def test_the_adaptive_gap_is_capped() -> None:
    assert gap(60.0) == (30.0, "adaptive_delay")


def test_a_crawl_delay_is_never_capped() -> None:
    assert gap(0.1, crawl_delay_s=500.0) == (500.0, "crawl_delay")


def test_a_fixed_delay_replaces_minimum_and_adaptive_gap() -> None:
    assert gap(60.0, delay_s=0.0) == (0.0, "fixed_delay")


def test_a_crawl_delay_holds_against_a_fixed_delay() -> None:
    assert gap(0.1, crawl_delay_s=1.0, delay_s=0.0) == (1.0, "crawl_delay")


@pytest.mark.parametrize(("repeats", "expected_s"), [(0, 10.0), (1, 20.0), (3, 80.0)])
def test_throttling_without_a_moment_doubles(repeats: int, expected_s: float) -> None:
    rules = PolitenessConfig()
    usual = gap_after_fetch(rules, latency_s=0.1, crawl_delay_s=None)
    found = gap_after_throttle(rules, usual, retry_after_s=None, repeats=repeats)
    assert (found.seconds, found.reason) == (expected_s, "throttled")


def test_retry_after_is_obeyed_to_the_second() -> None:
    rules = PolitenessConfig(delay_s=0.0)
    usual = gap_after_fetch(rules, latency_s=0.1, crawl_delay_s=None)
    found = gap_after_throttle(rules, usual, retry_after_s=77.0, repeats=0)
    assert (found.seconds, found.reason) == (77.0, "retry_after")


def test_a_retry_after_shorter_than_the_usual_gap_does_not_shorten_it() -> None:
    rules = PolitenessConfig(min_delay_s=5.0)
    usual = gap_after_fetch(rules, latency_s=0.1, crawl_delay_s=None)
    assert gap_after_throttle(rules, usual, retry_after_s=1.0, repeats=0) == usual


@pytest.mark.parametrize(
    ("kind", "answered_at"), [(FailureClass.SERVER_ERROR, 0.0), (FailureClass.RESET, 5.0)]
)
def test_a_host_that_sends_only_server_errors_has_never_answered(
    kind: FailureClass, answered_at: float
) -> None:
    row = HostState(name="a.test")
    failure = HostFailure("some", kind, "http://a.test")
    note_answer(row, PolitenessConfig(), 5.0, HostAnswer(latency_s=0.1, failure=failure))
    assert row.answered_at == answered_at


def test_a_host_may_have_a_delay_of_its_own() -> None:
    delays = HostDelays(PolitenessConfig(min_delay_s=3.0), {"a.test": 0.0, "b.test": 9.0})
    assert delays.of("a.test") == PolitenessConfig(min_delay_s=3.0, delay_s=0.0)
    assert delays.of("b.test").delay_s == 9.0
    assert delays.of("c.test") is delays.usual
    assert HostDelays(PolitenessConfig()).of("a.test") == PolitenessConfig()
    assert set(delays.own) == {"a.test", "b.test"}


@pytest.mark.parametrize(
    ("latency_s", "crawl_delay_s", "expected"),
    [
        (0.1, None, (1.0, "min_delay")),
        (0.1, 1.0, (1.0, "min_delay")),
        (0.5, 5.0, (5.0, "adaptive_delay")),
    ],
)
def test_of_equal_gaps_the_simpler_rule_is_named(
    latency_s: float, crawl_delay_s: float | None, expected: tuple[float, str]
) -> None:
    assert gap(latency_s, crawl_delay_s) == expected


def test_the_wait_of_a_throttled_host_doubles_eight_times_at_most() -> None:
    rules = PolitenessConfig(throttle_s=1.0, max_retry_after_s=1e6)
    usual = gap_after_fetch(rules, latency_s=0.1, crawl_delay_s=None)
    waits = [
        gap_after_throttle(rules, usual, retry_after_s=None, repeats=n).seconds for n in (7, 8, 9)
    ]
    assert waits == [128.0, 256.0, 256.0]
    equal = gap_after_throttle(rules, usual, retry_after_s=1.0, repeats=0)
    assert (equal.seconds, equal.reason) == (1.0, "min_delay")


def answered(row: HostState, now: float = 100.0, **more: object) -> HostState:
    """Let a host answer quickly."""
    note_answer(row, PolitenessConfig(), now, HostAnswer(latency_s=0.01, **more))  # type: ignore[arg-type]
    return row


def test_after_an_answer_a_host_is_left_alone_for_its_gap_and_that_is_kept() -> None:
    row = answered(HostState(name="a.test", unresolved=3, throttles=2))
    assert (row.next_at, row.reason, row.gap_s) == (101.0, "min_delay", 1.0)
    assert (row.answered_at, row.unresolved, row.throttles) == (100.0, 0, 0)
    assert row.outage is None


def test_an_answer_never_shortens_what_a_host_waits_for() -> None:
    row = answered(HostState(name="a.test", next_at=500.0, reason="retry_after"))
    assert (row.next_at, row.reason) == (500.0, "retry_after")
    same = answered(HostState(name="a.test", next_at=101.0, reason="restart"))
    assert (same.next_at, same.reason) == (101.0, "restart")


def test_a_crawl_delay_is_what_the_rules_at_hand_say_and_else_what_they_said() -> None:
    row = answered(HostState(name="a.test"), knows_rules=True, crawl_delay_s=7.0)
    assert (row.next_at, row.crawl_delay_s) == (107.0, 7.0)
    assert answered(row, 200.0).next_at == 207.0
    gone = answered(row, 300.0, knows_rules=True)
    assert (gone.next_at, gone.crawl_delay_s) == (301.0, None)


def test_a_host_that_is_throttled_again_and_again_waits_ever_longer_and_is_parked() -> None:
    row = HostState(name="a.test")
    now, waits = 100.0, []
    for number in range(1, THROTTLES + 1):
        answered(row, now, is_throttled=True)
        assert row.throttles == number
        assert row.reason == "throttled"
        assert row.is_parked is (number == THROTTLES)
        waits.append(row.next_at - now)
        now = row.next_at
    assert waits[:4] == [10.0, 20.0, 40.0, 80.0]
    assert row.gap_s == waits[-1]
    asked = answered(HostState(name="b.test"), is_throttled=True, retry_after_s=33.0)
    assert (asked.next_at, asked.reason) == (133.0, "retry_after")


def test_what_was_no_answer_does_not_count_as_one() -> None:
    assert answered(HostState(name="a.test"), is_answer=False).answered_at == 0.0


def test_an_answer_is_that_of_a_page_as_a_whole_unless_told_otherwise() -> None:
    answer = HostAnswer(latency_s=0.0)
    assert (answer.is_page, answer.is_whole, answer.is_witness) == (True, True, False)


def restarted(row: HostState, *, must_wait: bool) -> bool:
    return note_restart(row, PolitenessConfig(), 100.0, must_wait=must_wait)


def test_a_host_that_may_just_have_been_asked_waits_its_full_gap_after_a_start() -> None:
    row = HostState(name="a.test", next_at=0.5, gap_s=7.0)
    assert restarted(row, must_wait=True) is True
    assert (row.next_at, row.reason) == (107.0, "restart")
    new = HostState(name="b.test", gap_s=0.2)
    assert restarted(new, must_wait=True) is True
    assert new.next_at == 101.0
    patient = HostState(name="c.test", crawl_delay_s=9.0)
    assert restarted(patient, must_wait=True) is True
    assert patient.next_at == 109.0


def test_a_start_leaves_a_moment_alone_that_the_gap_explains() -> None:
    for next_at in (0.0, 99.0, 103.0, 107.0):
        row = HostState(name="a.test", next_at=next_at, gap_s=7.0, reason="min_delay")
        assert restarted(row, must_wait=False) is False
        assert (row.next_at, row.reason) == (next_at, "min_delay")


def test_a_moment_that_only_a_wrong_clock_explains_becomes_a_gap() -> None:
    row = HostState(name="a.test", next_at=9000.0, gap_s=7.0, reason="min_delay")
    assert restarted(row, must_wait=False) is True
    assert (row.next_at, row.reason) == (107.0, "min_delay")


def test_a_host_that_is_down_is_probed_at_the_moment_that_a_start_gives_it() -> None:
    down = HostState(name="a.test", next_at=9000.0, gap_s=7.0)
    down.outage = HostOutage(parked_at=50.0, probe_at=9000.0)
    assert restarted(down, must_wait=False) is True
    assert down.outage.probe_at == 107.0
    failing = HostState(name="b.test", next_at=9000.0, outage=HostOutage(failures=1, probe_at=5.0))
    assert restarted(failing, must_wait=False) is True
    assert failing.outage is not None
    assert failing.outage.probe_at == 5.0
