"""Narrowing: the filters in a query as something to click: taken out, or put in."""

import re
from collections.abc import Mapping
from datetime import date, timedelta
from itertools import islice

from msgspec import Struct

_FILTER = re.compile(
    r"(?<!\S)(?P<sign>-?)(?P<kind>site|lang|language|type|filetype|label|inurl|before|after):"
    r'(?P<value>"[^"]*"|\S+)',
    re.IGNORECASE,
)
_DAY = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
MOST_TAKEN = 16
"""Filters of a query that can be taken out by a click: each is a link with all the others."""
_KINDS: Mapping[str, frozenset[str]] = {
    "site": frozenset({"site"}),
    "lang": frozenset({"lang", "language"}),
    "type": frozenset({"type", "filetype"}),
    "after": frozenset({"after", "before"}),
    "before": frozenset({"after", "before"}),
}
"""Filters that take the place of each other."""


class Chip(Struct, frozen=True):
    """A filter, and the query that a click on it asks."""

    label: str
    query: str


def active(query: str) -> list[Chip]:
    """Return the filters of a query, each with the query without it."""
    return [
        Chip(found.group(), _joined(query[: found.start()], query[found.end() :]))
        for found in islice(_FILTER.finditer(query), MOST_TAKEN)
    ]


def narrowed(query: str, filters: str) -> str:
    """Return a query with filters of one kind in place of those that it has of that kind."""
    return _joined(widened(query, filters), filters)


def widened(query: str, filters: str) -> str:
    """Return a query without its filters of the kind of some others."""
    kinds = _KINDS[filters.partition(":")[0]]
    return _joined(_FILTER.sub(lambda it: " " if _is_of(it, kinds) else it.group(), query))


def has_filters(query: str, filters: str) -> bool:
    """Return True if a query has just these filters of their kind."""
    kinds = _KINDS[filters.partition(":")[0]]
    own = [it.group().lower() for it in _FILTER.finditer(query) if _is_of(it, kinds)]
    return sorted(own) == sorted(filters.lower().split())


def has_kind(query: str, kind: str) -> bool:
    """Return True if a query has a filter of a kind: site, lang, type, after."""
    return any(_is_of(it, _KINDS[kind]) for it in _FILTER.finditer(query))


def from_host(query: str, host: str) -> str:
    """Return the query for one host only."""
    return narrowed(query, f"site:{_name(host)}")


def is_of(query: str, host: str) -> bool:
    """Return True if a query is for one host only, already."""
    return has_filters(query, f"site:{_name(host)}")


def unfiltered(query: str) -> str:
    """Return a query without its filters."""
    return _joined(_FILTER.sub(" ", query)) if _FILTER.search(query) else query


def days_of(query: str) -> tuple[str, str]:
    """Return the first and the last day that a query allows; "" where it sets no bound."""
    bounds = {"after": "", "before": ""}
    for found in _FILTER.finditer(query):
        name, day = found["kind"].lower(), _day(found["value"])
        if name in bounds and day is not None and day > date.min and not found["sign"]:
            bounds[name] = f"{day if name == 'after' else day - timedelta(days=1)}"
    return bounds["after"], bounds["before"]


def between(query: str, first: str, last: str) -> str:
    """Return a query for pages that were fetched from one day to another, both included.

    "" sets no bound. Raise `ValueError` for what is no day.
    """
    parts = [f"after:{date.fromisoformat(first)}"] if first else []
    if last and (end := date.fromisoformat(last)) < date.max:
        parts.append(f"before:{end + timedelta(days=1)}")
    return _joined(widened(query, "after:"), *parts)


def short_type(media_type: str) -> str:
    """Return a media type as people say it: html, pdf."""
    return media_type.partition(";")[0].strip().rpartition("/")[2]


def _is_of(found: re.Match[str], kinds: frozenset[str]) -> bool:
    """Return True if a filter is of some kinds; what is excluded stays, except for days."""
    kind = found["kind"].lower()
    return kind in kinds and (not found["sign"] or kind in {"after", "before"})


def _day(text: str) -> date | None:
    found = _DAY.fullmatch(text)
    if not found:
        return None
    year, month, day = (int(part or 1) for part in found.groups())
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _name(host: str) -> str:
    """Return a host without its port: a site has them all."""
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() else host


def _joined(*parts: str) -> str:
    return " ".join(" ".join(parts).split())
