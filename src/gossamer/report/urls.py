"""The table `urls`: every URL that was judged, once, with what became of it."""

from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.frontier import WaitingUrl, waiting_urls
from gossamer.model import FAMILIES, FINAL, Task, UrlRecord, UrlState
from gossamer.report.anchors import AnchorTexts, find_anchors
from gossamer.report.records import URL, decode_record, url_row_key
from gossamer.report.refused_links import KeySet, RefusedLink, not_followed, refused_links
from gossamer.report.snapshot import Snapshot
from gossamer.store import State
from gossamer.traps import holding_units, tasks_of_units
from gossamer.urls import read_canonical, ring_of

URL_STATES = (
    *("archived", "redirected", "failed", "refused", "gone"),
    *("queued", "parked", "held"),
)
RING_BYTES = 3
ON_PROBATION = "trial"
"""The reason of a URL that is held, as `why` has it."""


class UrlRow(Struct, frozen=True, kw_only=True):
    """A URL that was judged, and what became of it. The columns of the table `urls`."""

    url: str
    state: str
    """archived, redirected, failed, refused, gone (was archived, and is no longer there), queued
    (leased and waiting for another try included), parked (queued, and its host is down) or held
    (waits because of a suspected trap)."""
    reason: str
    """Of a failure or refusal, as `why` names it; of a queued URL, its last failure; of a parked
    one, what is wrong with its host."""
    detail: str
    """What decided: a line of robots.txt, an error, a redirect's target, the trap that holds it."""
    status: int | None
    """The HTTP status of the last answer; None without one."""
    priority: int | None
    """Its class in the queue, from 1 (low) to 16; None if it does not wait there."""
    available_at: float | None
    """From when it may be fetched, in seconds since 1970; None if that is not planned."""
    via: str
    """The page that it was found on; "" for a seed."""
    anchor: str
    """The text of the link on that page."""
    depth: int
    attempts: int
    """Requests that were made for it."""
    first_at: float | None
    """When it had its first turn, in seconds since 1970; None if it had none."""
    last_at: float | None
    """When it had its last turn."""


class UrlSelection(Struct, frozen=True, kw_only=True):
    """Which rows of `urls` are wanted; what is empty leaves nothing out."""

    states: frozenset[str] = frozenset()
    reasons: tuple[str, ...] = ()
    """Reasons, or families of them: http_4xx means http_403, too."""
    host: str = ""
    """Without a port: all of them are meant."""

    def wants_state(self, *states: str) -> bool:
        """Return True if rows of one of some states are wanted."""
        return not self.states or not self.states.isdisjoint(states)

    def wants(self, row: UrlRow) -> bool:
        """Return True if a row is wanted; its host is not looked at."""
        return self.wants_state(row.state) and self._wants_reason(row.reason)

    def _wants_reason(self, reason: str) -> bool:
        if not self.reasons:
            return True
        families = (FAMILIES[name] for name in self.reasons if name in FAMILIES)
        return reason in self.reasons or reason.startswith(tuple(families))

    @property
    def ring(self) -> bytes:
        """What the keys of wanted URLs begin with: rows of a domain are neighbours."""
        return ring_of(self.host).to_bytes(RING_BYTES, "big") if self.host else b""

    def is_at(self, host: str) -> bool:
        """Return True if URLs of a host are wanted."""
        return not self.host or host == self.host


ALL_URLS = UrlSelection()


class UrlCounts(Struct, frozen=True, kw_only=True):
    """How many URLs there are, by state; and in each, by reason."""

    states: dict[str, int]
    reasons: dict[str, dict[str, int]]
    """By state; "" counts those without a reason."""


def url_table(
    folder: Path | str, selection: UrlSelection = ALL_URLS, *, anchors: bool = True
) -> Iterator[UrlRow]:
    """Yield every judged URL once: what the states know, then links that filters refused.

    With `anchors` the links archive is read before the first row comes; without, `anchor` is "" but
    for links that were refused.
    """
    with Snapshot.open(folder) as snapshot:
        yield from url_rows(snapshot, selection, anchors=anchors)


def url_rows(
    snapshot: Snapshot, selection: UrlSelection = ALL_URLS, *, anchors: bool = True
) -> Iterator[UrlRow]:
    """Yield the rows of `urls` at one moment."""
    texts = AnchorTexts()
    if anchors:
        known = known_urls(snapshot, selection)
        texts = find_anchors(snapshot, ((row.via, row.url) for _, row in known))
    keys = array("Q")
    for state in snapshot.states:
        for key, row in _rows_in(snapshot, state, selection, texts):
            keys.append(key)
            if row is not None and selection.wants(row):
                yield row
    if selection.wants_state("queued", "refused"):
        found = _beyond_the_states(snapshot, KeySet(keys), selection)
        yield from filter(selection.wants, found)


def known_urls(
    snapshot: Snapshot, selection: UrlSelection = ALL_URLS
) -> Iterator[tuple[int, UrlRow]]:
    """Yield the URLs that the states know, each with its key; no links that filters refused."""
    for state in snapshot.states:
        for key, row in _rows_in(snapshot, state, selection, AnchorTexts()):
            if row is not None and selection.wants(row):
                yield key, row


def count_urls(folder: Path | str) -> UrlCounts:
    """Return how many URLs there are, by state and reason."""
    found: dict[str, Counter[str]] = {}
    for row in url_table(folder, anchors=False):
        found.setdefault(row.state, Counter())[row.reason] += 1
    return UrlCounts(
        states={state: found[state].total() for state in URL_STATES if state in found},
        reasons={state: dict(found[state].most_common()) for state in URL_STATES if state in found},
    )


def _rows_in(
    snapshot: Snapshot, state: State, selection: UrlSelection, texts: AnchorTexts
) -> Iterator[tuple[int, UrlRow | None]]:
    """Yield the key of each URL that a state knows, and its row; None for one of another host."""
    ring, unsettled = selection.ring, set[int]()
    for row_key, value in state.scan(URL + ring):
        record, key = decode_record(value), int.from_bytes(row_key[1:], "big")
        if record.state not in FINAL:
            unsettled.add(key)
            continue
        is_wanted = selection.wants_state(record.state) and _is_at(record.url, selection)
        yield key, _settled(record, texts) if is_wanted else None
    held = {task.url.key for _, task in tasks_of_units(state.scan, ring)}
    for waiting in waiting_urls(state, ring):
        task = waiting.task
        if (past := _record_of(task, state)) is not None and past.state in FINAL:
            continue
        if waiting.state == "leased" and task.url.key in held:
            continue  # a lease stays until all of its tasks have ended
        held.discard(task.url.key)
        unsettled.discard(task.url.key)
        is_wanted = selection.is_at(task.url.host)
        yield task.url.key, _waiting(waiting, past, texts) if is_wanted else None
    for key, row in _held_rows(snapshot, state, selection, texts, held):
        unsettled.discard(key)
        yield key, row
    for key in unsettled:  # its task was lost, or is on its way between two rows
        record = decode_record(state.get(url_row_key(key)) or b"")
        yield key, _of_record(record, texts, "queued") if _is_at(record.url, selection) else None


def _held_rows(
    snapshot: Snapshot,
    state: State,
    selection: UrlSelection,
    texts: AnchorTexts,
    held: set[int],
) -> Iterator[tuple[int, UrlRow | None]]:
    """Yield the URLs that suspected traps hold; of a closed one, those that it has refused.

    What a trap has let go is queued, though it has not reached the queue.
    """
    if not held:
        return
    units = holding_units(state.scan)
    traps = snapshot.rules(snapshot.states.index(state)).traps
    for prefix, task in tasks_of_units(state.scan, selection.ring):
        record = _record_of(task, state)
        if task.url.key not in held or (record is not None and record.state in FINAL):
            continue
        held.discard(task.url.key)
        unit = units.get(prefix)
        is_free = unit is None or traps.trusts(task.url)
        note = None if is_free or unit is None else traps.note_on(unit.name)
        if not selection.is_at(task.url.host):
            yield task.url.key, None
        elif note is not None:
            row = _of_task(task, record, texts, "held", ON_PROBATION, note.detail)
            yield task.url.key, row
        elif unit is not None and not is_free and unit.verdict:
            row = _of_task(task, record, texts, "refused", unit.verdict, unit.detail)
            yield task.url.key, row
        else:
            yield task.url.key, _of_task(task, record, texts, "queued", "", "")


def _beyond_the_states(
    snapshot: Snapshot, known: KeySet, selection: UrlSelection
) -> Iterator[UrlRow]:
    """Yield URLs on their way between shards, and links that were refused."""
    sent: dict[int, Task] = {}
    for task in snapshot.on_their_way():
        if task.url.key not in known and selection.is_at(task.url.host):
            sent.setdefault(task.url.key, task)
    for task in sent.values():
        yield _of_task(task, None, AnchorTexts(), "queued", "", "")
    known.add(np.fromiter(sent, np.uint64, len(sent)))
    if not selection.wants_state("refused") and not snapshot.may_miss_mail:
        return
    for found in refused_links(snapshot, known, selection.host):
        if found.objection is None and snapshot.may_miss_mail:
            yield _of_link(found, "queued", "", "")
        else:
            objection = found.objection or not_followed(found.link)
            yield _of_link(found, "refused", objection.reason.value, objection.detail)


def _is_at(url: str, selection: UrlSelection) -> bool:
    return not selection.host or read_canonical(url).host == selection.host


def _record_of(task: Task, state: State) -> UrlRecord | None:
    value = state.get(url_row_key(task.url.key))
    return None if value is None else decode_record(value)


def _settled(record: UrlRecord, texts: AnchorTexts) -> UrlRow:
    return _of_record(record, texts, record.state.value)


def _of_record(record: UrlRecord, texts: AnchorTexts, state: str) -> UrlRow:
    """Return the row of a URL that had a turn."""
    status = next((visit.status for visit in reversed(record.visits) if visit.status), None)
    return UrlRow(
        url=record.url,
        state=state,
        reason="" if record.state is UrlState.REDIRECTED else record.reason,
        detail=record.target or record.detail,
        status=status,
        priority=None,
        available_at=record.retry_at,
        via=record.via,
        anchor=texts.of(record.via, record.url),
        depth=record.depth,
        attempts=record.attempts,
        first_at=record.asked_at or None,
        last_at=record.seen_at or None,
    )


def _waiting(waiting: WaitingUrl, record: UrlRecord | None, texts: AnchorTexts) -> UrlRow:
    """Return the row of a URL that is queued; its host's outage is told, or its last failure."""
    state = "parked" if waiting.outage else "queued"
    at = waiting.next_at or SystemClock().wall()  # of a host that was never asked: at once
    return _of_task(waiting.task, record, texts, state, waiting.outage, "", available_at=at)


def _of_task(
    task: Task,
    record: UrlRecord | None,
    texts: AnchorTexts,
    state: str,
    reason: str,
    detail: str,
    *,
    available_at: float | None = None,
) -> UrlRow:
    """Return the row of a URL that waits; what is known of earlier turns is in its record."""
    if record is not None:
        row = _of_record(record, texts, state)
        told = (reason, detail) if reason else (row.reason, row.detail)
        attempts = task.attempt if record.state is UrlState.QUEUED else record.attempts
        return replace(
            row,
            reason=told[0],
            detail=told[1],
            priority=task.grade or None,
            attempts=attempts,
            available_at=available_at,
        )
    return UrlRow(
        url=task.url.text,
        state=state,
        reason=reason,
        detail=detail,
        status=None,
        priority=task.grade or None,
        available_at=available_at,
        via=task.via,
        anchor=texts.of(task.via, task.url.text),
        depth=task.depth,
        attempts=task.attempt,
        first_at=None,
        last_at=None,
    )


def _of_link(found: RefusedLink, state: str, reason: str, detail: str) -> UrlRow:
    """Return the row of a link that had no turn."""
    return UrlRow(
        url=found.link.target.text,
        state=state,
        reason=reason,
        detail=detail,
        status=None,
        priority=None,
        available_at=None,
        via=found.via,
        anchor=found.link.text,
        depth=found.depth,
        attempts=0,
        first_at=None,
        last_at=None,
    )
