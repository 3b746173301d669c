"""Is a host down, when is it asked again, and whose failures were they? Pure, but for `Random`.

Connect errors, timeouts and server errors count for the host. The first waits for what comes next;
the second in a row parks the host: its URLs wait unharmed, and one probe at a time is made until an
answer wakes it. Only then is it known which failures were the URLs' own: ADR 44.
"""

from enum import StrEnum
from random import Random
from typing import NamedTuple

from msgspec import Struct

from gossamer.frontier.rows import FailedTry, HostOutage, HostState
from gossamer.model import CONNECTION_REFUSED, CUT_FOR_OTHERS, Failed, FailureKind

FIRST_PROBES_S = (10.0, 30.0)
PROBE_S = 50.0
STEADY_S = 1800.0
"""For so long a probe is made every 50 s; then they grow rarer."""
GROWTH = 8.0
"""Later on a host is probed again after an eighth of the time for which it has been down."""
LONGEST_S = 3600.0
SPREAD = 0.04
"""Share by which a delay varies, so that hosts that failed together are not probed together."""
TOLERANCE, MAX_TOLERANCE = 2, 64
"""Server errors in a row that park a host: at first, and after many false alarms."""
RESETS = 4
"""Connections in a row that break: some servers cut one in ten, and are not down."""
THROTTLES = 10
"""Throttled answers in a row after which a host counts as parked, so that a crawl can end."""
FALSE_ALARM_PROBES = 2
HOPELESS_PROBES = 4
"""A host that has never answered may be given up after so many probes."""


class Parked(Struct, frozen=True, gc=False):
    """How many hosts are parked, and how many URLs wait for them."""

    hosts: int = 0
    urls: int = 0


class FailureClass(StrEnum):
    """What kind of failure a host's was: how soon it parks the host, and whether a URL may be it.

    A single page can be slow or broken, but no single page refuses connections.
    """

    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    UNANSWERED = "unanswered"
    RESET = "reset"
    SERVER_ERROR = "server_error"


_CLASSES: dict[FailureKind, FailureClass] = {
    FailureKind.CONNECT_FAILED: FailureClass.UNREACHABLE,
    FailureKind.CONNECT_TIMEOUT: FailureClass.UNREACHABLE,
    FailureKind.TLS_FAILED: FailureClass.UNREACHABLE,
    FailureKind.PROXY_FAILED: FailureClass.UNREACHABLE,
    FailureKind.FIRST_BYTE_TIMEOUT: FailureClass.UNANSWERED,
    FailureKind.TOTAL_TIMEOUT: FailureClass.UNANSWERED,
    FailureKind.STALLED: FailureClass.UNANSWERED,
    FailureKind.DISCONNECTED: FailureClass.RESET,
    FailureKind.HTTP_5XX: FailureClass.SERVER_ERROR,
}
_OF_HOST = frozenset({FailureClass.REFUSED, FailureClass.UNREACHABLE})
_SILENT = frozenset({FailureClass.UNREACHABLE, FailureClass.UNANSWERED})
_SOFT = frozenset({FailureClass.RESET, FailureClass.SERVER_ERROR})


class HostFailure(Struct, frozen=True, gc=False):
    """A request that failed in a way that counts for its host."""

    reason: str
    kind: FailureClass
    origin: str
    was_cut: bool = False
    """We have cut it for the sake of other hosts."""

    @property
    def is_silent(self) -> bool:
        """Return True if nothing came back: the network may be away as well as the host."""
        return self.kind in _SILENT

    @property
    def is_server_error(self) -> bool:
        """Return True if the server is there, but does not do its work."""
        return self.kind is FailureClass.SERVER_ERROR

    @property
    def is_reset(self) -> bool:
        """Return True if the connection broke before an answer came."""
        return self.kind is FailureClass.RESET


def host_failure(failed: Failed, origin: str) -> HostFailure | None:
    """Return what a failure means for its host; None if it is the URL's own, or nobody's."""
    kind = _CLASSES.get(failed.kind)
    if kind is None:
        return None
    if kind is FailureClass.UNREACHABLE and CONNECTION_REFUSED in failed.detail:
        kind = FailureClass.REFUSED
    return HostFailure(failed.kind.value, kind, origin, failed.detail == CUT_FOR_OTHERS)


def robots_failure(detail: str, origin: str) -> HostFailure:
    """Return the failure of a host whose robots.txt cannot be had."""
    reason = detail.partition(":")[0]
    kind = _CLASSES.get(FailureKind(reason)) if reason in set(FailureKind) else None
    if kind is None or kind is FailureClass.SERVER_ERROR:  # the server is there
        found = kind or FailureClass.UNREACHABLE
        return HostFailure("robots_unreachable", found, origin)
    if kind is FailureClass.UNREACHABLE and CONNECTION_REFUSED in detail:
        kind = FailureClass.REFUSED
    return HostFailure(reason, kind, origin, detail.endswith(CUT_FOR_OTHERS))


def probe_delay_s(probes: int, parked_s: float, random: Random) -> float:
    """Return the wait before the next probe, after so many that failed."""
    if probes < len(FIRST_PROBES_S):
        delay_s = FIRST_PROBES_S[probes]
    elif parked_s < STEADY_S:
        delay_s = PROBE_S
    else:
        delay_s = min(parked_s / GROWTH, LONGEST_S)
    return delay_s * (1.0 + SPREAD * random.random())


def parks_at(row: HostState, kind: FailureClass) -> int:
    """Return how many failures in a row park a host, if the last is of a kind."""
    match kind:
        case FailureClass.SERVER_ERROR:
            return max(TOLERANCE, row.tolerance)
        case FailureClass.RESET:
            return max(RESETS, row.tolerance)
        case _:
            return TOLERANCE


def parks_alone_at(tried: FailedTry) -> int:
    """Return how many failures in a row park a host of which nothing else is left to ask."""
    return RESETS if tried.kind == FailureClass.RESET else TOLERANCE


def note_failure(
    row: HostState, failure: HostFailure, now: float, random: Random, took_s: float = 0.0
) -> None:
    """Count a failure for its host, which may park it; that of a probe puts off the next one.

    Probes are counted from their beginning, once there is one every 50 s: many wait for a timeout.
    """
    outage = row.outage = row.outage or HostOutage()
    outage.failures += 1
    outage.reason, outage.origin = failure.reason, failure.origin
    outage.was_cut = failure.was_cut
    outage.kind = failure.kind.value
    if outage.is_parked:
        if now >= outage.probe_at:  # or it was under way when the host was parked
            outage.probes += 1
            _put_off(row, outage, now, random, took_s)
    elif outage.failures >= parks_at(row, failure.kind):
        park_row(row, failure.reason, now, random)


def park_row(row: HostState, reason: str, now: float, random: Random) -> None:
    """Park a host, unless it is parked."""
    outage = row.outage = row.outage or HostOutage()
    if not outage.is_parked:
        outage.reason, outage.parked_at = reason, now
        _put_off(row, outage, now, random, took_s=0.0)


def _put_off(row: HostState, outage: HostOutage, now: float, random: Random, took_s: float) -> None:
    parked_s = max(0.0, now - (now if outage.parked_at is None else outage.parked_at))
    delay_s = probe_delay_s(outage.probes, parked_s, random)
    if outage.probes >= len(FIRST_PROBES_S):
        delay_s = max(FIRST_PROBES_S[0], delay_s - took_s)
    hold_until(row, now + delay_s)


def hold_until(row: HostState, probe_at: float) -> None:
    """Let the next probe of a parked host be due at a moment, or when its gap is over."""
    if row.outage is None:
        return
    if probe_at > row.next_at:
        row.next_at, row.reason = probe_at, "parked"
    row.outage.probe_at = row.next_at


def note_throttle(row: HostState, now: float) -> None:
    """Count a throttled answer: after many in a row the host counts as parked until its moment."""
    if row.outage is not None and row.outage.is_parked:
        hold_until(row, row.next_at)
    elif row.throttles >= THROTTLES:
        row.outage = row.outage or HostOutage()
        row.outage.reason, row.outage.parked_at = "throttled", now
        row.outage.probe_at = row.next_at


class Verdict(NamedTuple):
    """Whose a failure was, once the host has answered."""

    failed: FailedTry
    is_own: bool
    """It counts for its URL."""


def wake_row(row: HostState, *, by_witness: bool) -> list[Verdict]:
    """End a host's run of failures and say whose each of them was.

    If the host was not parked, it was never down: they were the URLs' own. If it was, a server
    error counts for its URL; a timeout or a broken connection does only if a page that is known to
    work was answered while all others failed; that nobody could connect counts for none.
    """
    outage = row.outage
    if outage is None:
        return []
    row.outage = None
    if outage.is_parked and outage.probes < FALSE_ALARM_PROBES and _is_soft(outage):
        row.tolerance = min(MAX_TOLERANCE, 2 * max(TOLERANCE, row.tolerance))
    return [
        Verdict(tried, not outage.is_parked or _is_own(tried, by_witness=by_witness))
        for tried in outage.tries
    ]


def _is_own(tried: FailedTry, *, by_witness: bool) -> bool:
    kind = FailureClass(tried.kind)
    return kind is FailureClass.SERVER_ERROR or (by_witness and kind not in _OF_HOST)


def _is_soft(outage: HostOutage) -> bool:
    """Return True if the server was there all the time: some pages may be broken, not the host."""
    return bool(outage.tries) and all(tried.kind in _SOFT for tried in outage.tries)


def robots_wakes(row: HostState) -> bool:
    """Return True if a robots.txt that came is enough to wake a host.

    It is often a file in front of a dead application, so it does not clear pages' server errors.
    """
    server_error = FailureClass.SERVER_ERROR
    return row.outage is None or all(tried.kind != server_error for tried in row.outage.tries)


def wants_witness(row: HostState, *, all_failed: bool) -> bool:
    """Return True if the next probe asks for the page that the host is known to answer.

    Every other probe does, if all waiting URLs have failed in this run, or if the server is there
    and only pages fail; the first one, if the host gave a false alarm before. If failures are
    charged to their URLs at once (retries are few), nothing is noted of those: then pages that do
    not answer are told from a host that does not by the first probe.
    """
    outage = row.outage
    if outage is None or not row.witness.startswith(outage.origin + "/"):
        return False
    is_unnoted = not outage.tries and outage.kind == FailureClass.UNANSWERED
    if not (all_failed or is_unnoted or _is_soft(outage)):
        return False
    is_suspected = row.tolerance > TOLERANCE or all_failed or is_unnoted
    return outage.probes % 2 == (0 if is_suspected else 1)


def is_hopeless(row: HostState, probes: int = HOPELESS_PROBES) -> bool:
    """Return True if a parked host has never answered, and failed enough probes.

    One at least must have had all the time that it is allowed. Fewer than usual are enough only
    for a host that refuses the connection.
    """
    outage = row.outage
    if outage is None or not outage.is_parked or row.answered_at or outage.was_cut:
        return False
    enough = probes if outage.kind == FailureClass.REFUSED else max(probes, HOPELESS_PROBES)
    return outage.reason != "throttled" and outage.probes >= enough


def is_overdue(row: HostState, now: float, give_up_s: float) -> bool:
    """Return True if a host has been down for too long."""
    outage = row.outage
    return (
        outage is not None
        and outage.parked_at is not None
        and outage.reason != "throttled"
        and now - outage.parked_at >= give_up_s
    )
