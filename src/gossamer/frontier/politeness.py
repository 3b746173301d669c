"""When may this host, or this address, be asked again?

Nothing here keeps the gap of an address: that is done where the address is taken. A host that finds
it taken is only told when to try again, behind the hosts that came before it: a thousand hosts on
one address need not all try whenever it is free.
"""

from collections.abc import Mapping
from heapq import nlargest
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from gossamer.config import PolitenessConfig
from gossamer.frontier.outage import HostFailure, note_throttle
from gossamer.frontier.rows import HostState

ADDRESS_DELAY = "address_delay"
"""The reason of a host that waits for its address."""
ADDRESSES_KEPT = 10_000
MAX_AHEAD = 240
"""Hosts ahead that are counted: at the usual gap of an address a minute's worth."""
SHORTEST_S = 1e-6
"""A median of 0.0 would say that there was no answer."""
FIRST_STEP, LEAST_STEP = 2.0, 0.01
"""By which share an estimated median moves: the first after n answers is 2/n."""
LATE_S = 1.0
"""A host that has not come so long after its moment does not wait any more."""


class Gap(Struct, frozen=True, gc=False):
    """How long to leave a host alone, and which rule asked for it."""

    seconds: float
    reason: str


def gap_after_fetch(
    rules: PolitenessConfig, *, latency_s: float, crawl_delay_s: float | None
) -> Gap:
    """Return the gap after an ordinary answer (Mercator: ten times what the fetch took).

    A fixed `delay_s` replaces the minimum and the adaptive term; Crawl-delay still holds.
    """
    if rules.delay_s is not None:
        gap = Gap(rules.delay_s, "fixed_delay")
    else:
        adaptive_s = min(latency_s * rules.latency_factor, rules.max_adaptive_s)
        gap = (
            Gap(adaptive_s, "adaptive_delay")
            if adaptive_s > rules.min_delay_s
            else Gap(rules.min_delay_s, "min_delay")
        )
    if crawl_delay_s is not None and crawl_delay_s > gap.seconds:
        return Gap(crawl_delay_s, "crawl_delay")
    return gap


def gap_after_throttle(
    rules: PolitenessConfig, usual: Gap, *, retry_after_s: float | None, repeats: int
) -> Gap:
    """Return the gap after a 429 or 503: what the server asked for, or a doubling back-off."""
    if retry_after_s is not None:
        asked = Gap(min(retry_after_s, rules.max_retry_after_s), "retry_after")
    else:
        doubled_s = rules.throttle_s * 2.0 ** min(repeats, 8)
        asked = Gap(min(doubled_s, rules.max_retry_after_s), "throttled")
    return asked if asked.seconds > usual.seconds else usual


class HostAnswer(Struct, frozen=True, gc=False, kw_only=True):
    """What politeness needs to know of an answer."""

    latency_s: float
    knows_rules: bool = False
    """The host's own robots.txt was at hand, so that no Crawl-delay means that there is none."""
    crawl_delay_s: float | None = None
    is_throttled: bool = False
    """A 429 or 503: the whole host wants to be left alone."""
    retry_after_s: float | None = None
    is_answer: bool = True
    """The server sent something."""
    failure: HostFailure | None = None
    """How the request failed, if that counts for the host."""
    is_page: bool = True
    """A page was asked for, not a robots.txt."""
    is_witness: bool = False
    """It was asked for only to see whether the host answers."""
    is_whole: bool = True
    """False for one hop on the way to a robots.txt: nothing is known yet."""


def note_answer(row: HostState, rules: PolitenessConfig, now: float, answer: HostAnswer) -> None:
    """Set the moment from which a host may be asked again after an answer."""
    if answer.knows_rules:
        row.crawl_delay_s = answer.crawl_delay_s
    if not answer.is_throttled:
        row.throttles = 0
    gap = usual_gap(row, rules, answer.latency_s)
    if answer.is_throttled:
        gap = gap_after_throttle(
            rules, gap, retry_after_s=answer.retry_after_s, repeats=row.throttles
        )
        row.throttles += 1
    row.gap_s = gap.seconds
    if answer.is_answer and answer.is_page:
        note_latency(row, answer.latency_s)
    if answer.is_answer and not (answer.failure is not None and answer.failure.is_server_error):
        row.answered_at = now
    if now + gap.seconds > row.next_at:
        row.next_at, row.reason = now + gap.seconds, gap.reason
    row.unresolved = 0
    if answer.is_throttled:
        note_throttle(row, now)


def note_latency(row: HostState, latency_s: float) -> None:
    """Move the estimated median of a host's answers towards one more of them.

    Robbins and Monro's stochastic approximation on the logarithm: up by a step if the answer took
    longer than the median, else down. The step shrinks as answers come, but not below that with
    which the estimate follows a server that becomes slower or faster.
    """
    row.answers += 1
    if not row.median_s:
        row.median_s = max(latency_s, SHORTEST_S)
    elif latency_s != row.median_s:
        step = max(FIRST_STEP / row.answers, LEAST_STEP)
        row.median_s *= 1.0 + step if latency_s > row.median_s else 1.0 / (1.0 + step)


def usual_gap(row: HostState, rules: PolitenessConfig, latency_s: float = 0.0) -> Gap:
    """Return the gap of a host that did not ask us to slow down."""
    return gap_after_fetch(rules, latency_s=latency_s, crawl_delay_s=row.crawl_delay_s)


def note_restart(row: HostState, rules: PolitenessConfig, now: float, *, must_wait: bool) -> bool:
    """Set the moment from which a host may be asked after a start; return True if it changed.

    A host that had leases may just have been asked, so it waits its full gap. Only a clock that
    was set back, or parking, can have put a moment further into the future than the host's own
    gap; a parked host is probed soon, for whoever starts again wants to know whether it is back.
    """
    if must_wait:
        row.next_at = now + max(row.gap_s, usual_gap(row, rules).seconds)
        row.reason = "restart"
    elif row.next_at > now + row.gap_s:
        row.next_at = now + row.gap_s
    else:
        return False
    if row.outage is not None and row.outage.is_parked:
        row.outage.probe_at = row.next_at
    return True


class HostDelays:
    """The rules of politeness, and those of hosts that have a fixed delay of their own."""

    def __init__(self, rules: PolitenessConfig, own: Mapping[str, float] | None = None) -> None:
        self.adopt(rules, own or {})

    def adopt(self, rules: PolitenessConfig, own: Mapping[str, float]) -> None:
        """Keep other rules from now on."""
        self.usual = rules
        self._own = {host: replace(rules, delay_s=gap_s) for host, gap_s in own.items()}

    def of(self, host: str) -> PolitenessConfig:
        """Return the rules for a host."""
        return self._own.get(host, self.usual) if self._own else self.usual

    @property
    def own(self) -> Mapping[str, PolitenessConfig]:
        """The rules of each host that has its own."""
        return self._own


def address_gap_s(rules: PolitenessConfig) -> float:
    """Return the gap between two requests to one address: smaller than the host's."""
    if rules.delay_s is None:
        return min(rules.address_delay_s, rules.min_delay_s)
    return min(rules.address_delay_s, rules.delay_s)


class AddressGaps:
    """The gap after a request to an address, by the host that was asked there."""

    def __init__(self, delays: HostDelays) -> None:
        self._usual_s = address_gap_s(delays.usual)
        self._own = {host: address_gap_s(rules) for host, rules in delays.own.items()}
        self.longest_s = max(self._usual_s, *self._own.values()) if self._own else self._usual_s

    def of(self, host: str) -> float:
        """Return the gap that a host leaves after it at its address."""
        return self._own.get(host, self._usual_s) if self._own else self._usual_s


class AddressWait(Struct, frozen=True):
    """An address that a host waits for, and how many other hosts of its shard do."""

    address: str
    others: int


class AddressQueues:
    """The hosts of this shard that wait for an address, by address, in the order they came."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, float]] = {}
        """Address → host → when it tries again."""
        self._address: dict[str, str] = {}
        """Of each host that waits."""
        self._limit = ADDRESSES_KEPT

    def wait(self, host: str, address: str, gap_s: float, free_at: float, now: float) -> float:
        """Let a host wait for an address that is taken; return when it is to try again.

        The first is to try as soon as the address is free, each other a gap after the one before.
        """
        if self._address.get(host, address) != address:
            self.leave(host)
        if len(self._waiting) >= self._limit:
            self._forget(now)
        hosts = self._waiting.setdefault(address, {})
        hosts.setdefault(host, free_at)
        self._address[host] = address
        hosts[host] = until = free_at + gap_s * self._ahead_of(host, hosts, now)
        return until

    def _ahead_of(self, host: str, hosts: dict[str, float], now: float) -> int:
        """Return how many hosts came before a host; those that do not wait any more leave."""
        ahead, late = 0, []
        for other, until in hosts.items():
            if other == host or ahead == MAX_AHEAD:
                break
            if until + LATE_S < now:
                late.append(other)
            else:
                ahead += 1
        for other in late:
            self.leave(other)
        return ahead

    def leave(self, host: str) -> None:
        """Note that a host does not wait: it has its address, or does not come any more."""
        if (address := self._address.pop(host, None)) is not None:
            hosts = self._waiting[address]
            del hosts[host]
            if not hosts:
                del self._waiting[address]

    def _forget(self, now: float) -> None:
        """Let all hosts leave that have not come at their moment."""
        for hosts in tuple(self._waiting.values()):
            for host in [host for host, until in hosts.items() if until + LATE_S < now]:
                self.leave(host)
        self._limit = max(ADDRESSES_KEPT, 2 * len(self._waiting))

    def of(self, host: str) -> AddressWait | None:
        """Return what a host waits for; None if it waits for no address."""
        address = self._address.get(host)
        if address is None:
            return None
        return AddressWait(address, len(self._waiting[address]) - 1)

    def longest(self, count: int, now: float) -> dict[str, int]:
        """Return the addresses that most hosts wait for, and how many do."""
        sizes = (
            (address, sum(until + LATE_S >= now for until in hosts.values()))
            for address, hosts in self._waiting.items()
        )
        return dict(nlargest(count, (one for one in sizes if one[1]), key=itemgetter(1)))
