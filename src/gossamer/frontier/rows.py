"""The frontier's rows: how hosts, queues and leases lie in the state. Pure.

    h + host key                              HostRow
    q + host key + 255-grade + sequence       a packed row of waiting tasks, best grade first
    l + host key + sequence                   a packed row of leased tasks
    d + due moment (µs) + URL key             one task that waits for its next try

All keys but `d` begin with the ring, so a registrable domain's rows are neighbours on disk.
A packed row holds the tasks of one host and one commit, grouped by the page that linked them, so
that the page's URL is stored once (a prototype took 40 bytes per URL).
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Struct, field

from gossamer.model import HostKey, LinkKind, Row, Task, Url
from gossamer.urls import fingerprint

HOST, QUEUE, LEASE, DELAYED = b"h", b"q", b"l", b"d"
ROW_TASKS = 64
"""Tasks per packed row, so that a lease stays small."""


class Span(Struct, array_like=True):
    """The queue rows of one grade: sequence numbers from `head` up to, not including, `tail`."""

    head: int = 0
    tail: int = 0


class HostRow(Struct, kw_only=True, array_like=True):
    """Everything that is kept about one host."""

    name: str
    next_at: float = 0.0
    """Wall-clock moment before which the host is left alone."""
    reason: str = ""
    """The rule that set `next_at`."""
    gap_s: float = 0.0
    """The last gap: what the host must at least wait after a restart."""
    crawl_delay_s: float | None = None
    throttles: int = 0
    """429 and 503 answers in a row."""
    known: int = 0
    """URLs of the host that were ever taken in: what the budget counts."""
    queued: int = 0
    """URLs in queue rows on disk."""
    spans: dict[int, Span] = field(default_factory=dict)
    """Queue rows by grade."""
    lease_sequence: int = 0

    def best_grade(self) -> int:
        """Return the highest grade that has queue rows, or 0."""
        return max(
            (grade for grade, span in self.spans.items() if span.head < span.tail), default=0
        )


_encoder = msgspec.msgpack.Encoder()
_host_decoder = msgspec.msgpack.Decoder(HostRow)
_tasks_decoder = msgspec.msgpack.Decoder(list[tuple[str, int, str, int, int, int, list[str]]])


def host_row_key(host: HostKey) -> bytes:
    """Return the key of a host's row."""
    return HOST + host


def queue_key(host: HostKey, grade: int, sequence: int) -> bytes:
    """Return the key of a queue row; a higher grade sorts first."""
    return QUEUE + host + bytes((255 - grade,)) + sequence.to_bytes(8, "big")


def lease_key(host: HostKey, sequence: int) -> bytes:
    """Return the key of a lease row."""
    return LEASE + host + sequence.to_bytes(8, "big")


def delayed_key(due_at: float, url_key: int) -> bytes:
    """Return the key of a delayed task; earlier moments sort first."""
    return DELAYED + int(due_at * 1e6).to_bytes(8, "big") + url_key.to_bytes(8, "big")


def due_moment(key: bytes) -> float:
    """Return the moment inside a delayed task's key."""
    return int.from_bytes(key[1:9], "big") / 1e6


def url_key_in(key: bytes) -> int:
    """Return the URL key inside a delayed task's key."""
    return int.from_bytes(key[9:17], "big")


def encode_host(row: HostRow) -> bytes:
    """Return a host row's value."""
    return _encoder.encode(row)


def decode_host(value: bytes) -> HostRow:
    """Return the host row that a value holds."""
    return _host_decoder.decode(value)


def pack_tasks(tasks: Sequence[Task]) -> bytes:
    """Return the value of a packed row; tasks of one page that follow each other share its URL."""
    groups: list[tuple[str, int, str, int, int, int, list[str]]] = []
    last: tuple[str, int, str, int, int, int] | None = None
    for task in tasks:
        shared = (task.via, task.depth, task.kind.value, task.attempt, task.hops, task.nesting)
        if shared != last:
            groups.append((*shared, []))
            last = shared
        groups[-1][6].append(task.url.text)
    return _encoder.encode(groups)


def unpack_tasks(value: bytes, host: str, grade: int) -> list[Task]:
    """Return the tasks of a packed row of one host."""
    return [
        Task(
            url=restore(text, host),
            depth=depth,
            via=via,
            kind=LinkKind(kind),
            grade=grade,
            attempt=attempt,
            hops=hops,
            nesting=nesting,
        )
        for via, depth, kind, attempt, hops, nesting, texts in _tasks_decoder.decode(value)
        for text in texts
    ]


def restore(text: str, host: str) -> Url:
    """Return the Url of a canonical text that we stored ourselves, without parsing it again."""
    end = text.find("/", text.find("//") + 2)
    origin = text[:end] if end >= 0 else text
    return Url(text=text, host=host, origin=origin, key=fingerprint(text, host))


def in_rows(tasks: Sequence[Task]) -> Iterable[Sequence[Task]]:
    """Cut tasks into portions of one packed row each."""
    for start in range(0, len(tasks), ROW_TASKS):
        yield tasks[start : start + ROW_TASKS]


def unpack_delayed(value: bytes) -> Task:
    """Return the one task of a delayed row."""
    text = _tasks_decoder.decode(value)[0][6][0]
    return unpack_tasks(value, host_in(text), 0)[0]


def host_in(text: str) -> str:
    """Return the host of a canonical text that we stored ourselves."""
    authority = text.partition("//")[2].partition("/")[0]
    if authority.endswith("]"):
        return authority
    return authority.rpartition(":")[0] if ":" in authority else authority


def put_tasks(key: HostKey, row: HostRow, grade: int, tasks: Sequence[Task]) -> list[Row]:
    """Append tasks to a host's queue of one grade; return the rows to be written."""
    span = row.spans.setdefault(grade, Span())
    rows: list[Row] = []
    for portion in in_rows(tasks):
        rows.append((queue_key(key, grade, span.tail), pack_tasks(portion)))
        span.tail += 1
    row.queued += len(tasks)
    return rows


def take_tasks(
    key: HostKey, row: HostRow, at_least: int, get: Callable[[bytes], bytes | None]
) -> tuple[list[Task], list[Row]]:
    """Take whole rows, best grade first, until there are enough tasks; also their deletions.

    Rows are found by known keys: a seek would walk over the tombstones of those taken before.
    """
    tasks: list[Task] = []
    rows: list[Row] = []
    while len(tasks) < at_least and (grade := row.best_grade()):
        span = row.spans[grade]
        place = queue_key(key, grade, span.head)
        span.head += 1
        rows.append((place, None))
        if (value := get(place)) is not None:
            tasks += unpack_tasks(value, row.name, grade)
    row.queued -= len(tasks)
    return tasks, rows
