"""Ledger, worker and engine loop for tests: all constructor calls in one place.

Everything is real but the disk's rows (a dictionary), time (a manual clock) and the network (a
script). Whoever changes a constructor changes this file and no test.
"""

import asyncio
import errno
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import msgspec

from gossamer.clock import CrawlTime
from gossamer.cluster import OutageOrders, ProbationOrders, ShardOutages, ShardProbation
from gossamer.config import (
    Config,
    FetchConfig,
    FilterConfig,
    LimitsConfig,
    PolitenessConfig,
    RobotsConfig,
    StoreConfig,
    UrlConfig,
)
from gossamer.crawl.core import Core, build_core
from gossamer.crawl.engine import EngineLoop as Loop
from gossamer.crawl.engine import RunState
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.opening import ShardFolder
from gossamer.crawl.pausing import OutageDuty
from gossamer.crawl.peers import NoPeers, NoStore
from gossamer.crawl.reading import DocumentReader
from gossamer.crawl.requester import Requester
from gossamer.crawl.revisit import RevisitTurns
from gossamer.crawl.sitemaps import SitemapProbes
from gossamer.crawl.worker import Worker
from gossamer.dedupe import ContentSeen
from gossamer.errors import CannotGoOn
from gossamer.fetch import AddressGuard, TransferWatch, Validators
from gossamer.fetch.curl import CurlHandle
from gossamer.frontier import AddressGaps, HostDelays
from gossamer.model import (
    Counters,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    RefusalKind,
    Refused,
    RevisitResult,
    Row,
    StoreRef,
    Task,
    Turn,
    Url,
    UrlRecord,
)
from gossamer.process import Processor, Registry, Tools
from gossamer.report import COUNTERS, decode_counters, decode_record, encode_record, url_row_key
from gossamer.store import (
    Archive,
    ArchiveEntry,
    CrawlFolder,
    EndsFile,
    ReadingMark,
    StoredPage,
    TurnWriter,
    read_original,
    read_page,
)
from gossamer.store.ends import CommittedEnds, StateEnd
from gossamer.testing import ManualClock
from gossamer.traps import Hold
from gossamer.urls import parse

# Values

__all__ = ["RevisitResult"]
"""A word that tests take from here."""


def url(text: str) -> Url:
    found = parse(text, UrlConfig())
    assert found is not None
    return found


@dataclass
class Body:
    """A body that remembers whether it was closed."""

    data: bytes
    is_spooled: bool = False
    is_closed: bool = False
    decode_note: str = ""

    @property
    def sent_bytes(self) -> int:
        return len(self.data)

    def open_sent(self) -> BinaryIO:
        return BytesIO(self.data)

    def sent(self) -> bytes:
        return self.data

    def decoded(self) -> bytes:
        return self.data

    def release(self) -> None:
        return

    def close(self) -> None:
        self.is_closed = True


def document(text: str, body: bytes = b"hello", status: int = 200, **more: Any) -> Document:
    fields = {"content-type": "text/html", **more.pop("fields", {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return Document(
        url=url(text),
        status=status,
        head=f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode(),
        headers=tuple(fields.items()),
        body=Body(body),
        request=b"GET / HTTP/1.1\r\n\r\n",
        address="127.0.0.1",
        fetched_at=more.pop("fetched_at", 50.0),
        latency_s=0.0,
        media_type=fields["content-type"],
        **more,
    )


def task_of(text: str, **more: Any) -> Task:
    return Task(url=url(text), **more)


def turn(task: Task, outcome: FetchOutcome, at: float, more: dict[str, Any]) -> Turn:
    return Turn(task=task, outcome=outcome, at=at, revisit=more.pop("revisit", None), **more)


def fetched(text: str, body: bytes = b"hello", *, at: float = 100.0, **more: Any) -> Turn:
    """Return the turn of a page that came; `more` are fields of the turn."""
    task = more.pop("task", None) or task_of(text)
    answer = more.pop("document", None) or document(text, body)
    more.setdefault("found", Extraction(text=body.decode(), media_type="text/html"))
    return turn(task, Fetched(document=answer), at, more)


def failed(
    text: str, kind: FailureKind = FailureKind.CONNECT_FAILED, *, at: float = 100.0, **more: Any
) -> Turn:
    task = more.pop("task", None) or task_of(text)
    outcome = Failed(kind=kind, detail=more.pop("detail", ""), document=more.pop("document", None))
    return turn(task, outcome, at, more)


def refused(text: str, kind: RefusalKind = RefusalKind.ROBOTS_DISALLOWED, **more: Any) -> Turn:
    task = more.pop("task", None) or task_of(text)
    outcome = Refused(kind=kind, detail=more.pop("detail", ""))
    return turn(task, outcome, more.pop("at", 100.0), more)


def redirected(text: str, target: str, **more: Any) -> Turn:
    task = more.pop("task", None) or task_of(text)
    answer = document(text, b"", 301, fields={"location": target})
    outcome = Redirected(document=answer, target=target)
    return turn(task, outcome, more.pop("at", 100.0), more)


# The disk


class DictState:
    """A state in a dictionary, with the same promise: all rows of a write, or none."""

    def __init__(self, path: Path, events: list[str]) -> None:
        self.path = path
        self.rows: dict[bytes, bytes] = {}
        self.batches: list[list[Row]] = []
        self.refusals = 0
        """So many of the next writes fail."""
        self.failing_syncs = 0
        self.meanwhile: Callable[[], None] = lambda: None
        """What another thread does while the disk is asked."""
        self._events = events

    def get(self, key: bytes) -> bytes | None:
        return self.rows.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.rows.get(key) for key in keys]

    def scan(
        self, prefix: bytes, start: bytes = b"", limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        keys = sorted(key for key in self.rows if key.startswith(prefix) and key >= start)
        yield from [(key, self.rows[key]) for key in keys[:limit]]

    def write(self, rows: Sequence[Row]) -> None:
        if self.refusals:
            self.refusals -= 1
            self._events.append("write refused")
            raise CannotGoOn("no space left for rows")
        self._events.append("write")
        self.batches.append(list(rows))
        for key, value in rows:
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = value

    def sync(self) -> None:
        if self.failing_syncs:
            self.failing_syncs -= 1
            raise CannotGoOn("the disk does not answer")
        self.meanwhile()
        self._events.append("sync state")

    def end(self) -> StateEnd:
        return StateEnd("dict", len(self.batches))

    def record_of(self, text: str) -> UrlRecord | None:
        """Return what is committed about a URL."""
        value = self.rows.get(url_row_key(url(text).key))
        return decode_record(value) if value is not None else None

    def totals(self) -> Counters:
        """Return the committed counters."""
        return decode_counters(self.rows.get(COUNTERS))


class NotedArchive:
    """The real archive; what it is asked to do is noted."""

    def __init__(self, archive: Archive, events: list[str]) -> None:
        self.real = archive
        self._events = events

    @property
    def group_bytes(self) -> int:
        return self.real.group_bytes

    def ends(self) -> Any:
        return self.real.ends()

    def append(self, entries: Sequence[ArchiveEntry]) -> list[StoreRef | None]:
        self._events.append("append")
        return self.real.append(entries)

    @property
    def committed(self) -> CommittedEnds:
        return self.real.committed

    @property
    def has_rotated(self) -> bool:
        return self.real.has_rotated

    def note_committed(self) -> None:
        self.real.note_committed()

    def undo(self) -> None:
        self._events.append("undo")
        self.real.undo()

    def rows_to_commit(self) -> list[Row]:
        return self.real.rows_to_commit()

    def sync(self) -> dict[str, int]:
        self._events.append("sync archive")
        return self.real.sync()

    def close(self) -> None:
        self._events.append("close archive")
        self.real.close()


class NotedEnds:
    """The real ends file; when it is written is noted."""

    def __init__(self, ends: EndsFile, events: list[str]) -> None:
        self.real = ends
        self._events = events

    def write(self, ends: CommittedEnds, state: StateEnd) -> None:
        self._events.append("write ends")
        self.real.write(ends, state)


@dataclass
class Disk:
    """A crawl folder whose archive files are real; files of some kinds cannot be opened."""

    folder: CrawlFolder
    writer: TurnWriter
    refuses: str = ""
    """A kind of archive file of which no new one can be made: "links" breaks a group half-way."""

    def opening(self, file_name: str) -> bytes:
        if self.refuses and file_name.startswith(self.refuses):
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.writer.warcinfo(file_name, 0.0)

    def sizes(self) -> dict[str, int]:
        """Return the size of each archive file, by its kind."""
        names = list(self.folder.archive_names())
        paths = {name.kind: self.folder.archive / name.file_name for name in names}
        return {kind: path.stat().st_size for kind, path in paths.items()}

    def page(self, ref: StoreRef) -> StoredPage:
        """Read a stored page back."""
        return read_page(self.folder, ref)


def open_archive(disk: Disk, store: StoreConfig, events: list[str]) -> NotedArchive:
    return NotedArchive(Archive.open(disk.folder, 0, 1, store, disk.opening), events)


# The ledger


class Stations:
    """Whoever gives rows with a commit and is told of it: leases are released and letters
    acknowledged then. Rows are given once.
    """

    def __init__(self, state: DictState, content: ContentSeen, events: list[str]) -> None:
        self.waiting: list[Row] = []
        self.error: BaseException | None = None
        """A bug that strikes when rows are asked for."""
        self.committed_rows: list[set[bytes]] = []
        """The keys in the state at each moment at which a commit was told."""
        self._state, self._content, self._events = state, content, events

    def rows_to_commit(self) -> list[Row]:
        if self.error is not None:
            raise self.error
        rows, self.waiting = self.waiting, []
        return rows + self._content.rows_to_commit()

    def committed(self) -> None:
        self._events.append("committed")
        self.committed_rows.append(set(self._state.rows))


@dataclass(kw_only=True)
class Books:
    """A ledger and what it writes to."""

    ledger: Ledger
    state: DictState
    disk: Disk
    stations: Stations
    content: ContentSeen
    events: list[str]
    """What happened, in order."""
    offered: list[tuple[str, bytes]] = field(default_factory=list)
    now: float = 1000.0

    def record(self, *turns: Turn) -> None:
        for turn in turns:
            self.ledger.record(turn, self.now)

    def commit(self, *turns: Turn) -> None:
        self.record(*turns)
        self.ledger.commit()

    def plant(self, *texts: str) -> None:
        """Add seeds' entries: they go into the links file with the next commit."""
        for text in texts:
            record = self.disk.writer.seed_record(url(text).text, "", self.now)
            self.ledger.add_entry(ArchiveEntry(links=record))

    def add_rows(self, *rows: Row) -> None:
        """Add rows that go with the next commit, besides those of the stations."""
        self.ledger.add_rows(rows)

    def make_urgent(self) -> None:
        self.ledger.hurry()

    def encode(self, record: UrlRecord) -> bytes:
        return encode_record(record)

    def close(self) -> None:
        """Close the archive as a clean stop does: its last rows are written."""
        self.ledger.close()

    def of(self, text: str) -> UrlRecord:
        """Return what is committed about a URL that had its turn."""
        record = self.state.record_of(text)
        assert record is not None
        return record

    def stored(self, text: str) -> StoredPage:
        """Read the page of a URL back from where its record says that it lies."""
        ref = self.of(text).stored
        assert ref is not None
        return self.disk.page(ref)


def open_books(tmp_path: Path, *, sync: str = "second", file_bytes: int = 1 << 30) -> Books:
    """Return a ledger over a dictionary and a real archive."""
    events: list[str] = []
    offered: list[tuple[str, bytes]] = []
    state = DictState(tmp_path, events)
    content = ContentSeen(state.get)
    stations = Stations(state, content, events)
    disk = Disk(CrawlFolder(tmp_path), TurnWriter(software="test", rng=Random(7)))
    archive = open_archive(disk, StoreConfig(sync=sync, file_bytes=file_bytes), events)  # type: ignore[arg-type]

    def offer(turn: Turn, text: bytes) -> None:
        offered.append((turn.task.url.text, text))

    ledger = Ledger(
        state=state,  # type: ignore[arg-type]  # a dictionary will do
        archive=archive,  # type: ignore[arg-type]
        ends=NotedEnds(EndsFile.begin(disk.folder, 0, {}, None), events),  # type: ignore[arg-type]
        writer=disk.writer,
        stations=(stations,),
        remember_content=content.remember,
        forget_content=content.forget,
        counters=Counters(),
        offer=offer,
        syncs_each=sync == "each",
    )
    return Books(
        ledger=ledger,
        state=state,
        disk=disk,
        stations=stations,
        content=content,
        events=events,
        offered=offered,
    )


# The network


HANDLE = CurlHandle(FetchConfig(), AddressGuard(FetchConfig()), {})
"""Of a transfer that has received nothing."""


class Cutting:
    """What cuts an answer that is held."""

    def __init__(self, gate: asyncio.Event) -> None:
        self._gate = gate
        self.detail = ""

    def cut(self, _handle: CurlHandle, detail: str) -> bool:
        self.detail = detail
        self._gate.set()
        return True


class Addresses:
    """The clocks of addresses in a dictionary."""

    def __init__(self) -> None:
        self._next_at: dict[str, float] = {}

    async def take(self, address: str, gap_s: float, now: float) -> float | None:
        until = self._next_at.get(address, 0.0)
        if until > now:
            return until
        self.touch(address, gap_s, now)
        return None

    def touch(self, address: str, gap_s: float, now: float) -> None:
        self._next_at[address] = max(self._next_at.get(address, 0.0), now + gap_s)

    def close(self) -> None:
        return


class Script:
    """A fetcher that says what a test has written down; what is not there is not found."""

    def __init__(self, clock: ManualClock) -> None:
        self.asked: list[str] = []
        self.requests: list[tuple[str, Validators | None, int | None]] = []
        """URL, validators and most bytes of each request."""
        self.latency_s = 0.0
        self.connect_s = 0.0
        self._clock = clock
        self._answers: dict[str, list[FetchOutcome | BaseException]] = {}
        self._held: dict[str, asyncio.Event] = {}

    def contacted(self, addresses: tuple[str, ...]) -> str:
        return addresses[0] if addresses else ""

    def is_networked(self, scheme: str) -> bool:
        """Return True if hosts of a scheme are looked up."""
        return scheme in {"http", "https"}

    def has_robots(self, scheme: str) -> bool:
        """Return True if hosts of a scheme have a robots.txt."""
        return scheme in {"http", "https"}

    def say(self, text: str, *outcomes: FetchOutcome | BaseException) -> None:
        """Give the outcomes of the next requests for a URL, in order."""
        self._answers.setdefault(url(text).text, []).extend(outcomes)

    def page(self, text: str, body: str = "", *links: str, **more: Any) -> None:
        """Put a page with links on the web."""
        anchors = "".join(f'<a href="{link}">x</a>' for link in links)
        html = f"<html><body><p>{body or text}</p>{anchors}</body></html>"
        self.say(text, Fetched(document=document(text, html.encode(), **more)))

    def robots(self, text: str, *lines: str) -> None:
        """Put a robots.txt on the web."""
        answer = document(text, "\n".join(lines).encode(), fields={"content-type": "text/plain"})
        self.say(text, Fetched(document=answer))

    def hold(self, text: str) -> None:
        """Let the answer to a request wait until it is let go."""
        self._held[url(text).text] = asyncio.Event()

    def let_go(self, text: str) -> None:
        self._held.pop(url(text).text).set()

    async def fetch(
        self,
        url: Url,
        _addresses: tuple[str, ...],
        *,
        validators: Validators | None = None,
        max_body_bytes: int | None = None,
        watch: TransferWatch | None = None,
        is_head: bool = False,
        on_sending: Callable[[], bool] | None = None,
    ) -> FetchOutcome:
        assert not is_head
        self.asked.append(url.text)
        self.requests.append((url.text, validators, max_body_bytes))
        self._clock.advance(self.connect_s)
        if on_sending is not None and not on_sending():
            return Failed(kind=FailureKind.DISCONNECTED)
        if (gate := self._held.get(url.text)) is not None:
            cutting = Cutting(gate)
            if watch is not None:
                watch.follow(cutting, HANDLE, url.host)  # type: ignore[arg-type]
            await gate.wait()
            if watch is not None:
                watch.leave()
            if cutting.detail:
                return Failed(kind=FailureKind.FIRST_BYTE_TIMEOUT, detail=cutting.detail)
        self._clock.advance(self.latency_s)
        answers = self._answers.get(url.text)
        outcome = answers.pop(0) if answers else Failed(kind=FailureKind.NOT_FOUND)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def close(self) -> None:
        return


class Names:
    """A resolver: each host has an address of its own, unless a test says otherwise."""

    def __init__(self) -> None:
        self.table: dict[str, tuple[str, ...] | Failed] = {}

    def cached(self, host: str) -> tuple[str, ...] | Failed | None:
        return self.table.get(host)

    async def resolve(self, host: str) -> tuple[str, ...] | Failed:
        return self.table.setdefault(host, (f"127.0.0.{len(self.table) + 1}",))

    async def close(self) -> None:
        return


# Worker and loop


class Noted:
    """Passes everything on to the real thing, and notes the calls of some methods."""

    def __init__(self, real: Any, events: list[str], *names: str) -> None:
        self._real, self._events, self._names = real, events, names

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if name not in self._names:
            return value

        def noting(*args: Any, **more: Any) -> Any:
            self._events.append(name)
            return value(*args, **more)

        return noting


class Writer:
    """The real writer of records, which fails on one URL whatever became of it."""

    def __init__(self, real: TurnWriter, events: list[str]) -> None:
        self._real, self._events = real, events
        self.bug_at = ""
        self.on_entry: Callable[[Turn], None] = lambda _turn: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def entry(self, turn: Turn) -> ArchiveEntry:
        self._events.append("entry")
        self.on_entry(turn)
        if turn.task.url.text == self.bug_at:
            raise ValueError("no record of this one")
        return self._real.entry(turn)


class Suspicion:
    """The real trap detector, which is told of some URLs that they may not go."""

    def __init__(self, real: Any, events: list[str]) -> None:
        self._real, self._events = real, events
        self.verdicts: dict[str, Any] = {}
        self.bug: Exception | None = None
        """Strikes when a finished task is observed: once, or always."""
        self.is_lasting = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def may_go(self, task: Task) -> Any:
        return self.verdicts.get(task.url.text) or self._real.may_go(task)

    def release(self) -> Any:
        self._events.append("release")
        return self._real.release()

    def observe(self, turn: Turn) -> Turn:
        self._events.append("observe")
        if self.bug is not None:
            bug, self.bug = self.bug, self.bug if self.is_lasting else None
            raise bug
        return self._real.observe(turn)


class Peers:
    """Other shards, as a test wants them."""

    def __init__(self) -> None:
        self.is_blocked = False
        self.has_uncommitted = False
        self.commits = 0
        self.allowed = 1 << 40
        self.is_dismissed = True
        self.rests = 0
        self.durable_commits: list[int] = []
        self.owes_receipts = False
        self.wants_sync = False
        self.in_hand = 0
        self.alone: list[int] = []
        self.done: list[int] = []

    def rows_to_commit(self) -> list[Row]:
        return []

    def pages_left(self, used: int, wanted: int) -> int:  # noqa: ARG002 -- the protocol's
        return self.allowed - used

    def may_leave(self) -> bool:
        return self.is_dismissed

    def rest(self) -> None:
        self.rests += 1

    def durable(self, commits: int) -> None:
        self.durable_commits.append(commits)

    def outage_orders(self, told: ShardOutages, now: float) -> OutageOrders:  # noqa: ARG002 -- as above
        return OutageOrders()

    def note_in_hand(self) -> None:
        self.in_hand += 1

    async def note_alone(self, key: int) -> None:
        self.alone.append(key)

    def note_done(self, key: int) -> None:
        self.done.append(key)

    def note_free(self, has_free: Callable[[], bool]) -> None:
        self.has_free = has_free()

    def probation_orders(self, told: ShardProbation, pages: int, now: float) -> ProbationOrders:  # noqa: ARG002 -- as above
        return ProbationOrders(is_open=not told.is_waited)

    def committed(self) -> None:
        self.commits += 1
        self.has_uncommitted = False


HELD = Hold.ON_PROBATION
"""A verdict of the trap detector: the task is kept back."""
HOSTS = ("a.test", "b.test", "c.test", "d.test", "e.test")
PLAIN = Config(
    concurrency=8,
    politeness=PolitenessConfig(delay_s=1.0, address_delay_s=0.0),
    filter=FilterConfig(scope="any"),
    store=StoreConfig(sync="never"),  # or threads, which know no manual clock, take part
)
OWN = msgspec.structs.replace(PLAIN, robots=RobotsConfig(own_hosts=HOSTS))
"""Without robots.txt, for tests of what comes after."""


def config(base: Config = OWN, **more: Any) -> Config:
    return msgspec.structs.replace(base, **more)


def limits(**more: Any) -> LimitsConfig:
    return LimitsConfig(**more)


@dataclass(kw_only=True)
class Engine:
    """A shard of which only rows, time and network are made up."""

    config: Config
    clock: ManualClock
    time: CrawlTime
    state: DictState
    disk: Disk
    core: Core
    ledger: Ledger
    worker: Worker
    loop: Loop
    run_state: RunState
    web: Script
    names: Names
    peers: Peers | None
    suspicion: Suspicion
    writer: Writer
    events: list[str]

    # Tasks

    def queue(self, *texts: str, **more: Any) -> None:
        """Queue URLs as if they had been found just now."""
        tasks = [task_of(text, **more) for text in texts]
        self.core.url_seen.add([task.url.key for task in tasks])
        self.core.frontier.add(tasks)

    def next(self) -> Task | None:
        """Take the task that may go now, if there is one."""
        for _ in range(3):
            if (task := self.core.frontier.next(self.time.now())) is not None:
                return task
            self.ledger.commit()
        return None

    def lease(self, text: str, **more: Any) -> Task:
        """Queue a URL and take it from the frontier."""
        self.queue(text, **more)
        task = self.next()
        assert task is not None
        assert task.url.text == url(text).text
        return task

    async def ask(self, text: str, **more: Any) -> None:
        """Give a URL its turn, from the queue on."""
        await self.worker.ask(self.lease(text, **more))

    async def ask_next(self) -> str:
        """Give the task that may go now its turn; return its URL, or "" if there is none."""
        task = self.next()
        if task is None:
            return ""
        await self.worker.ask(task)
        return task.url.text

    def of(self, text: str) -> UrlRecord:
        """Return what is written down about a URL after a commit."""
        self.ledger.commit()
        record = self.state.record_of(text)
        assert record is not None
        return record

    def has_record(self, text: str) -> bool:
        self.ledger.commit()
        return self.state.record_of(text) is not None

    @property
    def wait_s(self) -> float | None:
        """Return how long it takes until a host or a delayed task is ready."""
        moment = self.core.frontier.next_moment()
        return None if moment is None else moment - self.time.now()

    @property
    def is_urgent(self) -> bool:
        return self.ledger.is_due(self.time.now(), wait_s=1e9)

    # Time

    async def pass_time(self, seconds: float = 0.0, steps: int = 1) -> None:
        """Let time pass, in equal steps; the loop is woken after each, as by its own timer."""
        await rounds()
        for _ in range(steps):
            self.clock.advance(seconds / steps)
            self.run_state.wake()
            await rounds()

    async def run(self, *, seconds: float = 60.0, step_s: float = 0.5) -> bool:
        """Run the loop to its end; it must come within so many seconds."""
        running = asyncio.ensure_future(self.loop.run())
        for _ in range(int(seconds / step_s)):
            await self.pass_time(step_s)
            if running.done():
                return running.result()
        running.cancel()
        await asyncio.wait([running])
        raise AssertionError(f"no end after {seconds} s; asked for {self.web.asked}")

    @property
    def commits(self) -> int:
        return self.events.count("committed")

    def stored(self) -> list[str]:
        """Return the URLs that are archived by now."""
        records = [decode_record(value) for _, value in self.state.scan(b"u")]
        return sorted(record.url for record in records if record.state.value == "archived")

    def marked(self) -> int:
        """Return the key of the URL that would be suspected if the process died now, or 0."""
        return int.from_bytes((self.state.path / "flight").read_bytes()[:8], "little")


async def rounds() -> None:
    """Let everything run that can, without time passing."""
    for _ in range(40):
        await asyncio.sleep(0)


def open_engine(
    tmp_path: Path,
    rules: Config = OWN,
    peers: Peers | None = None,
    processors: Sequence[Processor] = (),
) -> Engine:
    """Return a shard with a dictionary for a state and a script for a web."""
    events: list[str] = []
    folder = CrawlFolder(tmp_path)
    place = ShardFolder(folder=folder)
    place.state.mkdir(parents=True)
    clock = ManualClock()
    time = CrawlTime.anchored(clock)
    state = DictState(place.state, events)
    real = build_core(state, place, rules, Random(7), Counters())  # type: ignore[arg-type]
    disk = Disk(folder, TurnWriter(software="test", rng=Random(7)))
    suspicion, web, names = Suspicion(real.traps, events), Script(clock), Names()
    writer = Writer(disk.writer, events)
    frontier = Noted(real.frontier, events, "settle", "conclude", "withdraw", "put_back", "delay")
    core = replace(real, frontier=frontier, traps=suspicion)  # type: ignore[arg-type]
    run = RunState()
    wait_s = rules.outage.wait_at_end_s
    others = peers or NoPeers(rules.limits.max_pages, wait_at_end_s=wait_s, run=run)
    ledger = Ledger(
        state=state,  # type: ignore[arg-type]
        archive=open_archive(disk, rules.store, events),  # type: ignore[arg-type]
        ends=NotedEnds(EndsFile.begin(folder, 0, {}, None), events),  # type: ignore[arg-type]
        writer=writer,  # type: ignore[arg-type]
        stations=(core, others, Told(events)),
        remember_content=core.content_seen.remember,
        forget_content=core.content_seen.forget,
        offer=core.copies.offer,
        counters=core.counters,
        syncs_each=rules.store.sync == "each",
    )
    mark = ReadingMark(place.state / "flight")
    tools = Tools(urls=rules.urls, process=rules.process, robots_agent=rules.fetch.robots_agent)
    worker = Worker(
        time=time,
        core=core,
        ledger=ledger,
        requester=Requester(
            log=ledger.requests,
            time=time,
            gaps=AddressGaps(HostDelays(rules.politeness)),
            clocks=Addresses(),
            resolver=names,  # type: ignore[arg-type]
            fetcher=web,  # type: ignore[arg-type]
            counters=core.counters,
        ),
        reader=DocumentReader(Registry.load(tools, extra=processors), mark, time, others),
        probes=SitemapProbes(core.robots, core.stations),
        revisits=RevisitTurns(
            rules=core.watch,
            stations=core.stations,
            stored_record=core.record_of,
            original_of=partial(read_original, folder),
        ),
        has_one_host=True,
        robots_bytes=rules.robots.max_bytes,
    )
    loop = Loop(
        config=rules,
        time=time,
        run_state=run,
        core=core,
        ledger=ledger,
        worker=worker,
        peers=others,
        remote=NoStore(),
        outage_duty=OutageDuty(rules.outage, core.frontier, worker),
        revisits=None,
        folder=tmp_path,
        save=lambda: None,
    )
    return Engine(
        config=rules,
        clock=clock,
        time=time,
        state=state,
        disk=disk,
        core=core,
        ledger=ledger,
        worker=worker,
        loop=loop,
        run_state=run,
        web=web,
        names=names,
        peers=peers,
        suspicion=suspicion,
        writer=writer,
        events=events,
    )


class Told:
    """Notes each commit, after everybody else was told of it."""

    def __init__(self, events: list[str]) -> None:
        self._events = events

    def rows_to_commit(self) -> list[Row]:
        return []

    def committed(self) -> None:
        self._events.append("committed")
