"""What the engine needs of its parts. Stations do not import this; they merely fit."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gossamer.cluster import OutageOrders, ProbationOrders, ShardOutages, ShardProbation
from gossamer.config import ProcessConfig, UrlConfig
from gossamer.crawl.contents import ContentAnswer
from gossamer.frontier import Openings
from gossamer.model import CopyOf, Failed, Link, Row, Task, Turn, Url, UrlRecord


class Filters(Protocol):
    """Do we want it?"""

    checksum: int
    """Stands for the rules by which links are judged at the moment."""

    def keep(
        self, links: Sequence[Link], depth: int, source: str
    ) -> tuple[list[Link], dict[str, int]]:
        """Return the links that no filter objects to, and the objections counted by reason."""

    def takes_page(self, url: Url, source: str) -> bool:
        """Return True if a URL is in the scope of pages; others are stored as requisites only."""


class UrlSeenTest(Protocol):
    """New to us?"""

    def new_among(self, keys: Collection[int]) -> list[int]:
        """Return those of the keys that were never added, in order."""

    def add(self, keys: Sequence[int]) -> None:
        """Remember keys."""


class LinkRanking(Protocol):
    """What is it worth?"""

    needs_known: bool
    """Links to known URLs matter, too."""

    def follow(
        self, page: Task, wanted: Sequence[Link], known: Mapping[int, Link]
    ) -> tuple[list[Task], list[Task]]:
        """Return tasks for the new links of a page, and for known ones that are to move up."""

    def receive(self, task: Task) -> bool:
        """Take the credit that another shard sends for a known URL; return True if it moves up."""


class ContentSeenTest(Protocol):
    """Seen this content?"""

    def first_copy(self, fingerprint: int | None) -> CopyOf | None:
        """Return the first page that had this content, as far as this shard knows."""

    def ask(self, fingerprint: int | None) -> ContentAnswer:
        """Return the first page that had this content, or a promise of it; None: store it."""

    def poll(self) -> None:
        """Let answers of other shards come in."""

    def release(self, fingerprint: int | None) -> None:
        """Be told that the turn of a page is over that was to store a content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stations:
    """The stops of a URL's way back from the fetch, in order."""

    content_seen: ContentSeenTest
    url_seen: UrlSeenTest
    filters: Filters
    ranking: LinkRanking
    ascends: bool
    """Parent paths of what is found are tried, too."""
    urls: UrlConfig
    process: ProcessConfig
    max_redirects: int
    retry_at: Callable[[Failed, int, float], float | None]
    """When a task that failed after so many attempts is tried again; None means never."""
    join: Callable[[str, str, UrlConfig], Url | None]
    most_retries: int | None = None
    """Of a URL, whatever the failure; None if that decides."""
    content_wait_s: float = 0.0
    """How long a page waits, beyond its reading, for an answer about its content."""
    redirect_of: Callable[[int], str] = lambda _key: ""
    """Where the URL of a key redirects to, as far as this shard knows; "" if it does not."""
    lacking_labels: Callable[[Task, Sequence[Task], Mapping[int, Link]], Sequence[Task]] = (
        lambda _page, _new, _known: ()
    )
    """Given a page with labels, its new tasks and its known links: those that may lack a label."""


class AddressClocks(Protocol):
    """When may this IP address be asked? Asked by all shards of a crawl, answered by one owner.

    On one machine that is a file in the memory of all; an owner elsewhere would be sent messages,
    so taking an address may wait.
    """

    async def take(self, address: str, gap_s: float, now: float) -> float | None:
        """Take an address for a request that begins now, or return the moment to wait for.

        Once it is taken nobody takes it again, in any shard, before `gap_s` have passed.
        """

    def touch(self, address: str, gap_s: float, now: float) -> None:
        """Let an address that has just answered be left alone for `gap_s` from now on."""

    def close(self) -> None:
        """Let go of it; what was taken stays taken."""


class Committing(Protocol):
    """Whoever has rows to write with every commit, and waits for it."""

    def rows_to_commit(self) -> Sequence[Row]:
        """Give the rows that changed since the last commit."""

    def committed(self) -> None:
        """Be told that the rows of the last call are written."""


class Peers(Committing, Protocol):
    """The other shards of the crawl, as the engine sees them: none, or some."""

    @property
    def is_blocked(self) -> bool:
        """Return True if no request is allowed: too much waits for other shards."""

    @property
    def has_uncommitted(self) -> bool:
        """Return True if a commit would write something for other shards, or from them."""

    @property
    def commits(self) -> int:
        """Return how many commits there were: what a sync that begins now will cover."""

    @property
    def owes_receipts(self) -> bool:
        """Return True if other shards wait for a sync: their letters are committed."""

    @property
    def wants_sync(self) -> bool:
        """Return True if pages of other shards wait until a page of ours is durable."""

    def pages_left(self, used: int, wanted: int) -> int:
        """Return how many pages may be asked for beyond those stored or under way."""

    def may_leave(self) -> bool:
        """Return True if an idle shard may end: nobody will send it anything."""

    def rest(self) -> None:
        """Be told that nothing is under way, before the engine waits."""

    def durable(self, commits: int) -> None:
        """Be told how many commits a sync has covered."""

    def outage_orders(self, told: ShardOutages, now: float) -> OutageOrders:
        """Return what to do about hosts that are down, given how this shard stands."""

    def note_in_hand(self) -> None:
        """Be told that something else is in flight."""

    async def note_alone(self, key: int) -> None:
        """Be told which page is about to be read alone."""

    def note_done(self, key: int) -> None:
        """Be told that a task is not in flight any more."""

    def note_free(self, has_free: Callable[[], bool]) -> None:
        """Look whether anything waits that is free of suspicion: the others may want to know."""

    def probation_orders(self, told: ShardProbation, pages: int, now: float) -> ProbationOrders:
        """Return what to do about what is on probation, given how this shard stands."""


class Remote(Protocol):
    """Where the shard's checkpoints go: nowhere, or to an object store."""

    @property
    def paused(self) -> str:
        """Return why no request may be begun; "" if one may."""

    @property
    def may_ask(self) -> bool:
        """Return True if a request may be begun now."""

    @property
    def is_fenced(self) -> bool:
        """Return True if the shard is somebody else's by now."""

    @property
    def gives_receipts(self) -> bool:
        """Return True if receipts wait for a checkpoint, not for the disk."""

    @property
    def is_shipped(self) -> bool:
        """Return True if everything that was committed is in the last checkpoint."""

    async def settle(self) -> None:
        """Wait until the shard counts, if it comes of a split."""

    async def run(self) -> None:
        """Ship and keep the lease until cancelled; raise if the shard is no longer ours."""

    async def ship_soon(self) -> None:
        """Ship what is committed; return when it is shipped."""

    async def finish(self) -> None:
        """Ship the rest: everything is closed but the state."""


class RevisitScheduler(Protocol):
    """Revisits of stored pages beside the crawl, as the engine and the worker see them."""

    @property
    def is_over(self) -> bool:
        """Return True if a single round is over: nothing is left to be revisited."""

    @property
    def given_up(self) -> int:
        """Return how many revisits a round that is over leaves leased: their hosts are down."""

    @property
    def due(self) -> int | None:
        """Return how many pages a single round has left; None if there is no end to it."""

    @property
    def watched(self) -> int:
        """Return how many pages are on the watchlist."""

    @property
    def freshness(self) -> float | None:
        """Return the expected share of pages, by importance, that are current."""

    def next_revisit_at(self, key: int) -> float | None:
        """Return when a page is revisited next; None if that is not planned."""

    def set_share(self, share: float) -> None:
        """Set this shard's share of the request budget."""

    def set_rate(self, rate_per_s: float) -> None:
        """Set the request budget of all shards together."""

    def feed(self, now: float) -> int:
        """Lease what is due; return how many requests may be begun."""

    def next(self, now: float, open_to: Openings) -> Task | None:
        """Take a task that may be asked for now: a revisit, else a new page."""

    def next_moment(self, open_to: Openings) -> float | None:
        """Return when there may be something to do, if a request may be begun."""

    def next_request_at(self) -> float | None:
        """Return when the next request may be begun; None if one may be now."""

    def note_page(self, turn: Turn) -> None:
        """Put a page that is new on the watchlist."""

    def let_go(self, key: int, until: float) -> None:
        """Let a revisit end of which nothing was learned; its page is left alone for a while."""

    def note_revisit(self, turn: Turn, old: UrlRecord) -> tuple[float, ...] | None:
        """Learn from a revisit; return what is believed of the page's changes, if that is new."""
