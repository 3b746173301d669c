"""SnareWeb: an honest site whose pages lead into snares, and the server's word on who fell in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

from gossamer.testing.responses import CannedResponse, Request, not_found, origin_of
from gossamer.testing.words import SeededRandom
from laboratory.snares import archives, mazes, others, repeats
from laboratory.snares.sheet import WORDS, Sheet, Snare, babble, to_answer

HONEST = "www.honest.test"
WILD = "wild.test"
ARCHIVE = "archive"
_ADDRESS = "127.0.8.1"
_NEW_HOSTS = 6

SNARES: Mapping[str, Snare] = {
    "flat": mazes.flat_maze,
    "deep": mazes.deep_maze,
    "crossed": mazes.crossed_maze,
    "hash": mazes.hash_maze,
    "number": mazes.number_maze,
    "facets": mazes.facets,
    "calendar": repeats.calendar,
    "diary": repeats.month_view,
    "shop": repeats.session_in_path,
    "visit": repeats.session_in_query,
    "loop": repeats.loop,
}
"""By the name of their folder, or of their host."""

OTHERS: Mapping[str, Snare] = {
    "tarpit": others.tarpit,
    "laboratory": others.laboratory,
    "events": others.events,
    "agenda": others.agenda,
    "portal": others.portal,
    "listing": others.listing,
    "results": others.results,
    "replies": others.replies,
    "goods": others.goods,
}
"""Those that the rules were not made for."""


def honest_site(kind: str, pages: int) -> Snare:
    """Return an honest site by its kind."""
    made = {
        "woven": lambda: archives.woven(pages, 4),
        "worded": lambda: archives.woven(pages, 6, WORDS),
        "tree": lambda: archives.tree(pages, 10),
        "indexed": lambda: archives.indexed(pages, is_chained=False),
        "index_chain": lambda: archives.indexed(pages, is_chained=True),
        "chained": lambda: archives.chained(pages),
        "dated": lambda: archives.dated(pages),
    }
    return made[kind]()


@dataclass(frozen=True, kw_only=True)
class SnareWeb:
    """One honest host; snares as folders of it or as hosts; a domain that makes up hosts."""

    is_pure: ClassVar[bool] = True

    honest: str = "woven"
    honest_pages: int = 1000
    snares: tuple[str, ...] = ("flat", "loop", "calendar", "shop")
    are_hosts: bool = False
    has_wild_hosts: bool = True
    archive: str = ""
    """The kind of a second honest site in a folder of the first."""
    archive_pages: int = 0
    scheme: str = "http"
    port: int = 80

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where to start."""
        return (self._origin(HONEST) + "/",)

    @property
    def addresses(self) -> dict[str, str]:
        """The hosts that have a name before they are asked."""
        return {HONEST: _ADDRESS, **{f"{name}.snare-{name}.test": _ADDRESS for name in self.snares}}

    @property
    def listen_on(self) -> set[str]:
        """Return the one address of all hosts."""
        return {_ADDRESS}

    def address_of(self, name: str) -> str | None:
        """Return the address of any name under .test: what a name server needs to know."""
        return _ADDRESS if name.endswith(".test") else None

    def pages(self) -> Iterable[str]:
        """Return no page: nothing is worth having ready."""
        return ()

    def served_at(self, scheme: str, port: int) -> Self:
        """Return this web as it is served on a port: its links name it."""
        return replace(self, scheme=scheme, port=port)

    def snare_of(self, host: str, target: str) -> str:
        """Return the snare that a request fell into; "" if it is an honest page or robots.txt."""
        if host.endswith("." + WILD):
            return "wild"
        for name in self.snares:
            if host == f"{name}.snare-{name}.test":
                return name
            if host == HONEST and not self.are_hosts and target.startswith(f"/{name}/"):
                return name
        return ""

    def respond(self, request: Request) -> CannedResponse:
        """Return the answer to a request."""
        host, target = request.host, request.target
        if target == "/robots.txt":
            return not_found()
        name = self.snare_of(host, target)
        if name == "wild":
            return to_answer(self._wild(host, target), self._origin(host) + "/")
        base = self._base(name) if name else self._origin(HONEST) + "/"
        if not name and self.archive and target.startswith(f"/{ARCHIVE}/"):
            base += f"{ARCHIVE}/"
        sheet = self._sites[base](target[len(base) - len(self._origin(host)) :])
        return not_found() if sheet is None else to_answer(sheet, base)

    @cached_property
    def _sites(self) -> dict[str, Snare]:
        home = self._origin(HONEST) + "/"
        known = {**SNARES, **OTHERS}
        sites = {self._base(name): known[name] for name in self.snares}
        if self.archive:
            sites[f"{home}{ARCHIVE}/"] = honest_site(self.archive, self.archive_pages)
        sites[home] = self._with_doors(honest_site(self.honest, self.honest_pages))
        return sites

    def _with_doors(self, site: Snare) -> Snare:
        """Return the honest site with ways into all snares on every page."""
        doors = [self._base(name) for name in self.snares]
        if self.has_wild_hosts:
            doors.append(self._origin(f"first.{WILD}") + "/")
        if self.archive:
            doors.append(f"{self._origin(HONEST)}/{ARCHIVE}/")

        def sheet(tail: str) -> Sheet | None:
            found = site(tail)
            return None if found is None else replace(found, links=[*found.links, *doors])

        return sheet

    def _base(self, name: str) -> str:
        if self.are_hosts:
            return self._origin(f"{name}.snare-{name}.test") + "/"
        return f"{self._origin(HONEST)}/{name}/"

    def _origin(self, host: str) -> str:
        return origin_of(self.scheme, host, self.port)

    def _wild(self, host: str, target: str) -> Sheet:
        rng = SeededRandom("wild", host, target)
        names = (f"{rng.pick(WORDS)}{rng.below(10**6)}.{WILD}" for _ in range(_NEW_HOSTS))
        return Sheet(
            f"Welcome to {host}", babble(host), [self._origin(name) + "/" for name in names]
        )
