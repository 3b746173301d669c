"""What became of each URL and of the whole crawl: the rows, the totals, and the status. Pure."""

import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.model import (
    NO_CLAIM,
    ChangeFrequency,
    Counters,
    Histogram,
    SitemapClaim,
    Standing,
    TrapNote,
    UrlRecord,
    UserErrors,
    WaitsFor,
    sum_histograms,
)

URL, COUNTERS, SUSPECT, LATE_LABELS, CLAIM = b"u", b"c", b"k", b"b", b"y"
_CLAIM = struct.Struct(">BQ")
_OLD_SUSPECT_BYTES = 2
"""Rows of so many bytes are of a time when whatever was in flight was blamed: they mean nothing."""


class Suspect(Struct, frozen=True, array_like=True):
    """A URL whose page was being read when the crawl died: the next time, it is read alone."""

    died_at: float
    """When that was, 0.0 if it is not known."""
    until: float
    """It is not asked for before this moment, as long as there is anything else to do."""
    deaths: int = 1
    """How often the crawl died over it."""
    helper_deaths: int = 0
    """How often the helper process that read it alone died, or took too long."""


_encoder = msgspec.msgpack.Encoder()
_record_decoder = msgspec.msgpack.Decoder(UrlRecord)
_counters_decoder = msgspec.msgpack.Decoder(Counters)
_suspect_decoder = msgspec.msgpack.Decoder(Suspect)


def url_row_key(key: int) -> bytes:
    """Return the key of a URL's record."""
    return URL + key.to_bytes(8, "big")


def encode_record(record: UrlRecord) -> bytes:
    """Return the value of a URL's record."""
    return _encoder.encode(record)


def decode_record(value: bytes) -> UrlRecord:
    """Return the URL record that a value holds."""
    return _record_decoder.decode(value)


def late_labels_key(key: int) -> bytes:
    """Return the key of the row with labels that reached a URL after it was queued."""
    return LATE_LABELS + key.to_bytes(8, "big")


def claim_row_key(key: int) -> bytes:
    """Return the key of the row that holds what a sitemap says of a URL."""
    return CLAIM + key.to_bytes(8, "big")


def encode_claim(claim: SitemapClaim) -> bytes | None:
    """Return the value of a claim's row: 9 bytes; None if it says nothing worth keeping."""
    if not claim.changefreq and claim.modified_at is None:
        return None
    return _CLAIM.pack(claim.changefreq, max(0, int(claim.modified_at or 0.0)))


def decode_claim(value: bytes | None) -> SitemapClaim:
    """Return the claim that a row holds; `NO_CLAIM` if there is none, or it cannot be read."""
    if value is None or len(value) != _CLAIM.size:
        return NO_CLAIM
    number, modified_at = _CLAIM.unpack(value)
    known = number <= ChangeFrequency.NEVER
    changefreq = ChangeFrequency(number) if known else ChangeFrequency.NOT_SAID
    return SitemapClaim(changefreq, float(modified_at) or None)


def suspect_row_key(key: int) -> bytes:
    """Return the key of the row that says that a URL is a suspect."""
    return SUSPECT + key.to_bytes(8, "big")


def encode_suspect(suspect: Suspect) -> bytes:
    """Return the value of a suspect's row."""
    return _encoder.encode(suspect)


def decode_suspect(value: bytes | None) -> Suspect | None:
    """Return the suspect that a value holds; None if there is none, or the row is an old one."""
    if value is None or len(value) <= _OLD_SUSPECT_BYTES:
        return None
    return _suspect_decoder.decode(value)


def suspicion(suspect: Suspect) -> str:
    """Return why a URL is a suspect, and what becomes of it, as the end of a sentence."""
    return (
        f"was being read when the crawl died at {moment_text(suspect.died_at)}; "
        "will be read alone in a helper process"
    )


def moment_text(at: float) -> str:
    """Return a moment as a reader of messages sees it, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def encode_counters(counters: Counters) -> bytes:
    """Return the value of the counters' row."""
    return _encoder.encode(counters)


def decode_counters(value: bytes | None) -> Counters:
    """Return the counters that a value holds, or new ones."""
    return _counters_decoder.decode(value) if value is not None else Counters()


def sum_counters(parts: Iterable[Counters]) -> Counters:
    """Return the totals of several shards; their time is that of the longest, not the sum."""
    total = Counters()
    for part in parts:
        for name in Counters.__struct_fields__:
            old, new = getattr(total, name), getattr(part, name)
            if name == "user_errors":
                for function, told in new.items():
                    count = old[function].count if function in old else 0
                    old[function] = UserErrors(count + told.count, told.error)
            elif isinstance(old, dict):
                for reason, count in new.items():
                    old[reason] = old.get(reason, 0) + count
            else:
                setattr(
                    total, name, max(old, new) if name in {"seconds", "latest_at"} else old + new
                )
    return total


ADDRESSES_TOLD = 5


class WatchTotals(Struct, frozen=True, kw_only=True):
    """Revisits of a crawl that is, or was, watched."""

    watched: int
    """Pages that are revisited."""
    visits: int
    """Revisits, whatever came of them."""
    changed: int
    unchanged: int
    gone: int
    """Pages that no longer exist."""
    expected_freshness: float | None
    """Expected share of pages, by importance, whose stored copy is current; None if not known."""
    due: int | None = None
    """Pages that `watch --once`, while it runs, has left to revisit; None otherwise."""


class StoreState(Struct, frozen=True, kw_only=True):
    """Of a crawl that was asked by the URL of its store: who runs it, and how new this is."""

    url: str
    crawl: str
    """Names the crawl, wherever it runs."""
    owner: str
    """The machine and the process that run it, or ran it last."""
    is_running: bool
    """There is a fresh sign of life of its owner."""
    has_ended: bool
    """Nothing runs, and all that was crawled is shipped."""
    shipped_at: float
    """When the oldest of the shards' newest checkpoints was made, in seconds since 1970."""
    age_s: float
    """How long ago that was."""
    coordinator: str = ""
    """Where the coordinator of a crawl on several machines is heard."""
    nodes: dict[str, list[int]] = field(default_factory=dict)
    """Of such a crawl: the machines, and the shards on each."""


class Status(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The totals of a crawl, running or stopped. As JSON, fields with a default may be absent."""

    pages: int
    """Stored 2xx responses but sitemaps, revisits included."""
    html_pages: int
    sitemaps: int
    """Stored sitemaps; folders of older versions have counted some as pages."""
    queued: int
    in_flight: int
    hosts: int
    known_urls: int
    refused: dict[str, int]
    """Links and URLs that were refused, by reason."""
    labels: dict[str, int]
    """Stored pages that are not content, by what they are instead."""
    failed: dict[str, int]
    """URLs that were given up, by kind of failure or HTTP status."""
    finished: bool
    """Nothing is queued or in flight; what is held stays held."""
    running: bool
    active_hosts: int
    parked: int
    """URLs that wait because their host is down; they are queued, too."""
    parked_hosts: int
    """Hosts that are down: one request at a time tests whether they answer again."""
    held: int
    """URLs that are on probation and wait, not queued; see traps, and `gossamer trust`."""
    requests: int
    redirects: int
    revisits: int
    """Responses whose body was stored before, and so is not stored again."""
    copies: dict[str, int]
    """Near-duplicates by level: exact, duplicate, similar."""
    retries: dict[str, int]
    archive_bytes: int
    lost_found: int
    """Archive files, and ends of files, that were never committed: in archive/lost+found."""
    seconds: float
    """Time spent crawling, all runs together."""
    pages_per_s: float
    paused: str
    """Why the crawl is paused; "" if it is not."""
    stop_reason: str
    """Why the crawl is stopping; "" if it is not."""
    outbox: int
    """URLs on their way to the shard that owns their host."""
    shards: int
    watch: WatchTotals
    user_errors: dict[str, UserErrors]
    """Exceptions raised by processors, filters and scores of the user's own, by name."""
    traps: tuple[TrapNote, ...]
    """Parts of sites that are on probation or closed: some of them."""
    suspects: int
    """URLs whose page was being read when the crawl died: each is read alone."""
    waits_for: WaitsFor | None = None
    """What a crawl waits for that has nothing under way; None if it waits for nothing."""
    address_waits: dict[str, int] = field(default_factory=dict)
    """Hosts that wait for an IP address that they share, by address: where most do."""
    certificates: dict[str, int] = field(default_factory=dict)
    """Of those that failed, how many did so for what is wrong with a certificate."""
    seed_failures: dict[str, str] = field(default_factory=dict)
    """Why seeds could not be fetched in their first try in this run; some of them."""
    restarts: int | None = None
    """Shards that died and were started again, in this run; None with one shard."""
    seed_labels: dict[str, int] = field(default_factory=dict)
    """Stored pages by label: those that were found from seeds with it."""
    refused_seeds: dict[str, str] | None = None
    """Seeds that were refused, with the reason; None unless no seed could be fetched."""
    opens_at: float | None = None
    """When requests are allowed again by [schedule], in seconds since 1970; None if they are."""
    time_zone: str = ""
    """The time zone of [schedule]; "" is that of the crawl's machine."""
    store: StoreState | None = None
    """Where this comes from, if it was asked of a store; None if of a folder."""
    paused_shards: tuple[int, ...] = ()
    """Shards that `paused` is said of, if the others are not paused."""
    taken_over: str = ""
    """Who goes on with the crawl elsewhere, in words, if that is why it does not run here."""


class CrawlMetrics(Struct, frozen=True, kw_only=True):
    """What the metrics of a crawl are made of."""

    status: Status
    folder: Path
    fetches: Histogram | None = None
    """None: it does not run."""
    commits: Histogram | None = None
    shards_up: Sequence[bool] = ()
    control_cpu_s: float = 0.0
    """CPU that was spent on answering others."""


def merge_standings(parts: Sequence[Standing]) -> Standing:
    """Return how all shards together stand."""
    paused = next((part.paused for part in parts if part.paused), "")
    waiting = tuple(shard for shard, part in enumerate(parts) if paused and part.paused == paused)
    return Standing(
        queued=sum(part.queued for part in parts),
        in_flight=sum(part.in_flight for part in parts),
        hosts=sum(part.hosts for part in parts),
        known_urls=sum(part.known_urls for part in parts),
        active_hosts=sum(part.active_hosts for part in parts),
        parked=sum(part.parked for part in parts),
        parked_hosts=sum(part.parked_hosts for part in parts),
        held=sum(part.held for part in parts),
        on_probation=sum(part.on_probation for part in parts),
        is_running=any(part.is_running for part in parts),
        paused=paused,
        paused_shards=waiting if len(waiting) < len(parts) else (),
        opens_at=next((part.opens_at for part in parts if part.opens_at is not None), None),
        time_zone=next((part.time_zone for part in parts if part.time_zone), ""),
        stop_reason=next((part.stop_reason for part in parts if part.stop_reason), ""),
        outbox=sum(part.outbox for part in parts),
        shards=len(parts),
        watched=sum(part.watched for part in parts),
        freshness=_freshness(parts),
        due=_due(parts),
        traps=tuple(note for part in parts for note in part.traps),
        suspects=sum(part.suspects for part in parts),
        waits_for=_first_wait(parts),
        address_waits=_address_waits(parts),
        seed_failures={url: why for part in parts for url, why in part.seed_failures.items()},
        failing_seeds=sum(part.failing_seeds for part in parts),
        fetches=sum_histograms([part.fetches for part in parts if part.fetches is not None]),
        commits=sum_histograms([part.commits for part in parts if part.commits is not None]),
    )


def _first_wait(parts: Sequence[Standing]) -> WaitsFor | None:
    """Return what ends first of what the shards wait for; None if one of them has work."""
    if any(part.in_flight for part in parts):
        return None
    waits = [part.waits_for for part in parts if part.waits_for is not None]
    return min(waits, key=lambda wait: wait.seconds, default=None)


def _address_waits(parts: Sequence[Standing]) -> dict[str, int]:
    """Return how many hosts of all shards wait for an address that they share, the most first."""
    told: Counter[str] = Counter()
    for part in parts:
        told.update(part.address_waits)
    return dict(told.most_common(ADDRESSES_TOLD))


def _freshness(parts: Sequence[Standing]) -> float | None:
    """Return the mean of what is expected of each shard's pages, by their number."""
    known = [(part.watched, part.freshness) for part in parts if part.freshness is not None]
    total = sum(watched for watched, _ in known)
    return sum(watched * fresh for watched, fresh in known) / total if total else None


def _due(parts: Sequence[Standing]) -> int | None:
    """Return how many pages are left of a single round; None if there is none."""
    known = [part.due for part in parts if part.due is not None]
    return sum(known) if known else None


def status_of(counters: Counters, standing: Standing) -> Status:
    """Return the status of a crawl."""
    seconds = counters.seconds
    to_do = standing.queued + standing.in_flight + standing.outbox + standing.on_probation
    has_begun = counters.seeds > 0 or counters.pages > 0  # the records of seeds may be lost
    return Status(
        pages=counters.pages,
        html_pages=counters.html_pages,
        sitemaps=counters.sitemaps,
        queued=standing.queued,
        in_flight=standing.in_flight,
        hosts=standing.hosts,
        known_urls=standing.known_urls,
        refused=dict(sorted(counters.refused.items())),
        labels=dict(sorted(counters.labels.items())),
        failed=dict(sorted(counters.failed.items())),
        certificates=dict(sorted(counters.certificates.items())),
        finished=not to_do and has_begun,
        running=standing.is_running,
        active_hosts=standing.active_hosts,
        parked=standing.parked,
        parked_hosts=standing.parked_hosts,
        held=standing.held,
        requests=counters.requests,
        redirects=counters.redirects,
        revisits=counters.revisits,
        copies=dict(sorted(counters.copies.items())),
        retries=dict(sorted(counters.retries.items())),
        archive_bytes=counters.archive_bytes,
        lost_found=counters.lost_found,
        seconds=round(seconds, 3),
        pages_per_s=round(counters.pages / seconds, 2) if seconds else 0.0,
        paused=standing.paused,
        paused_shards=standing.paused_shards,
        opens_at=standing.opens_at,
        time_zone=standing.time_zone,
        stop_reason=standing.stop_reason,
        outbox=standing.outbox,
        shards=standing.shards,
        watch=WatchTotals(
            watched=standing.watched if standing.is_running else counters.watched,
            visits=counters.looks,
            changed=counters.changed,
            unchanged=counters.unchanged,
            gone=counters.gone,
            expected_freshness=standing.freshness,
            due=standing.due,
        ),
        user_errors={name: replace(told) for name, told in sorted(counters.user_errors.items())},
        traps=standing.traps,
        suspects=standing.suspects,
        waits_for=standing.waits_for,
        address_waits=standing.address_waits,
        seed_failures=standing.seed_failures,
        seed_labels=_most_frequent(counters.seed_labels),
    )


def _most_frequent(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts in order, the largest first; none that are zero."""
    found = ((name, count) for name, count in counts.items() if count > 0)
    return dict(sorted(found, key=lambda pair: (-pair[1], pair[0])))
