"""Ledger, worker and engine loop for tests: all constructor calls in one place.

Everything is real but the disk's rows (a dictionary), time (a manual clock) and the network (a
script). Whoever changes a constructor changes this file and no test.
"""

import errno
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

from gossamer.config import StoreConfig, UrlConfig
from gossamer.crawl.ledger import Ledger
from gossamer.dedupe import ContentSeen
from gossamer.errors import CannotGoOn
from gossamer.model import (
    Counters,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Finding,
    Redirected,
    RefusalKind,
    Refused,
    Row,
    StoreRef,
    Task,
    Turn,
    Url,
    UrlRecord,
)
from gossamer.report import COUNTERS, decode_counters, decode_record, encode_record, url_row_key
from gossamer.store import Archive, CrawlFolder, Entry, StoredPage, TurnWriter, read_page
from gossamer.urls import parse

# Values

__all__ = ["Finding"]
"""What a revisit found: a word that tests take from here."""


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
    return Turn(task=task, outcome=outcome, at=at, finding=more.pop("finding", None), **more)


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
        self._events.append("sync state")

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

    def append(self, entries: Sequence[Entry]) -> list[StoreRef | None]:
        self._events.append("append")
        return self.real.append(entries)

    def undo(self) -> None:
        self._events.append("undo")
        self.real.undo()

    def rows_to_commit(self) -> list[Row]:
        return self.real.rows_to_commit()

    def sync(self) -> dict[str, int]:
        self._events.append("sync archive")
        return self.real.sync()

    def close(self) -> None:
        self.real.close()


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
            self.ledger.extra_entries.append(Entry(links=record))

    def add_rows(self, *rows: Row) -> None:
        """Add rows that go with the next commit, besides those of the stations."""
        self.ledger.extra_rows.extend(rows)

    def make_urgent(self) -> None:
        self.ledger.is_urgent = True

    def encode(self, record: UrlRecord) -> bytes:
        return encode_record(record)

    def close(self) -> None:
        """Close the archive as a clean stop does: its last rows are written."""
        self.ledger.archive.close()
        self.state.write(self.ledger.archive.rows_to_commit())

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


def open_books(
    tmp_path: Path, *, sync: str = "second", file_bytes: int = 1 << 30, is_offered: bool = True
) -> Books:
    """Return a ledger over a dictionary and a real archive."""
    events: list[str] = []
    offered: list[tuple[str, bytes]] = []
    state = DictState(tmp_path, events)
    content = ContentSeen(state.get)
    stations = Stations(state, content, events)
    disk = Disk(CrawlFolder(tmp_path), TurnWriter(software="test", rng=Random(7)))
    archive = open_archive(disk, StoreConfig(sync=sync, file_bytes=file_bytes), events)  # type: ignore[arg-type]
    more: dict[str, Callable[[Turn, bytes], None]] = {}
    if is_offered:
        more["offer"] = lambda turn, text: offered.append((turn.task.url.text, text))
    ledger = Ledger(
        state=state,  # type: ignore[arg-type]  # a dictionary will do
        archive=archive,  # type: ignore[arg-type]
        writer=disk.writer,
        core=stations,
        on_committed=stations.committed,
        remember_content=content.remember,
        forget_content=content.forget,
        counters=Counters(),
        syncs_each=sync == "each",
        **more,
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
