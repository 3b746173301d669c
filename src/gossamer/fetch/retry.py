"""Retry: which failures are worth another try, how often and how late. Pure tables."""

from msgspec import Struct

from gossamer.model import Failed, FailureKind


class RetryRule(Struct, frozen=True):
    """How often a kind of failure is tried again, and the wait, which grows by a factor."""

    retries: int
    first_s: float = 0.0
    factor: float = 1.0
    longest_s: float = 3600.0
    is_host_wide: bool = False

    def delay_s(self, attempt: int) -> float:
        """Return the wait after so many earlier failures."""
        return min(self.first_s * self.factor**attempt, self.longest_s)


_NEVER = RetryRule(retries=0)
_LINE = RetryRule(retries=4, first_s=1.0, factor=3.0)
"""1, 3, 9, 27 s: a torn line is mended soon or not at all."""
_SLOW = RetryRule(retries=2, first_s=5.0, factor=6.0)
"""5 and 30 s: every further try costs a whole deadline, and a small crawl must come to an end."""
_SERVER = RetryRule(retries=3, first_s=5.0, factor=4.0)
"""5, 20, 80 s."""

RETRY: dict[FailureKind, RetryRule] = {
    FailureKind.DNS_NO_SUCH_HOST: _NEVER,
    # An outage of the resolver is no failure of the host: 5 s, growing by 3 %, is under 10 s for
    # the first two minutes and gives up after about a quarter of an hour.
    FailureKind.DNS_UNREACHABLE: RetryRule(
        retries=60, first_s=5.0, factor=1.03, longest_s=30.0, is_host_wide=True
    ),
    FailureKind.CONNECT_FAILED: _SLOW,
    FailureKind.CONNECT_TIMEOUT: _SLOW,
    FailureKind.TLS_FAILED: RetryRule(retries=2, first_s=5.0, factor=6.0),
    FailureKind.TLS_CERTIFICATE: _NEVER,
    FailureKind.FIRST_BYTE_TIMEOUT: _SLOW,
    FailureKind.TOTAL_TIMEOUT: _SLOW,
    FailureKind.STALLED: _SLOW,
    FailureKind.DISCONNECTED: _LINE,
    FailureKind.BAD_HTTP: RetryRule(retries=1, first_s=5.0),
    FailureKind.HEADER_TOO_LARGE: _NEVER,
    FailureKind.TOO_MANY_REDIRECTS: _NEVER,
    FailureKind.BAD_REDIRECT: _NEVER,
    FailureKind.PROXY_FAILED: RetryRule(
        retries=20, first_s=5.0, factor=1.3, longest_s=60.0, is_host_wide=True
    ),
    FailureKind.NOT_FOUND: _NEVER,
    FailureKind.GONE: _NEVER,
    FailureKind.UNAUTHORIZED: _NEVER,
    FailureKind.HTTP_4XX: _NEVER,
    FailureKind.THROTTLED: RetryRule(
        retries=10, first_s=10.0, factor=2.0, longest_s=900.0, is_host_wide=True
    ),
    FailureKind.HTTP_5XX: _SERVER,
    FailureKind.UNREADABLE_FILE: _NEVER,
    FailureKind.KILLED_US: _NEVER,
    FailureKind.INTERNAL: _NEVER,
}
"""One row per kind of failure; a test sees to it."""


def next_try_at(failed: Failed, attempt: int, now: float) -> float | None:
    """Return when a task that failed is tried again; None when this failure is final.

    `attempt` is how many of its tries had failed before this one. A Retry-After is obeyed.
    """
    rule = RETRY[failed.kind]
    if attempt >= rule.retries:
        return None
    delay_s = rule.delay_s(attempt) if failed.retry_after_s is None else failed.retry_after_s
    return now + delay_s
