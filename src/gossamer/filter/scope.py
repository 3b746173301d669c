"""Scope: how far from the seeds the crawl may go."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from gossamer.filter.gate import LinkTest
from gossamer.model import Link, Objection, Reject, Url
from gossamer.urls import registrable_domain

Reach: TypeAlias = Literal["any", "domain", "host", "prefix"]


class Scope:
    """The seeds' domains, hosts or folders, as an origin rule. More seeds widen it."""

    def __init__(self, reach: Reach, seeds: Iterable[Url]) -> None:
        self._reach = reach
        self._domains: set[str] = set()
        self._folders: dict[str, set[str]] = {}
        for seed in seeds:
            self.add_seed(seed)

    def add_seed(self, seed: Url) -> None:
        """Widen the scope by one seed."""
        self._domains.add(registrable_domain(seed.host))
        self._folders.setdefault(seed.host, set()).add(folder_of(seed))

    def __call__(self, url: Url) -> Objection | LinkTest | None:
        """Return what the scope has against an origin, or the test for its URLs."""
        match self._reach:
            case "any":
                return None
            case "domain":
                domain = registrable_domain(url.host)
                return None if domain in self._domains else Objection(Reject.OFF_SCOPE, domain)
            case "host":
                return None if url.host in self._folders else _off(url.host)
            case "prefix":
                return self._within_folders(url)

    def _within_folders(self, url: Url) -> Objection | LinkTest | None:
        folders = tuple(self._folders.get(url.host, ()))
        if not folders:
            return _off(url.host)
        shown = " ".join(sorted(folders))

        def within(link: Link, _source: str) -> Objection | None:
            rest = link.target.text.partition(":")[2]
            return None if rest.startswith(folders) else _off(f"not below {shown}")

        return within


def folder_of(url: Url) -> str:
    """Return the URL up to the last slash of its path, without the scheme.

    A site that moved from http to https is still the same site.
    """
    path = url.text.partition("?")[0]
    return path[: path.rindex("/") + 1].partition(":")[2] if "/" in path else url.text


def _off(detail: str) -> Objection:
    return Objection(Reject.OFF_SCOPE, detail)
