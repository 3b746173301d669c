"""Asked: what a request's query says, within bounds."""

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import TypeVar

from starlette.datastructures import QueryParams

MOST_URL_CHARS = 8 * 1024
MOST_COUNT = 10_000
MOST_HEADER_CHARS, MOST_LANGUAGES = 500, 8
Choice = TypeVar("Choice")


class BadQuery(Exception):
    """A query that cannot be answered; its words say what was expected."""


def accepted_languages(header: str) -> tuple[str, ...]:
    """Return the languages of an Accept-Language header, the preferred one first."""
    found: list[tuple[float, str]] = []
    for part in header[:MOST_HEADER_CHARS].split(","):
        name, _, quality = part.partition(";")
        code = name.strip().lower().partition("-")[0]
        said = re.fullmatch(r"\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*", quality)
        weight = float(said[1]) if said else 0.0 if quality else 1.0
        if weight and code.isascii() and code.isalpha():
            found.append((-weight, code))
    codes = dict.fromkeys(code for _, code in sorted(found, key=itemgetter(0)))
    return tuple(codes)[:MOST_LANGUAGES]


class Asked:
    """The parameters of a request."""

    def __init__(self, query: QueryParams) -> None:
        self._query = query

    def __contains__(self, name: object) -> bool:
        return name in self._query

    def text(self, name: str) -> str:
        """Return a parameter, or nothing."""
        value = self._query.get(name, "")
        if len(value) > MOST_URL_CHARS:
            raise BadQuery(f"{name}: expected at most {MOST_URL_CHARS} characters")
        return value

    def url(self, name: str) -> str:
        """Return a URL, which must be given."""
        value = self.text(name).strip()
        if not value:
            raise BadQuery(f"{name}: expected a URL")
        return value

    def words(self, name: str) -> str:
        """Return a question in words, which must be given."""
        value = self.text(name).strip()
        if not value:
            raise BadQuery(f"{name}: expected words to look for")
        return value

    def count(self, name: str, default: int, most: int = MOST_COUNT) -> int:
        """Return a number of things to show."""
        value = self.text(name) or str(default)
        is_short = len(value) <= len(str(most))
        if not (value.isascii() and value.isdigit() and is_short and 1 <= int(value) <= most):
            raise BadQuery(f"{name}: expected a number from 1 to {most}")
        return int(value)

    def one_of(self, name: str, known: Mapping[str, Choice]) -> Choice:
        """Return what a word means; the first of those known if none was given."""
        value = self.text(name) or next(iter(known))
        if value not in known:
            raise BadQuery(f"{name}: expected {', '.join(known)}")
        return known[value]

    def many(self, name: str) -> list[str]:
        """Return the words of a parameter that may be given several times, or with commas."""
        values = self._query.getlist(name)
        return [word for value in values for word in value.split(",") if word]
