"""Words: what a crawl does and why it waits, in a sentence."""

from collections.abc import Mapping

from gossamer.log import counted
from gossamer.model import PAUSED_BY_SCHEDULE, WaitsFor
from gossamer.report.records import Status
from gossamer.schedule import moment_words

PAUSES: dict[str, str] = {
    "on_request": "on request; `gossamer resume {place}` ends it",
    "disk_low": "the disk is nearly full (disk_low)",
    "store_away": "the object store does not answer; it is asked again and again",
    "store_lease": "waiting for the lease on the object store: nobody else may be asking for pages",
    "no_network": "no network; one host is asked every 10 s",
}
"""Why a crawl is paused, in words; {place} is what it is steered by."""

FAILED_HOSTS: dict[str, str] = {
    "connect_failed": "which cannot be connected to",
    "connect_timeout": "which did not answer in time",
    "first_byte_timeout": "which did not answer in time",
    "total_timeout": "which did not answer in time",
    "stalled": "which stopped sending",
    "disconnected": "which hung up",
    "tls_failed": "whose TLS handshake failed",
    "proxy_failed": "which the proxy did not reach",
    "dns_unreachable": "whose name could not be looked up",
    "http_5xx": "which answered with a server error",
    "throttled": "which asked us to slow down",
    "retry_after": "which asked us to wait",
    "robots_unreachable": "whose robots.txt cannot be had",
}
"""What a host did that is asked again later."""

GAPS: dict[str, str] = {
    "fixed_delay": "a delay is set",
    "adaptive_delay": "the longer its answers take, the longer the gap",
    "min_delay": "the least gap between two requests",
    "crawl_delay": "its robots.txt asks for that gap",
    "address_delay": "other hosts share its address",
}
"""Why a host is not asked at once, in words."""


def state_sentence(status: Status) -> str:
    """Return what a crawl does at the moment, and why it waits if it does."""
    waits = waiting_words(status)
    if status.stop_reason and status.running:
        return "The crawl is stopping: what is under way comes to its end."
    if not status.running:
        if status.finished and not status.paused:
            return (
                "Finished: nothing is left to fetch."
                if not status.held
                else (f"Finished: nothing is left to fetch but {counted(status.held, 'held URL')}.")
            )
        return f"Not running, and {waits}." if waits else "Not running; there is more to fetch."
    if waits:
        return f"{waits[0].upper()}{waits[1:]}."
    if status.in_flight:
        return f"Running: {counted(status.in_flight, 'URL')} under way."
    return "Running; nothing is under way at this moment."


def waiting_words(status: Status, place: str = "DIR") -> str:
    """Return why a crawl waits, as it is paused or has nothing under way; "" if it does not.

    `place` is the folder or the store that commands name the crawl by.
    """
    if status.paused == PAUSED_BY_SCHEDULE and status.opens_at is not None:
        return f"paused: {closed_words(status.opens_at, status.time_zone)}"
    if status.paused:
        why = PAUSES.get(status.paused, status.paused).replace("{place}", place)
        return f"{_paused_shards(status)}paused: {why}"
    if status.stop_reason:
        return ""
    if 2 * sum(status.address_waits.values()) > status.active_hosts:
        return address_words(status.address_waits)
    return _host_words(status.waits_for) if status.waits_for is not None else ""


def _paused_shards(status: Status) -> str:
    """Return which shards are paused, if others are not."""
    if not status.paused_shards:
        return ""
    numbers = ", ".join(map(str, status.paused_shards))
    named = f"{'shard' if len(status.paused_shards) == 1 else 'shards'} {numbers}"
    return f"{named} (of {status.shards}) "


def closed_words(opens_at: float, time_zone: str) -> str:
    """Return until when [schedule] allows no request."""
    return f"[schedule] allows no request before {moment_words(opens_at, time_zone)}"


def address_words(waits: Mapping[str, int]) -> str:
    """Return how many hosts wait for which address; the one that most wait for."""
    address, hosts = max(waits.items(), key=lambda wait: wait[1])
    words = counted(hosts, "host waits", "hosts wait")
    return f"{words} for {address}, which {'it shares' if hosts == 1 else 'they share'}"


def _host_words(waits: WaitsFor) -> str:
    """Return which host is waited for by a crawl that has nothing under way."""
    host, seconds = waits.host, f"{max(1.0, waits.seconds):,.0f} s"
    if waits.reason == "http_5xx" and waits.detail:
        return f"waiting {seconds} to retry {host}, which answered {waits.detail}"
    if (words := FAILED_HOSTS.get(waits.reason)) is not None:
        return f"waiting {seconds} to retry {host}, {words}"
    if waits.reason == "address_delay" and waits.detail:
        return f"waiting {seconds} for {host}, whose address {waits.detail} others share"
    return f"waiting {seconds} for {host} ({reason_words(waits.reason)})"


def reason_words(reason: str) -> str:
    """Return why a host is asked later, in words behind the name of the reason."""
    words = GAPS.get(reason) or FAILED_HOSTS.get(reason)
    return f"{reason}: {words}" if words else reason
