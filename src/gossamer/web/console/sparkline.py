"""Sparklines: how a figure went in the last hour or day, as a small drawing without numbers."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from gossamer import CrawlSample
from gossamer.web.frame import text

WIDTH, HEIGHT = 240, 40
COLUMNS = 120
"""So many points are drawn at most: the mean of what falls into a column."""
GAP_S = 60.0
"""Samples that are further apart are not joined: the crawl did not run between them."""


class Point(NamedTuple):
    """A figure at a moment."""

    at: float
    value: float


def level(samples: Sequence[CrawlSample], of: Callable[[CrawlSample], float | None]) -> list[Point]:
    """Return a figure at each sample."""
    found = ((one.at, of(one)) for one in samples)
    return [Point(at, value) for at, value in found if value is not None]


def rate(samples: Sequence[CrawlSample], of: Callable[[CrawlSample], float]) -> list[Point]:
    """Return how fast a total grew between samples, per second."""
    found: list[Point] = []
    for before, after in pairwise(samples):
        passed_s = after.at - before.at
        if 0 < passed_s <= GAP_S:
            found.append(Point(after.at, max(0.0, of(after) - of(before)) / passed_s))
    return found


def latest(points: Sequence[Point], now: float, span_s: float) -> str:
    """Return the last value and the highest of a span in words; "" if nothing was noted."""
    shown = [one.value for one in points if one.at > now - span_s]
    return f"{shown[-1]:,.4g} now, {max(shown):,.4g} at most" if shown else ""


def sparkline(about: str, points: Sequence[Point], now: float, span_s: float) -> str:
    """Return a drawing of the points of the last `span_s` seconds, with its highest in words."""
    shown = [one for one in points if one.at > now - span_s]
    if not shown:
        return f'<p class="note">{text(about)}: nothing was noted.</p>'
    top = max(one.value for one in shown)
    lines = "".join(
        f'<polyline points="{" ".join(_place(one, now, span_s, top) for one in run)}"/>'
        for run in _runs(_thinned(shown, now, span_s), max(GAP_S, 2 * span_s / COLUMNS))
    )
    told = f"{about}: at most {top:,.4g}, now {shown[-1].value:,.4g}"
    return (
        f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{text(told)}"><title>{text(told)}</title>{lines}</svg>'
    )


def _thinned(points: Sequence[Point], now: float, span_s: float) -> list[Point]:
    """Return the mean of the points of each column."""
    columns: dict[int, list[Point]] = {}
    for one in points:
        columns.setdefault(int((now - one.at) / span_s * COLUMNS), []).append(one)
    return [
        Point(sum(p.at for p in some) / len(some), sum(p.value for p in some) / len(some))
        for some in columns.values()
    ]


def _runs(points: Sequence[Point], gap_s: float) -> list[list[Point]]:
    """Return points in rows that are joined."""
    runs: list[list[Point]] = []
    for one in points:
        if runs and one.at - runs[-1][-1].at <= gap_s:
            runs[-1].append(one)
        else:
            runs.append([one])
    least = gap_s / 2  # a point alone is a dash that can be seen
    return [
        run if len(run) > 1 else [run[0]._replace(at=run[0].at - least), run[0]] for run in runs
    ]


def _place(point: Point, now: float, span_s: float, top: float) -> str:
    x = WIDTH * (1 - (now - point.at) / span_s)
    y = (HEIGHT - 3) * (1 - (point.value / top if top else 0.0)) + 1.5
    return f"{x:.1f},{y:.1f}"
