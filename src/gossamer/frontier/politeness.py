"""When may this host, or this address, be asked again?"""

from collections.abc import Sequence

from msgspec import Struct

from gossamer.config import PolitenessConfig

ADDRESSES_KEPT = 50_000


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


def address_gap_s(rules: PolitenessConfig) -> float:
    """Return the gap between two requests to one address: smaller than the host's."""
    if rules.delay_s is None:
        return min(rules.address_delay_s, rules.min_delay_s)
    return min(rules.address_delay_s, rules.delay_s)


class AddressClocks:
    """The earliest next moment per IP address: a second, smaller gap than the host's.

    Kept in memory, within one shard. Moments in the past are dropped when the table is full.
    """

    def __init__(self, gap_s: float) -> None:
        self._gap_s = gap_s
        self._next_at: dict[str, float] = {}

    def take(self, addresses: Sequence[str], now: float) -> float | None:
        """Take a host's first address; if it is not yet due, return the moment to wait for."""
        if not addresses:
            return None
        until = self._next_at.get(addresses[0], 0.0)
        if until > now:
            return until
        self.touch(addresses[0], now)
        return None

    def touch(self, address: str, now: float) -> None:
        """Note that the address is being asked, or has just answered."""
        if not self._gap_s:
            return
        if len(self._next_at) >= ADDRESSES_KEPT:
            self._next_at = {a: at for a, at in self._next_at.items() if at > now}
        self._next_at[address] = now + self._gap_s
