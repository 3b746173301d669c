"""The desk: what is committed is judged in a thread, and the labels go out with a later commit.

Live, pages are handed over as they are recorded and wait in memory for their commit, then for
their job. If there is no keeping up, or after a death, the desk *follows*: it reads them from the
archive. Every job ends with a mark: what lies before it in the archive is judged, and its rows are
one commit. A parcel of another shard is a row until the job that opens it is committed.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from gossamer.clock import Clock
from gossamer.config import UrlConfig
from gossamer.crawl.copies.follow import MARK_ROW, Files, Mark, follow
from gossamer.dedupe import Copies, Finding, Gone, Item, Known, Level, Page
from gossamer.model import Finding as Changed
from gossamer.model import Row, Turn
from gossamer.store import ROW_PREFIX, Archive, CrawlFolder, State
from gossamer.urls import parse

PARCEL_ROW = b"Np"
"""Prefix of the rows of parcels that came and are not yet opened."""
BATCH_PAGES = 256
BATCH_BYTES = 4 * 1024 * 1024
MOST_WAITING_BYTES = 64 * 1024 * 1024
"""Text that waits in memory; beyond it, it is read again from the archive later."""
FOLLOW_PAGES = 512
MOST_FINISH_S = 8.0
"""How long a stop waits for what is left to judge."""
_ANY = UrlConfig(strip_session_ids=False, strip_tracking=False)


@dataclass(slots=True)
class _Lot:
    """Pages that wait, and the mark behind them."""

    items: list[Item] = field(default_factory=list)
    size: int = 0
    mark: Mark | None = None

    def add(self, item: Item) -> None:
        """Take one more."""
        self.items.append(item)
        self.size += len(item.text) if isinstance(item, Page) else 0


@dataclass(slots=True, kw_only=True)
class _Job:
    """What one call of the thread is to do, and what came of it."""

    items: list[Item]
    mark: Mark | None
    files: Files | None
    """Rows of the archive files that are to be followed; None: the items are all there is."""
    parcels: dict[bytes, bytes]
    finding: Finding = field(default_factory=Finding)
    is_at_end: bool = True


@dataclass(slots=True, kw_only=True)
class CopyDesk:
    """Between the ledger and the station that judges. All of it is the loop's but `_do`."""

    open_station: Callable[[], Copies]
    """Opens the station: in the thread, when there is something to judge for the first time."""
    state: State
    folder: CrawlFolder
    shard: int
    archive: Archive
    counts: dict[str, int]
    """Of labels, by level, as `status` shows them."""
    post: Callable[[list[tuple[int, bytes]]], None] = lambda parcels: None  # noqa: ARG005 -- no other shard
    """Takes parcels for other shards, by number; they go with the next commit."""
    on_label: Callable[[int, Level], None] = lambda key, level: None  # noqa: ARG005 -- nobody listens
    """Is told of each page of ours, by key, whose label has changed."""
    is_following: bool = True
    mark: Mark = field(default_factory=Mark)
    _on_ended: Callable[[BaseException | None], None] = lambda error: None  # noqa: ARG005 -- nobody is told
    _station: Copies | None = None
    _open: _Lot = field(default_factory=_Lot)
    _waiting: _Lot = field(default_factory=_Lot)
    _rows: list[Row] = field(default_factory=list)
    _parcels: dict[bytes, bytes] = field(default_factory=dict)
    _next_parcel: int = 0
    _thread: "asyncio.Future[_Job] | None" = None

    def recover(self, on_ended: Callable[[BaseException | None], None]) -> None:
        """Take up what the last start left: its mark, and parcels that were not opened.

        `on_ended` will be called when a job has ended: there is something to commit, or it failed.
        """
        self._on_ended = on_ended
        self.mark = Mark.of(self.state.get(MARK_ROW))
        self.is_following = next(self._behind(list(self.state.scan(ROW_PREFIX))), None) is not None
        for key, value in self.state.scan(PARCEL_ROW):
            self._parcels[key] = value
            self._next_parcel = int.from_bytes(key[len(PARCEL_ROW) :], "big") + 1

    # What the ledger and other shards tell

    def offer(self, turn: Turn, text: bytes) -> None:
        """Take a page that is being recorded; it counts when it is committed."""
        url, is_again = turn.task.url, turn.finding is not None
        if turn.finding is Changed.GONE:
            self._open.add(Gone(url.key, turn.at))
        elif turn.finding is Changed.UNCHANGED:
            return
        elif turn.copy_of is not None and turn.copy_of.url != url.text:
            original = parse(turn.copy_of.url, _ANY)
            if original is not None:
                self._open.add(Known(url.key, turn.at, original.key, is_again))
        elif text and turn.found is not None:
            self._open.add(Page(url.key, url.host, turn.found.title, text, turn.at, is_again))

    def take(self, parcels: Sequence[bytes]) -> None:
        """Take parcels of another shard; from the next commit on they cannot be lost."""
        for parcel in parcels:
            key = PARCEL_ROW + self._next_parcel.to_bytes(8, "big")
            self._next_parcel += 1
            self._parcels[key] = parcel
            self._rows.append((key, parcel))

    def rows_to_commit(self) -> list[Row]:
        """Return what jobs have found, and the parcels that came."""
        rows, self._rows = self._rows, []
        return rows

    @property
    def has_uncommitted(self) -> bool:
        """Tell whether there is anything that a commit would write."""
        return bool(self._rows)

    @property
    def is_busy(self) -> bool:
        """Tell whether anything is left to judge."""
        waits = self._open.items or self._waiting.items or self._parcels
        return bool(waits) or self.is_following or self._thread is not None

    def committed(self) -> None:
        """Be told that everything offered is in the archive."""
        lot, self._open = self._open, _Lot()
        if lot.items and (self._thread is not None or not self.is_following):
            self._waiting.items += lot.items
            self._waiting.size += lot.size
            self._waiting.mark = self._mark_at_end()
        if self._waiting.size > MOST_WAITING_BYTES:
            self._waiting, self.is_following = _Lot(), True
        if len(self._waiting.items) >= BATCH_PAGES or self._waiting.size >= BATCH_BYTES:
            self.begin()

    def _mark_at_end(self) -> Mark:
        """Return the mark behind everything that was ever committed here."""
        epoch, number, ends = self.archive.ends()
        return Mark(
            is_own=True,
            shard=self.shard,
            epoch=epoch,
            number=number,
            text=ends.get("text", 0),
            links=ends.get("links", 0),
        )

    # The thread

    def begin(self) -> None:
        """Let the thread judge what waits, if it is free and can read what it found last time."""
        if self._thread is not None or self._rows:
            return
        if not (self.is_following or self._waiting.items or self._parcels):
            return
        lot, self._waiting = self._waiting, _Lot()
        files = list(self.state.scan(ROW_PREFIX)) if self.is_following else None
        job = _Job(items=lot.items, mark=lot.mark, files=files, parcels=dict(self._parcels))
        self._thread = asyncio.get_running_loop().run_in_executor(None, self._do, job)
        self._thread.add_done_callback(self._ended)

    def _do(self, job: _Job) -> _Job:
        """Judge; runs in the thread. It touches nothing that the loop uses meanwhile."""
        if self._station is None:
            self._station = self.open_station()
        if job.files is not None:
            behind = self._behind(job.files)
            found = list(islice(behind, FOLLOW_PAGES))
            job.is_at_end = next(behind, None) is None
            job.items = [item for item, _ in found]
            job.mark = found[-1][1] if found else None
        job.finding = self._station.judge(job.items, list(job.parcels.values()))
        return job

    def _behind(self, files: Files) -> Iterator[tuple[Item, Mark]]:
        """Give what lies behind the mark, in files as far as they count."""
        return follow(self.folder, self.shard, self.state, self.mark, files)

    def _ended(self, thread: "asyncio.Future[_Job]") -> None:
        """Take in what the thread has found: the next commit has all of it, and the mark."""
        self._thread = None
        if thread.cancelled() or thread.exception() is not None:
            self._on_ended(None if thread.cancelled() else thread.exception())
            return
        job = thread.result()
        self._rows += job.finding.rows
        self._rows += [(key, None) for key in job.parcels]
        for key in job.parcels:
            del self._parcels[key]
        if job.mark is not None:
            self.mark = job.mark
            self._rows.append(self.mark.row())
        if job.files is not None:
            self.is_following = not job.is_at_end
            if self.is_following:
                self._waiting = _Lot()  # it lies behind what is still to be read
        self.post(job.finding.parcels)
        for name, change in job.finding.counts.items():
            self.counts[name] = self.counts.get(name, 0) + change
        for page, level in job.finding.changed.items():
            self.on_label(page, level)
        self._on_ended(None)

    async def finish(self, commit: Callable[[], None], clock: Clock) -> None:
        """Commit, and judge what is left of our own, for a while; the next start judges the rest.

        What other shards send from now on stays with them, if nobody is there to take it.
        """
        ends_at = clock.steady() + MOST_FINISH_S
        commit()
        while self.is_busy and clock.steady() < ends_at:
            self.begin()
            if (thread := self._thread) is not None:
                await asyncio.wait([thread])
                thread.result()  # one that failed would fail again
            commit()

    async def close(self) -> None:
        """Wait for the thread, so that nothing is closed under it."""
        if self._thread is not None:
            await asyncio.wait([self._thread])


class NoCopies:
    """The desk of a crawl that does not look for near-duplicates."""

    is_busy = False
    has_uncommitted = False

    def recover(self, on_ended: Callable[[BaseException | None], None]) -> None:
        """Do nothing."""

    def take(self, parcels: Sequence[bytes]) -> None:
        """Do nothing: nobody would judge them."""

    def rows_to_commit(self) -> list[Row]:
        """Return nothing."""
        return []

    def committed(self) -> None:
        """Do nothing."""

    def begin(self) -> None:
        """Do nothing."""

    async def finish(self, commit: Callable[[], None], _clock: Clock) -> None:
        """Commit: there is nothing else to do."""
        commit()

    async def close(self) -> None:
        """Do nothing."""
