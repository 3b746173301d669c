"""The pages that are watched: when each is due, and what the revisits have taught."""

import heapq
from collections.abc import Callable, Iterable
from email.utils import parsedate_to_datetime

from msgspec.structs import astuple

from gossamer.config import WatchConfig
from gossamer.crawl.revisit.records import CONCLUSIVE
from gossamer.frontier.revisit import Belief, Watchlist
from gossamer.model import (
    Fetched,
    Redirected,
    RevisitResult,
    SitemapClaim,
    Turn,
    UrlRecord,
    UrlState,
    claim_of,
)
from gossamer.urls import host_key

FAR_AWAY = float("inf")


class WatchedPages:
    """The watchlist, and beside it the pages that are gone, which are asked for now and then.

    Nothing of it is on disk but the beliefs in the URL records and what sitemaps claim: it is made
    anew at every start.
    """

    def __init__(self, rules: WatchConfig, claimed: Callable[[int], SitemapClaim]) -> None:
        self._rules = rules
        self._claimed = claimed
        """Returns what a sitemap says of a page, by its key."""
        self._pages = Watchlist(1.0 / rules.prior_s)
        self._lost: list[tuple[float, int]] = []
        """Pages that are gone, by when they are asked for once more."""
        self._round_at = FAR_AWAY

    def __len__(self) -> int:
        return len(self._pages)

    def load(self, records: Iterable[tuple[int, UrlRecord]], now: float) -> None:
        """Take in what the state knows of every page."""
        for key, record in records:
            if record.state is UrlState.GONE:
                due_at = record.retry_at or record.seen_at + self._rules.lost_s
                heapq.heappush(self._lost, (due_at, key))
            elif is_watched(record):
                self._add(key, record)
                if record.retry_at is not None and record.retry_at > now:
                    self._pages.give_back(key, record.retry_at)

    def plan(
        self, now: float, rate_per_s: float, most_per_s: Callable[[int], float]
    ) -> float | None:
        """Share a budget of revisits out anew; return the freshness that is expected of it.

        None while too few pages are known by their own history.
        """
        self._pages.replan(now, rate_per_s, most_per_s)
        return self._pages.expected_freshness()

    def take_due(self, now: float, until: float, at_most: int) -> list[int]:
        """Take the pages that are due by a moment; they are out until something is said of them."""
        due: list[int] = []
        while self._lost and self._lost[0][0] <= now and len(due) < at_most:
            due.append(heapq.heappop(self._lost)[1])
        return due + self._pages.take_due(now, until, at_most - len(due))

    def take_round(self, now: float) -> list[int]:
        """Take all pages that are due by the moment of the first call.

        What a sitemap says later to have changed counts as due by then.
        """
        self._round_at = min(self._round_at, now)
        return self.take_due(self._round_at, self._round_at, len(self._pages) + len(self._lost))

    def next_due_at(self) -> float:
        """Return when the next page is due."""
        due_at = self._pages.next_due_at()
        lost_at = self._lost[0][0] if self._lost else FAR_AWAY
        return lost_at if due_at is None else min(due_at, lost_at)

    def put_off(self, key: int, due_at: float) -> None:
        """Let a page that was taken be due again at a moment."""
        self._pages.give_back(key, due_at)

    def drop(self, key: int) -> None:
        """Watch a page no longer."""
        self._pages.remove(key)

    def next_revisit_at(self, key: int) -> float | None:
        """Return when a page is revisited next; None if that is not planned."""
        plan = self._pages.planned(key)
        if plan is not None:
            return plan.due_at
        return next((at for at, lost in self._lost if lost == key), None)

    def note_page(self, turn: Turn) -> None:
        """Watch a page that is new."""
        if isinstance(turn.outcome, Fetched):
            url = turn.task.url
            weight = turn.importance or weight_at(turn.task.depth)
            claim = self._claimed(url.key)
            self._pages.add(url.key, host_number(url.host), weight, None, turn.at, claim)

    def note_revisit(self, turn: Turn, old: UrlRecord) -> tuple[float, ...] | None:
        """Learn from a revisit; return what is believed of the page's changes, if that is new."""
        key, belief = turn.task.url.key, None
        if turn.revisit is RevisitResult.GONE or (
            old.state is UrlState.GONE and turn.revisit not in CONCLUSIVE
        ):
            self._pages.remove(key)
            heapq.heappush(self._lost, (turn.retry_at or turn.at + self._rules.lost_s, key))
        elif turn.revisit in CONCLUSIVE:
            belief = self._learn(turn, old)
        elif turn.retry_at is not None:
            self._pages.give_back(key, turn.retry_at)
        if turn.revisit is RevisitResult.CHANGED:
            self._hear_sitemap(turn, old)
        return belief

    def _add(self, key: int, record: UrlRecord) -> None:
        host = record.url.partition("//")[2].partition("/")[0]
        name = host if host.endswith("]") else host.partition(":")[0]
        belief = Belief(*record.belief) if record.belief is not None else None
        weight = record.importance or weight_at(record.depth)
        claim = self._claimed(key)
        self._pages.add(key, host_number(name), weight, belief, record.seen_at, claim)

    def _learn(self, turn: Turn, old: UrlRecord) -> tuple[float, ...]:
        key = turn.task.url.key
        if old.state is UrlState.GONE:  # it is back
            self._add(key, old)
        belief = self._pages.visited(
            key,
            turn.at,
            changed=turn.revisit is RevisitResult.CHANGED,
            modified_ago_s=modified_ago_s(turn),
            importance=turn.importance,
        )
        return astuple(belief)

    def _hear_sitemap(self, turn: Turn, old: UrlRecord) -> None:
        """Hear which pages have changed since the sitemap was last read."""
        if turn.found is None or not turn.is_sitemap:
            return
        for link in turn.found.links:
            modified_at = claim_of(link).modified_at
            if modified_at is None or modified_at <= old.seen_at:
                continue
            plan = self._pages.planned(link.target.key)
            if plan is not None and plan.last_at < modified_at:
                self._pages.hint(link.target.key, min(turn.at, self._round_at))


def is_watched(record: UrlRecord) -> bool:
    """Return True if a page is revisited: it was stored, and is not known to be gone."""
    was_stored = record.state is UrlState.REDIRECTED and record.belief is not None
    return record.state is UrlState.ARCHIVED or was_stored


def weight_at(depth: int) -> float:
    """Return how much a page's freshness counts, if nobody has judged it: less the deeper."""
    return 1.0 / (1.0 + depth)


def host_number(host: str) -> int:
    """Return a number for a host, as the watchlist wants it."""
    return int.from_bytes(host_key(host)[-8:], "big")


def modified_ago_s(turn: Turn) -> float | None:
    """Return how long ago the server says that the page changed; None if it does not say."""
    if (
        not isinstance(turn.outcome, Fetched | Redirected)
        or turn.revisit is not RevisitResult.CHANGED
    ):
        return None
    document = turn.outcome.document
    try:
        modified_at = parsedate_to_datetime(document.header("last-modified")).timestamp()
    except (ValueError, TypeError):
        return None
    return max(0.0, document.fetched_at - modified_at)
