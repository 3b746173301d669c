"""Receipts: every request that a crawl made to one host, for whoever runs that host (ADR 83).

The records that `RequestLog` leaves in the links archive are read from its beginning to its end;
what is made of them here takes about 500 bytes of memory for each request to the host.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from gossamer.config import UrlConfig
from gossamer.errors import ConfigError
from gossamer.fetch import user_agent
from gossamer.report.history import read_since
from gossamer.report.inquiry import folder_of
from gossamer.settings import load_crawl_config
from gossamer.store import (
    REQUESTS_TYPE,
    ArchiveName,
    BadRecord,
    CrawlFolder,
    Record,
    RecordRange,
    counted_lengths,
)
from gossamer.urls import host_name, parse, registrable_domain

RequestEnd: TypeAlias = Literal["answered", "failed", "cut_off", "not_sent", "unsure"]
OTHERS_NAMED = 5
_ALLOWED: Final = {
    "robots.txt": "robots.txt itself",
    "own host": "robots.txt does not apply: robots.own_hosts names the host",
    "no line": "no line of robots.txt forbids it",
    "no rules": "there is no robots.txt, or it has no rules for this crawler",
}
"""What is kept of a request that no single line allowed, in words."""


class HostRequest(Struct, frozen=True, kw_only=True):
    """A request that was made to a host."""

    at: float
    """When it was sent, in seconds since 1970; of one that is `unsure`, when the crawl went on."""
    gap_s: float | None
    """Since the request before it was sent; None of the first."""
    url: str
    method: str
    """GET or HEAD; "" of what is no web server."""
    end: RequestEnd
    """answered; failed: there was no whole answer; cut_off: because the crawl was to end; not_sent:
    no connection was had; unsure: the crawl died while the URL had its turn, so that it may have
    been asked for, or the robots.txt that it depends on."""
    status: int | None
    """HTTP status; None without an answer."""
    reason: str
    """Why there was no whole answer, as in the table `urls`; "" otherwise."""
    took_ms: int
    """Until the last byte came, or the failure."""
    allowed_by: str
    """The line of robots.txt that allowed it, with its number, or why none had to."""


class HostReceipt(Struct, frozen=True, kw_only=True):
    """The requests that a crawl made to a host, in their order, and what they add up to."""

    host: str
    user_agent: str
    """How the crawler names itself to servers."""
    requests: list[HostRequest]
    sent: int
    """Requests that went out, those that were not answered included."""
    robots_requests: int
    """Of these, those for robots.txt."""
    answered: int
    not_sent: int
    unsure: int
    first_at: float | None
    last_at: float | None
    least_gap_s: float | None
    """The shortest time between two requests that went out, from one's beginning to the next's."""
    median_gap_s: float | None
    older_answers: int
    """Answers of the host that were archived by a version that kept no requests: they are in the
    archive and in `gossamer list DIR urls`, not here."""
    other_hosts: list[str]
    """Some hosts of the same domain to which requests went."""


class _Asked(Struct, array_like=True, frozen=True):
    """A row of a record."""

    after_ms: int
    target: str
    status: int
    took_ms: int
    robots: int
    reason: str = ""
    marks: str = ""


class _Requests(Struct, frozen=True):
    at: float
    robots: list[str]
    asked: dict[str, msgspec.Raw]


class _Answer(Struct, frozen=True):
    url: str
    outcome: str
    at: float = 0.0


_decode = msgspec.json.Decoder(_Requests).decode
_decode_rows = msgspec.json.Decoder(list[_Asked]).decode
_decode_answer = msgspec.json.Decoder(_Answer).decode
_ANSWERED = frozenset({"fetched", "redirected", "unchanged"})
_HEAD_BYTES = 4096
"""Of a links record, where its URL stands."""


def host_receipt(
    folder: Path | str, host: str, since: str | float | None, now: float
) -> HostReceipt:
    """Return the requests to a host; `since` leaves older ones out."""
    place, url = folder_of(folder), parse(f"http://{host_name(host)}/", UrlConfig())
    if url is None or url.target != "/":
        raise ConfigError(f"expected the name of a host, such as example.org, found {host!r}")
    after_at = read_since(since, now) if isinstance(since, str) else since
    found = _Found(url.host)
    for lengths in _by_shard(place):
        found.read(place, lengths)
    config = load_crawl_config(place.root)
    return _receipt(found, user_agent(config.fetch), after_at)


def _by_shard(place: CrawlFolder) -> Iterator[list[tuple[ArchiveName, int]]]:
    """Yield the links files of each shard that count, the oldest first, with their lengths."""
    lengths = counted_lengths(place, "links")
    names = sorted(place.archive_names(kind="links"))
    for shard in sorted({name.shard for name in names}):
        yield [(one, lengths.get(one.file_name, 0)) for one in names if one.shard == shard]


class _Found:
    """What the links archive knows of the requests to a host."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.rows: list[HostRequest] = []
        """Without gaps, in the order of the archive."""
        self.older_answers = 0
        self.others: dict[str, None] = {}
        self._domain = registrable_domain(host)
        self._needles = (f'"url":"http://{host}'.encode(), f'"url":"https://{host}'.encode())

    def read(self, place: CrawlFolder, files: list[tuple[ArchiveName, int]]) -> None:
        """Take the requests of a shard."""
        older: list[float] = []
        began_at: float | None = None
        cut_off: set[str] = set()
        bad: list[BadRecord] = []
        for name, end in files:
            for record in RecordRange(place.archive_path(name.file_name), 0, end, bad):
                if (kept := _requests_in(record)) is not None:
                    began_at = kept.at if began_at is None else began_at
                    self._take(kept, cut_off)
                elif began_at is None and (at := self._answered_at(record)) is not None:
                    older.append(at)
        self.older_answers += sum(began_at is None or at < began_at for at in older)

    def _take(self, kept: _Requests, cut_off: set[str]) -> None:
        for origin, raw in kept.asked.items():
            host = urlsplit(origin).netloc.rpartition("@")[2]
            host = host_name(host)
            if host != self.host:
                if len(self.others) < OTHERS_NAMED and registrable_domain(host) == self._domain:
                    self.others[host] = None
                continue
            for row in _decode_rows(raw):
                one = _request(origin, row, kept)
                if one.end == "unsure" and one.url in cut_off:
                    cut_off.discard(one.url)  # that is the request which was cut off
                    continue
                if one.end == "cut_off":
                    cut_off.add(one.url)
                self.rows.append(one)

    def _answered_at(self, record: Record) -> float | None:
        """Return when the host answered, if a links record says so."""
        if not any(one in record.block[:_HEAD_BYTES] for one in self._needles):
            return None
        try:
            said = _decode_answer(record.block)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        is_ours = said.outcome in _ANSWERED and host_name(said.url) == self.host
        return said.at if is_ours else None


def _requests_in(record: Record) -> _Requests | None:
    if record.headers.get("content-type") != REQUESTS_TYPE:
        return None
    try:
        return _decode(record.block)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _request(origin: str, row: _Asked, kept: _Requests) -> HostRequest:
    is_web = origin.startswith("http")
    said = kept.robots[row.robots] if row.robots < len(kept.robots) else ""
    return HostRequest(
        at=round(kept.at + row.after_ms / 1000, 3),
        gap_s=None,
        url=origin + row.target,
        method=("HEAD" if "h" in row.marks else "GET") * is_web,
        end=_end(row),
        status=row.status or None,
        reason=row.reason,
        took_ms=row.took_ms,
        allowed_by=_ALLOWED.get(said, said),
    )


def _end(row: _Asked) -> RequestEnd:
    if "u" in row.marks:
        return "unsure"
    if "n" in row.marks:
        return "not_sent"
    if row.reason:
        return "cut_off" if row.reason == "cut_off" else "failed"
    return "answered"


def _receipt(found: _Found, agent: str, after_at: float | None) -> HostReceipt:
    """Return the receipt: the gaps are those of all requests, of which old ones are left out."""
    rows = _with_gaps(sorted(found.rows, key=lambda one: one.at))
    rows = [one for one in rows if after_at is None or one.at >= after_at]
    sent = [one for one in rows if one.end not in {"not_sent", "unsure"}]
    gaps = [round(after.at - one.at, 3) for one, after in pairwise(sent)]
    return HostReceipt(
        host=found.host,
        user_agent=agent,
        requests=rows,
        sent=len(sent),
        robots_requests=sum(urlsplit(one.url).path == "/robots.txt" for one in sent),
        answered=sum(one.end == "answered" for one in sent),
        not_sent=sum(one.end == "not_sent" for one in rows),
        unsure=sum(one.end == "unsure" for one in rows),
        first_at=sent[0].at if sent else None,
        last_at=sent[-1].at if sent else None,
        least_gap_s=min(gaps, default=None),
        median_gap_s=round(median(gaps), 3) if gaps else None,
        older_answers=found.older_answers,
        other_hosts=list(found.others),
    )


def _with_gaps(rows: list[HostRequest]) -> list[HostRequest]:
    """Return requests with the time since the one before; what is unsure has none and ends none."""
    before: float | None = None
    result = []
    for one in rows:
        if one.end == "unsure":
            result.append(one)
            continue
        gap = None if before is None else round(one.at - before, 3)
        result.append(msgspec.structs.replace(one, gap_s=gap))
        before = one.at
    return result
