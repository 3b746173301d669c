"""Judging a crawl by the server's log: what was honest, what was lost in traps, and when."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from gossamer.testing import LoggedRequest
from laboratory.families.family import Spot, domain_of, spot


class CrawlTally(NamedTuple):
    """What the server saw of one crawl; robots.txt is left out of all but the first counts."""

    fetched: set[Spot]
    """Honest pages that were sent."""
    requests_before: int
    """Requests up to the last honest page that was not sent before."""
    before: Counter[str]
    """Those of them that went to traps, by trap, robots.txt included."""
    after: Counter[str]
    """Requests to traps after that page, by registrable domain."""
    after_by_trap: Counter[str]
    """The same by trap: those of one trap share an address."""
    by_trap: Counter[str]
    """All requests to traps."""

    @property
    def share_before(self) -> float:
        """Return the share of requests up to the last honest page that went to traps."""
        return self.before.total() / max(1, self.requests_before)


def tally(
    requests: Iterable[LoggedRequest],
    trap_of: Callable[[str, str], str],
    expected: Collection[Spot] | None = None,
) -> CrawlTally:
    """Return what a log says; without expected pages every page outside of traps is honest."""
    log = list(requests)
    traps = [trap_of(request.host, request.target) for request in log]
    fetched: set[Spot] = set()
    last = -1
    for number, (request, trap) in enumerate(zip(log, traps, strict=True)):
        where = spot(request.host, request.target)
        is_page = request.status == 200 and not trap and request.path != "/robots.txt"
        if is_page and where not in fetched and (expected is None or where in expected):
            fetched.add(where)
            last = number
    before = Counter(trap for trap in traps[: last + 1] if trap)
    later = [
        (domain_of(request.host), trap)
        for request, trap in zip(log[last + 1 :], traps[last + 1 :], strict=True)
        if trap and request.path != "/robots.txt"
    ]
    return CrawlTally(
        fetched=fetched,
        requests_before=last + 1,
        before=before,
        after=Counter(domain for domain, _ in later),
        after_by_trap=Counter(trap for _, trap in later),
        by_trap=Counter(trap for trap in traps if trap),
    )
