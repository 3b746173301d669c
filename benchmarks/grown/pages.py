"""Pages of the grown web, made before the clock runs, and a fetcher that hands them out."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

import numpy as np

from gossamer.fetch import SpooledBody
from gossamer.fetch.body import PLAIN
from gossamer.fetch.decoding import Caps
from gossamer.model import Document, Fetched, FetchOutcome, Url
from grown.web import NEW, OWN, texts_of

LINKS, KNOWN = 60, 48
"""Links of a page, and those of them that the crawl knows."""
ADDRESS = ("127.0.0.1",)
A_FEW = 4
"""Pages that are made at once in a round that has none: too few to be a pause."""
MANY = 1 << 40
"""Added to the numbers of URLs that no state knows."""
_HEADERS = (("content-type", "text/html; charset=utf-8"), ("server", "bench"))
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nserver: bench\r\n\r\n"
_CAPS = Caps(max_decoded_bytes=1 << 26, max_ratio=200)
_TEXT = "<p>Of what was said that day little is known, and less was written down by number {}.</p>"


def make_pages(rng: np.random.Generator, urls: int, count: int, first_new: int) -> list[bytes]:
    """Return pages of 60 links each: 48 drawn uniformly from the known, the others new.

    Eight of these are on the page's own host, whichever that will be, and four on others.
    """
    known = texts_of(rng.integers(0, urls // NEW * NEW, count * KNOWN))
    new = texts_of(np.arange(count * NEW) + (MANY + first_new) // NEW * NEW)
    pages = []
    for n in range(count):
        fresh = new[n * NEW : (n + 1) * NEW]
        own = ["/" + text.split("/", 3)[3] for text in fresh[:OWN]]
        hrefs = known[n * KNOWN : (n + 1) * KNOWN] + own + fresh[OWN:]
        pages.append(render(first_new + n, hrefs))
    return pages


def make_known_pages(rng: np.random.Generator, urls: int, count: int, first: int) -> list[bytes]:
    """Return pages of 60 links each, all of them known: a shard does not grow by these."""
    known = texts_of(rng.integers(0, urls // NEW * NEW, count * LINKS))
    return [render(first + n, known[n * LINKS : (n + 1) * LINKS]) for n in range(count)]


def render(number: int, hrefs: list[str]) -> bytes:
    """Return a page of HTML."""
    items = "".join(
        f'<li><a href="{href}">The story number {at}</a></li>' for at, href in enumerate(hrefs)
    )
    text = "".join(_TEXT.format(number + at) for at in range(12))
    return (
        f"<!doctype html><html lang=en><head><title>Page {number}</title></head>"
        f"<body><h1>Number {number}</h1>{text}<ul>{items}</ul></body></html>"
    ).encode()


class Resolver:
    """Knows one address for every name."""

    def cached(self, host: str) -> tuple[str, ...]:
        """Return the address."""
        del host
        return ADDRESS

    async def resolve(self, host: str) -> tuple[str, ...]:
        """Return the address."""
        return self.cached(host)

    async def close(self) -> None:
        """Do nothing."""


class Answers:
    """A fetcher without a network: one answer per turn of the loop, in the order of asking."""

    def __init__(self, make: Callable[[int], list[bytes]]) -> None:
        self._make = make
        self._pages: deque[bytes] = deque()
        self._left = 0
        self.first_at = 0.0
        """The moment of the first request ever."""
        self._on_end: Callable[[], None] = lambda: None
        self._waiting: deque[asyncio.Future[bytes]] = deque()

    def make(self, pages: int) -> None:
        """Have so many pages at hand."""
        self._pages.extend(self._make(max(0, pages - len(self._pages))))

    def forget(self) -> None:
        """Have no page at hand."""
        self._pages.clear()

    def begin(self, pages: int, on_end: Callable[[], None]) -> None:
        """Call back after so many pages."""
        self._left, self._on_end = pages, on_end

    def has_robots(self, scheme: str) -> bool:
        """Return True if hosts of a scheme have a robots.txt, as those of the web have."""
        return scheme.startswith("http")

    def is_networked(self, scheme: str) -> bool:
        """Return True if a scheme leads to a host, as those of the web do."""
        return scheme.startswith("http")

    def contacted(self, addresses: tuple[str, ...]) -> str:  # noqa: ARG002  # as a fetcher is asked
        """Return "": addresses have no gaps here."""
        return ""

    async def fetch(self, url: Url, addresses: tuple[str, ...], **_how: object) -> FetchOutcome:
        """Answer with the next page."""
        loop = asyncio.get_running_loop()
        self.first_at = self.first_at or time.perf_counter()
        self._waiting.append(loop.create_future())
        if len(self._waiting) == 1:
            loop.call_soon(self._answer)
        data = await self._waiting[-1]
        body = SpooledBody(data, len(data), PLAIN, _CAPS)
        return Fetched(
            document=Document(
                url=url,
                status=200,
                head=_HEAD,
                headers=_HEADERS,
                body=body,
                request=f"GET {url.target} HTTP/1.1\r\nHost: {url.host}\r\n\r\n".encode(),
                address=addresses[0],
                fetched_at=1.0e9,
                latency_s=0.001,
                media_type="text/html",
                charset="utf-8",
            )
        )

    def _answer(self) -> None:
        future = self._waiting.popleft()
        if not future.cancelled():
            if not self._pages:
                self.make(A_FEW)
            future.set_result(self._pages.popleft())
            self._left -= 1
        if self._left == 0:
            self._on_end()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._answer)

    async def close(self) -> None:
        """Do nothing."""
