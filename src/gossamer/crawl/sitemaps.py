"""Sitemaps: those that nobody has named, how many a host may have, and what they say of pages."""

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.crawl.pipeline import document_of, is_tried
from gossamer.crawl.ports import Stations
from gossamer.fetch import RobotsCache, RobotsRules
from gossamer.filter import sitemap_may_name
from gossamer.frontier import HostAnswer
from gossamer.model import (
    SITEMAP_TYPES,
    Failed,
    Fetched,
    Link,
    LinkKind,
    Redirected,
    RefusalKind,
    Refused,
    RevisitResult,
    Row,
    Task,
    Turn,
    claim_of,
)
from gossamer.report import claim_row_key, encode_claim

SITEMAPS_OR_FEEDS = SITEMAP_TYPES | {"application/rss+xml", "application/atom+xml"}
"""What the protocol takes for a sitemap."""
FREE_SITEMAPS = 100
"""Sitemaps of a host that are fetched whatever they bring."""
PAGES_PER_SITEMAP = 4
"""New pages that earn a host one sitemap more."""
HOSTS_KEPT = 65_536


class SitemapProbes:
    """Requests for the /sitemap.xml of seeds' hosts, which nobody has named.

    That there is none says nothing of the site: it is neither a failure nor a page.
    """

    def __init__(self, robots: RobotsCache, at: Stations) -> None:
        self._robots = robots
        self._at = at
        self._redirected: set[int] = set()
        """URLs to which a probe was redirected."""

    def found_none(self, task: Task, media_type: str, now: float) -> bool:
        """Return True if a probe was answered, and not with a sitemap."""
        return media_type not in SITEMAPS_OR_FEEDS and self._is_probe(task, now)

    def answered(
        self, turn: Turn, answer: HostAnswer | None, now: float
    ) -> tuple[Turn, HostAnswer | None]:
        """Return a turn, and what its host is told of it.

        A probe that is answered with an error is not made again, nor is it the host's failure.
        """
        outcome, task = turn.outcome, turn.task
        if not isinstance(outcome, Failed) or outcome.document is None or answer is None:
            return turn, answer
        if task.url.key not in self._redirected and not self._is_probe(task, now):
            return turn, answer
        return replace(turn, retry_at=None), replace(answer, failure=None)

    def end(self, turn: Turn, now: float) -> Turn:
        """Return a finished turn; that of a probe is no failure, also where it is redirected."""
        is_redirected = turn.task.url.key in self._redirected
        if not is_redirected and not self._is_probe(turn.task, now):
            return turn
        if isinstance(turn.outcome, Redirected):
            self._redirected.update(task.url.key for task in turn.new_tasks)
            return turn
        ended = without_sitemap(turn)
        if ended is not turn and (document := document_of(turn.outcome)) is not None:
            document.body.close()
        return ended

    def _is_probe(self, task: Task, now: float) -> bool:
        if task.kind is not LinkKind.SITEMAP:
            return False
        return is_sitemap_probe(task, self._robots.peek(task.url, now), self._at)


def is_sitemap_probe(task: Task, rules: RobotsRules | None, at: Stations) -> bool:
    """Return True if a sitemap is only tried for: nobody has named it, not even robots.txt."""
    url = task.url
    if not is_tried(task):
        return False
    robots_url = url.origin + "/robots.txt"
    named = (at.join(robots_url, text, at.urls) for text in rules.sitemaps) if rules else ()
    return task.via != robots_url and all(one is None or one.key != url.key for one in named)


def without_sitemap(turn: Turn) -> Turn:
    """Return the turn of a probe for a sitemap that is over: a failure says nothing of the site."""
    outcome = turn.outcome
    if not isinstance(outcome, Failed) or turn.retry_at is not None:
        return turn
    detail = f"{outcome.reason}: {outcome.detail}".rstrip(": ")
    return replace(turn, outcome=Refused(kind=RefusalKind.NO_SITEMAP, detail=detail), copy_of=None)


class SitemapTally:
    """Sitemaps of each host, and the new pages they brought: an endless index brings few.

    An index may name 50,000 sitemaps, and honest ones have hundreds or thousands of pages each.
    Kept in memory only: a new start gives each host its free ones again.
    """

    def __init__(self) -> None:
        self._hosts: dict[str, tuple[int, int]] = {}

    def note(self, turn: Turn) -> None:
        """Count what came, if it is a sitemap that was not met before."""
        if turn.is_sitemap and turn.revisit is None and isinstance(turn.outcome, Fetched):
            host = turn.task.url.host
            sitemaps, pages = self._hosts.pop(host, (0, 0))
            pages += sum(not task.nesting for task in turn.new_tasks)
            if len(self._hosts) >= HOSTS_KEPT:
                del self._hosts[next(iter(self._hosts))]
            self._hosts[host] = sitemaps + 1, pages

    def excess(self, host: str) -> str:
        """Return why a host has had enough sitemaps, in words; "" if it has not."""
        sitemaps, pages = self._hosts.get(host, (0, 0))
        if sitemaps < FREE_SITEMAPS + pages // PAGES_PER_SITEMAP:
            return ""
        return f"{sitemaps} sitemaps of {host} have named {pages} new pages"


def turn_claims(turn: Turn) -> list[Row]:
    """Return the rows of what a turn's sitemap says of pages; none if it is no sitemap, or old."""
    if not turn.is_sitemap or turn.found is None:
        return []
    is_news = turn.revisit in {None, RevisitResult.CHANGED} and isinstance(turn.outcome, Fetched)
    if not is_news:
        return []
    return claim_rows(turn.task, turn.found.links)


def claim_rows(task: Task, links: Sequence[Link]) -> list[Row]:
    """Return the rows of what a sitemap says of those pages that it may speak for.

    A row of its own for each URL: the sitemap may come before the page or after it.
    """
    said = (
        (link.target.key, encode_claim(claim_of(link)))
        for link in links
        if link.text and not link.is_sitemap and sitemap_may_name(task, link)
    )
    return [(claim_row_key(key), value) for key, value in said if value is not None]
