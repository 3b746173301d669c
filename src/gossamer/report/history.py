"""Editions: the contents that a URL had one after the other, and what differs between two."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from itertools import groupby
from operator import attrgetter

import msgspec

from gossamer.errors import ConfigError, CorruptFile
from gossamer.model import StoreRef
from gossamer.report.control import ask_running
from gossamer.report.explanation import Edition, RecordLocation, Why
from gossamer.store import (
    ArchiveName,
    Capture,
    CrawlFolder,
    captures_among,
    cdxj_line,
    files_without_index,
    indexed_captures,
    read_record,
    unindexed_captures,
)

VISITS_KEPT = 8
"""Of a URL, in its record: if it has fewer, all its visits are known."""
MAX_DIFF_LINES = 20_000
"""Beyond so many lines that differ, two texts are not aligned: that would take minutes."""
_STAMP = "%Y%m%d%H%M%S"
_AGO = re.compile(
    r"(\d{1,6})\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)(?:\s+ago)?",
    re.IGNORECASE,
)
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_EXPECTED_TIME = 'a time such as 2026-11-01, 2026-11-01T12:30:00Z, yesterday, 12h, or "2 days ago"'


def editions_of(place: CrawlFolder, found: Why) -> list[Edition]:
    """Return the contents of the URL that something is known of, the oldest first."""
    captures = {one.ref: one for one in _captures(place, found)}
    ordered = sorted(captures.values(), key=_order)
    alike = groupby(ordered, key=attrgetter("digest"))
    return [_edition(number, list(answers)) for number, (_, answers) in enumerate(alike, 1)]


def _edition(number: int, answers: list[Capture]) -> Edition:
    first = answers[0]
    ref = first.ref
    return Edition(
        number=number,
        at=_moment(first.timestamp),
        last_at=_moment(answers[-1].timestamp),
        answers=len(answers),
        status=first.status,
        media_type="" if first.is_revisit else first.media_type,
        digest=first.digest,
        revisit=first.is_revisit,
        location=RecordLocation(file=ref.file, offset=ref.offset, length=ref.length),
    )


def _captures(place: CrawlFolder, found: Why) -> Iterator[Capture]:
    """Yield all captures of a URL: from the indexes, from the running crawl, or from its visits."""
    url = found.canonical or ""
    told: dict[str, object] = {}
    if len(found.visits) >= VISITS_KEPT:  # there may be more than its record tells
        told = ask_running(place.control_path, {"ask": "captures", "url": url}) or {}
    files = told.get("files")
    open_files = {str(name) for name in files} if isinstance(files, list) else set()
    if open_files:
        yield from msgspec.convert(told.get("captures"), list[Capture])
    unindexed = {name.file_name for name in files_without_index(place)}
    for name in place.archive_names(kind="pages"):
        if name.file_name in open_files:
            continue
        if name.file_name in unindexed:
            yield from _visited(place, found, name)
        else:
            yield from indexed_captures(place.archive / name.cdxj_name, url)


def _visited(place: CrawlFolder, found: Why, name: ArchiveName) -> Iterator[Capture]:
    """Yield the captures in a file without an index: by the URL's visits, if all are known."""
    url = found.canonical or ""
    if len(found.visits) >= VISITS_KEPT:
        yield from unindexed_captures(place.archive_path(name.file_name), url)
        return
    for visit in found.visits:
        if visit.file == name.file_name and visit.offset is not None:
            ref = StoreRef(visit.file, visit.offset, visit.length or 0)
            try:
                line = cdxj_line(read_record(place, ref), visit.file)
            except CorruptFile:
                continue
            yield from captures_among([line], url)


def _order(capture: Capture) -> tuple[str, int, int, int]:
    """Return the key of the order in time; within a second, that of writing."""
    name = ArchiveName.parse(capture.ref.file)
    written = (0, 0) if name is None else (name.epoch, name.number)
    return capture.timestamp, *written, capture.ref.offset


def _moment(timestamp: str) -> float:
    try:
        return datetime.strptime(timestamp, _STAMP).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def numbered(found: Sequence[Edition], number: int, url: str) -> Edition:
    """Return the edition with a number; ConfigError if there is none."""
    if not 1 <= number <= len(found):
        raise ConfigError(
            f"{url} has {len(found)} edition{'' if len(found) == 1 else 's'}; "
            f"expected a number from 1 to {len(found)}, found {number}"
        )
    return found[number - 1]


def edition_at(found: Sequence[Edition], moment: float) -> Edition | None:
    """Return the edition that was the newest at a moment; None before the first."""
    return next((one for one in reversed(found) if one.at <= moment), None)


def asked_edition(
    editions: Callable[[], list[Edition]],
    url: str,
    number: int | None,
    at: str | float | None,
    now: float,
) -> Edition | None:
    """Return the edition with a number, or the newest at a time; None if there is none."""
    if (number is None) == (at is None):
        raise ConfigError("expected either `edition` or `at`")
    found = editions()
    if number is not None:
        return numbered(found, number, url) if found else None
    return edition_at(found, read_moment(at, now) if isinstance(at, str) else at or 0.0)


def read_moment(text: str, now: float) -> float:
    """Return the moment that a text names, in UTC unless it says otherwise.

    A day, a month or a year alone means its end.
    """
    return _read_span(text, now)[1]


def read_since(text: str, now: float) -> float:
    """Return the same, but of a day, a month or a year alone the beginning."""
    return _read_span(text, now)[0]


def _read_span(text: str, now: float) -> tuple[float, float]:
    """Return the first and the last moment of what a text names: mostly the same."""
    words = " ".join(text.split()).lower()
    if words == "now":
        return now, now
    if ago := _AGO.fullmatch(words):
        moment_at = now - int(ago[1]) * _UNITS_S[ago[2][0]]
        return moment_at, moment_at
    try:
        if words in {"today", "yesterday"}:
            day = datetime.fromtimestamp(now, UTC) - timedelta(days=words == "yesterday")
            return _span_of(day.year, day.month, day.day)
        if date := _DATE.fullmatch(words):
            return _span_of(*(int(part) if part else None for part in date.groups()))
        moment = datetime.fromisoformat(words.upper())
    except (ValueError, OverflowError):
        raise ConfigError(f"expected {_EXPECTED_TIME}, found {text!r}") from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return aware.timestamp(), aware.timestamp()


def _span_of(year: int | None, month: int | None, day: int | None) -> tuple[float, float]:
    start = datetime(year or 1, month or 1, day or 1, tzinfo=UTC)
    if day is not None:
        after = start + timedelta(days=1)
    elif month is not None:
        after = (start + timedelta(days=31)).replace(day=1)
    else:
        after = start.replace(year=start.year + 1)
    return start.timestamp(), after.timestamp() - 1e-6


def diff_lines(old: list[str], new: list[str], old_name: str, new_name: str) -> list[str]:
    """Return a unified diff; texts that differ in very many lines are not aligned."""
    if old == new:
        return []
    if len(old) + len(new) <= MAX_DIFF_LINES:
        return list(unified_diff(old, new, old_name, new_name, lineterm=""))
    head = [f"--- {old_name}", f"+++ {new_name}", f"@@ -1,{len(old)} +1,{len(new)} @@"]
    return [*head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
