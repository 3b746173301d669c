"""Narrowing: the filters in a question as something to click: taken out, or put in."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from gossamer import Hit

_FILTER = re.compile(
    r'(?<!\S)-?(?P<kind>site|lang|type|label|inurl|before|after):(?:"[^"]*"|\S+)', re.IGNORECASE
)
_PLAIN = re.compile(r"[\w.+\-\[\]:]+")
"""What can be said as the value of a filter."""
MOST_OFFERED = 3
"""Of each kind."""
MOST_TAKEN = 16
"""Filters of a question that can be taken out by a click: each is a link with all the others."""


class Chip(Struct, frozen=True):
    """A filter, and the question that a click on it asks."""

    label: str
    question: str


def active(question: str) -> list[Chip]:
    """Return the filters of a question, each with the question without it."""
    return [
        Chip(found.group(), _joined(question[: found.start()], question[found.end() :]))
        for found in islice(_FILTER.finditer(question), MOST_TAKEN)
    ]


def offered(question: str, hits: Sequence[Hit]) -> list[Chip]:
    """Return filters that would leave some of these results and not all of them."""
    used = {found["kind"].lower() for found in _FILTER.finditer(question)}
    return [
        Chip(f"{kind}:{value}", _joined(question, f"{kind}:{value}"))
        for kind, values in _values(hits)
        if kind not in used and len(set(values)) > 1
        for value in _frequent(values)
        if _PLAIN.fullmatch(value)
    ]


def from_host(question: str, host: str) -> str:
    """Return the question for one host only."""
    kept = _FILTER.sub(lambda it: " " if it["kind"].lower() == "site" else it.group(), question)
    return _joined(kept, f"site:{_name(host)}")


def is_of(question: str, host: str) -> bool:
    """Return True if a question is for one host only, already."""
    wanted = f"site:{_name(host)}"
    return any(found.group().lower() == wanted for found in _FILTER.finditer(question))


def unfiltered(question: str) -> str:
    """Return a question without its filters."""
    return _joined(_FILTER.sub(" ", question)) if _FILTER.search(question) else question


def short_type(media_type: str) -> str:
    """Return a media type as people say it: html, pdf."""
    return media_type.partition(";")[0].strip().rpartition("/")[2]


def _values(hits: Sequence[Hit]) -> Iterator[tuple[str, list[str]]]:
    yield "lang", [hit.language.partition("-")[0] for hit in hits if hit.language]
    yield "type", [short_type(hit.type) for hit in hits if hit.type]
    yield "site", [_name(hit.host) for hit in hits if hit.host]


def _name(host: str) -> str:
    """Return a host without its port: a site has them all."""
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() else host


def _frequent(values: Sequence[str]) -> list[str]:
    distinct = dict.fromkeys(values)
    return sorted(distinct, key=lambda one: -values.count(one))[:MOST_OFFERED]


def _joined(*parts: str) -> str:
    return " ".join(" ".join(parts).split())
