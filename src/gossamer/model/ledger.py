"""Turn, UrlRecord, Counters: a finished fetch, and what is written down about it."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import ClassVar, TypeAlias

from msgspec import Struct, field

from gossamer.model.document import (
    SITEMAP_TYPES,
    Extraction,
    FailureKind,
    FetchOutcome,
    RefusalKind,
    certificate_problem,
)
from gossamer.model.link import Task, label_names

Row: TypeAlias = tuple[bytes, bytes | None]
"""A row that a station wants written: key and value, or None to delete the key."""


PAUSED_ON_REQUEST = "on_request"
PAUSED_BY_SCHEDULE = "schedule"
"""The reason of a pause that somebody has asked for: `gossamer pause`."""


NO_CONTENT = frozenset({"soft_not_found", "challenge"})
"""Labels of pages that are not followed and prove nothing of their site; a page that needs
JavaScript is stored, followed and counted like any other."""


MAX_COUNTED_LABELS = 256
"""Labels of seeds that are counted each for itself: the totals are part of every commit."""
OTHER_LABELS = "(others)"


class StoreRef(Struct, frozen=True, gc=False, array_like=True):
    """Where a record lies in the archive: file name, offset and length of its gzip member."""

    file: str
    offset: int
    length: int


class CopyOf(Struct, frozen=True, gc=False, array_like=True):
    """The page whose content a document repeats: enough to write a WARC revisit record."""

    url: str
    record_id: str
    payload_digest: str
    fetched_at: float


class RevisitResult(StrEnum):
    """What a revisit of a stored page found."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    """The server said so (304), or sent the same bytes."""
    SAME_WORDS = "same_words"
    """Other bytes, but the same title, text and links: nothing is stored."""
    MISSING = "missing"
    """404 or 410 for the first time: it is asked again before that is believed."""
    GONE = "gone"
    """404 or 410, and it was so before."""
    NO_ANSWER = "no_answer"
    """The host failed, or we were not allowed to ask: nothing was learned."""


class Turn(Struct, frozen=True, kw_only=True):
    """One finished fetch on its way to the ledger: what happened and what follows from it."""

    task: Task
    outcome: FetchOutcome
    at: float
    """Wall-clock second at which the turn was taken."""
    found: Extraction | None = None
    fingerprint: int | None = None
    """Of the decoded content; None when there is none to compare."""
    words: int | None = None
    """Fingerprint of title, text and links; None when nothing could be read."""
    copy_of: CopyOf | None = None
    coded: int | None = None
    """Fingerprint of a copy's content as sent, if it is the first page that came in this coding."""
    revisit: RevisitResult | None = None
    """What a revisit found; None for a first visit."""
    importance: float = 0.0
    """What the order of the crawl makes of the page; 0 if it has no opinion."""
    belief: tuple[float, ...] | None = None
    """What is believed of the page's change rate after the revisit."""
    on_probation: str = ""
    """The part of a site on whose probation it was fetched; "" if on none."""
    label: str = ""
    """What the page is instead of content, such as "challenge"; "" if it is content."""
    new_tasks: list[Task] = field(default_factory=list)
    promoted: list[Task] = field(default_factory=list)
    """Queued URLs that this page has made worth more."""
    labelled: Sequence[Task] = ()
    """Known URLs that may lack labels which this page has."""
    refused: dict[str, int] = field(default_factory=dict)
    """How many links of this page each filter reason refused."""
    retry_at: float | None = None
    """When the URL is tried again; None when this outcome is final."""

    @property
    def is_sitemap(self) -> bool:
        """Return True if a sitemap came: a list of pages, not a page."""
        return self.found is not None and self.found.media_type in SITEMAP_TYPES


class UrlState(StrEnum):
    """Where a URL stands. A URL that is known but has no record yet is queued."""

    ARCHIVED = "archived"
    REDIRECTED = "redirected"
    FAILED = "failed"
    REFUSED = "refused"
    WAITING = "waiting"
    """Failed in a way that is tried again."""
    QUEUED = "queued"
    """Failed, or was refused, and was queued again: as if it had never been asked for."""
    GONE = "gone"
    """Was archived; its server has said twice that there is no such page any more."""


FINAL = frozenset(
    {
        UrlState.ARCHIVED,
        UrlState.REDIRECTED,
        UrlState.FAILED,
        UrlState.REFUSED,
        UrlState.GONE,
    }
)


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
    words: int | None = field(name="w", default=None)
    """Fingerprint of title, text and links: what must change for the page to have changed."""
    page: StoreRef | None = field(name="p", default=None)
    """Where the content lies, if not at the last visit that stored anything."""
    looks: int = field(name="n", default=0)
    """Visits after the first that found out whether the page had changed."""
    changes: int = field(name="g", default=0)
    misses: int = field(name="y", default=0)
    """Revisits in a row that did not find the page."""
    belief: tuple[float, ...] | None = field(name="b", default=None)
    """Shape, rate in seconds and prior part of the Gamma distribution of its changes per second."""
    importance: float = field(name="i", default=0.0)
    """Weight of its freshness; 0 means that nobody has judged it."""
    labels: str = field(name="j", default="")
    """Labels of the seeds that had led here when it was fetched."""
    is_sitemap: bool = field(name="z", default=False)
    """A list of pages came, not a page; older versions did not note it."""
    is_other: bool = field(name="q", default=False)
    """What is stored is no HTML; older versions did not note it."""
    first_at: float = field(name="o", default=0.0)
    """When it was first asked for, if that visit is no longer among `visits`."""

    @property
    def stored(self) -> StoreRef | None:
        """Return where the page's content lies, or that of its last answer; None if nowhere."""
        refs = (visit.ref for visit in reversed(self.visits) if visit.ref is not None)
        return self.page or next(refs, None)

    @property
    def seen_at(self) -> float:
        """Return when the URL was last asked for; 0 if never."""
        return self.visits[-1].at if self.visits else 0.0

    @property
    def asked_at(self) -> float:
        """Return when the URL was first asked for; 0 if never."""
        return self.first_at or (self.visits[0].at if self.visits else 0.0)


class UserErrors(Struct):
    """Exceptions that one of the user's own functions raised."""

    count: int
    error: str
    """The last of them: type and message."""


class Counters(Struct, kw_only=True):
    """What `status` counts over the whole life of a crawl. One row, in every commit."""

    pages: int = 0
    """Stored 2xx responses but sitemaps, revisits included: what --max-pages counts."""
    html_pages: int = 0
    sitemaps: int = 0
    """Stored sitemaps, which are lists of pages; in older folders some are counted as pages."""
    revisits: int = 0
    redirects: int = 0
    requests: int = 0
    archive_bytes: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    certificates: dict[str, int] = field(default_factory=dict)
    """Of the failures, those due to a certificate, by what is wrong with it."""
    retries: dict[str, int] = field(default_factory=dict)
    copies: dict[str, int] = field(default_factory=dict)
    """Pages that say what an older one says: exact, duplicate, similar."""
    labels: dict[str, int] = field(default_factory=dict)
    """Stored pages that are not content, by what they are instead."""
    seed_labels: dict[str, int] = field(default_factory=dict)
    """Stored pages by the labels of the seeds that led to them."""
    seeds: int = 0
    seeds_fetched: int = 0
    seconds: float = 0.0
    """Time spent crawling, all runs together."""
    latest_at: float = 0.0
    """The latest wall-clock second at which an archived answer ended."""
    looks: int = 0
    """Visits to pages that we have, whatever came of them."""
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    """Pages that are gone now."""
    watched: int = 0
    """Pages on the watchlist, when last counted."""
    retried: int = 0
    """URLs that were queued again after they had failed or were refused."""
    lost_found: int = 0
    """Archive files, or ends of files, that the state did not know and lie in lost+found."""
    user_errors: dict[str, UserErrors] = field(default_factory=dict)
    """By function, such as "score mine:worth"."""

    def add_lost_found(self, files: int) -> None:
        """Count archive files and ends of files that were moved to lost+found."""
        self.lost_found += files

    def add_user_error(self, function: str, error: str) -> None:
        """Count an exception that a function of the user's own raised."""
        known = self.user_errors.setdefault(function, UserErrors(0, error))
        known.count, known.error = known.count + 1, error

    def count_request(self) -> None:
        """Count a request that was sent."""
        self.requests += 1

    def count_refused(self, reasons: Mapping[str, int]) -> None:
        """Count URLs that were refused, by reason."""
        for reason, count in reasons.items():
            self.refused[reason] = self.refused.get(reason, 0) + count

    def count_sitemap(self, *, is_copy: bool, is_seed: bool) -> None:
        """Count a stored sitemap."""
        self.sitemaps += 1
        self.revisits += is_copy
        self.seeds_fetched += is_seed

    def count_page(self, *, is_copy: bool, is_html: bool, is_seed: bool, label: str) -> None:
        """Count a stored page."""
        self.pages += 1
        self.revisits += is_copy
        self.html_pages += is_html
        self.seeds_fetched += is_seed
        if label:
            self.labels[label] = self.labels.get(label, 0) + 1

    def count_seed_labels(self, labels: str, change: int = 1) -> None:
        """Count a stored page that has labels of seeds; of very many labels, some together."""
        for name in label_names(labels):
            is_counted = name in self.seed_labels or len(self.seed_labels) < MAX_COUNTED_LABELS
            counted = name if is_counted else OTHER_LABELS
            self.seed_labels[counted] = self.seed_labels.get(counted, 0) + change

    def take_back_sitemap(self, *, is_copy: bool, is_seed: bool) -> None:
        """Take back a sitemap whose record is lost; an older version has counted it as a page."""
        if self.sitemaps:
            self.sitemaps -= 1
        else:
            self.pages -= 1
        self.revisits -= is_copy
        self.seeds_fetched -= is_seed

    def take_back(
        self, *, is_page: bool, is_html: bool, is_copy: bool, is_redirect: bool, is_seed: bool
    ) -> None:
        """Take back a URL whose record is lost: it will be counted again."""
        self.pages -= is_page
        self.html_pages = min(self.html_pages - (is_page and is_html), self.pages)
        self.revisits -= is_page and is_copy
        self.redirects -= is_redirect
        self.seeds_fetched -= (is_page or is_redirect) and is_seed

    def count_redirect(self, *, is_seed: bool) -> None:
        """Count a redirect."""
        self.redirects += 1
        self.seeds_fetched += is_seed

    def count_failure(self, reason: str, detail: str, *, is_final: bool) -> None:
        """Count a failure: of the URL if it is final, else of one try."""
        tally = self.failed if is_final else self.retries
        tally[reason] = tally.get(reason, 0) + 1
        if is_final and reason == FailureKind.TLS_CERTIFICATE:
            problem = certificate_problem(detail)
            self.certificates[problem] = self.certificates.get(problem, 0) + 1

    def uncount(self, state: str, reason: str, detail: str = "") -> None:
        """Take back a failure, or a refusal, of a URL: it is queued again, or was mended."""
        _take_one(self.failed if state == UrlState.FAILED else self.refused, reason)
        if state == UrlState.FAILED and reason == FailureKind.TLS_CERTIFICATE:
            _take_one(self.certificates, certificate_problem(detail))

    def recount(self, record: UrlRecord, change: int, near: str = "") -> None:
        """Add what a URL's record says, 1, or take it back, -1; `near` is its level as a copy.

        URLs that were refused as dropped stay counted: that is what a drop did.
        """
        is_stored = record.state in {UrlState.ARCHIVED, UrlState.GONE}
        if is_stored and record.is_sitemap:
            self.sitemaps = max(self.sitemaps + change, 0)
        elif is_stored:
            self.pages = max(self.pages + change, 0)
            is_html = change * (not record.is_other)
            self.html_pages = max(min(self.html_pages + is_html, self.pages), 0)
            self.revisits = max(self.revisits + change * bool(record.copy_of), 0)
            self.gone = max(self.gone + change * (record.state is UrlState.GONE), 0)
            self.count_seed_labels(record.labels, change)
        elif record.state is UrlState.REDIRECTED:
            self.redirects = max(self.redirects + change, 0)
        elif record.state is UrlState.FAILED:
            _add(self.failed, record.reason, change)
            if record.reason == FailureKind.TLS_CERTIFICATE:
                _add(self.certificates, certificate_problem(record.detail), change)
        elif record.state is UrlState.REFUSED and record.reason != RefusalKind.DROPPED:
            _add(self.refused, record.reason, change)
        if near:
            _add(self.copies, near, change)

    def count_retried(self, urls: int) -> None:
        """Count URLs that were queued again."""
        self.retried += urls

    def count_revisit(self, *, is_changed: bool, is_unchanged: bool, gone: int) -> None:
        """Count a revisit; `gone` is by how many the pages that are gone become more."""
        self.looks += 1
        self.changed += is_changed
        self.unchanged += is_unchanged
        self.gone += gone

    def count_gone(self) -> None:
        """Count a page that is gone and of which no more is known."""
        self.gone += 1

    def count_seed(self) -> None:
        """Count a seed that was queued."""
        self.seeds += 1

    def count_archived(self, stored_bytes: int) -> None:
        """Count bytes that were appended to the archive."""
        self.archive_bytes += stored_bytes

    def count_copies(self, changes: Mapping[str, int]) -> None:
        """Count labels of near-duplicates, by level."""
        for level, change in changes.items():
            self.copies[level] = self.copies.get(level, 0) + change

    def note_time(self, seconds: float) -> None:
        """Note the time spent crawling, all runs together."""
        self.seconds = seconds

    def note_latest(self, at: float) -> None:
        """Note when an archived answer ended, by the wall clock."""
        self.latest_at = max(self.latest_at, at)

    def note_watched(self, pages: int) -> None:
        """Note how many pages are on the watchlist."""
        self.watched = pages


def _take_one(tally: dict[str, int], name: str) -> None:
    _add(tally, name, -1)


def _add(tally: dict[str, int], name: str, change: int) -> None:
    left = tally.get(name, 0) + change
    if left > 0:
        tally[name] = left
    else:
        tally.pop(name, None)


class TrapNote(Struct, frozen=True):
    """A part of a site that is on probation (its URLs go last) or closed."""

    unit: str
    reason: str
    """Why it is closed; "" while it is on probation."""
    pages: int
    held: int
    """URLs that wait."""
    refused: int
    detail: str
    """All of it in a few words, with what to do."""
    suspicion: str = ""
    """Why it is on probation, and how many pages were fetched since."""
    waits_for: str = ""
    """share: other URLs go first; allowance: it is spent, and what is left stays held. "" if it is
    closed."""
    pattern: str = ""
    """What names all of it, for `gossamer trust`."""


class WaitsFor(Struct, kw_only=True, frozen=True):
    """What a crawl waits for while nothing is under way: a host, and how long."""

    host: str
    seconds: float
    reason: str
    """The rule or the failure that makes it wait."""
    detail: str = ""


class Histogram(Struct):
    """How often something took how long."""

    BOUNDS_S: ClassVar[tuple[float, ...]] = (
        *(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
        *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
    )
    counts: list[int] = field(default_factory=lambda: [0] * 15)
    """At most as long as each bound, and longer than all of them."""
    total_s: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(self.BOUNDS_S, seconds)] += 1
        self.total_s += seconds


def sum_histograms(parts: Sequence[Histogram]) -> Histogram | None:
    """Return several histograms as one; None if there are none."""
    if not parts:
        return None
    counts = [sum(column) for column in zip(*(part.counts for part in parts), strict=True)]
    return Histogram(counts, sum(part.total_s for part in parts))


class Standing(Struct, kw_only=True, frozen=True):
    """What the counters do not hold: the state of queue and process at this moment."""

    queued: int
    in_flight: int = 0
    hosts: int
    known_urls: int
    active_hosts: int = 0
    parked: int = 0
    """URLs of hosts that are parked."""
    parked_hosts: int = 0
    held: int = 0
    """URLs that are on probation and wait; when a crawl is finished, until they are trusted."""
    on_probation: int = 0
    """Of these, those that will yet be fetched: an allowance is left for them."""
    is_running: bool = False
    paused: str = ""
    paused_shards: tuple[int, ...] = ()
    """Of several shards those that are paused, if others are not."""
    opens_at: float | None = None
    """When requests are allowed again, if [schedule] allows none at the moment."""
    time_zone: str = ""
    """Of the schedule; "" is the machine's."""
    stop_reason: str = ""
    outbox: int = 0
    """URLs on their way to the shard that owns their host."""
    shards: int = 1
    watched: int = 0
    freshness: float | None = None
    """Expected share of pages, by importance, whose stored copy is current."""
    due: int | None = None
    """Pages that a single round of revisits has left; None if there is no end to it."""
    traps: tuple[TrapNote, ...] = ()
    """Parts of sites that are on probation or closed: some of them."""
    suspects: int = 0
    """URLs whose page was being read when the crawl died."""
    waits_for: WaitsFor | None = None
    address_waits: dict[str, int] = field(default_factory=dict)
    """Hosts that wait for an IP address that they share, by address: where most do."""
    seed_failures: dict[str, str] = field(default_factory=dict)
    """Why seeds could not be fetched in their first try; some of them."""
    fetches: Histogram | None = None
    commits: Histogram | None = None
    """How long they took in this run."""
    failing_seeds: int = 0
    """Seeds of which a try has failed in this run, or that were refused."""
