"""Judges a crawl of a fake web by the server's log and the archive, never by what it says."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from gossamer.testing import CannedResponse, FakeWeb, LoggedRequest, hits
from tests.e2e.archive import Archive

FILES = ("/files/report.pdf", "/img/chart.png", "/data/table.json", "/feed.xml", "/atom.xml")
"""What the home of every fake site links to besides pages."""


class JudgedWeb(Protocol):
    """What a judge asks of a web."""

    def truth(self) -> set[str]:
        """Return the URL of every HTML page that links lead to with robots.txt obeyed."""

    def allows(self, host: str, target: str) -> bool:
        """Return True if robots.txt lets a crawler ask for a target."""

    def response(self, host: str, target: str) -> CannedResponse:
        """Return the response of a host to a target."""


@dataclass(frozen=True)
class Judge:
    """What a web really holds."""

    web: JudgedWeb
    without: str = ""
    """A host that the crawl was told to leave out."""

    def wanted(self) -> set[str]:
        """Return every URL that a complete crawl stores: all HTML pages, and the files."""
        truth = self.web.truth()
        files = _files(self.web, truth) if isinstance(self.web, FakeWeb) else set()
        found = truth | {url for url in files if self.is_allowed(url)}
        return {url for url in found if _host(url) != self.without}

    def is_allowed(self, url: str) -> bool:
        """Tell whether robots.txt lets us ask for a URL."""
        return self.web.allows(_host(url), _target(url))

    def body(self, url: str) -> bytes | None:
        """Return what the web serves under a URL; None if that is not a 200."""
        answer = self.web.response(_host(url), _target(url))
        return answer.body if answer.status == 200 else None

    def assert_complete(self, archive: Archive) -> None:
        """Nothing lost, nothing stored twice, nothing stored wrongly."""
        wrong = self.wrong(archive)
        assert not wrong, f"stored with other bytes than were served: {wrong}"
        self.assert_copies(archive)
        lost = self.lost(archive)
        assert not lost, f"lost {len(lost)} of {len(self.wanted())}: {lost[:20]}"
        twice = self.twice(archive)
        assert not twice, f"stored twice: {twice}"

    def wrong(self, archive: Archive) -> list[str]:
        """Return the URLs that are stored with other bytes than were served."""
        return [r.url for r in archive.pages if r.payload != self.body(r.url)]

    def lost(self, archive: Archive) -> list[str]:
        """Return the URLs that a complete crawl has and this one has not."""
        right = self._right(archive)
        return sorted(url for url in self.wanted() if not right[url])

    def twice(self, archive: Archive) -> dict[str, int]:
        """Return the URLs that are stored more than once, and how often."""
        return {url: n for url, n in self._right(archive).items() if n > 1}

    def _right(self, archive: Archive) -> Counter[str]:
        right = Counter(r.url for r in archive.pages if r.payload == self.body(r.url))
        return right + Counter(r.url for r in archive.revisits)

    def assert_copies(self, archive: Archive) -> None:
        """Every revisit names a stored page with the same content."""
        stored = {record.url: record for record in archive.pages}
        for copy in archive.revisits:
            original = stored[copy.headers["warc-refers-to-target-uri"]]
            assert self.body(copy.url) == original.payload, copy.url
            digest = "warc-payload-digest"
            assert copy.headers[digest] == original.headers[digest], copy.url

    def assert_obedient(self, visits: Iterable[LoggedRequest]) -> None:
        """No request that robots.txt forbids."""
        asked = {(v.host, v.target) for v in visits if not v.target.startswith("/robots")}
        assert not [what for what in asked if not self.web.allows(*what)]


def _files(web: FakeWeb, truth: set[str]) -> set[str]:
    """Return what the homes of fake sites link to besides pages."""
    homes = [i for i in range(web.hosts) if web.url(i, "/") in truth]
    with_files = [i for i in homes if web.catalog.site(i).has_extras]
    return {web.url(i, path) for i in with_files for path in FILES}


def page_hits(visits: Iterable[LoggedRequest]) -> Counter[tuple[str, str]]:
    """Return how often each page was asked for, robots.txt left out."""
    return hits(visit for visit in visits if not visit.target.startswith("/robots"))


def repeated(visits: Iterable[LoggedRequest]) -> int:
    """Return the sum of requests beyond the first for each page."""
    return sum(times - 1 for times in page_hits(visits).values())


def settled(status: dict[str, object]) -> int:
    """Return how many URLs are archived, redirected, failed or refused by robots."""
    refused, failed = status["refused"], status["failed"]
    assert isinstance(refused, dict)
    assert isinstance(failed, dict)
    late = ("robots_disallowed", "robots_unreachable", "private_address", "content_type")
    late += ("no_sitemap", "sitemap_limit")
    by_us = sum(refused.get(reason, 0) for reason in late)
    numbers = [status["pages"], status["sitemaps"], status["redirects"], by_us, *failed.values()]
    return sum(n for n in numbers if isinstance(n, int))


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _target(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
