"""A web that goes on until it is closed: a crawl of it lasts until all faults are played.

However fast the machine is, no crawl ends before. What a page says is decided when it is first
asked for and stays, so that the judge knows every byte; once the web is closed, pages that nobody
has asked for yet link to nothing new, and the crawl ends within seconds.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

from gossamer.cluster import Ring
from gossamer.config import UrlConfig
from gossamer.testing import (
    CannedResponse,
    Fault,
    FaultLocation,
    FaultStep,
    Pause,
    Request,
    html_response,
    not_found,
)
from gossamer.testing.responses import encode, origin_of
from gossamer.urls import parse

AHEAD = 6
"""Pages of its own host that a page links to: so many of each are left when the web is closed."""
COPIES = 6
"""Each such page has the same bytes on all hosts."""
HOLD_S = 0.02
WORDS = 120
PRIVATE = "/private/"
ROBOTS = f"User-agent: *\nDisallow: {PRIVATE}\n".encode()


class PageNumber(NamedTuple):
    """A page: the number of its host, and its own."""

    host: int
    page: int


def names_for(shards: int, each: int) -> tuple[str, ...]:
    """Return hosts of as many domains, of which each shard owns some."""
    ring, found = Ring.even(shards), [0] * shards
    names: list[str] = []
    for number in range(1000):
        url = parse(f"http://www.endless{number}.test/", UrlConfig())
        if url is not None and found[owner := ring.owner_of(url.key)] < each:
            found[owner] += 1
            names.append(f"www.endless{number}.test")
    assert len(names) == shards * each
    return tuple(names)


@dataclass
class EndlessWeb:
    """Hosts whose pages go on and on until `close`; `hold` lets it answer only so many."""

    is_pure: ClassVar[bool] = False

    names: tuple[str, ...]
    seed: int = 0
    scheme: str = "http"
    port: int = 0
    allowed: int | None = None
    """So many pages are answered; who asks for more waits."""
    answered: int = 0
    _is_closed: bool = False
    _bodies: dict[PageNumber, bytes] = field(default_factory=dict)
    _linked: set[PageNumber] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Know the homes, which are the seeds."""
        self._linked |= {PageNumber(host, 0) for host in range(len(self.names))}

    def close(self) -> None:
        """Link to nothing new from now on, and hold nothing."""
        self._is_closed = True
        self.allowed = None

    # What a server needs

    @property
    def addresses(self) -> dict[str, str]:
        """The loopback address of every host, by name."""
        return {name: f"127.0.7.{1 + number}" for number, name in enumerate(self.names)}

    @property
    def listen_on(self) -> set[str]:
        """The addresses of all hosts."""
        return set(self.addresses.values())

    def pages(self) -> Iterable[str]:
        """Return nothing that is worth caching."""
        return ()

    def served_at(self, scheme: str, port: int) -> Self:
        """Set the scheme and port that it is served on; return itself."""
        self.scheme, self.port = scheme, port
        return self

    def respond(self, request: Request) -> CannedResponse:
        """Return the response to a request, held back while too many were answered."""
        found = self.response(request.host, request.target)
        if request.target == "/robots.txt" or found.status != 200:
            return found
        if self._may_answer():
            return found
        location = FaultLocation(request.host, self.port, request.target, self.scheme)
        takes_gzip = "gzip" in request.header("accept-encoding")
        return CannedResponse(
            fault=Fault("held", location, lambda _: self._late(found, takes_gzip=takes_gzip))
        )

    def _may_answer(self) -> bool:
        if self.allowed is not None and self.answered >= self.allowed:
            return False
        self.answered += 1
        return True

    def _late(self, found: CannedResponse, *, takes_gzip: bool) -> Iterator[FaultStep]:
        while not self._may_answer():
            yield Pause(HOLD_S)
        encoded = encode(found, takes_gzip=takes_gzip)
        yield encoded.head + encoded.body

    # What a judge needs

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where to start."""
        return tuple(self._url(PageNumber(host, 0)) for host in range(len(self.names)))

    def truth(self) -> set[str]:
        """Return every page that a page which was served has linked to."""
        return {self._url(page) for page in self._linked}

    def allows(self, host: str, target: str) -> bool:
        """Return True if robots.txt lets a crawler ask for a target."""
        return host not in self.names or not target.startswith(PRIVATE)

    def response(self, host: str, target: str) -> CannedResponse:
        """Return the response of a host to a target."""
        if host not in self.names:
            return not_found()
        if target == "/robots.txt":
            return CannedResponse(headers=(("Content-Type", "text/plain"),), body=ROBOTS)
        name = "0" if target == "/" else target.removeprefix("/").removesuffix(".html")
        page = PageNumber(self.names.index(host), int(name)) if name.isdecimal() else None
        if page is None or page not in self._linked:
            return not_found()
        if page not in self._bodies:
            self._bodies[page] = self._written(page)
        return CannedResponse(
            headers=(("Content-Type", "text/html; charset=utf-8"),),
            body=self._bodies[page],
            gzip=page.host % 2 == 0,
            chunked=page.host % 3 == 0,
        )

    def _written(self, page: PageNumber) -> bytes:
        is_copy = page.page % COPIES == COPIES - 1
        dice = random.Random(f"{self.seed} {page.page} {'' if is_copy else page.host}")
        text = " ".join(f"{dice.getrandbits(24):x}" for _ in range(WORDS))
        links = [] if is_copy else self._links(page)
        anchors = "\n".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
        html = f"<!doctype html>\n<title>{text[:20]}</title>\n<p>{text}</p>\n{anchors}\n"
        return html_response(html).body

    def _links(self, page: PageNumber) -> list[str]:
        """Return the links of a page: ahead, back, to the next host and to what is forbidden."""
        host, number = page
        other = (host + 1) % len(self.names)
        wanted = [PageNumber(host, number + step) for step in range(1, AHEAD + 1)]
        wanted += [PageNumber(other, number + step) for step in (0, 1, AHEAD)]
        if not self._is_closed:
            self._linked.update(wanted)
        found = [one for one in wanted if one in self._linked]
        private = [f"{PRIVATE}{number}.html"] if number % 10 == 0 else []
        return ["/", *map(self._url, found), *private]

    def _url(self, page: PageNumber) -> str:
        target = f"/{page.page}.html" if page.page else "/"
        return origin_of(self.scheme, self.names[page.host], self.port) + target
