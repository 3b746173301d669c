"""How fresh was it really? Computed from what the web did and from the server's own log."""

from bisect import bisect_right
from collections.abc import Callable, Iterable

from gossamer.testing.request_log import LoggedRequest
from laboratory.changing.web import ChangingWeb, Page

_SHOWN = frozenset({200, 304})


def true_freshness(
    web: ChangingWeb,
    visits: Iterable[LoggedRequest],
    begin: float,
    end: float,
    weight: Callable[[Page], float] = lambda _page: 1.0,
) -> float:
    """Return the weighted share of time for which the copies of pages that stay were current.

    Moments are seconds since the changes began; every page was fetched before. A visit shows the
    page as it is at its arrival.
    """
    looks = looks_at(web, visits)
    fresh = total = 0.0
    for place, page in web.fates.items():
        if page.gone_at is None:
            fresh += weight(page) * _current_s(page, looks.get(place, []), begin, end)
            total += weight(page) * (end - begin)
    return fresh / total


def looks_at(
    web: ChangingWeb, visits: Iterable[LoggedRequest]
) -> dict[tuple[int, int], list[float]]:
    """Return the moments at which each page was shown, since the changes began."""
    began_at = web.began_at or 0.0
    places = {(f"w{host}.test", f"/{n or ''}"): (host, n) for host, n in web.fates}
    found: dict[tuple[int, int], list[float]] = {}
    for visit in sorted(visits, key=lambda visit: visit.at):
        place = places.get((visit.host, visit.target))
        if place is not None and visit.at >= began_at and visit.status in _SHOWN:
            found.setdefault(place, []).append(visit.at - began_at)
    return found


def changes_between(web: ChangingWeb, begin: float, end: float) -> int:
    """Return how often pages that stay changed between two moments."""
    stay = (page for page in web.fates.values() if page.gone_at is None)
    return sum(page.version(end) - page.version(begin) for page in stay)


def _current_s(page: Page, looks: list[float], begin: float, end: float) -> float:
    """Return for how long between two moments the copy was the page's newest edition."""
    current_s = 0.0
    starts = [0.0, *looks]
    for start, stop in zip(starts, [*looks, end], strict=True):
        place = bisect_right(page.changes, start)
        stale_at = page.changes[place] if place < len(page.changes) else end
        current_s += max(0.0, min(stop, stale_at, end) - max(start, begin))
    return current_s
