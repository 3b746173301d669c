"""Snares that say the same again and again: calendars, sessions, paths that go round."""

from gossamer.testing.words import SeededRandom
from laboratory.snares.sheet import Sheet, babble

_YEAR_MONTHS = 12
_DAYS = 30
_OF_A_DAY = 3
_MONTHS = "January February March April May June July August September October November December"
_GOODS = 12


def calendar(tail: str) -> Sheet | None:
    """Answer any month with its days and the months beside it; days have no events."""
    parts = (tail or "2026/11").strip("/").split("/")
    if not all(part.isdigit() for part in parts) or len(parts) not in {2, 3}:
        return None
    month = int(parts[0]) * _YEAR_MONTHS + int(parts[1]) - 1
    name = _MONTHS.split()[month % _YEAR_MONTHS]
    beside = [_month(month - 1), _month(month + 1)]
    if len(parts) == _OF_A_DAY:
        return Sheet(
            f"{name} {int(parts[2])}, {parts[0]}", "There are no events on this day.", beside
        )
    days = [f"{_month(month)}/{day:02d}" for day in range(1, _DAYS + 1)]
    return Sheet(f"{name} {parts[0]}", f"What is on in {name}.", [*beside, *days])


def month_view(tail: str) -> Sheet:
    """Answer any month that a query names with the months beside it."""
    asked = dict(pair.partition("=")[::2] for pair in tail.removeprefix("?").split("&"))
    month = int(asked.get("year") or 2026) * _YEAR_MONTHS + int(asked.get("month") or 11) - 1
    name = _MONTHS.split()[month % _YEAR_MONTHS]
    beside = [divmod(month + step, _YEAR_MONTHS) for step in (-1, 1)]
    links = [f"?year={year}&month={number + 1}" for year, number in beside]
    return Sheet("Diary", f"{name} {month // _YEAR_MONTHS}: nothing is planned.", links)


def _month(month: int) -> str:
    year, number = divmod(month, _YEAR_MONTHS)
    return f"{year}/{number + 1:02d}"


def session_in_path(tail: str) -> Sheet:
    """Answer any session with the same goods, under a new session each."""
    name = tail.partition("/")[2]
    rng = SeededRandom("session", tail)
    links = [f"{rng.number():012x}/item{rng.below(_GOODS)}" for _ in range(6)]
    return Sheet("Shop", f"{name or 'Welcome'}. {babble('goods', name)}", links)


def session_in_query(tail: str) -> Sheet:
    """Answer any token with one and the same page, and new tokens."""
    rng = SeededRandom("token", tail)
    return Sheet("Your visit", babble("visit"), [f"?visit={rng.number():010x}" for _ in range(3)])


def loop(tail: str) -> Sheet:
    """Answer any path with the same page, whose relative links lead further down."""
    inside = tail.rstrip("/")
    links = [f"{inside}/{step}/".lstrip("/") for step in ("a", "b", "c")]
    return Sheet("Round and round", babble("loop"), links)
