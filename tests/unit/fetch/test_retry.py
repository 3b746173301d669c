"""Retry: the table is complete, and its promises hold."""

import pytest

from gossamer.fetch import RETRY, next_try_at, retry_rule
from gossamer.model import Failed, FailureKind

FINAL = (
    FailureKind.DNS_NO_SUCH_HOST,
    FailureKind.TLS_CERTIFICATE,
    FailureKind.NOT_FOUND,
    FailureKind.GONE,
    FailureKind.UNAUTHORIZED,
    FailureKind.KILLED_US,
)


MANY = 1000


def moments(kind: FailureKind) -> list[float]:
    now, attempt, found = 0.0, 0, []
    while (again_at := next_try_at(Failed(kind=kind), attempt, now)) is not None and attempt < MANY:
        now, attempt = again_at, attempt + 1
        found.append(now)
    return found


def test_every_kind_of_failure_has_a_row() -> None:
    assert set(RETRY) == set(FailureKind)


@pytest.mark.parametrize("kind", FINAL)
def test_some_failures_are_final(kind: FailureKind) -> None:
    assert moments(kind) == []


def test_a_broken_connection_gets_five_tries() -> None:
    assert len(moments(FailureKind.DISCONNECTED)) == 4


def test_an_outage_of_dns_is_waited_out_without_a_flood() -> None:
    tries = moments(FailureKind.DNS_UNREACHABLE)
    gaps = [after - before for before, after in zip([0.0, *tries], tries, strict=False)]
    assert min(gaps) >= 5
    assert len(tries) == MANY  # nobody's failure: it never ends for that
    assert max(gaps) < 30.1
    assert all(gap <= 10 for gap, at in zip(gaps, tries, strict=True) if at <= 120)
    assert RETRY[FailureKind.DNS_UNREACHABLE].is_host_wide


def test_retry_after_is_obeyed() -> None:
    failed = Failed(kind=FailureKind.THROTTLED, retry_after_s=120.0)
    assert next_try_at(failed, 0, 1000.0) == 1120.0
    assert RETRY[FailureKind.THROTTLED].is_host_wide


@pytest.mark.parametrize("kind", [FailureKind.HTTP_5XX, FailureKind.THROTTLED])
def test_limited_retries_end_whatever_fails(kind: FailureKind) -> None:
    rule = retry_rule(1)
    assert rule(Failed(kind=kind), 0, 0.0) is not None
    assert rule(Failed(kind=kind), 1, 0.0) is None


def test_limited_retries_come_soon_unless_the_host_asks_for_a_pause() -> None:
    rule = retry_rule(2)
    error, cut = Failed(kind=FailureKind.HTTP_5XX), Failed(kind=FailureKind.DISCONNECTED)
    busy = Failed(kind=FailureKind.THROTTLED)
    assert [rule(error, attempt, 0.0) for attempt in range(3)] == [2.0, 4.0, None]
    assert rule(cut, 0, 0.0) == next_try_at(cut, 0, 0.0) == 1.0
    assert rule(busy, 0, 0.0) == next_try_at(busy, 0, 0.0)
    assert rule(Failed(kind=FailureKind.HTTP_5XX, retry_after_s=9.0), 0, 0.0) == 9.0


def test_limited_retries_do_not_wait_for_a_long_pause_that_a_server_asks_for() -> None:
    rule = retry_rule(1)
    busy = FailureKind.THROTTLED
    assert rule(Failed(kind=busy, retry_after_s=30.0), 0, 0.0) == 30.0
    assert rule(Failed(kind=busy, retry_after_s=61.0), 0, 0.0) is None


def test_retries_are_those_of_the_failure_if_they_are_not_limited() -> None:
    assert retry_rule(None) is next_try_at
