"""SiteReport: a crawl at a glance, as `gossamer report` tells it. Lists are cut; counts are not."""

from msgspec import Struct


class StatusCount(Struct, frozen=True, kw_only=True):
    """URLs whose last answer had an HTTP status."""

    status: int
    urls: int


class MediaTypeCount(Struct, frozen=True, kw_only=True):
    """Stored pages of a media type."""

    media_type: str
    pages: int
    bytes: int
    """What they take in the archive, compressed."""


class ValueRange(Struct, frozen=True, kw_only=True):
    """Pages of which a value is below a limit, and not below that of the range before."""

    below: int | None
    """None for the last range, which has no limit."""
    pages: int


class Spread(Struct, frozen=True, kw_only=True):
    """How a value is spread over pages."""

    pages: int
    """Pages of which it is known."""
    median: int
    p90: int
    """Nine of ten pages have no more."""
    most: int
    ranges: list[ValueRange]


class ReportedPage(Struct, frozen=True, kw_only=True):
    """A page, and a value of it."""

    url: str
    value: int


class RedirectChain(Struct, frozen=True, kw_only=True):
    """Redirects one after another."""

    urls: list[str]
    """From the first to the last; of a loop, the last one is among those before."""
    is_loop: bool


class RedirectFacts(Struct, frozen=True, kw_only=True):
    """Redirects of a crawl."""

    redirects: int
    chains: int
    """Chains of two redirects and more, loops apart."""
    loops: int
    longest: list[RedirectChain]
    """Loops first, then the longest chains."""


class RepeatedTitle(Struct, frozen=True, kw_only=True):
    """A title that several pages have."""

    title: str
    pages: int
    urls: list[str]
    """Some of them."""


class TitleFacts(Struct, frozen=True, kw_only=True):
    """Titles of HTML pages."""

    pages: int
    missing: int
    missing_urls: list[str]
    """Some of the pages without a title."""
    repeated: int
    """Pages whose title another page has, too; copies of other pages are not counted."""
    most_repeated: list[RepeatedTitle]


class OrphanFacts(Struct, frozen=True, kw_only=True):
    """Pages that are in a sitemap and that no stored page links to."""

    in_sitemaps: int
    """URLs that sitemaps name."""
    orphans: int
    urls: list[str]
    """Some of them."""


class RobotsLine(Struct, frozen=True, kw_only=True):
    """A line of a robots.txt, or another reason of it, that forbade URLs."""

    line: str
    urls: int


class RobotsFacts(Struct, frozen=True, kw_only=True):
    """What robots.txt files forbade."""

    forbidden: int
    """URLs that were not asked for."""
    lines: list[RobotsLine]
    """Those that forbade the most."""
    urls: list[str]
    """Some of the URLs."""


class TrapUnit(Struct, frozen=True, kw_only=True):
    """A part of a site that seems to have no end."""

    unit: str
    pages: int
    held: int
    """URLs that wait."""
    why: str


class CopiedPage(Struct, frozen=True, kw_only=True):
    """A page with the number of its copies."""

    url: str
    copies: int


class CopyFacts(Struct, frozen=True, kw_only=True):
    """Pages that say the same as others."""

    same_content: int
    """Pages whose content is that of another page, byte for byte."""
    levels: dict[str, int]
    """Near-duplicates by level: exact, duplicate, similar."""
    most_copied: list[CopiedPage]


class FailureCount(Struct, frozen=True, kw_only=True):
    """URLs that failed for one reason."""

    reason: str
    urls: int
    examples: list[str]


class ReportedHost(Struct, frozen=True, kw_only=True):
    """A host, in numbers."""

    host: str
    pages: int
    failed: int
    refused: int
    redirects: int
    bytes: int
    """What its pages take in the archive, compressed."""


class SiteReport(Struct, frozen=True, kw_only=True):
    """A crawl at a glance. Of two answers of a URL the last counts."""

    folder: str
    made_at: float
    """When the report was made, in seconds since 1970."""
    running: bool
    first_at: float
    """When the first URL was asked for; 0 if none was."""
    last_at: float
    pages: int
    """Stored pages, sitemaps apart: each URL once."""
    urls: int
    """URLs that had a turn: pages, redirects, failures, refusals."""
    redirected: int
    failed: int
    unanswered: int
    """Of those that failed, URLs without any answer."""
    refused: int
    """When their turn came; links that filters refused are not among them."""
    gone: int
    queued: int
    held: int
    archive_bytes: int
    hosts: int
    """Hosts of those URLs."""
    statuses: list[StatusCount]
    failures: list[FailureCount]
    refusals: dict[str, int]
    """Links and URLs that were refused, by reason, as `status` counts them."""
    depths: list[int]
    """Stored pages by their distance from a seed; the last one has all that are further."""
    media_types: list[MediaTypeCount]
    sizes: Spread
    """Bytes of stored pages in the archive, compressed."""
    largest: list[ReportedPage]
    times: Spread | None
    """Milliseconds from request to last byte; None if the crawl was made by an older version."""
    slowest: list[ReportedPage]
    redirects: RedirectFacts
    titles: TitleFacts
    orphans: OrphanFacts
    robots_txt: RobotsFacts
    trap_units: list[TrapUnit]
    """Parts of sites that seem to have no end: on probation, or closed."""
    labels: dict[str, int]
    """Stored pages that are not content, by what they are instead."""
    copies: CopyFacts
    top_hosts: list[ReportedHost]
    """Those with the most pages."""
