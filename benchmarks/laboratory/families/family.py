"""Family: a kind of site, or of trap, with the hosts that belong to it."""

import math
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Moved(NamedTuple):
    """A redirect."""

    to: str


class Sitemap(NamedTuple):
    """A sitemap, or an index of them."""

    text: str


def sitemap_of(tag: str, entry: str, urls: list[str]) -> Sitemap:
    """Return a sitemap (urlset of url) or an index (sitemapindex of sitemap)."""
    inside = "".join(f"<{entry}><loc>{url}</loc></{entry}>" for url in urls)
    space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    return Sitemap(f'<?xml version="1.0" encoding="UTF-8"?><{tag} {space}>{inside}</{tag}>')


Answer: TypeAlias = str | Moved | Sitemap


@dataclass(frozen=True, slots=True)
class Family:
    """Sites of one kind: what they answer, and how many pages there are to be had."""

    name: str
    doors: tuple[str, ...]
    """Where others link to it: `//host/path`."""
    answer: Callable[[str, str], Answer | None]
    """Host and target → the answer; None if there is no such page."""
    pages: int = 0
    """How many pages can be reached from the doors; 0 for a trap, which has no end."""
    hosts: str = ""
    """A pattern of its hosts; without one they are those of the doors."""
    robots: str = ""
    """The robots.txt of its hosts, if there is one."""
    empty: frozenset[str] = frozenset()
    """Targets of pages that say that there is nothing: a crawl may do without them."""

    def owns(self, host: str) -> bool:
        """Return True if a host belongs to the family."""
        if self.hosts:
            return re.fullmatch(self.hosts, host) is not None
        return any(host_of(door) == host for door in self.doors)


def host_of(link: str) -> str:
    """Return the host of `//host/path`."""
    return link[2:].partition("/")[0]


def domain_of(host: str) -> str:
    """Return the registrable domain of a host of the laboratory: all are below `.test`."""
    return ".".join(host.split(".")[-2:])


def scaled(count: int, scale: float, least: int = 2) -> int:
    """Return a smaller or larger count."""
    return max(least, math.ceil(count * scale))


_LINK = re.compile(r'(?:href="|<loc>)([^"#<]*)')


class Spot(NamedTuple):
    """A page by host and target; the parameters of its query are in order."""

    host: str
    target: str


def spot(host: str, target: str) -> Spot:
    """Return where a request went, whatever the order of its parameters."""
    path, mark, query = target.partition("?")
    return Spot(host, path + mark + "&".join(sorted(query.split("&"))))


def spot_of(link: str, host: str) -> Spot:
    """Return where a link of a page on a host leads: `/path` or `//host/path`."""
    if link.startswith("//"):
        other, _, rest = link[2:].partition("/")
        return spot(other, "/" + rest)
    return spot(host, link)


def links_of(answer: Answer, host: str) -> list[Spot]:
    """Return where the links of an answer lead."""
    match answer:
        case Moved(to):
            return [spot_of(to, host)]
        case Sitemap(text) | str(text):
            return [spot_of(link.replace("&amp;", "&"), host) for link in _LINK.findall(text)]


def reachable(family: Family, most: int = 100_000) -> set[Spot]:
    """Return the pages that can be reached from doors and sitemaps within the family.

    Breadth first; sitemaps and redirects are no pages, and empty pages are left out.
    """
    queue = deque(spot_of(door, "") for door in family.doors)
    if family.robots:
        queue.append(spot_of("/sitemap.xml", queue[0].host))
    known = set(queue)
    found: set[Spot] = set()
    while queue and len(found) < most:
        here = queue.popleft()
        answer = family.answer(here.host, here.target)
        if answer is None:
            continue
        if not isinstance(answer, Sitemap | Moved) and here.target not in family.empty:
            found.add(here)
        new = {other for other in links_of(answer, here.host) if family.owns(other.host)} - known
        queue.extend(sorted(new))
        known |= new
    return found
