"""Which page next, and when? Every watched page, what is believed of it, and when it is due."""

import numpy as np
from msgspec import Struct

from gossamer.errors import Bug
from gossamer.frontier.revisit.allocation import LimitOfHost
from gossamer.frontier.revisit.change_rate import DEFAULT_PRIOR, Belief, dated_belief, learn
from gossamer.frontier.revisit.columns import TAKEN, HostColumns, PageColumns
from gossamer.frontier.revisit.due_queue import AHEAD, OUT, DueQueue
from gossamer.frontier.revisit.planner import RevisitPlanner
from gossamer.model import NO_CLAIM, SitemapClaim

_MOST_HINTS = 255


class PlannedRevisit(Struct, frozen=True, gc=False):
    """What is planned for a page, and on which grounds."""

    changes_per_s: float
    visits_per_s: float
    last_at: float
    due_at: float | None
    """None while the page is out, and before the first plan."""


class Watchlist:
    """Pages that are visited again and again, so that the budget buys the most freshness.

    Owned by one shard; nothing here waits or reads a clock. Moments are seconds of any clock that
    does not go back, rates are per second. A page that was taken is out until `visited`,
    `give_back` or `remove`.
    """

    def __init__(self, prior_per_s: float = DEFAULT_PRIOR) -> None:
        self._pages, self._hosts = PageColumns(), HostColumns()
        self._planner = RevisitPlanner(self._pages, self._hosts, prior_per_s)
        self._due = DueQueue(self._pages.due_at)
        self._held: dict[int, float] = {}
        """Pages given back, and until when they shall not be asked whatever the plan."""

    def __len__(self) -> int:
        return len(self._pages)

    def add(
        self,
        key: int,
        host: int,
        importance: float,
        belief: Belief | None,
        last_at: float,
        claim: SitemapClaim = NO_CLAIM,
    ) -> None:
        """Watch a page that was fetched at a moment; one that is watched already is put right.

        The belief is what `visited` returned last; None if the page was never visited again: then
        what a sitemap claims is its first belief.
        """
        pages = self._pages
        row = pages.find(key)
        if row < 0:
            if pages.is_full:
                self._tidy()
            row = pages.append(key)
        if belief is None and claim.modified_at is not None:
            belief = dated_belief(last_at - claim.modified_at)
        self._planner.enter(row, host, importance, belief, claim.changefreq)
        pages.last_at[row] = last_at
        if not pages.state.item(row) & TAKEN:
            self._due.set(row, self._planner.due_at(row, self._planner.belief(row)))

    def remove(self, key: int) -> None:
        """Watch a page no longer: it will not be due again."""
        row = self._pages.find(key)
        if row >= 0:
            self._pages.drop(row)
            self._held.pop(key, None)

    def replan(
        self, now: float, requests_per_s: float, most_per_s_of_host: LimitOfHost | None = None
    ) -> None:
        """Share the budget out anew: priors of hosts, the level, the moments of all pages.

        A few passes over all pages. To be called every few minutes, or when the budget changes: a
        visit moves only its own page, and what it taught reaches the other pages here.
        """
        self._tidy()
        self._planner.plan(now, requests_per_s, most_per_s_of_host)
        self._due = DueQueue(self._pages.due_at, AHEAD / requests_per_s)
        self._held = {key: until for key, until in self._held.items() if until > now}
        for key, until in self._held.items():
            row = self._need(key)
            if not self._pages.state.item(row) & TAKEN:
                self._due.set(row, max(until, float(self._pages.due_at[row])))

    def take_due(self, now: float, until: float, at_most: int) -> list[int]:
        """Take the pages that are due by a moment, or have been for long, earliest first."""
        rows = self._due.take(max(now, until), at_most)
        self._pages.state[rows] |= np.uint8(TAKEN)
        keys: list[int] = self._pages.key[rows].tolist()
        return keys

    def visited(
        self,
        key: int,
        now: float,
        *,
        changed: bool,
        modified_ago_s: float | None = None,
        importance: float = 0.0,
    ) -> Belief:
        """Learn from a visit, plan the next one, and return the belief to be stored.

        "Changed" is about the content that matters, not the ETag. The age is the one that the
        server or a sitemap claims; a host whose claims the content contradicts is not heard.
        A page that has become more important since it was added is so from now on.
        """
        row = self._need(key)
        pages, belief = self._pages, self._planner.belief(row)
        elapsed_s = now - pages.last_at.item(row)
        signals, hints = self._hosts.signals(pages.host.item(row)), pages.hints.item(row)
        signals.note_visit(elapsed_s * belief.a / belief.b, hints, changed=changed)
        if modified_ago_s is not None:
            signals.note_date(changed=changed, is_between=modified_ago_s <= elapsed_s)
        age_s = signals.age_of_change(elapsed_s, modified_ago_s, hints)
        belief = learn(belief, elapsed_s, changed=changed, modified_ago_s=age_s)
        self._planner.keep(row, belief)
        pages.weight[row] = max(pages.weight.item(row), importance)
        pages.last_at[row] = now
        pages.hints[row] = pages.state[row] = 0
        self._held.pop(key, None)
        self._due.set(row, self._planner.due_at(row, belief))
        return belief

    def give_back(self, key: int, due_at: float) -> None:
        """Let a page that could not be asked be due again at a moment, and not before."""
        row = self._pages.find(key)
        if row >= 0:
            self._held[key] = due_at
            self._pages.state[row] &= ~np.uint8(TAKEN)
            self._due.set(row, due_at)

    def hint(self, key: int, now: float) -> None:
        """Take a hint that a page has changed since it was visited: once for each change announced.

        It is due earlier by as much as hints of its host were worth so far. A page that is
        not watched, or out at this moment, is left as it is.
        """
        pages, hosts = self._pages, self._hosts
        row = pages.find(key)
        if row < 0 or pages.state.item(row) & TAKEN:
            return
        hosts.note_hint(pages.host.item(row))
        pages.hints[row] = min(pages.hints.item(row) + 1, _MOST_HINTS)
        earliest = max(now, self._held.get(key, now))
        due_at = max(self._planner.due_at(row, self._planner.belief(row)), earliest)
        self._due.set(row, min(pages.due_at.item(row), due_at))

    def next_due_at(self) -> float | None:
        """Return the moment at which the next page is due; None if none is planned."""
        return self._due.next_at()

    def expected_freshness(self) -> float | None:
        """Return the share of importance that the plan keeps current; None if that is not known.

        It is known when pages with a history of their own have at least half of all importance.
        """
        self._tidy()
        return self._planner.freshness()

    def planned(self, key: int) -> PlannedRevisit | None:
        """Return what is planned for a page; None if it is not watched."""
        row = self._pages.find(key)
        if row < 0:
            return None
        belief, due_at = self._planner.belief(row), float(self._pages.due_at[row])
        return PlannedRevisit(
            changes_per_s=belief.a / belief.b,
            visits_per_s=self._planner.visits_per_s(row, belief.a / belief.b),
            last_at=float(self._pages.last_at[row]),
            due_at=None if due_at == OUT else due_at,
        )

    def _need(self, key: int) -> int:
        row = self._pages.find(key)
        if row < 0:
            raise Bug(f"page {key:016x} was visited but is not watched; add it first")
        return row

    def _tidy(self) -> None:
        """Sort new pages in and let removed ones go; the due queue's rows then mean other pages."""
        if self._pages.tidy():
            self._due = DueQueue(self._pages.due_at, self._due.look_ahead_s)
