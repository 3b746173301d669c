"""WHO SAYS IT AGAIN? Near-duplicates of a running crawl: labelled after the commit, off the loop.

Live, pages are handed over as they are recorded and wait in memory for their commit, then for
their job in a thread. If there is no keeping up, or after a death, the labeller *follows*: it reads
them from the archive. Every job ends with a mark: what lies before it in the archive is labelled,
and its rows are one commit. A parcel of another shard is a row until the job that opens it is
committed. Killed at any instant, no page is forgotten.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from msgspec import DecodeError, Struct, json, msgpack
from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.cluster import PARCELS, Ranges
from gossamer.config import UrlConfig
from gossamer.crawl.opening import ShardFolder
from gossamer.dedupe import (
    LABEL_ROW,
    NEAR_ROWS,
    SKETCH_VERSION,
    CopyChanges,
    CopyDetector,
    CopyItem,
    ExactCopy,
    GonePage,
    PageText,
    SketchShare,
    copy_row_key,
    open_copy_detector,
    read_labels,
    verify_near,
)
from gossamer.errors import CorruptFile
from gossamer.log import tell
from gossamer.model import Counters, RevisitResult, Row, Turn
from gossamer.report import decode_record, url_row_key
from gossamer.store import (
    ROW_PREFIX,
    Archive,
    ArchiveName,
    CrawlFolder,
    Record,
    State,
    count_of,
    read_file_row,
    readable_records,
)
from gossamer.urls import parse

PARCEL_ROW = b"Np"
"""Prefix of the rows of parcels that came and are not yet opened."""
BATCH_PAGES = 256
BATCH_BYTES = 4 * 1024 * 1024
MOST_WAITING_BYTES = 64 * 1024 * 1024
"""Text that waits in memory; beyond it, it is read again from the archive later."""
FOLLOW_PAGES = 512
MOST_FINISH_S = 8.0
"""How long a stop waits for what is left to label."""
ABOUT_ROW, MARK_ROW = b"NA", b"NM"
SEED_BYTES = 8
_ANY = UrlConfig(strip_session_ids=False, strip_tracking=False)
"""What the archive names is canonical already."""

Files: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Rows of a shard's commit table: how much of each file counts."""


class SketchSettings(Struct, frozen=True, array_like=True):
    """What the sketches of a state were made with: those of others cannot be compared."""

    version: int
    seed: int
    shards: int
    ranges: Ranges = ()
    """Which shard has which range of the ring; empty for equal parts in order."""

    @classmethod
    def of(cls, place: ShardFolder) -> "SketchSettings":
        """Return the settings of a crawl, of which a shard is given."""
        shards = place.shards
        ranges = () if shards == 1 or place.ring.is_even else place.ring.ranges
        return cls(SKETCH_VERSION, crawl_seed(place.folder), shards, ranges)


class Mark(Struct, frozen=True, order=True, array_like=True):
    """A place in a shard's archive: everything before it is labelled.

    Files that a shard has inherited come first: it adds nothing to them.
    """

    is_own: bool = False
    shard: int = 0
    epoch: int = 0
    number: int = 0
    text: int = 0
    """Offset in the text file of that set, and in its links file."""
    links: int = 0

    def row(self) -> Row:
        """Return the row that remembers this mark."""
        return MARK_ROW, msgpack.encode(self)

    @classmethod
    def of(cls, value: bytes | None) -> "Mark":
        """Return the mark that a row holds; the beginning of the archive if there is none."""
        return cls() if value is None else msgpack.decode(value, type=cls)

    @classmethod
    def at_start(cls, name: ArchiveName, owner: int) -> "Mark":
        """Return the mark before a set of files."""
        return cls(name.shard == owner, name.shard, name.epoch, name.number)


@dataclass(slots=True)
class _Lot:
    """Pages that wait, and the mark behind them."""

    items: list[CopyItem] = field(default_factory=list)
    size: int = 0
    mark: Mark | None = None

    def add(self, item: CopyItem) -> None:
        """Take one more."""
        self.items.append(item)
        self.size += len(item.text) if isinstance(item, PageText) else 0

    def extend(self, other: "_Lot", mark: Mark) -> None:
        """Take all of another lot; the mark is behind it."""
        self.items += other.items
        self.size += other.size
        self.mark = mark


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What one call of the thread is to do."""

    items: list[CopyItem]
    mark: Mark | None
    files: Files | None
    """Rows of the archive files that are to be followed; None: the items are all there is."""
    parcels: dict[bytes, bytes]


class _Done(NamedTuple):
    """What came of a job."""

    job: _Job
    changes: CopyChanges
    mark: Mark | None
    is_at_end: bool


class CopyLabeller:
    """Between the ledger and the station that finds copies. All of it is the loop's but `_do`."""

    def __init__(
        self,
        *,
        open_station: Callable[[], CopyDetector],
        state: State,
        place: ShardFolder,
        archive: Archive,
        counters: Counters,
        post: Callable[[list[tuple[int, bytes]]], None] = lambda _parcels: None,
        on_ended: Callable[[BaseException | None], None] = lambda _error: None,
    ) -> None:
        """Label what is committed; `recover` first takes up what the last start left.

        `open_station` opens the station, in the thread, when it is first needed. `post` takes
        parcels for other shards. `on_ended` is called when a job has ended: there is something to
        commit, or it failed.
        """
        self.is_following = True
        self.mark = Mark()
        self._open_station = open_station
        self._state = state
        self._place = place
        self._archive = archive
        self._counters = counters
        self._post = post
        self._on_ended = on_ended
        self._station: CopyDetector | None = None
        self._open = _Lot()
        self._waiting = _Lot()
        self._rows: list[Row] = []
        self._parcels: dict[bytes, bytes] = {}
        self._next_parcel = 0
        self._thread: asyncio.Future[_Done] | None = None

    def recover(self) -> None:
        """Take up what the last start left: its mark, and parcels that were not opened."""
        self.mark = Mark.of(self._state.get(MARK_ROW))
        behind = self._behind(list(self._state.scan(ROW_PREFIX)))
        self.is_following = next(behind, None) is not None
        for key, value in self._state.scan(PARCEL_ROW):
            self._parcels[key] = value
            self._next_parcel = int.from_bytes(key[len(PARCEL_ROW) :], "big") + 1

    # What the ledger and other shards tell

    def offer(self, turn: Turn, text: bytes) -> None:
        """Take a page that is being recorded; it counts when it is committed."""
        url, is_again = turn.task.url, turn.revisit is not None
        if turn.revisit is RevisitResult.GONE:
            self._open.add(GonePage(url.key, turn.at))
        elif turn.revisit is RevisitResult.UNCHANGED:
            return
        elif turn.copy_of is not None and turn.copy_of.url != url.text:
            original = parse(turn.copy_of.url, _ANY)
            if original is not None:
                self._open.add(ExactCopy(url.key, turn.at, original.key, is_again))
        elif text and turn.found is not None:
            self._open.add(PageText(url.key, url.host, turn.found.title, text, turn.at, is_again))

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
        """Return True if there is anything that a commit would write."""
        return bool(self._rows)

    @property
    def is_busy(self) -> bool:
        """Return True if anything is left to label."""
        waits = self._open.items or self._waiting.items or self._parcels
        return bool(waits) or self.is_following or self._thread is not None

    def committed(self) -> None:
        """Be told that everything offered is in the archive."""
        lot, self._open = self._open, _Lot()
        if lot.items and (self._thread is not None or not self.is_following):
            self._waiting.extend(lot, self._mark_at_end())
        if self._waiting.size > MOST_WAITING_BYTES:
            self._waiting, self.is_following = _Lot(), True
        if len(self._waiting.items) >= BATCH_PAGES or self._waiting.size >= BATCH_BYTES:
            self.begin()

    def _mark_at_end(self) -> Mark:
        """Return the mark behind everything that was ever committed here."""
        epoch, number, ends = self._archive.ends()
        return Mark(
            is_own=True,
            shard=self._place.shard,
            epoch=epoch,
            number=number,
            text=ends.get("text", 0),
            links=ends.get("links", 0),
        )

    # The thread

    def begin(self) -> None:
        """Let the thread label what waits, if it is free and can read what it found last time."""
        if self._thread is not None or self._rows:
            return
        if not (self.is_following or self._waiting.items or self._parcels):
            return
        lot, self._waiting = self._waiting, _Lot()
        files = list(self._state.scan(ROW_PREFIX)) if self.is_following else None
        job = _Job(items=lot.items, mark=lot.mark, files=files, parcels=dict(self._parcels))
        self._thread = asyncio.get_running_loop().run_in_executor(None, self._do, job)
        self._thread.add_done_callback(self._ended)

    def _do(self, job: _Job) -> _Done:
        """Find copies; runs in the thread. It touches nothing that the loop uses meanwhile."""
        if self._station is None:
            self._station = self._open_station()
        items, mark, is_at_end = job.items, job.mark, True
        if job.files is not None:
            behind = self._behind(job.files)
            found = list(islice(behind, FOLLOW_PAGES))
            is_at_end = next(behind, None) is None
            items = [item for item, _ in found]
            mark = found[-1][1] if found else None
        changes = self._station.judge(items, list(job.parcels.values()))
        return _Done(job, changes, mark, is_at_end)

    def _behind(self, files: Files) -> Iterator[tuple[CopyItem, Mark]]:
        """Give what lies behind the mark, in files as far as they count."""
        return follow(self._place.folder, self._place.shard, self._state, self.mark, files)

    def _ended(self, thread: "asyncio.Future[_Done]") -> None:
        """Take in what the thread has found: the next commit has all of it, and the mark."""
        self._thread = None
        if thread.cancelled() or thread.exception() is not None:
            self._on_ended(None if thread.cancelled() else thread.exception())
            return
        job, changes, mark, is_at_end = thread.result()
        self._rows += changes.rows
        self._rows += [(key, None) for key in job.parcels]
        for key in job.parcels:
            del self._parcels[key]
        if mark is not None:
            self.mark = mark
            self._rows.append(mark.row())
        if job.files is not None:
            self.is_following = not is_at_end
            if self.is_following:
                self._waiting = _Lot()  # it lies behind what is still to be read
        self._post(changes.parcels)
        self._counters.count_copies(changes.counts)
        self._on_ended(None)

    async def finish(self, commit: Callable[[], None], clock: Clock) -> None:
        """Commit, and label what is left of our own, for a while; the next start does the rest.

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
    """The labeller of a crawl that does not look for near-duplicates."""

    is_busy = False
    has_uncommitted = False

    def recover(self) -> None:
        """Do nothing."""

    def offer(self, turn: Turn, text: bytes) -> None:
        """Do nothing: nobody wants it."""

    def take(self, parcels: Sequence[bytes]) -> None:
        """Do nothing: nobody would open them."""

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


def open_labeller(
    place: ShardFolder,
    state: State,
    archive: Archive,
    counters: Counters,
    *,
    is_synced: bool,
    post: Callable[[list[tuple[int, bytes]]], None],
    on_ended: Callable[[BaseException | None], None],
) -> CopyLabeller:
    """Return the labeller of a shard; sketches that are damaged or of another kind are dropped."""
    about = SketchSettings.of(place)
    ensure_whole(state, about)

    def open_station() -> CopyDetector:
        part = SketchShare(place.shard, place.ring.ranges)
        return open_copy_detector(state, near_folder(state), about.seed, part, is_synced=is_synced)

    return CopyLabeller(
        open_station=open_station,
        state=state,
        place=place,
        archive=archive,
        counters=counters,
        post=post,
        on_ended=on_ended,
    )


def near_folder(state: State) -> Path:
    """Return where a shard's sketches lie."""
    return state.path / "near"


def ensure_whole(state: State, about: SketchSettings) -> None:
    """Let go of sketches that are damaged or not comparable: the archive has the texts."""
    value = state.get(ABOUT_ROW)
    if value is not None and msgpack.decode(value, type=SketchSettings) == about:
        with suppress(CorruptFile):
            verify_near(near_folder(state), state.scan(NEAR_ROWS))
            return
    if value is not None:
        tell("near.reset", path=str(state.path))
    reset_near(state, about)


def reset_near(state: State, about: SketchSettings) -> None:
    """Forget all sketches; the labels stay until better ones are found."""
    rows: list[Row] = [
        (key, None) for table in (NEAR_ROWS, PARCELS) for key, _ in state.scan(table)
    ]
    labels = read_labels(state.scan(LABEL_ROW))
    rows += [(copy_row_key(label.original, key), b"") for key, label in labels]
    state.write([*rows, (ABOUT_ROW, msgpack.encode(about))])
    shutil.rmtree(near_folder(state), ignore_errors=True)


def crawl_seed(folder: CrawlFolder) -> int:
    """Return the crawl's own number, drawn by whichever shard asks first."""
    path = folder.root / "state" / "near.seed"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_bytes(os.urandom(SEED_BYTES))
        with suppress(FileExistsError):
            os.link(new, path)
        new.unlink()
    return int.from_bytes(path.read_bytes(), "big")


# Reading the archive again from a mark on: pages whose copies are not yet known


class _Said(Struct):
    """What is needed of a links record; the rest is not decoded."""

    url: str
    outcome: str
    at: float = 0.0
    page: str = ""
    copy_of: str = ""
    title: str = ""


_said = json.Decoder(_Said).decode


class Texts:
    """The text records of a set, in step with its links records."""

    def __init__(self, folder: CrawlFolder, name: ArchiveName, start: int, end: int) -> None:
        path = folder.archive_path(name.sibling("text").file_name)
        is_there = path.exists() and start < end
        self._records = readable_records(path, start, end) if is_there else iter(())
        self.at = start
        self._next: Record | None = next(self._records, None)

    def of(self, page_id: str) -> bytes | None:
        """Return the text of a page, if it is the next one; None if the page has none."""
        while (record := self._next) is not None:
            owner = record.headers.get("warc-refers-to", "")
            if owner == page_id and record.headers.get("warc-type") == "conversion":
                self._take(record)
                return record.block
            if owner and count_of(owner) >= count_of(page_id):
                return None
            self._take(record)  # no text, or one of a page whose links record is damaged
        return None

    def _take(self, record: Record) -> None:
        self.at = record.offset + record.length
        self._next = next(self._records, None)


def follow(
    folder: CrawlFolder, shard: int, state: State, mark: Mark, files: Files
) -> Iterator[tuple[CopyItem, Mark]]:
    """Give what lies behind a mark in a shard's archive, each with the mark behind it."""
    ends = {name: row.length for name, row in (read_file_row(*row) for row in files)}
    names = [ArchiveName.parse(name) for name in ends]
    links = [name for name in names if name is not None and name.kind == "links"]
    for name in sorted(links, key=lambda one: Mark.at_start(one, shard)):
        start = Mark.at_start(name, shard)
        if replace(mark, text=0, links=0) > start:
            continue
        mark = max(mark, start)
        texts = Texts(folder, name, mark.text, ends.get(name.sibling("text").file_name, 0))
        path, end = folder.archive_path(name.file_name), ends[name.file_name]
        for record in readable_records(path, mark.links, end):
            item = _item(record, texts, state)
            mark = replace(start, text=texts.at, links=record.offset + record.length)
            if item is not None:
                yield item, mark


def _item(record: Record, texts: Texts, state: State) -> CopyItem | None:
    """Return what a links record says of its page, if that was stored, or is gone."""
    if record.headers.get("warc-type") != "metadata":
        return None
    try:
        said = _said(record.block)
    except DecodeError:
        return None
    text = texts.of(said.page) if said.page else None
    url = parse(said.url, _ANY) if said.outcome in {"fetched", "gone"} else None
    if url is None:
        return None
    if said.outcome == "gone":
        return GonePage(url.key, said.at)
    is_again = was_stored(state, url.key, said.at)
    if said.copy_of and said.copy_of != said.url:
        original = parse(said.copy_of, _ANY)
        return ExactCopy(url.key, said.at, original.key, is_again) if original is not None else None
    return PageText(url.key, url.host, said.title, text, said.at, is_again) if text else None


def was_stored(state: State, key: int, at: float) -> bool:
    """Return True if an earlier version of a page was stored before a moment."""
    value = state.get(url_row_key(key))
    visits = decode_record(value).visits if value is not None else ()
    return any(visit.at < at and visit.ref is not None for visit in visits)
