"""RobotsCache: what each origin's robots.txt says, and whether it must be asked for. Does no I/O.

The caller asks `look_up` before a page; when that says Ask, it fetches the URL named and brings the
outcome to `answer`. RFC 9309 section 2.3.1 decides what an outcome means; a robots.txt that cannot
be reached forbids everything (2.3.1.4) until it is: its host counts as down, and its URLs wait.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec import Struct

from gossamer.config import RobotsConfig, UrlConfig
from gossamer.fetch.body import SpooledBody
from gossamer.fetch.robots import ALLOW_ALL, RobotsRules, Rule, parse_robots
from gossamer.model import (
    Document,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    Refused,
    Row,
    Url,
)
from gossamer.urls import join

PREFIX = b"r"
MAX_REDIRECTS = 5
"""RFC 9309 2.3.1.2: at least five hops, also to other hosts; the rules apply to the first."""

OLD_COPY_S = 30 * 86_400.0
"""An expired copy stands in for an unreachable robots.txt for so long."""

_BRIEF_S = 300.0
"""A verdict that only lets the page request find out what is wrong is kept for so long."""

_CLOCK_SLACK_S = 60.0
_RETRY_FACTOR = 3.0
_PLAIN_URLS = UrlConfig(strip_session_ids=False, strip_tracking=False)

_UNAVAILABLE = frozenset(
    {
        *(FailureKind.NOT_FOUND, FailureKind.GONE, FailureKind.UNAUTHORIZED),
        *(FailureKind.HTTP_4XX, FailureKind.BAD_REDIRECT, FailureKind.TOO_MANY_REDIRECTS),
    }
)
"""The server says that it has none (2.3.1.3): everything is allowed."""

_PAGE_WILL_TELL = frozenset(
    {FailureKind.DNS_NO_SUCH_HOST, FailureKind.TLS_CERTIFICATE, FailureKind.PROTOCOL_FAILED}
)
"""No request can reach the host: its pages fail by themselves, with the true reason. (A robots.txt
that leads to such a host is unreachable: the pages, being elsewhere, would not fail.)"""


class Ask(Struct, frozen=True):
    """The caller must fetch this robots.txt, or this hop on the way to it, and then `answer`."""

    url: Url


class Wait(Struct, frozen=True):
    """The robots.txt could not be reached: others of its host go first until this moment.

    If there are none, it is asked for all the same: its host decides when.
    """

    url: Url
    until: float


LookUp: TypeAlias = RobotsRules | Ask | Wait


class _Row(Struct, array_like=True):
    """What is kept of an origin across restarts."""

    agent: str
    read_at: float | None
    """When the copy was read; None if there is none."""
    rules: tuple[Rule, ...] = ()
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    failures: int = 0
    next_ask_at: float = 0.0
    detail: str = ""


class _Entry:
    """An origin in memory."""

    __slots__ = (
        *("detail", "expires_at", "failures", "hop", "hops", "is_brief", "next_ask_at"),
        *("read_at", "rules"),
    )

    def __init__(self) -> None:
        self.rules: RobotsRules | None = None
        self.read_at = 0.0
        self.expires_at = 0.0
        self.failures = 0
        self.next_ask_at = 0.0
        self.detail = ""
        self.is_brief = False
        self.hop: Url | None = None
        self.hops = 0


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Row)


class RobotsCache:
    """Remembers robots.txt files by origin: the recent ones in memory, all of them in rows.

    `read_row` returns the committed row with a key. Rows that changed wait in `rows_to_commit`.
    """

    def __init__(
        self, config: RobotsConfig, agent: str, read_row: Callable[[bytes], bytes | None]
    ) -> None:
        self._config = config
        self._agent = agent
        self._read_row = read_row
        self._own_hosts = frozenset(host.lower() for host in config.own_hosts)
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._changed: dict[bytes, bytes | None] = {}

    def look_up(self, url: Url, now: float) -> LookUp:
        """Return the rules for a URL's origin, or what to do before there are any."""
        if url.host in self._own_hosts:
            return ALLOW_ALL
        entry = self._entry(url.origin)
        if entry.rules is not None and self._is_fresh(entry, now):
            return entry.rules
        if now < entry.next_ask_at <= now + self._longest_wait_s():
            if _old_copy(entry, now):
                return entry.rules or ALLOW_ALL
            return Wait(entry.hop or robots_url(url), entry.next_ask_at)
        return Ask(entry.hop or robots_url(url))

    def answer(self, origin_url: Url, outcome: FetchOutcome, now: float) -> str:
        """Take the outcome of an Ask that `look_up` gave for a URL of this origin.

        Return why its pages may not be asked for yet; "" if they may, or if a redirect leads on.
        """
        entry = self._entry(origin_url.origin)
        match outcome:
            case Redirected(document=document, target=target):
                self._follow(entry, document, target, now)
            case Fetched(document=document):
                self._take(entry, document, now)
            case Failed(kind=kind) if kind in _UNAVAILABLE:
                self._set(entry, ALLOW_ALL, now)
            case Failed(kind=kind) if kind in _PAGE_WILL_TELL and entry.hop is None:
                self._set(entry, ALLOW_ALL, now, max_age_s=_BRIEF_S)
            case Refused() if entry.hop is None:
                self._set(entry, ALLOW_ALL, now, max_age_s=_BRIEF_S)
            case Refused(kind=refusal, detail=detail):
                self._fail(entry, f"{refusal}: {detail}", now, None)
            case Failed(kind=kind, detail=detail, retry_after_s=retry_after_s):
                self._fail(entry, f"{kind}: {detail}" if detail else kind, now, retry_after_s)
        self._keep(origin_url.origin, entry)
        return "" if entry.hop is not None or _old_copy(entry, now) else entry.detail

    def is_own(self, host: str) -> bool:
        """Return True if a host is the operator's own, and its robots.txt is not asked for."""
        return host in self._own_hosts

    def forget(self, url: Url) -> None:
        """Let the robots.txt of a URL's origin be asked for again, after the next commit."""
        self._entries.pop(url.origin, None)
        self._changed[PREFIX + url.origin.encode()] = None

    @property
    def uncommitted(self) -> int:
        """Return how many answers wait for their commit."""
        return len(self._changed)

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that changed since the last call."""
        rows: list[Row] = list(self._changed.items())
        self._changed.clear()
        return rows

    def peek(self, url: Url, now: float) -> RobotsRules | None:
        """Return the rules that a page would be judged by now, without changing anything."""
        if url.host in self._own_hosts:
            return ALLOW_ALL
        entry = self._entries.get(url.origin) or self._load(url.origin)
        return entry.rules if now < entry.expires_at or _old_copy(entry, now) else None

    def word_on(self, origin: str, host: str) -> str:
        """Return what is known of an origin's robots.txt: rules, none, unreachable, ignored or "".

        none: it is missing or has no rule for us, so everything is allowed. "": it was not read.
        """
        if host in self._own_hosts:
            return "ignored"
        entry = self._entries.get(origin) or self._load(origin)
        if entry.rules is not None:
            return "rules" if entry.rules.rules else "none"
        return "unreachable" if entry.failures else ""

    def _is_fresh(self, entry: _Entry, now: float) -> bool:
        # A copy from the future was read before the clock was set back: its age is unknown.
        return entry.read_at - _CLOCK_SLACK_S <= now < entry.expires_at

    def _longest_wait_s(self) -> float:
        """Return the bound on waits: more means that the clock was set back."""
        return max(self._config.max_age_s, self._delay_s(self._config.retries + 1)) + _CLOCK_SLACK_S

    def _delay_s(self, failures: int) -> float:
        growth = min(max(0, failures - 1), self._config.retries)
        return self._config.retry_s * _RETRY_FACTOR**growth

    def _follow(self, entry: _Entry, document: Document, target: str, now: float) -> None:
        hop = join(document.url.text, target, _PLAIN_URLS)
        if hop is None or hop.scheme not in {"http", "https"} or entry.hops >= MAX_REDIRECTS:
            self._set(entry, ALLOW_ALL, now)
            return
        entry.hop = hop
        entry.hops += 1

    def _take(self, entry: _Entry, document: Document, now: float) -> None:
        """Read a robots.txt; one that broke off is a server error, one that was cut is read."""
        body = document.body
        is_broken = document.truncated not in {"", "length"}
        if not document.truncated and isinstance(body, SpooledBody):
            is_broken = body.decode_note != "" and not body.is_cut
        if is_broken:
            self._fail(entry, "robots.txt came incomplete", now, None)
            return
        text = body.decoded()[: self._config.max_bytes]
        self._set(entry, parse_robots(text, self._agent), now)

    def _set(
        self, entry: _Entry, rules: RobotsRules, now: float, max_age_s: float | None = None
    ) -> None:
        entry.rules = rules
        entry.read_at = now
        entry.is_brief = max_age_s is not None
        entry.expires_at = now + (self._config.max_age_s if max_age_s is None else max_age_s)
        entry.failures, entry.next_ask_at, entry.detail = 0, 0.0, ""
        entry.hop, entry.hops = None, 0

    def _fail(self, entry: _Entry, detail: str, now: float, retry_after_s: float | None) -> None:
        entry.failures += 1
        entry.detail = detail
        entry.hop, entry.hops = None, 0
        wait_s = max(self._delay_s(entry.failures), retry_after_s or 0.0)
        entry.next_ask_at = now + min(wait_s, self._config.max_age_s)

    def _entry(self, origin: str) -> _Entry:
        """Return an origin's entry and make it the most recently used one."""
        entry = self._entries.get(origin)
        if entry is not None:
            self._entries.move_to_end(origin)
            return entry
        if len(self._entries) >= self._config.cache:
            self._entries.popitem(last=False)
        entry = self._entries[origin] = self._load(origin)
        return entry

    def _load(self, origin: str) -> _Entry:
        entry = _Entry()
        key = PREFIX + origin.encode()
        value = self._changed.get(key) or self._read_row(key)
        if value is None:
            return entry
        try:
            row = _DECODER.decode(value)
        except msgspec.DecodeError:
            return entry
        if row.agent != self._agent:
            return entry
        if row.read_at is not None:
            entry.rules = RobotsRules(row.rules, row.crawl_delay_s, row.sitemaps)
            entry.read_at = row.read_at
            entry.expires_at = row.read_at + self._config.max_age_s
        entry.failures, entry.next_ask_at = row.failures, row.next_ask_at
        entry.detail = row.detail
        return entry

    def _keep(self, origin: str, entry: _Entry) -> None:
        """Note an entry's row; hops on the way and brief verdicts are not worth one."""
        if entry.hop is not None or entry.is_brief:
            return
        rules = entry.rules or ALLOW_ALL
        row = _Row(
            agent=self._agent,
            read_at=None if entry.rules is None else entry.read_at,
            rules=rules.rules,
            crawl_delay_s=rules.crawl_delay_s,
            sitemaps=rules.sitemaps,
            failures=entry.failures,
            next_ask_at=entry.next_ask_at,
            detail=entry.detail,
        )
        self._changed[PREFIX + origin.encode()] = _ENCODER.encode(row)


def robots_url(url: Url) -> Url:
    """Return the URL of the robots.txt that a URL is subject to."""
    found = join(url.origin + "/", "/robots.txt", _PLAIN_URLS)
    return found if found is not None else url


def _old_copy(entry: _Entry, now: float) -> bool:
    """Return True if an expired copy is good enough while its origin cannot be reached."""
    return entry.rules is not None and not entry.is_brief and now < entry.expires_at + OLD_COPY_S
