import pytest

from gossamer.config import PolitenessConfig
from gossamer.frontier.outage import FailureClass, HostFailure
from gossamer.frontier.politeness import (
    HostAnswer,
    HostDelays,
    gap_after_fetch,
    gap_after_throttle,
    note_answer,
)
from gossamer.frontier.rows import HostRow


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
    row = HostRow(name="a.test")
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
