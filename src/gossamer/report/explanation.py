"""Everything known and decided about one URL."""

from collections.abc import Callable, Iterator
from typing import Protocol

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from gossamer.config import UrlConfig
from gossamer.frontier import (
    ADDRESS_DELAY,
    AddressWait,
    HostOutage,
    OutsideScore,
    WaitingUrl,
    find_host,
    find_waiting,
)
from gossamer.log import counted
from gossamer.model import (
    EMBEDDED,
    Link,
    LinkKind,
    Objection,
    Reject,
    SitemapClaim,
    Task,
    Url,
    UrlRecord,
    UrlState,
    add_labels,
    label_names,
)
from gossamer.report.clusters import NearCopy, near_copy, near_sentence
from gossamer.report.records import (
    claim_row_key,
    decode_claim,
    decode_record,
    decode_suspect,
    late_labels_key,
    moment_text,
    suspect_row_key,
    suspicion,
    url_row_key,
)
from gossamer.report.regions import RegionFacts
from gossamer.report.words import closed_words
from gossamer.urls import explain, parse, ring_of, without_credentials

_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
_PLAIN = 1.5
"""A span is told in the largest unit of which it has this many."""
_WAITING = frozenset({"queued", "leased", "waiting", "held"})
_HAD_A_TURN = frozenset({"archived", "redirected", "failed", "gone"})
_OF_NO_URL = ("url", "canonical", "state", "reason", "explanation")
"""The keys of the answer about what is no URL."""


class StateRows(Protocol):
    """What is needed of the state."""

    def get(self, key: bytes) -> bytes | None:
        """Return a row's value, or None."""

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows whose keys begin with a prefix."""


class RobotsAnswer(Struct, frozen=True, kw_only=True):
    """What robots.txt says about a URL."""

    allowed: bool
    line: str
    """The line that decided; "" if none did."""
    number: int
    """The number of that line."""
    crawl_delay_s: float | None


class FilterVerdict(Struct, frozen=True, kw_only=True):
    """Why a filter refuses a URL."""

    reason: str
    detail: str


class RecordLocation(Struct, frozen=True, kw_only=True):
    """Where a record lies in the archive."""

    file: str
    offset: int
    length: int


class PastVisit(Struct, frozen=True, kw_only=True):
    """A fetch of a URL, and where its record lies."""

    at: float
    """When, in seconds since 1970."""
    state: str
    reason: str
    status: int
    """The HTTP status; 0 without a response."""
    file: str
    """The archive file; "" if nothing was stored."""
    offset: int | None
    length: int | None


class Edition(Struct, frozen=True, kw_only=True):
    """A content of a URL, from the first answer that had it to the last; counted from the oldest.

    What comes back after another content is an edition of its own.
    """

    number: int
    at: float
    """When it was first asked for, to the second, in seconds since 1970."""
    last_at: float
    """When it was still there: the time of the last stored answer that had it."""
    answers: int
    """Stored answers that had it, one after the other."""
    status: int
    """The HTTP status; 304 if the server said that nothing has changed."""
    media_type: str
    """As the server said; "" for a revisit record."""
    digest: str
    """SHA-1 of the payload as sent."""
    revisit: bool
    """The payload was stored before, and is read from there."""
    location: RecordLocation
    """Where the first of the answers lies."""


class Revisits(Struct, frozen=True, kw_only=True):
    """How often a page was revisited, and how often it changes."""

    looks: int
    """Revisits that found out whether the page had changed."""
    changes: int
    misses: int
    """Revisits in a row that did not find the page."""
    changes_every_s: float | None
    """Estimated time between two changes; None if nothing is known."""
    importance: float | None
    """Weight of its freshness; None if it was not estimated."""
    next_look_at: float | None
    """When the next visit is planned, in seconds since 1970."""
    changefreq: str = ""
    """How often its sitemap says that it changes; "" if it does not say."""
    lastmod_at: float | None = None
    """When its sitemap says that it changed last, in seconds since 1970; a day, at its end."""


class HostSettings(Struct, frozen=True, kw_only=True):
    """What the [host] tables of crawl.toml say about requests to the host of a URL."""

    delay_s: float | None
    scope: str | None
    insecure: bool | None
    headers: list[str]
    """Names of the operator's own headers that a request for the URL carries; never values."""


class Why(Struct, frozen=True, kw_only=True):
    """Everything known and decided about one URL."""

    url: str = ""
    """As asked."""
    canonical: str | None = None
    """As the crawl spells it; None if it is not an absolute URL, and then little else is set."""
    steps: list[str] = []  # msgspec copies it
    """How the canonical form came about."""
    fingerprint: str = ""
    ring: int = 0
    shard: int = 0
    region: str = ""
    """Near which hosts the machines are that have the shard; "" if the crawl has no regions."""
    region_rule: str = ""
    """What says that its domain belongs there, in words."""
    state: str = "unknown"
    """archived, redirected, failed, gone, waiting, queued, leased, held, refused, not_wanted or
    unknown."""
    reason: str = ""
    """Of a refusal or failure, as docs/OPERATING.md lists them."""
    detail: str = ""
    depth: int | None = None
    """Links from a seed; None if the URL was never met."""
    grade: int | None = None
    """Priority in the queue, from 1 (low) to 15."""
    via: str = ""
    """The first page that linked it; "" for a seed."""
    kind: str = ""
    """Of that link."""
    labels: list[str] = []  # msgspec copies it
    """Labels of the seeds that led to it."""
    filter: FilterVerdict | None = None
    next_at: float | None = None
    """When it may be fetched, in seconds since 1970."""
    next_reason: str = ""
    attempts: int = 0
    target: str = ""
    """Where a redirect leads."""
    copy_of: str = ""
    """The URL whose stored body this one shares."""
    watch: Revisits | None = None
    """None if the URL was never fetched."""
    page: RecordLocation | None = None
    """Where the stored page lies."""
    visits: list[PastVisit] = []  # msgspec copies it
    """The last eight, those that stored nothing included."""
    editions: list[Edition] = []  # msgspec copies it
    """Its contents, the oldest first: the newest hundred of them."""
    editions_total: int = 0
    near: NearCopy | None = None
    """The older page of which this one is a near-duplicate."""
    rank: float | None = None
    """By the file of ranks that the crawl was given; 1.0 is the mean."""
    score: OutsideScore | None = None
    """By the file of scores that the crawl was given; None if it says nothing of the URL."""
    robots: RobotsAnswer | None = None
    """None if robots.txt of its host is not known."""
    settings: HostSettings | None = None
    """None if its host is like any other."""
    opens_at: float | None = None
    """When [schedule] allows requests again, in seconds since 1970; None if they are allowed, or
    the URL does not wait for one."""
    explanation: str = ""
    """All of it in a sentence or two."""

    def json_fields(self) -> dict[str, object]:
        """Return the answer as JSON has it: what cannot be known of such a URL is absent."""
        told: dict[str, object] = {f: to_builtins(getattr(self, f)) for f in self.__struct_fields__}
        if self.canonical is None:
            return {name: told[name] for name in _OF_NO_URL}
        for name in ("watch", "page") if self.watch is None else ():
            del told[name]
        return told


class Linker(Struct, frozen=True, kw_only=True):
    """The first page that links a URL, as the links archive has it."""

    url: str
    depth: int
    kind: LinkKind
    rel: str = ""


class Sources(Struct, kw_only=True):
    """Where the facts come from: the same for a running and for a stopped crawl."""

    rows: StateRows
    urls: UrlConfig
    judge: Callable[[Link, int, str], Objection | None]
    judge_queued: Callable[[Task], Objection | None]
    """Judges a URL that is known by the present rules, as the crawl does when its turn comes."""
    robots: Callable[[Url], RobotsAnswer | None]
    find_linker: Callable[[str], Linker | None]
    is_seed: Callable[[Url], bool]
    settings_of: Callable[[Url], HostSettings | None]
    who_holds: Callable[[Url], str | None]
    """Says which part of its site, on probation, holds a URL back; "" if it has let it go, None if
    none does."""
    rank_of: Callable[[Url], float | None] = lambda _url: None
    """Returns what a URL is worth by the ranks that the crawl was given, 1.0 for the mean."""
    score_of: Callable[[Url], OutsideScore | None] = lambda _url: None
    """Returns the score of a URL, by the file that the crawl was given."""
    shard: int = 0
    """Whose rows they are."""
    region_of: Callable[[Url], RegionFacts] = lambda _url: RegionFacts()
    """Returns in which region a URL is crawled."""
    next_look_at: float | None = None
    """When the URL is looked at again, if its crawl is being watched and that is planned."""
    opens_at: float | None = None
    """When [schedule] allows requests again; None if it allows them now."""
    time_zone: str = ""
    """Of the schedule; "" is the machine's."""
    address_wait: AddressWait | None = None
    """The address that its host waits for, if its crawl runs and that is so."""


def explain_url(text: str, sources: Sources) -> Why:
    """Return everything known about a URL, and a sentence that sums it up."""
    url = parse(text, sources.urls)
    shown = without_credentials(text)
    if url is None:
        told = "This is not an absolute URL; expected something like https://host/path."
        return Why(url=shown, canonical=None, state="unknown", reason="not_a_url", explanation=told)
    region = sources.region_of(url)
    found = replace(
        _found(url, sources),
        url=shown,
        canonical=url.text,
        steps=explain(text, sources.urls),
        fingerprint=f"{url.key:016x}",
        ring=ring_of(url.host),
        shard=sources.shard,
        region=region.region,
        region_rule=region.rule,
        rank=sources.rank_of(url),
        score=sources.score_of(url),
        robots=sources.robots(url),
        settings=sources.settings_of(url),
    )
    found = replace(found, labels=_with_late_labels(found.labels, url, sources.rows))
    found = replace(found, filter=found.filter or _objection_now(url, found, sources))
    if found.state == UrlState.ARCHIVED:
        found = replace(found, near=near_copy(sources.rows.get, url.key))
    suspect = decode_suspect(sources.rows.get(suspect_row_key(url.key)))
    host = find_host(sources.rows, url.host) if found.next_at is not None else None
    wait = outage_sentence(host.outage if host is not None else None)
    if not wait and found.next_reason == ADDRESS_DELAY:
        wait = address_sentence(sources.address_wait)
    told = sentence(found, wait)
    if suspect is not None and suspicion(suspect) not in told:
        told += f" It {suspicion(suspect)}."
    if found.state in _WAITING and sources.opens_at is not None:
        found = replace(found, opens_at=sources.opens_at)
        told += f" Now {closed_words(sources.opens_at, sources.time_zone)}."
    return replace(found, explanation=told)


def _with_late_labels(names: list[str], url: Url, rows: StateRows) -> list[str]:
    """Return labels with those that reached a URL after it was queued."""
    late = rows.get(late_labels_key(url.key))
    return names if late is None else label_names(add_labels(",".join(names), late.decode()))


def _objection_now(url: Url, found: Why, sources: Sources) -> FilterVerdict | None:
    """Return what the present rules have against a URL that waits: its turn will end it.

    Of what had its turn only that it is dropped.
    """
    kind = LinkKind(found.kind or LinkKind.ANCHOR)
    task = Task(url=url, depth=found.depth or 0, via=found.via, kind=kind)
    objection = sources.judge_queued(task)
    is_tried = kind is LinkKind.SITEMAP and not found.depth
    if objection is None or (is_tried and objection.reason is Reject.OFF_SCOPE):
        return None
    if found.state not in _WAITING and objection.reason is not Reject.DROPPED:
        return None
    return FilterVerdict(reason=objection.reason.value, detail=objection.detail)


def _found(url: Url, sources: Sources) -> Why:
    """Return what the state, or failing that the links archive, knows of a URL."""
    value = sources.rows.get(url_row_key(url.key))
    record = decode_record(value) if value is not None else None
    waiting = None
    if record is None or record.state in {UrlState.WAITING, UrlState.QUEUED}:
        waiting = find_waiting(sources.rows, url)
    is_open = waiting is None and (record is None or record.state is UrlState.QUEUED)
    held = sources.who_holds(url) if is_open else None
    if record is not None:
        claim = decode_claim(sources.rows.get(claim_row_key(url.key)))
        found = _recorded(record, waiting, sources.next_look_at, claim)
        return replace(found, state="held", reason="trial", detail=held) if held else found
    if waiting is not None:
        return _queued(waiting)
    found = _never_taken(url, sources)
    if held is None:
        return found
    if not held:
        return replace(found, state=UrlState.QUEUED.value, reason="", detail="", filter=None)
    return replace(found, state="held", reason="trial", detail=held, filter=None)


def _recorded(
    record: UrlRecord, waiting: WaitingUrl | None, next_visit_at: float | None, claim: SitemapClaim
) -> Why:
    page = record.stored
    is_again = record.state is UrlState.QUEUED and waiting is not None
    return Why(
        state=waiting.state if is_again and waiting is not None else record.state.value,
        reason=record.reason,
        detail=record.detail,
        depth=record.depth,
        grade=waiting.task.grade if waiting else None,
        via=record.via,
        kind=record.kind,
        labels=label_names(record.labels),
        next_at=waiting.next_at if waiting else None,
        next_reason=waiting.reason if waiting else "",
        attempts=0 if record.state is UrlState.QUEUED else record.attempts,
        target=record.target,
        copy_of=record.copy_of,
        watch=_revisits(record, next_visit_at, claim),
        page=RecordLocation(file=page.file, offset=page.offset, length=page.length)
        if page
        else None,
        visits=[
            PastVisit(
                at=visit.at,
                state=visit.state,
                reason=visit.reason,
                status=visit.status,
                file=visit.ref.file if visit.ref else "",
                offset=visit.ref.offset if visit.ref else None,
                length=visit.ref.length if visit.ref else None,
            )
            for visit in record.visits
        ],
    )


def _queued(waiting: WaitingUrl) -> Why:
    task = waiting.task
    return Why(
        state=waiting.state,
        depth=task.depth,
        grade=task.grade,
        via=task.via,
        kind=task.kind.value,
        labels=label_names(task.labels),
        next_at=waiting.next_at,
        next_reason=waiting.reason,
        attempts=task.attempt,
    )


def _never_taken(url: Url, sources: Sources) -> Why:
    """Judge a URL that was never queued, as the filters would judge a link to it."""
    is_seed = sources.is_seed(url)
    linker = None if is_seed else sources.find_linker(url.text)
    kind = LinkKind.SEED if is_seed else linker.kind if linker else LinkKind.ANCHOR
    depth = linker.depth + 1 if linker else 0
    link = Link(target=url, kind=kind, rel=linker.rel if linker else "")
    objection = sources.judge(link, depth, linker.url if linker else "")
    if objection is None and linker is not None:
        objection = Objection(Reject.NOT_FOLLOWED, f"as {kind.value}")
    is_refused = objection is not None and (linker is not None or is_seed)
    return Why(
        state="refused" if is_refused else "not_wanted" if objection else "unknown",
        reason=objection.reason.value if objection else "",
        detail=objection.detail if objection else "",
        depth=depth if linker or is_seed else None,
        via=linker.url if linker else "",
        kind=kind.value if linker or is_seed else "",
        filter=FilterVerdict(reason=objection.reason.value, detail=objection.detail)
        if objection
        else None,
    )


def _revisits(record: UrlRecord, next_at: float | None, claim: SitemapClaim) -> Revisits:
    """Return how often a page was revisited and had changed, and what follows from it."""
    rate = record.belief[0] / record.belief[1] if record.belief else None
    return Revisits(
        looks=record.looks,
        changes=record.changes,
        misses=record.misses,
        changes_every_s=round(1.0 / rate, 3) if rate else None,
        importance=record.importance or None,
        next_look_at=next_at if next_at is not None else record.retry_at,
        changefreq=claim.changefreq.word,
        lastmod_at=claim.modified_at,
    )


def unnamed_original(answer: Why) -> int | None:
    """Return the key of an original that is another shard's, and so has no URL in an answer."""
    near = answer.near
    return int(near.key, 16) if near is not None and not near.original else None


def name_original(answer: Why, name: str) -> Why:
    """Return an answer with the URL of the original that it lacks."""
    if answer.near is None or not name:
        return answer
    near = replace(answer.near, original=name)
    told = answer.explanation.replace(near_sentence(answer.near), near_sentence(near))
    return replace(answer, near=near, explanation=told)


def outage_sentence(outage: HostOutage | None) -> str:
    """Return since when a host has been down, and when it is asked again; "" if it is not."""
    if outage is None or outage.parked_at is None or outage.reason == "throttled":
        return ""
    probes = counted(outage.probes, "probe")
    return (
        f" Its host has been down since {moment_text(outage.parked_at)} ({outage.reason}), "
        f"{probes} without an answer; next probe at {moment_text(outage.probe_at)}."
    )


def address_sentence(wait: AddressWait | None) -> str:
    """Return that a host waits for an IP address, and which, if that is known."""
    if wait is None:
        return (
            " Its host waits because another host on the same IP address was asked a moment ago "
            f"({ADDRESS_DELAY})."
        )
    others = counted(wait.others, "other host waits", "other hosts wait")
    also = f", for which {others}, too" if wait.others else ""
    return f" Its host waits for its turn at the IP address {wait.address}{also} ({ADDRESS_DELAY})."


def sentence(why: Why, outage: str = "") -> str:
    """Return a few English sentences that sum the facts up; one may be of its host's outage."""
    because = f"{why.reason}: {why.detail}" if why.detail else why.reason
    is_seed = why.kind == LinkKind.SEED.value
    met = "A seed" if is_seed else "Linked"
    state = "filtered" if why.state == "refused" and why.filter else why.state
    state = "unplanted" if state == "unknown" and is_seed else state
    is_part = why.kind in EMBEDDED
    led = "It is a requisite of" if is_part else "It was first linked from"
    linked = f" {led} {why.via}." if why.via else ""
    copy = f" as a copy of {why.copy_of}" if why.copy_of else ""
    waits = f" Its host waits because of {why.next_reason}." if why.next_reason else ""
    wait = outage or waits
    again = f" again, after {because}" if why.reason else ", not fetched yet"
    told = {
        "archived": f"Fetched and archived{copy} at depth {why.depth}.",
        "redirected": f"Fetched; it redirects to {why.target}.",
        "failed": f"Given up after {counted(why.attempts, 'attempt')}: {because}.",
        "gone": f"Was archived, and no longer exists: {because}.",
        "waiting": f"Failed ({because}) and will be tried again.{outage}",
        "queued": f"Known and queued{again}.{wait}",
        "leased": f"Known and next in line{again}.{wait}",
        "held": f"Known and held: {why.detail}.",
        "filtered": f"{met}, but a filter refused it: {because}.",
        "refused": f"Not fetched: {because}.",
        "not_wanted": f"Never met in this crawl, and a link to it would be refused: {because}.",
        "unknown": "Never met in this crawl; no page that was read links to it.",
        "unplanted": "A seed, but it was never queued, though no filter in crawl.toml refuses it: "
        "a filter given in Python did, or the crawl was not started since the seed was added.",
    }
    seen_at = why.visits[-1].at if why.visits else None
    if why.filter is not None and why.state in _WAITING:
        rule = f"{why.filter.reason}: {why.filter.detail}".rstrip(": ")
        told[state] += f" By the present rules it is not fetched when its turn comes ({rule})."
    if why.filter is not None and why.filter.reason == Reject.DROPPED and state in _HAD_A_TURN:
        told[state] += f" It is dropped ({why.filter.detail}): never fetched any more, and left out"
        told[state] += " of index, graph and tables."
    return told[state] + near_sentence(why.near) + linked + _revisit_words(why.watch, seen_at)


def _revisit_words(watch: Revisits | None, seen_at: float | None) -> str:
    """Return a sentence about the revisits of a page; "" if there were none."""
    if watch is None or not (watch.looks or watch.misses):
        return ""
    said = f" Revisited {counted(watch.looks, 'time')}, changed {counted(watch.changes, 'time')}"
    if watch.changes_every_s is not None:
        said += f": it seems to change about every {span(watch.changes_every_s)}"
    said += "."
    if watch.misses:
        said += f" The last {counted(watch.misses, 'visit')} did not find it."
    if watch.next_look_at is not None and seen_at is not None:
        due = span(max(0.0, watch.next_look_at - seen_at))
        said += f" The next visit is planned {due} after the last."
    return said


def span(seconds: float) -> str:
    """Return a length of time in words, such as "3 h"."""
    for name, size in _UNITS:
        if seconds >= _PLAIN * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.1f} s"
