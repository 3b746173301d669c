"""Another look at a page that we have: how it is asked for, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.config import WatchConfig
from gossamer.crawl.pipeline import Reading, take_turn
from gossamer.crawl.ports import Stations
from gossamer.fetch import Validators
from gossamer.model import (
    CopyOf,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Finding,
    LinkKind,
    Redirected,
    StoreRef,
    Task,
    Turn,
    UrlRecord,
    UrlState,
)

ABSENT = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE})
NOT_MODIFIED = 304
FIRST_LOST_S = 3600.0
MAX_DOUBLINGS = 16


@dataclass(slots=True, kw_only=True)
class Looker:
    """Turns the answer to a revisit into a turn. Whoever schedules revisits is told of it."""

    rules: WatchConfig
    stations: Stations
    record_of: Callable[[int], UrlRecord | None]
    original_of: Callable[[StoreRef], CopyOf | None] = lambda _ref: None
    """What a revisit of the page at a place refers to."""
    importance_of: Callable[[int], float] = lambda _key: 0.0
    """What the order of the crawl makes of a URL."""
    on_look: Callable[[Turn, UrlRecord], None] = lambda _turn, _old: None
    """Is told of every look, before it is recorded."""
    on_page: Callable[[Turn], None] = lambda _turn: None
    """Is told of every first look."""

    def validators(self, task: Task) -> Validators | None:
        """Return what the stored copy was marked with, if the server may be asked with it."""
        if task.kind is not LinkKind.REVISIT:
            return None
        old = self.record_of(task.url.key)
        if old is None or old.state is not UrlState.ARCHIVED or old.stored is None:
            return None
        has_marks = old.etag or old.modified
        return Validators(etag=old.etag, last_modified=old.modified) if has_marks else None

    def take_turn(
        self, task: Task, outcome: FetchOutcome, reading: Reading | None, now: float
    ) -> Turn:
        """Carry a finished fetch on, and say what another look has found.

        The task of such a turn is again the one by which the page was found.
        """
        old = self.record_of(task.url.key) if task.kind is LinkKind.REVISIT else None
        importance = self.importance_of(task.url.key)  # before the page spends what it has
        if old is None:
            turn = take_turn(task, outcome, reading, self.stations, now)
            turn.importance = importance
            self.on_page(turn)
            return turn
        known = replace(
            task, depth=old.depth, via=old.via, kind=LinkKind(old.kind), attempt=old.misses
        )
        turn = take_turn(known, outcome, self._with_new_links(reading), self.stations, now)
        if reading is not None:
            turn.found = reading.found
        turn.finding, turn.importance = what_was_found(old, turn), importance
        turn.retry_at = self.next_try_at(old, turn)
        if is_not_modified(outcome) and old.stored is not None:
            turn.copy_of = self.original_of(old.stored)
        self.on_look(turn, old)
        return turn

    def _with_new_links(self, reading: Reading | None) -> Reading | None:
        """Return what was read, with new links only: known ones were followed when it was first.

        An order that passes credit along links would else pass it on at every look.
        """
        if reading is None:
            return None
        links = {link.target.key: link for link in reading.found.links}
        new = [links[key] for key in self.stations.url_seen.new_among(links)]
        return replace(reading, found=replace(reading.found, links=new))

    def next_try_at(self, old: UrlRecord, turn: Turn) -> float | None:
        """Return when a page that was not found is asked for again; None if it was found."""
        lost_s = min(self.rules.lost_s, FIRST_LOST_S * 2.0 ** min(old.misses, MAX_DOUBLINGS))
        if turn.finding is Finding.NO_ANSWER:
            return turn.retry_at if turn.retry_at is not None else turn.at + lost_s
        if turn.finding is not Finding.MISSING:
            return None
        if old.state is UrlState.GONE:
            return turn.at + self.rules.lost_s
        is_said = isinstance(turn.outcome, Failed) and turn.outcome.kind is FailureKind.GONE
        return turn.at + (self.rules.confirm_gone_s if is_said else self.rules.confirm_s)


def what_was_found(old: UrlRecord, turn: Turn) -> Finding:
    """Compare what we have with what came.

    The content decides, not the server's marks; where nothing can be compared (a body that was
    cut off, of a kind that we cannot read) the page counts as unchanged.
    """
    match turn.outcome:
        case Fetched():
            return _compared(old, turn)
        case Redirected():
            target = turn.found.links[0].target.text if turn.found and turn.found.links else ""
            is_old = old.state is UrlState.REDIRECTED and target == old.target
            return Finding.SAME_WORDS if is_old else Finding.CHANGED
        case Failed(kind=kind) if kind in ABSENT:
            is_confirmed = bool(old.visits) and old.visits[-1].reason in ABSENT
            is_news = is_confirmed and old.state is not UrlState.GONE
            return Finding.GONE if is_news else Finding.MISSING
        case _:
            return Finding.NO_ANSWER


def _compared(old: UrlRecord, turn: Turn) -> Finding:
    if is_not_modified(turn.outcome):
        return Finding.UNCHANGED
    if old.state is not UrlState.ARCHIVED:
        return Finding.CHANGED
    if turn.fingerprint is not None and turn.fingerprint == old.fingerprint:
        return Finding.UNCHANGED
    can_compare = turn.words is not None or turn.fingerprint is None
    return Finding.SAME_WORDS if can_compare and turn.words == old.words else Finding.CHANGED


def is_not_modified(outcome: FetchOutcome) -> bool:
    """Tell whether the server said that the page is as we have it."""
    return isinstance(outcome, Fetched) and outcome.document.status == NOT_MODIFIED
