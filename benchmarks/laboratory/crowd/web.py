"""Crowd: very many small sites as a pure function of a seed, one loopback address each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

from gossamer.testing.responses import CannedResponse, Request, not_found, origin_of
from gossamer.testing.words import TOPICS, SeededRandom, sentence

_NAME = re.compile(r"c(\d{1,8})\.test")
_TARGET = re.compile(r"/(\d{0,4})")
_FIRST_ADDRESS = 16 << 16
"""127.16.0.0: far from the addresses of the other fake webs."""
_LAST_ADDRESS = (255 << 16) - 1
_PARAGRAPHS = 211
"""A prime, so that a walk of any stride visits all."""
_PER_PARAGRAPH, _PER_PAGE = 4, 8
_NEIGHBOURS, _BRANCH = 8, 4
_STRIDE = 7919
_KIND = ("Content-Type", "text/html; charset=utf-8")
_ROBOTS = b"User-agent: *\nDisallow: /private/\n"


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Hosts that are all alike: a home, some pages, and links to the homes of others.

    The hosts form a tree: a home links to the homes of `fan` others, so that a crawl that begins
    at the first host soon knows them all.
    """

    is_pure: ClassVar[bool] = True

    seed: int
    hosts: int
    pages_per_host: int = 4
    fan: int = 50
    slow_every: int = 100
    """Every so-manieth host takes its time; 0 means that none does."""
    slow_s: float = 0.3
    scheme: str = "http"
    port: int = 80

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where to start: from here everything can be reached."""
        return (self.url(0),)

    @property
    def addresses(self) -> dict[str, str]:
        """The address of every host, by name."""
        return {self.name(index): self.address(index) for index in range(self.hosts)}

    @property
    def listen_on(self) -> set[str]:
        """Every address of loopback: there are too many for a socket each."""
        return {"0.0.0.0"}

    def served_at(self, scheme: str, port: int) -> Self:
        """Return this web as it is served on a port: its links name it."""
        return replace(self, scheme=scheme, port=port)

    def name(self, index: int) -> str:
        """Return the name of a host."""
        return f"c{index}.test"

    def address(self, index: int) -> str:
        """Return the loopback address of a host; no two have the same."""
        place = _FIRST_ADDRESS + index
        if place > _LAST_ADDRESS:
            raise ValueError(f"loopback has no address for host {index}")
        return f"127.{place >> 16}.{place >> 8 & 255}.{place & 255}"

    def index(self, name: str) -> int | None:
        """Return the number of a host, or None if there is none of that name."""
        found = _NAME.fullmatch(name)
        return int(found[1]) if found is not None and int(found[1]) < self.hosts else None

    def address_of(self, name: str) -> str | None:
        """Return the address of a name: what a name server needs to know."""
        index = self.index(name)
        return None if index is None else self.address(index)

    def url(self, index: int, number: int = 0) -> str:
        """Return the URL of a numbered page; 0 is the home."""
        return f"{origin_of(self.scheme, self.name(index), self.port)}/{number or ''}"

    def pages(self) -> Iterator[str]:
        """Return the URL of every page."""
        for index in range(self.hosts):
            yield from (self.url(index, number) for number in range(self.pages_per_host))

    def respond(self, request: Request) -> CannedResponse:
        """Return the answer to a request."""
        index = self.index(request.host)
        if index is None:
            return not_found()
        wait_s = self.slow_s if self.slow_every and index % self.slow_every == 1 else 0.0
        if request.target == "/robots.txt":
            return CannedResponse(
                headers=(("Content-Type", "text/plain"),), body=_ROBOTS, wait_s=wait_s
            )
        found = _TARGET.fullmatch(request.target)
        number = int(found[1] or 0) if found is not None else self.pages_per_host
        if number >= self.pages_per_host:
            return not_found()
        return CannedResponse(headers=(_KIND,), body=self._body(index, number), wait_s=wait_s)

    def _body(self, index: int, number: int) -> bytes:
        """Return a page of some kilobytes; each has words of its own."""
        title = f"Page {number} of site {index}"
        below = range(number * _BRANCH + 1, number * _BRANCH + _BRANCH + 1)
        numbers = [0, *(n for n in below if n < self.pages_per_host)]
        own = "".join(f'<a href="/{n or ""}">page {n}</a>\n' for n in numbers)
        others = "".join(
            f'<li><a href="{self.url(other)}">site {other}</a></li>\n'
            for other in self._others(index, number)
        )
        first = (index * self.pages_per_host + number) * _STRIDE
        prose = b"".join(self._pool[(first + k) % _PARAGRAPHS] for k in range(_PER_PAGE))
        head = f"<!doctype html>\n<html lang=en><title>{title}</title>\n<h1>{title}</h1>\n{own}"
        return head.encode() + prose + f"<ul>\n{others}</ul>\n</html>\n".encode()

    def _others(self, index: int, number: int) -> Iterator[int]:
        """Give the hosts that a page links to: some at random, a home also to its branch."""
        start = (index * self.pages_per_host + number) * _STRIDE + self.seed
        yield from ((start + k * k * _STRIDE) % self.hosts for k in range(1, _NEIGHBOURS + 1))
        if not number:
            first = index * self.fan + 1
            yield from range(min(first, self.hosts), min(first + self.fan, self.hosts))

    @cached_property
    def _pool(self) -> list[bytes]:
        rng = SeededRandom(self.seed, "crowd")
        topics = tuple(TOPICS)
        return [
            (
                "<p>"
                + " ".join(sentence(rng.pick(topics), "en", rng) for _ in range(_PER_PARAGRAPH))
            ).encode()
            + b"</p>\n"
            for _ in range(_PARAGRAPHS)
        ]
