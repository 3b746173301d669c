"""The frontier's rows: how hosts, queues and leases lie in the state. Pure.

    h + host key                              HostState
    q + host key + 255-grade + sequence       a packed row of waiting tasks, best grade first
    l + host key + sequence                   a packed row of leased tasks
    d + due moment (µs) + URL key             one task that waits for its next try
    f + host key + URL key                    one task that failed in its host's run of failures

All keys but `d` begin with the ring, so a registrable domain's rows are neighbours on disk.
A packed row holds the tasks of one host and one commit, grouped by the page that linked them. The
page's URL is stored once, the host not at all (its row has the name), and of each URL only what
follows its origin: most of the frontier's bytes are URLs.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec
from msgspec import Struct, field

from gossamer.model import HostKey, LinkKind, Row, Task, Url
from gossamer.urls import fingerprint, host_key

HOST, QUEUE, LEASE, DELAYED, FAILING = b"h", b"q", b"l", b"d", b"f"
SCHEMES = ("http", "https")
"""By the code of an origin in a packed row."""
ROW_TASKS = 64
"""Tasks per packed row, so that a lease stays small."""
STACK_ROW_TASKS = 16
"""The same where tasks are taken one by one: each time the rest is written again."""


class Span(Struct, array_like=True):
    """The queue rows of one grade: sequence numbers from `head` up to, not including, `tail`."""

    head: int = 0
    tail: int = 0


class FailedTry(Struct, array_like=True):
    """A URL's last failure in its host's present run of failures: nobody is to blame yet."""

    url_key: int
    reason: str
    detail: str
    kind: str
    """A `FailureClass`."""
    retry_at: float
    """When it is tried again, if nothing is known by then."""
    is_last: bool = False
    """If the failure is the URL's own, it is final."""


class HostOutage(Struct, array_like=True):
    """A run of failures of one host: requests that failed one after another, without an answer."""

    failures: int = 0
    reason: str = ""
    """Of the last failure."""
    origin: str = ""
    """That failed last."""
    parked_at: float | None = None
    """Since when the host is parked: its URLs wait, and one probe at a time is made."""
    probes: int = 0
    """Probes that failed."""
    probe_at: float = 0.0
    """When the next probe is due."""
    tries: list[FailedTry] = field(default_factory=list)
    """The last failure of each URL in this run; their tasks lie in rows of their own."""
    was_cut: bool = False
    """The last failure was ours: the request was cut for the sake of other hosts."""
    kind: str = ""
    """Of the last failure: its `FailureClass`."""

    @property
    def is_parked(self) -> bool:
        """Return True if nothing of the host is asked but probes."""
        return self.parked_at is not None


class HostState(Struct, kw_only=True, array_like=True):
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
    copies: int = 0
    """Of the queued URLs those that wait in a better place, too: that many are no work."""
    outage: HostOutage | None = None
    """The present run of failures; None if the host answered last."""
    answered_at: float = 0.0
    """When the host last answered, its robots.txt included; 0 if never, or with server errors."""
    tolerance: int = 2
    """Server errors in a row that park the host: more after a false alarm."""
    witness: str = ""
    """The page that the host last answered without a server error: asked to tell whether it is
    down or only some of its pages are broken."""
    unresolved: int = 0
    """Look-ups of the name in a row that no resolver answered."""
    answers: int = 0
    """Answers to requests for pages; not counted by older versions."""
    median_s: float = 0.0
    """Estimated median of the time that such an answer took; 0.0 before the first."""

    @property
    def is_parked(self) -> bool:
        """Return True if the host is down: its URLs wait until a probe is answered."""
        return self.outage is not None and self.outage.is_parked

    @property
    def waiting(self) -> int:
        """Return how many of its URLs wait in rows of the host, leases not counted."""
        failing = 0 if self.outage is None else len(self.outage.tries)
        return max(0, self.queued - self.copies) + failing

    def best_grade(self) -> int:
        """Return the highest grade that has queue rows, or 0."""
        best = 0
        for grade, span in self.spans.items():
            if grade > best and span.head < span.tail:
                best = grade
        return best


_encoder = msgspec.msgpack.Encoder()
_host_decoder = msgspec.msgpack.Decoder(HostState)


class PackedGroup(Struct, frozen=True, array_like=True, gc=False):
    """Tasks of a packed row that differ in nothing but what follows their origin.

    Fields that were added later come last, with a default: older rows are shorter.
    """

    via: str
    """The linking page; one that begins with a slash is of the same origin."""
    depth: int
    kind: LinkKind
    attempt: int
    hops: int
    nesting: int
    origin: int | str
    """0 (http) or 1 (https) if it is the host's own without a port, else its text."""
    targets: str
    """One per line."""
    labels: str = ""
    rules: int = 0


_groups_decoder = msgspec.msgpack.Decoder(list[PackedGroup])


def host_row_key(host: HostKey) -> bytes:
    """Return the key of a host's row."""
    return HOST + host


def queue_key(host: HostKey, grade: int, sequence: int) -> bytes:
    """Return the key of a queue row; a higher grade sorts first."""
    return QUEUE + host + bytes((255 - grade,)) + sequence.to_bytes(8, "big")


def lease_key(host: HostKey, sequence: int) -> bytes:
    """Return the key of a lease row."""
    return LEASE + host + sequence.to_bytes(8, "big")


def failing_key(host: HostKey, url_key: int) -> bytes:
    """Return the key of a task that failed in its host's run of failures."""
    return FAILING + host + url_key.to_bytes(8, "big")


def delayed_key(due_at: float, url_key: int) -> bytes:
    """Return the key of a delayed task; earlier moments sort first."""
    return DELAYED + int(due_at * 1e6).to_bytes(8, "big") + url_key.to_bytes(8, "big")


def due_moment(key: bytes) -> float:
    """Return the moment inside a delayed task's key."""
    return int.from_bytes(key[1:9], "big") / 1e6


def url_key_in(key: bytes) -> int:
    """Return the URL key inside a delayed task's key."""
    return int.from_bytes(key[9:17], "big")


def encode_host(row: HostState) -> bytes:
    """Return a host row's value."""
    return _encoder.encode(row)


def decode_host(value: bytes) -> HostState:
    """Return the host row that a value holds."""
    return _host_decoder.decode(value)


def pack_tasks(tasks: Sequence[Task]) -> bytes:
    """Return the value of a packed row: tasks of one host; neighbours of one page share its URL."""
    return _pack(tasks, tasks[0].url.host)


def pack_delayed(task: Task) -> bytes:
    """Return the value of a delayed task's row, which names its host: its key does not."""
    return _pack([task], "")


def _pack(tasks: Sequence[Task], host: str) -> bytes:
    groups: list[PackedGroup] = []
    last, targets = tasks[0], list[str]()
    for task in tasks:
        url = task.url
        if not _are_alike(task, last):
            groups.append(_group(last, targets, host))
            last, targets = task, []
        targets.append(url.text[len(url.origin) :])
    groups.append(_group(last, targets, host))
    return _encoder.encode(groups)


def _are_alike(one: Task, other: Task) -> bool:
    """Return True if two tasks differ in nothing but what follows their origin."""
    return (
        one.via == other.via
        and one.url.origin == other.url.origin
        and one.kind is other.kind
        and one.depth == other.depth
        and one.attempt == other.attempt
        and one.hops == other.hops
        and one.nesting == other.nesting
        and one.labels == other.labels
        and one.rules == other.rules
    )


def _group(task: Task, targets: list[str], host: str) -> PackedGroup:
    via, origin = task.via, task.url.origin
    if via.startswith(origin) and via.startswith("/", len(origin)):
        via = via[len(origin) :]
    code: int | str = origin
    if host:
        code = 1 if origin == "https://" + host else 0 if origin == "http://" + host else origin
    lines = "\n".join(targets)
    how = task.attempt, task.hops, task.nesting
    return PackedGroup(via, task.depth, task.kind, *how, code, lines, task.labels, task.rules)


def unpack_tasks(value: bytes, host: str, grade: int) -> list[Task]:
    """Return the tasks of a packed row of one host."""
    tasks: list[Task] = []
    for group in _groups_decoder.decode(value):
        code, via, depth, kind = group.origin, group.via, group.depth, group.kind
        attempt, hops, nesting = group.attempt, group.hops, group.nesting
        labels, rules = group.labels, group.rules
        origin = code if isinstance(code, str) else f"{SCHEMES[code]}://{host}"
        page = origin + via if via.startswith("/") else via
        for target in group.targets.split("\n"):
            text = origin + target
            url = Url(text=text, host=host, origin=origin, key=fingerprint(text, host))
            task = Task(url, depth, page, kind, grade, attempt, hops, nesting, labels, rules)
            tasks.append(task)
    return tasks


def in_rows(tasks: Sequence[Task]) -> Iterable[Sequence[Task]]:
    """Cut tasks into portions of one packed row each."""
    for start in range(0, len(tasks), ROW_TASKS):
        yield tasks[start : start + ROW_TASKS]


def unpack_delayed(value: bytes) -> Task:
    """Return the one task of a delayed row."""
    origin = _groups_decoder.decode(value)[0].origin
    return unpack_tasks(value, host_in(str(origin)), 0)[0]


def host_in(origin: str) -> str:
    """Return the host of an origin that we stored ourselves."""
    authority = origin.partition("//")[2]
    if authority.endswith("]"):
        return authority
    return authority.rpartition(":")[0] if ":" in authority else authority


def put_tasks(key: HostKey, row: HostState, grade: int, tasks: Sequence[Task]) -> list[Row]:
    """Append tasks to a host's queue of one grade; return the rows to be written."""
    span = row.spans.setdefault(grade, Span())
    rows: list[Row] = []
    for portion in in_rows(tasks):
        rows.append((queue_key(key, grade, span.tail), pack_tasks(portion)))
        span.tail += 1
    row.queued += len(tasks)
    return rows


def take_tasks(
    key: HostKey,
    row: HostState,
    at_least: int,
    get: Callable[[bytes], bytes | None],
) -> tuple[list[Task], list[Row]]:
    """Take whole rows, best grade and oldest first, until there are enough; also their deletions.

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


def push_tasks(key: HostKey, row: HostState, grade: int, tasks: Sequence[Task]) -> list[Row]:
    """Put tasks onto a host's stack of one grade; return the rows to be written.

    The links of the page that came last lie on top, and of one page those that it has first.
    """
    span = row.spans.setdefault(grade, Span())
    rows: list[Row] = []
    for _, of_page in groupby(tasks, attrgetter("via")):
        links = list(of_page)
        for start in reversed(range(0, len(links), STACK_ROW_TASKS)):
            packed = pack_tasks(links[start : start + STACK_ROW_TASKS])
            rows.append((queue_key(key, grade, span.tail), packed))
            span.tail += 1
    row.queued += len(tasks)
    return rows


def pop_task(
    key: HostKey, row: HostState, get: Callable[[bytes], bytes | None]
) -> tuple[Task | None, list[Row]]:
    """Take the task on top of a host's stack of the best grade; also the rows that change."""
    rows: list[Row] = []
    while grade := row.best_grade():
        span = row.spans[grade]
        place = queue_key(key, grade, span.tail - 1)
        value = get(place)
        tasks = [] if value is None else unpack_tasks(value, row.name, grade)
        rows.append((place, pack_tasks(tasks[1:]) if tasks[1:] else None))
        if not tasks[1:]:
            span.tail -= 1
        if tasks:
            row.queued -= 1
            return tasks[0], rows
    return None, rows


CACHED_ROWS = 50_000
ABSENT_KEPT = 10_000


class HostStates:
    """Host rows by key. A changed row, or one in use, stays in memory: there is only one of it."""

    def __init__(self, read_row: Callable[[bytes], bytes | None]) -> None:
        self._read_row = read_row
        self._cache: OrderedDict[HostKey, HostState] = OrderedDict()
        self._changed: dict[HostKey, HostState] = {}
        self._in_use: dict[HostKey, HostState] = {}
        self._absent: set[HostKey] = set()
        """Hosts that are not in the state: of a new host several things are asked."""
        self.count = 0

    def load(self, rows: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[HostKey, HostState]]:
        """Yield every host's key and row at a start, and count them."""
        for key, value in rows:
            self.count += 1
            yield key[1:], decode_host(value)

    def row(self, host: str) -> HostState:
        """Return the row of a host, a new one if the host is unknown."""
        key = host_key(host)
        row = self.find(key)
        if row is None:
            row = HostState(name=host)
            self._absent.discard(key)
            self.count += 1
            self.change(key, row)
        return row

    def find(self, key: HostKey) -> HostState | None:
        """Return a host's row, or None if the host is unknown."""
        row = self._in_use.get(key) or self._cache.get(key) or self._changed.get(key)
        if row is None and key not in self._absent:
            value = self._read_row(host_row_key(key))
            if value is None:
                self._note_absent(key)
                return None
            row = decode_host(value)
            self._keep(key, row)
        return row

    def _note_absent(self, key: HostKey) -> None:
        if len(self._absent) >= ABSENT_KEPT:
            self._absent.clear()
        self._absent.add(key)

    def known_urls(self, host: str) -> int:
        """Return how many URLs of a host were ever taken in: what its budget counts."""
        row = self.find(host_key(host))
        return row.known if row is not None else 0

    def gap_s(self, host: str) -> float:
        """Return the last gap of a host, 0 if the host is unknown."""
        row = self.find(host_key(host))
        return row.gap_s if row is not None else 0.0

    def note_known(self, host: str, count: int = 1) -> None:
        """Count more URLs of a host."""
        row = self.row(host)
        row.known += count
        self.change(host_key(host), row)

    @property
    def has_changes(self) -> bool:
        """Return True if a row has changed since the last commit."""
        return bool(self._changed)

    def use(self, key: HostKey, row: HostState) -> None:
        """Keep a row in memory until it is released."""
        self._in_use[key] = row

    def release(self, key: HostKey) -> None:
        """Let go of a row that was in use."""
        self._keep(key, self._in_use.pop(key))

    def change(self, key: HostKey, row: HostState) -> None:
        """Note that a row has changed: it is written with the next commit."""
        self._changed[key] = row

    def hold(self, key: HostKey, row: HostState, until: float, reason: str) -> None:
        """Leave a host alone until a moment, or longer if it waits longer anyway."""
        if until > row.next_at:
            row.next_at, row.reason = until, reason
            self.change(key, row)

    def rows_to_commit(self) -> Iterator[Row]:
        """Yield the changed rows and forget that they changed."""
        changed, self._changed = self._changed, {}
        for key, row in changed.items():
            if key not in self._in_use:
                self._keep(key, row)
            yield host_row_key(key), encode_host(row)

    def _keep(self, key: HostKey, row: HostState) -> None:
        self._cache[key] = row
        if len(self._cache) > CACHED_ROWS:
            self._cache.popitem(last=False)
