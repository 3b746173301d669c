"""Traps: parts of a site without an end, each with its own shape of URL."""

from collections.abc import Callable

from gossamer.testing.answer import Answer, html_answer, not_found
from gossamer.testing.site.words import TOPICS, Dice

TRAPS: tuple[str, ...] = (
    "/trap/calendar/2024/01",
    "/trap/session/index?sid=start",
    "/trap/loop/a/b/",
    "/trap/maze/",
    "/trap/facets?colour=red",
)
"""The ways in."""

_MAZE_DOORS = 10
_YEAR_MONTHS = 12
_DAYS = 28
_WORDS = sorted({word for words in TOPICS.values() for word in words})
_FACETS = ("colour", "size", "age", "maker", "shelf")


def trap(target: str) -> Answer:
    """Return the answer to a target under /trap/."""
    name = target.removeprefix("/trap/").partition("/")[0].partition("?")[0]
    make = _MAKERS.get(name)
    return make(target) if make else not_found()


def _page(title: str, hrefs: list[str]) -> Answer:
    links = "\n".join(f'<li><a href="{href}">{href}</a></li>' for href in hrefs)
    return html_answer(
        f"<!doctype html><title>{title}</title><h1>{title}</h1>\n<ul>\n{links}\n</ul>\n"
    )


def _calendar(target: str) -> Answer:
    parts = target.split("/")[3:]
    if not all(part.isdigit() for part in parts) or len(parts) not in (2, 3):
        return not_found()
    months = int(parts[0]) * _YEAR_MONTHS + int(parts[1]) - 1
    nearby = [divmod(months + step, _YEAR_MONTHS) for step in (1, -1)]
    here = f"/trap/calendar/{int(parts[0])}/{int(parts[1]):02d}"
    days = [f"{here}/{day:02d}" for day in range(1, _DAYS + 1)]
    turns = [f"/trap/calendar/{year}/{month + 1:02d}" for year, month in nearby]
    return _page(f"Calendar, {'-'.join(parts)}", turns + days)


def _session(target: str) -> Answer:
    dice = Dice(target)
    doors = ("index", "basket", "news")
    return _page(
        "Your session", [f"/trap/session/{door}?sid={dice.number():016x}" for door in doors]
    )


def _loop(target: str) -> Answer:
    return _page("Round and round", ["a/b/", "b/a/", f"{target.rstrip('/')}/a/"])


def _maze(target: str) -> Answer:
    dice = Dice(target)
    doors = [f"{target.rstrip('/')}/{dice.pick(_WORDS)}" for _ in range(_MAZE_DOORS)]
    babble = " ".join(dice.pick(_WORDS) for _ in range(200))
    return _page(f"Maze: {babble[:40]}", doors)


def _facets(target: str) -> Answer:
    chosen = target.partition("?")[2]
    dice = Dice(target)
    more = [f"/trap/facets?{chosen}&{facet}={dice.pick(_WORDS)}" for facet in _FACETS]
    return _page("Choose further", more)


_MAKERS: dict[str, Callable[[str], Answer]] = {
    "calendar": _calendar,
    "session": _session,
    "loop": _loop,
    "maze": _maze,
    "facets": _facets,
}
