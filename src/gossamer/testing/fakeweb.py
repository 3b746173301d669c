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

from gossamer.testing.answer import Answer, Place, Request, not_found
from gossamer.testing.faults import PREFIX, fault_answer, fault_paths
from gossamer.testing.site import (
    HTML_EXTRAS,
    OTHER_EXTRAS,
    ROBOTS,
    TRAPS,
    Atlas,
    Plan,
    extra_answer,
    has_copy,
    served,
    trap,
)


@dataclass(frozen=True, kw_only=True)
class FakeWeb:
    """A web made from a seed. Two of them with equal fields give equal answers."""

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
    def atlas(self) -> Atlas:
        """The hosts by number: plan, URLs and pages."""
        is_patient = not self.with_faults
        plan = Plan(self.seed, self.hosts, self.pages_per_host, self.address_count, is_patient)
        traps = list(TRAPS) if self.with_traps else []
        faults = fault_paths() if self.with_faults else []
        extras = [*HTML_EXTRAS, *OTHER_EXTRAS]
        return Atlas(plan, self.scheme, self.port, lures=traps + faults, extras=extras)

    @cached_property
    def addresses(self) -> dict[str, str]:
        """The loopback address of every host, by name."""
        plan = self.atlas.plan
        return {plan.name(index): plan.address(index) for index in range(self.hosts)}

    @property
    def listen_on(self) -> set[str]:
        """The addresses of all hosts."""
        return set(self.addresses.values())

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where to start: from here everything can be reached."""
        return (self.url(0, "/"),)

    def placed(self, scheme: str, port: int) -> Self:
        """Return this web as it is served on a port: its links name it."""
        return replace(self, scheme=scheme, port=port)

    def url(self, index: int, target: str) -> str:
        """Return the URL of a target on a host."""
        return self.atlas.url(index, target)

    def token(self, index: int, name: int | str) -> str:
        """Return the word that only one page contains; `name` is its number or its path.

        A mirror's pages contain the words of its original.
        """
        return self.atlas.token(self.atlas.site(index).source, name)

    def pages(self) -> Iterator[str]:
        """Return the URLs of all numbered pages, forbidden ones too."""
        for index in range(self.hosts):
            count = self.atlas.site(index).pages
            yield from (self.atlas.page_url(index, number) for number in range(count))

    def allows(self, host: str, target: str) -> bool:
        """Tell whether the host's robots.txt lets the agent "gossamer" ask for a target."""
        index = self.atlas.plan.index(host)
        return index is None or not ROBOTS[self.atlas.site(index).robots].forbids(target)

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

    def reply(self, request: Request) -> Answer:
        """Return the answer to a request."""
        return self.answer(request.host, request.target)

    def answer(self, host: str, target: str) -> Answer:
        """Return what a host answers to a target (path and query)."""
        index = self.atlas.plan.index(host)
        if index is None:
            return not_found()
        if target.startswith(PREFIX):
            return fault_answer(Place(host, self.port, target, self.scheme))
        if target.startswith("/trap/"):
            return trap(target)
        site, press = self.atlas.site(index), self.atlas.press(index)
        number = press.number(target)
        if number is None:
            return extra_answer(self.atlas, site, target)
        body = press.render(number, self.atlas.token(site.source, number))
        return served(self.atlas, site, body, (str(number), "text/html; charset=utf-8"))

    def _linked(self, index: int, target: str) -> set[tuple[int, str]]:
        """Return the HTML pages, as host and target, that a page links to and robots allows."""
        press = self.atlas.press(index)
        number = press.number(target)
        if number is None:
            return set()
        refs = press.refs(number)
        linked = {(index, press.path(n)) for n in refs.here}
        linked |= {(j, self.atlas.press(j).path(n)) for j, n in refs.fixed}
        if number == 0 and press.site.has_extras:
            linked |= {(index, path) for path in HTML_EXTRAS if has_copy(press.site, path)}
        return {(j, path) for j, path in linked if self.allows(self.atlas.plan.name(j), path)}
