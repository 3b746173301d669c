"""UrlRecord and Counters: what is written down about every URL that had its turn."""

from enum import StrEnum

from msgspec import Struct, field

from gossamer.model.record import StoreRef


class UrlState(StrEnum):
    """Where a URL stands. A URL that is known but has no record yet is queued."""

    ARCHIVED = "archived"
    REDIRECTED = "redirected"
    FAILED = "failed"
    REFUSED = "refused"
    WAITING = "waiting"
    """Failed in a way that is tried again."""


FINAL = frozenset({UrlState.ARCHIVED, UrlState.REDIRECTED, UrlState.FAILED, UrlState.REFUSED})


class Visit(Struct, frozen=True, gc=False, array_like=True):
    """One fetch of a URL and where its record lies."""

    at: float
    state: str
    reason: str
    status: int
    ref: StoreRef | None = None


class UrlRecord(Struct, kw_only=True, omit_defaults=True):
    """Everything that is kept in the state about one URL. Short names: there are millions."""

    url: str = field(name="u")
    state: UrlState = field(name="s")
    depth: int = field(name="d", default=0)
    via: str = field(name="v", default="")
    kind: str = field(name="k", default="seed")
    reason: str = field(name="r", default="")
    detail: str = field(name="x", default="")
    attempts: int = field(name="a", default=0)
    retry_at: float | None = field(name="t", default=None)
    target: str = field(name="l", default="")
    """Where a redirect leads."""
    copy_of: str = field(name="c", default="")
    fingerprint: int | None = field(name="f", default=None)
    """Of the decoded body, so that an outdated one can be deleted when the page changes."""
    etag: str = field(name="e", default="")
    modified: str = field(name="m", default="")
    visits: list[Visit] = field(name="h", default_factory=list)


class Counters(Struct, kw_only=True):
    """What `status` counts over the whole life of a crawl. One row, in every commit."""

    pages: int = 0
    """Stored 2xx responses, revisits included: what --max-pages counts."""
    html_pages: int = 0
    revisits: int = 0
    redirects: int = 0
    requests: int = 0
    archive_bytes: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    retries: dict[str, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    """Stored pages that are not content, by what they are instead."""
    seeds: int = 0
    seeds_fetched: int = 0
    seconds: float = 0.0
    """Time spent crawling, all runs together."""


class TrapNote(Struct, frozen=True):
    """A part of a site that is throttled (on trial) or closed."""

    unit: str
    reason: str
    """Why it is closed; "" while it is on trial."""
    pages: int
    held: int
    refused: int
    detail: str


class Standing(Struct, kw_only=True, frozen=True):
    """What the counters do not hold: the state of queue and process at this moment."""

    queued: int
    in_flight: int = 0
    hosts: int
    known_urls: int
    active_hosts: int = 0
    is_running: bool = False
    paused: str = ""
    stop_reason: str = ""
    outbox: int = 0
    """URLs on their way to the shard that owns their host."""
    shards: int = 1
    traps: tuple[TrapNote, ...] = ()
    """Parts of sites that are throttled or closed: some of them."""
