"""Schedule: the hours of the week in which requests may be made. Time and zone are arguments.

What counts is what a clock on the wall shows in that zone: where it is set forward, hours that it
leaves out do not come, and hours that it shows twice come twice.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from gossamer.errors import ConfigError

EXAMPLE = '"22:00-06:00", "Mon-Fri 20:00-07:00" or "Sat,Sun 00:00-24:00"'
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LEAST_LETTERS = 3
DAY = 24 * 60
WEEK = 7 * DAY
MINUTE_S = 60
LOOKED_AHEAD = 15 * DAY
"""Minutes. A span of a week may fall into the hour that a clock which is set forward leaves out."""
_SPAN = re.compile(
    r"(?:(?P<days>[a-z][a-z,\s-]*)\s)?\s*"
    r"(?P<begin>[0-9]{1,2}:[0-9]{2})\s*(?:-|–)\s*(?P<end>[0-9]{1,2}:[0-9]{2})"
)


@dataclass(frozen=True, slots=True)
class OpenSpan:
    """Minutes of the week in which requests may be made; it may reach into the next week."""

    begin: int
    minutes: int

    def holds(self, minute: int) -> bool:
        """Return True if a minute of the week is one of these."""
        return (minute - self.begin) % WEEK < self.minutes


@dataclass(frozen=True, slots=True)
class Schedule:
    """Hours of the week in one time zone; None is the machine's. No spans: always."""

    spans: tuple[OpenSpan, ...] = ()
    zone: tzinfo | None = None

    def is_open(self, at: float) -> bool:
        """Return True if requests may be made at a moment."""
        if not self.spans:
            return True
        shown = _shown_at(at, self.zone)
        minute = shown.weekday() * DAY + shown.hour * 60 + shown.minute
        return any(span.holds(minute) for span in self.spans)

    def opens_at(self, at: float) -> float | None:
        """Return from when requests may be made; None if they may be at this moment."""
        if self.is_open(at):
            return None
        first = int(at) // MINUTE_S + 1
        minutes = range(first, first + LOOKED_AHEAD)
        found = next((one for one in minutes if self.is_open(one * MINUTE_S)), minutes[-1])
        return float(found * MINUTE_S)


def read_schedule(hours: Sequence[str], time_zone: str) -> Schedule:
    """Return the schedule that settings describe, or raise `ConfigError`."""
    spans = tuple(span for text in hours for span in _spans(text))
    return Schedule(spans, _zone(time_zone) if time_zone else None)


def moment_words(at: float, time_zone: str) -> str:
    """Return a moment as people of a time zone say it, and the zone."""
    shown = _shown_at(at, _zone(time_zone) if time_zone else None)
    named = f" ({time_zone})" if time_zone and time_zone != shown.tzname() else ""
    return f"{shown:%a} {shown.day} {shown:%b %H:%M %Z}{named}"


def _shown_at(at: float, zone: tzinfo | None) -> datetime:
    """Return what clocks show at a moment."""
    return datetime.fromtimestamp(at, zone) if zone else datetime.fromtimestamp(at).astimezone()


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo, available_timezones  # noqa: PLC0415 -- few crawls need it

    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # by what is odd about the name
        also = "" if available_timezones() else " (this machine has no time zones: install tzdata)"
        raise ConfigError(
            'schedule.time_zone: expected a time zone such as "Europe/Berlin" or "UTC", found '
            f"{name!r}{also}"
        ) from None


def _spans(text: str) -> Iterator[OpenSpan]:
    """Give the spans that a text such as "Sat,Sun 08:00-20:00" means, one for each day."""
    said = _SPAN.fullmatch(text.strip().lower())
    begin, end = (_minute(said[one]) for one in ("begin", "end")) if said else (None, None)
    days = _days(said["days"] or "mon-sun") if said else None
    if begin is None or end is None or not days or begin == DAY:
        raise ConfigError(f"schedule.hours: expected hours such as {EXAMPLE}, found {text!r}")
    if begin == end:
        raise ConfigError(
            f"schedule.hours: expected an end that is not the beginning, found {text!r}; a whole "
            'day is "00:00-24:00"'
        )
    for day in days:
        yield OpenSpan(day * DAY + begin, end - begin if end > begin else end - begin + DAY)


def _minute(text: str) -> int | None:
    """Return the minute of the day that a time means; None if there is none such."""
    hour, _, minute = text.partition(":")
    found = int(hour) * 60 + int(minute)
    return found if int(minute) < 60 and found <= DAY else None  # noqa: PLR2004 -- minutes


def _days(text: str) -> list[int] | None:
    """Return the days that a list such as "mon-thu,sun" names; None if one of them is no day."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        begin, end = _day(first), _day(last if dash else first)
        if begin is None or end is None:
            return None
        found += [day % 7 for day in range(begin, end + (7 if end < begin else 0) + 1)]
    return list(dict.fromkeys(found))


def _day(text: str) -> int | None:
    """Return the number of the day that three letters or more of its name mean."""
    name = text.strip()
    if len(name) < LEAST_LETTERS:
        return None
    return next((number for number, day in enumerate(DAYS) if day.startswith(name)), None)
