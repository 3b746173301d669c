"""FakeWeb: hosts, pages and links as a pure function of a seed.

The same seed gives the same bytes on every machine. The plain part of it is finite, so that a
crawl of it ends and `truth` can say what the crawl must have found; the traps under /trap/ have no
end, and are linked only if asked for, as are the faults under /fault/.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

from gossamer.testing.faults import PREFIX, fault_paths, fault_response
from gossamer.testing.files import (
    HTML_EXTRAS,
    OTHER_EXTRAS,
    ROBOTS,
    TRAPS,
    extra_response,
    has_copy,
    served,
    trap,
)
from gossamer.testing.responses import CannedResponse, FaultLocation, Request, not_found
from gossamer.testing.site import SiteCatalog, WebPlan


@dataclass(frozen=True, kw_only=True)
class FakeWeb:
    """A web made from a seed. Two of them with equal fields give equal responses."""

    is_pure: ClassVar[bool] = True

    seed: int
    hosts: int = 20
    pages_per_host: int = 100
    address_count: int = 8
    """Loopback addresses, from 127.0.1.1 on, that the hosts share."""
    with_traps: bool = False
    """Link the traps from the first host's home."""
    with_faults: bool = False
    """Link the faults likewise, and have hosts that are slow or whose robots.txt answers 503."""
    scheme: str = "http"
    port: int = 80

    @cached_property
    def catalog(self) -> SiteCatalog:
        """The hosts by number: plan, URLs and pages."""
        is_patient = not self.with_faults
        plan = WebPlan(self.seed, self.hosts, self.pages_per_host, self.address_count, is_patient)
        traps = list(TRAPS) if self.with_traps else []
        faults = fault_paths() if self.with_faults else []
        extras = [*HTML_EXTRAS, *OTHER_EXTRAS]
        return SiteCatalog(plan, self.scheme, self.port, hazards=traps + faults, extras=extras)

    @cached_property
    def addresses(self) -> dict[str, str]:
        """The loopback address of every host, by name."""
        plan = self.catalog.plan
        return {plan.name(index): plan.address(index) for index in range(self.hosts)}

    @property
    def listen_on(self) -> set[str]:
        """The addresses of all hosts."""
        return set(self.addresses.values())

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where to start: from here everything can be reached."""
        return (self.url(0, "/"),)

    def served_at(self, scheme: str, port: int) -> Self:
        """Return this web with the scheme and port that it is served on in its links."""
        return replace(self, scheme=scheme, port=port)

    def url(self, index: int, target: str) -> str:
        """Return the URL of a target on a host."""
        return self.catalog.url(index, target)

    def token(self, index: int, name: int | str) -> str:
        """Return the word that only one page contains; `name` is its number or its path.

        A mirror's pages contain the words of its original.
        """
        return self.catalog.token(self.catalog.site(index).source, name)

    def pages(self) -> Iterator[str]:
        """Return the URLs of all numbered pages, forbidden ones too."""
        for index in range(self.hosts):
            count = self.catalog.site(index).pages
            yield from (self.catalog.page_url(index, number) for number in range(count))

    def allows(self, host: str, target: str) -> bool:
        """Return True if the host's robots.txt lets the agent "gossamer" ask for a target."""
        index = self.catalog.plan.index(host)
        return index is None or not ROBOTS[self.catalog.site(index).robots].forbids(target)

    def truth(self) -> set[str]:
        """Return the URL of every HTML page that links lead to with robots.txt obeyed.

        A complete crawl from `seeds` stores all of these; it may store files and feeds besides,
        and what lies behind the traps and faults if these were asked for.
        """
        found = {(0, "/")}
        queue = deque(found)
        while queue:
            new = self._linked(*queue.popleft()) - found
            found |= new
            queue.extend(new)
        return {self.url(index, target) for index, target in found}

    def respond(self, request: Request) -> CannedResponse:
        """Return the response to a request."""
        return self.response(request.host, request.target)

    def response(self, host: str, target: str) -> CannedResponse:
        """Return the response of a host to a target (path and query)."""
        index = self.catalog.plan.index(host)
        if index is None:
            return not_found()
        if target.startswith(PREFIX):
            return fault_response(FaultLocation(host, self.port, target, self.scheme))
        if target.startswith("/trap/"):
            return trap(target)
        site, renderer = self.catalog.site(index), self.catalog.renderer(index)
        number = renderer.number(target)
        if number is None:
            return extra_response(self.catalog, site, target)
        body = renderer.render(number, self.catalog.token(site.source, number))
        return served(self.catalog, site, body, (str(number), "text/html; charset=utf-8"))

    def _linked(self, index: int, target: str) -> set[tuple[int, str]]:
        """Return the HTML pages, as host and target, that a page links to and robots allows."""
        renderer = self.catalog.renderer(index)
        number = renderer.number(target)
        if number is None:
            return set()
        refs = renderer.refs(number)
        linked = {(index, renderer.path(n)) for n in refs.here}
        linked |= {(j, self.catalog.renderer(j).path(n)) for j, n in refs.fixed}
        if number == 0 and renderer.site.has_extras:
            linked |= {(index, path) for path in HTML_EXTRAS if has_copy(renderer.site, path)}
        return {(j, path) for j, path in linked if self.allows(self.catalog.plan.name(j), path)}
