"""Turns of revisits: how a stored page is asked for again, and what the answer means."""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.config import WatchConfig
from gossamer.crawl.pipeline import Reading, is_not_modified, take_turn
from gossamer.crawl.ports import RevisitScheduler, Stations
from gossamer.fetch import Validators
from gossamer.model import (
    CopyOf,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    LinkKind,
    Redirected,
    RevisitResult,
    StoreRef,
    Task,
    Turn,
    UrlRecord,
    UrlState,
    add_labels,
)

ABSENT = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE})
FIRST_LOST_S = 3600.0
MAX_DOUBLINGS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisitTurns:
    """Wraps the pipeline for tasks that revisit a stored page."""

    rules: WatchConfig
    stations: Stations
    stored_record: Callable[[int], UrlRecord | None]
    original_of: Callable[[StoreRef], CopyOf | None]
    """Returns what a revisit record of the page at a place refers to."""
    watcher: RevisitScheduler | None = None
    """Is told of every page, if pages are watched."""

    def record_of(self, task: Task) -> UrlRecord | None:
        """Return the record of the page that a task revisits; None for a first visit."""
        if task.kind is not LinkKind.REVISIT:
            return None
        return self.stored_record(task.url.key)

    def validators(self, task: Task) -> Validators | None:
        """Return what the stored copy was marked with, if the server may be asked with it."""
        old = self.record_of(task)
        if old is None or old.state is not UrlState.ARCHIVED or old.stored is None:
            return None
        has_marks = old.etag or old.modified
        return Validators(etag=old.etag, last_modified=old.modified) if has_marks else None

    def let_go(self, task: Task, until: float) -> None:
        """Let a revisit end of which nothing can be learned; its page is left alone for a while."""
        if self.watcher is not None:
            self.watcher.let_go(task.url.key, until)

    def take_turn(
        self,
        task: Task,
        old: UrlRecord,
        outcome: FetchOutcome,
        reading: Reading | None,
        now: float,
        *,
        importance: float = 0.0,
    ) -> Turn:
        """Carry a revisit through the pipeline, and say what it has found.

        The task of such a turn is again the one by which the page was found.
        """
        first = replace(
            task,
            depth=old.depth,
            via=old.via,
            kind=LinkKind(old.kind),
            attempt=old.misses,
            labels=add_labels(old.labels, task.labels),
        )
        reread = self._with_new_links(reading, old.url)
        plain = take_turn(first, outcome, reread, self.stations, now, importance=importance)
        result = revisit_result(old, plain)
        is_same = is_not_modified(outcome) and old.stored is not None
        turn = replace(
            plain,
            found=reading.found if reading is not None else plain.found,
            revisit=result,
            retry_at=self.next_try_at(old, plain, result),
            copy_of=self.original_of(old.stored) if is_same and old.stored else plain.copy_of,
        )
        if self.watcher is None:
            return turn
        return replace(turn, belief=self.watcher.note_revisit(turn, old))

    def _with_new_links(self, reading: Reading | None, url: str) -> Reading | None:
        """Return what was read, with new links only: known ones were followed when it was first.

        An order that passes credit along links would else pass it on at every revisit.
        """
        if reading is None:
            return None
        is_same = reading.copy_of is not None and reading.copy_of.url == url
        links = {link.target.key: link for link in reading.found.links if not is_same}
        new = [links[key] for key in self.stations.url_seen.new_among(links)]
        return replace(reading, found=replace(reading.found, links=new))

    def next_try_at(self, old: UrlRecord, turn: Turn, result: RevisitResult) -> float | None:
        """Return when a page that was not found is asked for again; None if it was found."""
        lost_s = min(self.rules.lost_s, FIRST_LOST_S * 2.0 ** min(old.misses, MAX_DOUBLINGS))
        if result is RevisitResult.NO_ANSWER:
            return turn.retry_at if turn.retry_at is not None else turn.at + lost_s
        if result is not RevisitResult.MISSING:
            return None
        if old.state is UrlState.GONE:
            return turn.at + self.rules.lost_s
        is_said = isinstance(turn.outcome, Failed) and turn.outcome.kind is FailureKind.GONE
        return turn.at + (self.rules.confirm_gone_s if is_said else self.rules.confirm_s)


def revisit_result(old: UrlRecord, turn: Turn) -> RevisitResult:
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
            return RevisitResult.SAME_WORDS if is_old else RevisitResult.CHANGED
        case Failed(kind=kind) if kind in ABSENT:
            is_confirmed = bool(old.visits) and old.visits[-1].reason in ABSENT
            is_news = is_confirmed and old.state is not UrlState.GONE
            return RevisitResult.GONE if is_news else RevisitResult.MISSING
        case _:
            return RevisitResult.NO_ANSWER


def _compared(old: UrlRecord, turn: Turn) -> RevisitResult:
    if is_not_modified(turn.outcome):
        return RevisitResult.UNCHANGED
    if old.state is not UrlState.ARCHIVED:
        return RevisitResult.CHANGED
    if turn.fingerprint is not None and turn.fingerprint == old.fingerprint:
        return RevisitResult.UNCHANGED
    can_compare = turn.words is not None or turn.fingerprint is None
    return (
        RevisitResult.SAME_WORDS
        if can_compare and turn.words == old.words
        else RevisitResult.CHANGED
    )
