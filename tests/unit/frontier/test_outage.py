"""Outages: when a host is parked, when it is probed, and whose failures they were."""

from random import Random

import msgspec
import pytest

from gossamer.frontier.outage import (
    FailureClass,
    HostFailure,
    host_failure,
    is_hopeless,
    is_overdue,
    note_failure,
    note_throttle,
    park_row,
    parks_alone_at,
    parks_at,
    probe_delay_s,
    robots_failure,
    robots_wakes,
    wake_row,
    wants_witness,
)
from gossamer.frontier.rows import FailedTry, HostOutage, HostState, decode_host, encode_host
from gossamer.model import CONNECTION_REFUSED, CUT_FOR_OTHERS, Failed, FailureKind

ORIGIN = "http://a.test"
REFUSED = HostFailure("connect_failed", FailureClass.UNREACHABLE, ORIGIN)
HANGS = HostFailure("first_byte_timeout", FailureClass.UNANSWERED, ORIGIN)
BROKEN = HostFailure("http_5xx", FailureClass.SERVER_ERROR, ORIGIN)
CUT = HostFailure("disconnected", FailureClass.RESET, ORIGIN)


class Steady(Random):
    """Draws nothing but 0: delays have no spread."""

    def random(self) -> float:
        return 0.0


def tried(kind: FailureClass, key: int = 1) -> FailedTry:
    return FailedTry(key, "why", "", kind.value, 5.0)


def parked(*kinds: FailureClass, probes: int = 0, **more: object) -> HostState:
    tries = [tried(kind, key) for key, kind in enumerate(kinds)]
    outage = HostOutage(failures=2, origin=ORIGIN, parked_at=100.0, probes=probes, tries=tries)
    return HostState(name="a.test", outage=outage, **more)  # type: ignore[arg-type]


def fails(row: HostState, *failures: HostFailure, now: float = 0.0) -> bool:
    for failure in failures:
        note_failure(row, failure, now, Steady())
    return row.is_parked


@pytest.mark.parametrize("failure", [REFUSED, HANGS, BROKEN])
def test_the_second_failure_in_a_row_parks_a_host(failure: HostFailure) -> None:
    row = HostState(name="a.test")
    assert not fails(row, failure)
    assert fails(row, failure, now=7.0)
    assert row.outage is not None
    assert (row.outage.parked_at, row.outage.probe_at, row.next_at) == (7.0, 17.0, 17.0)
    assert (row.reason, row.outage.reason) == ("parked", failure.reason)


def test_four_broken_connections_in_a_row_park_a_host_and_three_do_not() -> None:
    row = HostState(name="a.test")
    assert not fails(row, CUT, CUT, CUT)
    assert fails(row, CUT)


@pytest.mark.parametrize(
    ("tolerance", "kind", "expected"),
    [
        (2, FailureClass.SERVER_ERROR, 2),
        (16, FailureClass.SERVER_ERROR, 16),
        (16, FailureClass.RESET, 16),
        (2, FailureClass.RESET, 4),
        (16, FailureClass.UNREACHABLE, 2),
        (16, FailureClass.UNANSWERED, 2),
    ],
)
def test_false_alarms_make_a_host_tolerant_of_server_errors_alone(
    tolerance: int, kind: FailureClass, expected: int
) -> None:
    assert parks_at(HostState(name="a.test", tolerance=tolerance), kind) == expected


@pytest.mark.parametrize("kind", list(FailureClass))
def test_alone_a_host_is_parked_by_two_failures_or_four_broken_connections(
    kind: FailureClass,
) -> None:
    assert parks_alone_at(tried(kind)) == (4 if kind is FailureClass.RESET else 2)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (FailureKind.CONNECT_FAILED, FailureClass.UNREACHABLE),
        (FailureKind.TLS_FAILED, FailureClass.UNREACHABLE),
        (FailureKind.PROXY_FAILED, FailureClass.UNREACHABLE),
        (FailureKind.STALLED, FailureClass.UNANSWERED),
        (FailureKind.DISCONNECTED, FailureClass.RESET),
        (FailureKind.HTTP_5XX, FailureClass.SERVER_ERROR),
    ],
)
def test_some_failures_count_for_the_host(kind: FailureKind, expected: FailureClass) -> None:
    found = host_failure(Failed(kind=kind), ORIGIN)
    assert found is not None
    assert (found.kind, found.reason, found.origin) == (expected, kind.value, ORIGIN)


@pytest.mark.parametrize(
    "kind",
    [
        FailureKind.THROTTLED,
        FailureKind.DNS_UNREACHABLE,
        FailureKind.DNS_NO_SUCH_HOST,
        FailureKind.TLS_CERTIFICATE,
        FailureKind.NOT_FOUND,
        FailureKind.BAD_HTTP,
    ],
)
def test_others_are_the_urls_own_or_nobodys(kind: FailureKind) -> None:
    assert host_failure(Failed(kind=kind), ORIGIN) is None


def test_a_robots_txt_that_fails_counts_as_its_failure_does() -> None:
    assert robots_failure("http_5xx: 500", ORIGIN).kind is FailureClass.SERVER_ERROR
    assert robots_failure("connect_failed", ORIGIN).kind is FailureClass.UNREACHABLE
    assert robots_failure("robots.txt came incomplete", ORIGIN).kind is FailureClass.UNREACHABLE
    assert robots_failure("connect_failed", ORIGIN).reason == "connect_failed"
    assert robots_failure("http_5xx: 500", ORIGIN).reason == "robots_unreachable"


@pytest.mark.parametrize(
    ("probes", "parked_s", "expected_s"),
    [
        (0, 0.0, 10.0),
        (1, 10.0, 30.0),
        (2, 40.0, 50.0),
        (30, 1799.0, 50.0),
        (37, 1800.0, 225.0),
        (50, 8000.0, 1000.0),
        (99, 1e6, 3600.0),
    ],
)
def test_probes_are_made_after_10_and_30_s_then_every_50_then_rarer(
    probes: int, parked_s: float, expected_s: float
) -> None:
    assert probe_delay_s(probes, parked_s, Steady()) == expected_s


def test_delays_are_spread_by_a_few_percent_and_never_shorter() -> None:
    delays = [probe_delay_s(2, 100.0, Random(n)) for n in range(100)]
    assert 50.0 <= min(delays) < max(delays) <= 52.0
    assert len(set(delays)) > 90


def test_a_probe_that_fails_puts_off_the_next_one() -> None:
    row = HostState(name="a.test")
    fails(row, REFUSED, REFUSED)
    fails(row, REFUSED, now=10.0)
    assert row.outage is not None
    assert (row.outage.probes, row.outage.probe_at) == (1, 40.0)


def test_what_was_under_way_when_a_host_was_parked_is_no_probe() -> None:
    row = HostState(name="a.test")
    park_row(row, "slow", 0.0, Steady())
    fails(row, HANGS, now=5.0)
    assert row.outage is not None
    assert (row.outage.probes, row.outage.probe_at) == (0, 10.0)


def test_parking_a_parked_host_changes_nothing() -> None:
    row = HostState(name="a.test")
    park_row(row, "slow", 0.0, Steady())
    park_row(row, "other", 99.0, Steady())
    assert row.outage is not None
    assert (row.outage.reason, row.outage.parked_at) == ("slow", 0.0)


def test_a_probe_is_never_before_the_hosts_own_gap() -> None:
    row = HostState(name="a.test", next_at=500.0)
    fails(row, REFUSED, REFUSED)
    assert row.outage is not None
    assert row.outage.probe_at == 500.0


def test_ten_throttles_in_a_row_park_a_host_until_the_moment_that_it_named() -> None:
    row = HostState(name="a.test", throttles=9, next_at=300.0)
    note_throttle(row, 0.0)
    assert not row.is_parked
    row.throttles = 10
    note_throttle(row, 0.0)
    assert row.outage is not None
    assert (row.is_parked, row.outage.probe_at, row.outage.reason) == (True, 300.0, "throttled")
    row.next_at = 900.0
    note_throttle(row, 300.0)
    assert row.outage.probe_at == 900.0


def test_the_kinds_of_failures_in_rows_on_disk_keep_their_names() -> None:
    names = ["refused", "unreachable", "unanswered", "reset", "server_error"]
    assert [kind.value for kind in FailureClass] == names


@pytest.mark.parametrize("kind", list(FailureClass))
def test_a_failure_between_answers_is_the_urls_own(kind: FailureClass) -> None:
    row = HostState(name="a.test", outage=HostOutage(failures=1, tries=[tried(kind)]))
    assert [verdict.is_own for verdict in wake_row(row, by_witness=False)] == [True]
    assert row.outage is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (FailureClass.UNREACHABLE, (False, False)),
        (FailureClass.UNANSWERED, (False, True)),
        (FailureClass.RESET, (False, True)),
        (FailureClass.SERVER_ERROR, (True, True)),
    ],
)
def test_after_an_outage_only_what_may_be_a_pages_fault_is_charged(
    kind: FailureClass, expected: tuple[bool, bool]
) -> None:
    by_url, by_witness = (wake_row(parked(kind), by_witness=who) for who in (False, True))
    assert (by_url[0].is_own, by_witness[0].is_own) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (parked(FailureClass.SERVER_ERROR), 4),
        (parked(FailureClass.SERVER_ERROR, probes=1), 4),
        (parked(FailureClass.SERVER_ERROR, probes=2), 2),
        (parked(FailureClass.SERVER_ERROR, FailureClass.UNREACHABLE), 2),
        (parked(FailureClass.SERVER_ERROR, tolerance=32), 64),
        (parked(FailureClass.SERVER_ERROR, tolerance=64), 64),
        (parked(), 2),
    ],
)
def test_a_false_alarm_doubles_what_parks_the_host(row: HostState, expected: int) -> None:
    wake_row(row, by_witness=False)
    assert row.tolerance == expected


def test_a_robots_txt_wakes_a_host_unless_its_pages_had_server_errors() -> None:
    assert robots_wakes(HostState(name="a.test"))
    assert robots_wakes(parked(FailureClass.UNREACHABLE))
    assert robots_wakes(parked())
    assert not robots_wakes(parked(FailureClass.UNREACHABLE, FailureClass.SERVER_ERROR))


def test_the_witness_is_asked_where_pages_fail_and_the_server_is_there() -> None:
    page = {"witness": "http://a.test/p"}
    errors = FailureClass.SERVER_ERROR
    assert not wants_witness(parked(errors, **page), all_failed=False)
    assert wants_witness(parked(errors, probes=1, **page), all_failed=False)
    assert not wants_witness(parked(errors, probes=2, **page), all_failed=False)
    assert wants_witness(parked(errors, tolerance=4, **page), all_failed=False)
    assert not wants_witness(parked(errors, tolerance=4, probes=1, **page), all_failed=False)
    assert wants_witness(parked(errors, **page), all_failed=True)
    refused = FailureClass.UNREACHABLE
    assert not wants_witness(parked(refused, probes=1, **page), all_failed=False)
    assert wants_witness(parked(refused, **page), all_failed=True)


def test_the_witness_is_asked_first_if_pages_did_not_answer_and_were_charged_for_it() -> None:
    for failure, expected in ((HANGS, True), (REFUSED, False)):
        row = HostState(name="a.test", witness="http://a.test/p")
        for _ in range(2):
            note_failure(row, failure, 0.0, Steady())
        assert wants_witness(row, all_failed=False) is expected


def test_a_witness_of_another_origin_or_none_is_not_asked() -> None:
    errors = FailureClass.SERVER_ERROR
    assert not wants_witness(parked(errors, probes=1), all_failed=True)
    other = parked(errors, witness="http://a.test:8080/p")
    assert not wants_witness(other, all_failed=True)


def test_a_host_is_not_hopeless_while_its_probes_are_cut_for_the_sake_of_others() -> None:
    row = parked(probes=9)
    failed = Failed(kind=FailureKind.FIRST_BYTE_TIMEOUT, detail=CUT_FOR_OTHERS)
    cut = host_failure(failed, ORIGIN)
    assert cut is not None
    assert cut == robots_failure(f"first_byte_timeout: {CUT_FOR_OTHERS}", ORIGIN)
    note_failure(row, cut, 1e6, Random(7))
    assert not is_hopeless(row)
    note_failure(row, HANGS, 2e6, Random(7))
    assert is_hopeless(row)


def test_a_host_that_never_answered_is_hopeless_after_four_probes() -> None:
    assert not is_hopeless(parked(probes=3))
    assert is_hopeless(parked(probes=4))
    assert not is_hopeless(parked(probes=3), probes=1)


def test_fewer_probes_are_enough_only_if_the_connection_is_refused() -> None:
    row = parked(probes=0)
    note_failure(row, msgspec.structs.replace(REFUSED, kind=FailureClass.REFUSED), 1e6, Random(7))
    assert is_hopeless(row, probes=1)
    assert not is_hopeless(row)
    note_failure(row, HANGS, 2e6, Random(7))
    assert not is_hopeless(row, probes=1)


@pytest.mark.parametrize(
    ("kind", "detail", "is_silent"),
    [
        (FailureKind.CONNECT_FAILED, f"to a.test: {CONNECTION_REFUSED}", False),
        (FailureKind.CONNECT_FAILED, "Network is unreachable", True),
        (FailureKind.CONNECT_TIMEOUT, "", True),
        (FailureKind.FIRST_BYTE_TIMEOUT, "", True),
        (FailureKind.DISCONNECTED, "", False),
        (FailureKind.HTTP_5XX, "500", False),
    ],
)
def test_only_silence_may_mean_that_the_network_is_away(
    kind: FailureKind, detail: str, *, is_silent: bool
) -> None:
    failure = host_failure(Failed(kind=kind, detail=detail), ORIGIN)
    assert failure is not None
    assert failure.is_silent is is_silent
    assert failure.is_server_error is (kind is FailureKind.HTTP_5XX)
    of_robots = robots_failure(f"{kind.value}: {detail}", ORIGIN)
    assert of_robots.is_silent is is_silent


def test_once_probes_are_regular_they_are_counted_from_their_beginning() -> None:
    row = parked(probes=5)
    note_failure(row, HANGS, 1000.0, Steady(), 20.0)
    assert row.outage is not None
    assert row.outage.probe_at == 1030.0
    early = parked(probes=0)
    note_failure(early, HANGS, 1000.0, Steady(), 20.0)
    assert early.outage is not None
    assert early.outage.probe_at == 1030.0
    assert not is_hopeless(parked(probes=9, answered_at=1.0))
    assert is_hopeless(HostState(name="a.test")) is False


def test_a_host_is_overdue_when_it_was_down_too_long() -> None:
    assert is_overdue(parked(answered_at=1.0), 160.0, 60.0)
    assert not is_overdue(parked(answered_at=1.0), 159.9, 60.0)
    assert is_overdue(parked(), 160.0, 60.0)


def test_a_host_row_keeps_its_outage() -> None:
    row = parked(FailureClass.SERVER_ERROR, probes=3, witness="http://a.test/p", tolerance=8)
    assert decode_host(encode_host(row)) == row
