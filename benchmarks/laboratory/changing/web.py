"""ChangingWeb: pages that change at known rates, as a function of a seed and of time."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from functools import cached_property
from math import exp, log
from statistics import NormalDist
from typing import ClassVar, Self

from gossamer.clock import Clock, SystemClock
from gossamer.testing.responses import CannedResponse, Request, html_response, not_found, origin_of
from gossamer.testing.words import TOPICS, SeededRandom, sentence

BEGIN = "/.begin"
"""Asking any host for it starts the changes; until then every page is as it was at first."""
_NAME = re.compile(r"w(\d{1,3})\.test")
_TARGET = re.compile(r"/(\d{0,5})")
_SENTENCES = 6
_PERIODIC_EVERY, _NOISY_EVERY, _MARKS = 5, 7, 3
_GONE_STATUSES = (404, 410)
_UNIT = 1 << 32


@dataclass(frozen=True, slots=True)
class Page:
    """One page's fate; moments are seconds since the changes began."""

    host: int
    number: int
    rate_per_s: float
    is_periodic: bool
    changes: tuple[float, ...]
    gone_at: float | None = None
    gone_status: int = 404

    def version(self, at: float) -> int:
        """Return how often the page has changed by a moment."""
        return bisect_right(self.changes, at)

    def is_gone(self, at: float) -> bool:
        """Tell whether there is no such page any more."""
        return self.gone_at is not None and at >= self.gone_at


@dataclass(kw_only=True)
class ChangingWeb:
    """Hosts whose homes link to all their pages and to each other.

    Rates are log-normal around one change in `median_s`. Every fifth page changes like a clock,
    the others at random moments (Poisson). A third of the pages has an ETag, a third also a
    Last-Modified, a third neither; every seventh has a comment that is new at each serving.
    """

    is_pure: ClassVar[bool] = False

    seed: int
    hosts: int = 10
    pages_per_host: int = 20
    median_s: float = 5.0
    sigma: float = 1.0
    horizon_s: float = 300.0
    """Nothing changes after this long."""
    gone_every: int = 0
    """Every so-manieth page that is no home goes; 0 means that none does."""
    gone_after_s: float = 5.0
    """The first of them goes then, the last at twice that."""
    scheme: str = "http"
    port: int = 80
    clock: Clock = field(default_factory=SystemClock)
    began_at: float | None = None
    """Wall-clock second at which the changes began."""
    served: int = 0

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where to start: from here everything can be reached."""
        return (self.url(0, 0),)

    @property
    def addresses(self) -> dict[str, str]:
        """The address of every host, by name."""
        return {f"w{host}.test": f"127.0.11.{host + 1}" for host in range(self.hosts)}

    @property
    def listen_on(self) -> set[str]:
        """Every address of a host."""
        return set(self.addresses.values())

    def served_at(self, scheme: str, port: int) -> Self:
        """Return this web as it is served on a port: its links name it."""
        return replace(self, scheme=scheme, port=port)

    def url(self, host: int, number: int) -> str:
        """Return the URL of a numbered page; 0 is the home."""
        return f"{origin_of(self.scheme, f'w{host}.test', self.port)}/{number or ''}"

    def pages(self) -> Iterator[str]:
        """Return the URL of every page."""
        yield from (self.url(*place) for place in self.fates)

    @cached_property
    def fates(self) -> dict[tuple[int, int], Page]:
        """Return every page by host and number."""
        places = [(h, n) for h in range(self.hosts) for n in range(self.pages_per_host)]
        return {place: self._fate(index, *place) for index, place in enumerate(places)}

    def respond(self, request: Request) -> CannedResponse:
        """Return the answer to a request at this moment."""
        name, found = _NAME.fullmatch(request.host), _TARGET.fullmatch(request.target)
        if request.target == BEGIN:
            self.began_at = self.clock.wall()
            return html_response(str(self.began_at))
        place = (int(name[1]), int(found[1] or 0)) if name and found else (-1, -1)
        page = self.fates.get(place)
        if page is None:
            return not_found()
        at = -1.0 if self.began_at is None else self.clock.wall() - self.began_at
        if page.is_gone(at):
            return html_response("<h1>No more</h1>", status=page.gone_status)
        self.served += 1
        return self._page(page, page.version(at))

    def _page(self, page: Page, version: int) -> CannedResponse:
        index = page.host * self.pages_per_host + page.number
        title = f"Page {page.number} of site {page.host}"
        rng = SeededRandom(self.seed, title, version)
        topic = tuple(TOPICS)[page.host % len(TOPICS)]
        prose = " ".join(sentence(topic, "en", rng) for _ in range(_SENTENCES))
        links = [self.url(page.host, 0)]
        if not page.number:
            links = [self.url(page.host, n) for n in range(1, self.pages_per_host)]
            links += [self.url(host, 0) for host in range(self.hosts) if host != page.host]
        noise = f"<!-- {self.served} -->" if index % _NOISY_EVERY == 0 else ""
        body = (
            f"<!doctype html><html lang=en><title>{title}</title>{noise}\n<h1>{title}</h1>"
            f"<p>Edition {version}. {prose}</p>\n"
            + "".join(f'<a href="{link}">{link}</a>\n' for link in links)
        )
        return html_response(body, headers=self._marks(page, version, index))

    def _marks(self, page: Page, version: int, index: int) -> tuple[tuple[str, str], ...]:
        if index % _MARKS == 0:
            return ()
        tag = ("ETag", f'"{page.host}-{page.number}-{version}"')
        if index % _MARKS == 1:
            return (tag,)
        began_at = self.began_at or 0.0
        changed_at = began_at + page.changes[version - 1] if version else began_at - 86_400.0
        return (tag, ("Last-Modified", formatdate(max(0.0, changed_at), usegmt=True)))

    def _fate(self, index: int, host: int, number: int) -> Page:
        rng = SeededRandom(self.seed, "fate", host, number)
        rate = exp(self.sigma * NormalDist().inv_cdf(_unit(rng))) / self.median_s
        is_periodic = index % _PERIODIC_EVERY == 0
        goes = bool(self.gone_every and number) and index % self.gone_every == 0
        later = _unit(rng)
        return Page(
            host=host,
            number=number,
            rate_per_s=rate,
            is_periodic=is_periodic,
            changes=tuple(self._moments(rate, rng, is_periodic=is_periodic)),
            gone_at=self.gone_after_s * (1.0 + later) if goes else None,
            gone_status=_GONE_STATUSES[index // self.gone_every % 2] if goes else 404,
        )

    def _moments(self, rate: float, rng: SeededRandom, *, is_periodic: bool) -> Iterator[float]:
        at = _unit(rng) / rate if is_periodic else -log(_unit(rng)) / rate
        while at < self.horizon_s:
            yield at
            at += (1.0 if is_periodic else -log(_unit(rng))) / rate


def _unit(rng: SeededRandom) -> float:
    """Return a number of (0, 1)."""
    return (rng.below(_UNIT) + 0.5) / _UNIT
