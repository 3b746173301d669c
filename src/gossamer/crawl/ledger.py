"""The ledger: turns are committed in groups, and only what is committed has happened.

One commit:
1. the group's records are appended to the archive files, the links records last;
2. one RocksDB batch: URL records, queue moves, host clocks, new fingerprints, counters, and the
   archive files' lengths;
3. only then are leases released and new ones dispatched.

Killed before 2 nothing has happened: on the next start the archive is cut back to the committed
lengths and the leased URLs go back to the queue. Killed after 2 everything has.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.crawl.fetch_log import FetchLog
from gossamer.crawl.opening import UncountedUrls
from gossamer.crawl.ports import Committing
from gossamer.crawl.revisit.records import STORED, count_revisit, next_record, outdated
from gossamer.crawl.sitemaps import turn_claims
from gossamer.log import warn
from gossamer.model import (
    CLOCK_SET_BACK,
    CopyOf,
    Counters,
    Document,
    Failed,
    Fetched,
    FetchOutcome,
    Histogram,
    Redirected,
    RefusalKind,
    Refused,
    RevisitResult,
    Row,
    StoreRef,
    Turn,
    Url,
    UrlRecord,
    UrlState,
    Visit,
)
from gossamer.report import COUNTERS, decode_record, encode_counters, encode_record, url_row_key
from gossamer.store import Archive, ArchiveEntry, EndsFile, State, TurnWriter, date_text

VISITS_KEPT = 8
DISORDER_S = 60.0
"""A document that is read in the helper process is recorded so much later than others at most."""
REMARK_CHARS = 500
CUT_OFF: Final = "cut_off"
"""The reason of a request that was broken off because the crawl was to end."""
INTERRUPTED: Final = "interrupted"
"""The reason of a URL that had its turn when the crawl died: it may have been asked for."""
HEAD, NOT_SENT, UNSURE = "h", "n", "u"
"""Marks of requests: for the header alone; no connection was had; it is not known."""
_ERROR_STATUS = 400
_encode = msgspec.json.Encoder().encode


class Timings(Struct):
    """How long things took in this run of a shard."""

    fetches: Histogram = msgspec.field(default_factory=Histogram)
    """From sending a request to the last byte of its answer."""
    commits: Histogram = msgspec.field(default_factory=Histogram)


class TurnObserver:
    """Told of every turn when it is recorded, and of every commit."""

    def __init__(self, log: FetchLog | None = None) -> None:
        self.timings = Timings()
        self._log = log
        self._began_at = 0.0

    def note(self, turn: Turn, record: UrlRecord, document: Document | None, at: float) -> None:
        """Note a turn that was recorded."""
        if document is not None:
            self.timings.fetches.add(document.latency_s)
        if self._log is not None:
            self._log.note(turn, record, document, at)

    def begin_commit(self) -> None:
        """Note that a commit begins."""
        self._began_at = time.perf_counter()

    def committed(self) -> None:
        """Note that it has happened."""
        self.timings.commits.add(time.perf_counter() - self._began_at)
        if self._log is not None:
            self._log.committed()


class RequestLog:
    """The requests that were made and are not committed yet; each commit archives them (ADR 83).

    One record says `at`, the moment that its rows count from; `robots`, what allowed them; and by
    origin `asked`, a row for each request: milliseconds after `at`, path and query, status (0
    without an answer), milliseconds that it took, place in `robots`, reason of a failure, marks.
    Empty ends of rows are left out.
    """

    def __init__(self) -> None:
        self._at = 0.0
        self._robots: dict[str, int] = {}
        self._asked: dict[str, list[list[int | str]]] = {}

    @property
    def has_rows(self) -> bool:
        """Return True if there is anything to be archived."""
        return bool(self._asked)

    def note(
        self,
        url: Url,
        outcome: FetchOutcome | None,
        *,
        allowed_by: str,
        at: float,
        took_s: float,
        marks: str = "",
    ) -> None:
        """Note how a request ended; None: it was cut off. What no host has seen is none."""
        if isinstance(outcome, Refused) and NOT_SENT in marks:
            return
        status, reason = _answer(outcome)
        self._add(url, allowed_by, at, [status, max(round(took_s * 1000), 0)], [reason, marks])

    def note_interrupted(self, url: Url, at: float) -> None:
        """Note a URL that may have been asked for when the crawl died; `at` is the new start."""
        self._add(url, "", at, [0, 0], [INTERRUPTED, UNSURE])

    def _add(self, url: Url, allowed_by: str, at: float, known: list[int], said: list[str]) -> None:
        if not self._asked:
            self._at = round(at, 3)
        place = self._robots.setdefault(allowed_by, len(self._robots))
        row: list[int | str] = [round((at - self._at) * 1000), url.target, *known, place, *said]
        while row[-1] == "":
            row.pop()
        self._asked.setdefault(url.origin, []).append(row)

    def record(self) -> tuple[float, bytes]:
        """Return the moment and the block of the record of what is not committed."""
        return self._at, _encode(
            {"at": self._at, "robots": list(self._robots), "asked": self._asked}
        )

    def committed(self) -> None:
        """Forget what is archived by now."""
        self._robots, self._asked = {}, {}


def _answer(outcome: FetchOutcome | None) -> tuple[int, str]:
    """Return the status of an answer, 0 if there was none; and what a status does not say."""
    match outcome:
        case None:
            return 0, CUT_OFF
        case Fetched(document=document) | Redirected(document=document):
            return document.status, ""
        case Failed(document=maybe):
            status = maybe.status if maybe is not None else 0
            return status, outcome.reason if status < _ERROR_STATUS else ""
        case Refused(kind=kind):
            return 0, kind.value


@dataclass(slots=True, kw_only=True)
class Ledger:
    """Gathers turns and commits them. The only writer of archive and state."""

    state: State
    archive: Archive
    ends: EndsFile
    writer: TurnWriter
    stations: Sequence[Committing]
    """Everyone who has rows to write: the stations, then the mail of other shards."""
    remember_content: Callable[[int, CopyOf], None]
    forget_content: Callable[[int, str], None]
    offer: Callable[[Turn, bytes], None]
    """Takes each page that is stored, or gone, and its text: its copies are found later."""
    counters: Counters
    late_labels: Callable[[], Sequence[tuple[str, str]]] = tuple
    """Gives the stored pages that got further labels since the last call: URL and labels."""
    observer: TurnObserver = field(default_factory=TurnObserver)
    requests: RequestLog = field(default_factory=RequestLog)
    """What was asked of hosts, whatever came of it."""
    uncounted: UncountedUrls = field(default_factory=UncountedUrls)
    """What the totals leave out: what is dropped."""
    syncs_each: bool = False
    """Make every commit durable against power loss before it counts."""
    group: list[tuple[UrlRecord, bytes, ArchiveEntry | None]] = field(default_factory=list)
    opened_at: float | None = None
    """When the oldest turn of the group was recorded."""
    hurries: int = 0
    """How often something could not wait: a host that asked for a pause."""
    _rows: list[Row] = field(default_factory=list)
    _entries: list[ArchiveEntry] = field(default_factory=list)
    _is_clock_back: bool = False
    """The dates of what is recorded go back, and that was told."""
    _late_entries: list[ArchiveEntry] = field(default_factory=list)
    """Records of labels that came after their pages; they are archived behind those."""
    _is_urgent: bool = False
    """A turn must not wait for its group: the host asked us to slow down."""

    def record(self, turn: Turn, now: float) -> None:
        """Take a turn into the group; its records are made now, while the body is at hand."""
        leaves_record = turn.revisit is None or turn.revisit in STORED
        if turn.retry_at is None and (document := document_of(turn)) is not None:
            self._mark_date(document)
        entry = self.writer.entry(turn) if turn.retry_at is None and leaves_record else None
        if entry is not None and (entry.plain_text or turn.copy_of or turn.revisit):
            self.offer(turn, entry.plain_text)
        original = self._original(turn, entry)
        is_own = turn.copy_of is None or turn.copy_of.url == turn.task.url.text
        fingerprint = turn.fingerprint if is_own else turn.coded
        if original is not None and fingerprint is not None:
            self.remember_content(fingerprint, original)
        try:
            self._take(turn, entry, now)
        except BaseException:  # or a later copy would refer to a page that is not stored
            if original is not None and fingerprint is not None:
                self.forget_content(fingerprint, original.url)
            raise

    def _mark_date(self, document: Document) -> None:
        """Mark a document whose date is before that of others in the archive.

        Answers are recorded in the order in which they end, give or take the reading of one.
        """
        ended_at, latest = document.fetched_at + document.latency_s, self.counters.latest_at
        if ended_at >= latest - DISORDER_S:
            self.counters.note_latest(ended_at)
            self._is_clock_back = False
            return
        document.note_oddity(f"{CLOCK_SET_BACK}{date_text(latest)}")
        if not self._is_clock_back:
            self._is_clock_back = True
            warn("clock.set_back", date=date_text(ended_at), latest=date_text(latest))

    def record_bare(self, turn: Turn, now: float) -> None:
        """Take a turn into the group without a record in the archive: none could be made."""
        self._take(turn, None, now)

    def _take(self, turn: Turn, entry: ArchiveEntry | None, now: float) -> None:
        document = document_of(turn)
        key = url_row_key(turn.task.url.key)
        if turn.revisit is None:
            record = self._url_record(turn, key, document)
            count(self._totals(turn, key), turn)
        else:
            record = self._revisit_record(turn, key, document, entry)
        self.observer.note(turn, record, document, now)
        if document is not None:
            document.body.close()
        self.group.append((record, key, entry))
        self._rows.extend(turn_claims(turn))
        self.open_group(now)

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Take rows that the next commit writes, beside the turns."""
        self._rows.extend(rows)

    def add_entry(self, entry: ArchiveEntry) -> None:
        """Take a record that the next commit archives, beside the turns."""
        self._entries.append(entry)

    def open_group(self, now: float) -> None:
        """Let what is uncommitted wait no longer than a turn recorded now would."""
        if self.opened_at is None:
            self.opened_at = now

    def hurry(self) -> None:
        """Let the group be committed at once, and shipped soon if there is a store."""
        self._is_urgent = True
        self.hurries += 1

    def _revisit_record(
        self, turn: Turn, key: bytes, document: Document | None, entry: ArchiveEntry | None
    ) -> UrlRecord:
        """Return the record of a page after a revisit, and forget the content that it had."""
        old = decode_record(self.state.get(key) or b"")
        if (fingerprint := outdated(old, turn)) is not None:
            self.forget_content(fingerprint, old.url)
        count_revisit(self._totals(turn, key), old, turn)
        is_same = turn.revisit is RevisitResult.UNCHANGED and entry is not None and entry.is_revisit
        is_stored = entry is not None and turn.revisit is not RevisitResult.GONE and not is_same
        record = next_record(old, turn, document, is_stored=is_stored)
        record = replace(record, first_at=kept_first_at(old, len(record.visits)))
        del record.visits[:-VISITS_KEPT]
        return record

    def _totals(self, turn: Turn, key: bytes) -> Counters:
        """Return the totals that a turn is counted in: of what is dropped, none that are kept."""
        is_dropped = isinstance(turn.outcome, Refused) and turn.outcome.kind is RefusalKind.DROPPED
        is_kept = is_dropped or not self.uncounted.has(key, turn.task.url.text)
        return self.counters if is_kept else Counters()

    def _original(self, turn: Turn, entry: ArchiveEntry | None) -> CopyOf | None:
        """Return what later copies of a page refer to; None if it is no original."""
        if entry is None or entry.is_revisit or not isinstance(turn.outcome, Fetched):
            return None
        return CopyOf(
            url=turn.task.url.text,
            record_id=entry.record_id,
            payload_digest=entry.payload_digest,
            fetched_at=turn.outcome.document.fetched_at,
        )

    def _url_record(self, turn: Turn, key: bytes, document: Document | None) -> UrlRecord:
        state, reason, detail, target = judgement(turn)
        task = turn.task
        visits: list[Visit] = []
        first_at = 0.0
        has_past = task.attempt or self.counters.retried
        if has_past and (value := self.state.get(key)) is not None:
            old = decode_record(value)
            visits = old.visits[-VISITS_KEPT + 1 :]
            first_at = kept_first_at(old, len(old.visits) + 1)
        visits.append(Visit(turn.at, state.value, reason, document.status if document else 0))
        return UrlRecord(
            url=task.url.text,
            state=state,
            depth=task.depth,
            via=task.via,
            kind=task.kind.value,
            reason=reason,
            detail=detail,
            attempts=task.attempt + (0 if isinstance(turn.outcome, Refused) else 1),
            retry_at=turn.retry_at,
            target=target,
            copy_of=turn.copy_of.url if turn.copy_of and is_copy(turn) else "",
            fingerprint=turn.fingerprint,
            words=turn.words,
            importance=turn.importance,
            labels=task.labels,
            etag=document.header("etag") if document else "",
            modified=document.header("last-modified") if document else "",
            visits=visits,
            is_sitemap=turn.is_sitemap,
            is_other=isinstance(turn.outcome, Fetched) and not is_html_turn(turn),
            first_at=first_at,
        )

    def is_due(self, now: float, *, wait_s: float) -> bool:
        """Return True if the group is old or urgent enough to be committed."""
        if self._is_urgent:
            return True
        return self.opened_at is not None and now - self.opened_at >= wait_s

    def commit(self) -> None:
        """Make everything recorded so far happen: archive first, then one batch of rows."""
        self.observer.begin_commit()
        self._take_late_labels()
        turns = (entry for _, _, entry in self.group if entry is not None)
        entries = [*self._entries, *turns, *self._late_entries]
        if endings := [entry.ending for entry in entries if entry.ending is not None]:
            entries.append(ArchiveEntry(links=self.writer.endings(endings)))
        if self.requests.has_rows:
            entries.append(ArchiveEntry(links=self.writer.requests(*self.requests.record())))
        refs = self.archive.append(entries) if entries else []
        added_bytes = self.archive.group_bytes if entries else 0
        self.counters.count_archived(added_bytes)
        try:
            # Stations give their rows once: from here on the next commit has them, if this fails.
            for station in self.stations:
                self._rows.extend(station.rows_to_commit())
            rows = [*self._rows, *self._url_rows(refs[len(self._entries) :])]
            rows.extend(self.archive.rows_to_commit())
            rows.append((COUNTERS, encode_counters(self.counters)))
            self.state.write(rows)
        except BaseException:
            self.counters.count_archived(-added_bytes)
            if entries:  # or the last group, which is committed, would be cut off
                self.archive.undo()  # or a clean close would count bytes that nobody committed
            raise
        self.archive.note_committed()
        self.requests.committed()
        self.group, self._rows, self._entries, self._late_entries = [], [], [], []
        self.opened_at, self._is_urgent = None, False
        if self.syncs_each:
            self.sync()
        for station in self.stations:
            station.committed()
        self.observer.committed()

    def sync(self) -> None:
        """Make everything committed so far durable. May be called from a thread.

        The archive first, then the state that counts it; the ends files say so last, of what was
        committed before either began.
        """
        committed, end = self.archive.committed, self.state.end()
        self.archive.sync()
        self.state.sync()
        self.ends.write(committed, end)

    def close(self) -> None:
        """Close the archive, and make its last rows durable."""
        self.archive.close()
        self.state.write(self.archive.rows_to_commit())
        self.archive.note_committed()
        end = self.state.end()
        self.state.sync()
        self.ends.write(self.archive.committed, end)

    def _take_late_labels(self) -> None:
        """Make records of labels that stored pages got, for whoever reads the archive alone."""
        for url, labels in self.late_labels():
            record = self.writer.label_record(url, labels, self.counters.latest_at)
            self._late_entries.append(ArchiveEntry(links=record))

    def _url_rows(self, refs: Sequence[StoreRef | None]) -> list[Row]:
        """Return the URL records of the group, each with the place of its page record."""
        rows: list[Row] = []
        place = iter(refs)
        for record, key, entry in self.group:
            ref = next(place) if entry is not None else None
            if ref is not None:
                last = record.visits[-1]
                record.visits[-1] = Visit(last.at, last.state, last.reason, last.status, ref)
            rows.append((key, encode_record(record)))
        return rows


def kept_first_at(old: UrlRecord, visits: int) -> float:
    """Return when a URL was first asked for, if so many visits are too many to be kept; else 0."""
    return old.asked_at if visits > VISITS_KEPT else old.first_at


def document_of(turn: Turn) -> Document | None:
    """Return the document of a turn's outcome, if it has one."""
    return None if isinstance(turn.outcome, Refused) else turn.outcome.document


def judgement(turn: Turn) -> tuple[UrlState, str, str, str]:
    """Return what became of a URL: state, reason, detail, and a redirect's target."""
    match turn.outcome:
        case Fetched(document=document):
            errors = turn.found.errors if turn.found is not None else ()
            told = remarks(document.truncated, document.oddities, errors)
            return UrlState.ARCHIVED, "", told, ""
        case Redirected(target=target):
            found = turn.found.links[0].target.text if turn.found and turn.found.links else target
            return UrlState.REDIRECTED, "redirect", "", found
        case Failed(reason=reason, detail=detail):
            state = UrlState.FAILED if turn.retry_at is None else UrlState.WAITING
            return state, reason, detail, ""
        case Refused(kind=refusal, detail=detail):
            return UrlState.REFUSED, refusal.value, detail, ""


def remarks(truncated: str, oddities: Sequence[str], errors: Sequence[str]) -> str:
    """Return what is to be said of a stored page: cut, odd, or not understood; "" if nothing."""
    cut = (f"truncated ({truncated})",) if truncated else ()
    return "; ".join((*cut, *oddities, *errors))[:REMARK_CHARS]


def count(counters: Counters, turn: Turn) -> None:
    """Add a first visit to the totals."""
    counters.count_refused(turn.refused)
    for name, error in turn.found.user_errors.items() if turn.found is not None else ():
        counters.add_user_error(f"processor {name}", error)
    is_seed = turn.task.kind.value == "seed"
    match turn.outcome:
        case Fetched() if turn.is_sitemap:
            counters.count_sitemap(is_copy=is_copy(turn), is_seed=is_seed)
        case Fetched():
            counters.count_page(
                is_copy=is_copy(turn),
                is_html=is_html_turn(turn),
                is_seed=is_seed,
                label=turn.label,
            )
            if turn.task.labels:
                counters.count_seed_labels(turn.task.labels)
        case Redirected():
            counters.count_redirect(is_seed=is_seed)
        case Failed(reason=reason, detail=detail):
            counters.count_failure(reason, detail, is_final=turn.retry_at is None)
        case Refused(kind=refusal):
            counters.count_refused({refusal.value: 1})


def is_copy(turn: Turn) -> bool:
    """Return True if a page repeats another one; not if it is stored, and was fetched again."""
    return turn.copy_of is not None and turn.copy_of.url != turn.task.url.text


def is_html_turn(turn: Turn) -> bool:
    """Return True if a page of HTML came."""
    return turn.found is not None and is_html(turn.found.media_type)


def is_html(media_type: str) -> bool:
    """Return True if a media type is HTML."""
    return media_type in {"text/html", "application/xhtml+xml"}
