"""Mercator's queues: of hosts that wait, by grade, and of the tasks of each host, on disk."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from gossamer.frontier.order import Order
from gossamer.frontier.rows import (
    HostState,
    HostStates,
    pack_tasks,
    pop_task,
    push_tasks,
    put_tasks,
    queue_key,
    take_tasks,
    unpack_tasks,
)
from gossamer.frontier.workbench import ActiveHost, DelayedTasks, EnqueueBuffer, Leases, Workbench
from gossamer.model import HostKey, Row, Task
from gossamer.urls import ring_of

KEY_BYTES = 11
CHUNK_BYTES = 4096 * KEY_BYTES
_WEIGHTS = [4.0**grade for grade in range(256)]
DRAWS = 8
"""Rows of a queue that are tried before the first one is taken: some were emptied by probes."""

IsSettled: TypeAlias = Callable[[Task], bool]
"""Returns True if a task's end is already on record."""


class ReadRows(Protocol):
    """What the frontier needs of the state: it reads rows, and hands back rows to be written."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys with a prefix and their values, in order."""


class HostFifo:
    """A first-in-first-out queue of host keys at 11 bytes each: millions of hosts may wait."""

    def __init__(self) -> None:
        self._chunks: deque[bytearray] = deque()
        self._taken = 0
        self.length = 0
        """Hosts that wait."""

    def push(self, host: HostKey) -> None:
        """Append a host."""
        if not self._chunks or len(self._chunks[-1]) >= CHUNK_BYTES:
            self._chunks.append(bytearray())
        self._chunks[-1] += host
        self.length += 1

    def pop(self) -> HostKey:
        """Take the host that waited longest."""
        chunk = self._chunks[0]
        host = bytes(chunk[self._taken : self._taken + KEY_BYTES])
        self._taken += KEY_BYTES
        self.length -= 1
        if self._taken >= len(chunk):
            self._chunks.popleft()
            self._taken = 0
        return host


class FrontQueues:
    """Waiting hosts by the grade of their best URL.

    A host whose best grade rises is pushed again; the entry left behind is stale and is skipped
    by the caller, who knows which hosts are active. So pushing never has to search.
    """

    def __init__(self, grades: int, random: Random, *, is_strict: bool = False) -> None:
        self._queues = [HostFifo() for _ in range(grades + 1)]
        self._random = random
        self._is_strict = is_strict
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def push(self, host: HostKey, grade: int) -> None:
        """Let a host wait in the queue of a grade."""
        self._queues[grade].push(host)
        self._length += 1

    def best_grade(self) -> int:
        """Return the highest grade in which a host waits, or 0."""
        for grade in range(len(self._queues) - 1, 0, -1):
            if self._queues[grade].length:
                return grade
        return 0

    def draw(self) -> tuple[HostKey, int] | None:
        """Take a host, and the grade for which it waited.

        The highest grade goes first if that is the order. Otherwise grade g is drawn with weight
        4^g among the queues that are not empty.
        """
        filled = [grade for grade, queue in enumerate(self._queues) if queue.length]
        if not filled:
            return None
        grade = filled[-1]
        if len(filled) > 1 and not self._is_strict:
            grade = self._random.choices(filled, [_WEIGHTS[grade] for grade in filled])[0]
        self._length -= 1
        return self._queues[grade].pop(), grade


class HostQueues:
    """The tasks of each host, queued, leased, delayed or just added, and their rows."""

    def __init__(self, rows: ReadRows, order: Order, is_settled: IsSettled) -> None:
        self._order, self._is_settled = order, is_settled
        self._rows = rows
        self._rewritten: dict[bytes, bytes | None] = {}
        """Rows of stacks that were changed since the last commit."""
        self._get = self._get_newest if order.is_newest_first else rows.get
        self.hosts = HostStates(rows.get)
        self.bench = Workbench(self.hosts, is_strict=order.is_strict)
        self.leases = Leases()
        self.delayed = DelayedTasks(rows.scan)
        self.new = EnqueueBuffer(order.grade)
        self._to_write: list[Row] = []
        """Rows for the next commit, but for those of hosts and of what is buffered."""
        self.on_disk = 0
        """Tasks in queue rows; old places of URLs that wait in a better one are not counted."""

    def _get_newest(self, key: bytes) -> bytes | None:
        """Return the value of a row as the next commit will have it."""
        return self._rewritten[key] if key in self._rewritten else self._rows.get(key)

    @property
    def has_rows(self) -> bool:
        """Return True if rows wait for the next commit, those of hosts not counted."""
        return bool(self._to_write)

    def write(self, rows: Iterable[Row]) -> None:
        """Let rows be written with the next commit."""
        self._to_write.extend(rows)

    def rows_to_commit(self) -> list[Row]:
        """Return all rows that changed since the last commit, those of hosts included."""
        rows, self._to_write = self._to_write, []
        self._rewritten.clear()
        rows.extend(self.hosts.rows_to_commit())
        return rows

    def load(self, row: HostState) -> None:
        """Count what is queued for a host, at a start."""
        self.on_disk += row.queued - row.copies

    def add(self, tasks: Iterable[Task], *, are_new: bool = False) -> None:
        """Queue tasks; they are on disk after the next commit."""
        for host, count in self.new.add(tasks).items():
            if are_new:
                self.hosts.note_known(host, count)
                self._order.note_known(ring_of(host), count)

    def add_unharmed(self, tasks: Iterable[Task]) -> None:
        """Queue tasks again that failed, or had no turn, through no fault of their own.

        Where a URL may be queued twice, one that was never charged could not be told from its old
        place in the queue, which is skipped: it has one attempt less.
        """
        has_credit = self._order.credit is not None
        self.add(
            replace(task, attempt=1) if has_credit and not task.attempt else task for task in tasks
        )

    def put(
        self, key: HostKey, row: HostState, grade: int, tasks: list[Task], *, are_copies: bool
    ) -> None:
        """Append tasks to a host's queue of one grade; copies wait in another one, too."""
        put_all = push_tasks if self._order.is_newest_first else put_tasks
        self.write(put_all(key, row, grade, tasks))
        if are_copies:
            row.copies += len(tasks)
        else:
            self.on_disk += len(tasks)

    def take(self, key: HostKey, row: HostState, wanted: int) -> list[Task]:
        """Take whole rows out of a host's queue until there are enough tasks, or none is left.

        In an order in which the newest goes first, take single tasks.
        """
        if self._order.is_newest_first:
            return self._pop(key, row, wanted)
        before = row.queued - row.copies
        tasks: dict[int, Task] = {}
        while len(tasks) < wanted and row.best_grade():
            taken, rows = take_tasks(key, row, wanted - len(tasks), self._get)
            self.write(rows)
            self._keep_fresh(row, taken, tasks)
        row.copies = min(row.copies, row.queued)
        self.on_disk += row.queued - row.copies - before
        self.hosts.change(key, row)
        return list(tasks.values())

    def _pop(self, key: HostKey, row: HostState, wanted: int) -> list[Task]:
        """Take tasks from the top of a host's stack."""
        tasks: list[Task] = []
        while len(tasks) < wanted:
            task, rows = pop_task(key, row, self._get)
            self._rewritten.update(rows)
            self.write(rows)
            if task is None:
                break
            tasks.append(task)
        self.on_disk -= len(tasks)
        self.hosts.change(key, row)
        return tasks

    def take_from(self, place: bytes, is_wanted: Callable[[Task], bool]) -> list[Task]:
        """Take some tasks out of a queue row; return those that had no turn from a better place."""
        key, value = place[1 : 1 + KEY_BYTES], self._get(place)
        row = self.hosts.find(key)
        if row is None or value is None:
            return []
        tasks = unpack_tasks(value, row.name, 255 - place[1 + KEY_BYTES])
        taken = [task for task in tasks if is_wanted(task)]
        left = [task for task in tasks if not is_wanted(task)]
        if not taken:
            return []
        packed = pack_tasks(left) if left else None
        self.write([(place, packed)])
        if self._order.is_newest_first:
            self._rewritten[place] = packed
        before, fresh = row.queued - row.copies, dict[int, Task]()
        row.queued -= len(taken)
        self._keep_fresh(row, taken, fresh)
        row.copies = min(row.copies, row.queued)
        self.on_disk += row.queued - row.copies - before
        self.hosts.change(key, row)
        return list(fresh.values())

    def draw(self, key: HostKey, row: HostState, random: Random) -> Task | None:
        """Take one task of a host: drawn at random, or the first if its rows are full of holes."""
        before = row.queued - row.copies
        task, rows = draw_task(key, row, self._get, random, self._is_fresh)
        self.write(rows)
        self.on_disk += row.queued - row.copies - before
        self.hosts.change(key, row)
        if task is None and row.queued > 0:
            tasks = self.take(key, row, 1)
            self.add(tasks[1:])
            return tasks[0] if tasks else None
        return task

    def lease(self, host: ActiveHost, tasks: Sequence[Task], *, is_first: bool = False) -> None:
        """Lease tasks of a host, to be committed before they are handed out."""
        lease, row = self.leases.take(host.key, host.row, tasks, is_first=is_first)
        self._to_write.append(row)
        self.hosts.change(host.key, host.row)
        self.bench.await_commit(host, lease)

    def settle(self, task: Task) -> None:
        """Note that a task has ended: what its URL was worth is spent."""
        if self._order.credit is not None:
            self._order.credit.credits.settle(task.url.key)

    def has_work(self, key: HostKey, row: HostState) -> bool:
        """Return True if a host has tasks that are queued, leased or under way."""
        host = self.bench.hosts.get(key)
        is_active = host is not None and (host.is_busy or host.leased > 0)
        return is_active or row.queued > row.copies or key in self.new.hosts

    def _keep_fresh(self, row: HostState, tasks: list[Task], into: dict[int, Task]) -> None:
        """Keep the tasks whose URL did not have its turn from a better place in the queue."""
        if self._order.credit is None and not row.copies:
            into.update((task.url.key, task) for task in tasks)
            return
        before = len(into)
        for task in tasks:
            key = task.url.key
            if not (key in into or key in self.leases.keys or self._is_settled(task)):
                into[key] = task
        row.copies = max(0, row.copies - len(tasks) + len(into) - before)

    def _is_fresh(self, task: Task) -> bool:
        """Return True if a queued task did not have its turn from a better place."""
        if self._order.credit is None:
            return True
        return not (task.url.key in self.leases.keys or self._is_settled(task))


def draw_task(
    host: HostKey,
    row: HostState,
    get: Callable[[bytes], bytes | None],
    random: Random,
    is_fresh: Callable[[Task], bool],
) -> tuple[Task | None, list[Row]]:
    """Take one task out of a host's queue, drawn at random over all its rows; also what changes.

    A row may have been emptied before, and a task may have had its turn from a better place: then
    another is drawn, a few times.
    """
    changed: dict[bytes, bytes | None] = {}
    for _ in range(DRAWS):
        places = sum(span.tail - span.head for span in row.spans.values())
        if places <= 0:
            break
        grade, sequence = _nth_place(row, random.randrange(places))
        place = queue_key(host, grade, sequence)
        value = changed[place] if place in changed else get(place)
        if value is None:
            continue
        tasks = unpack_tasks(value, row.name, grade)
        task = tasks.pop(random.randrange(len(tasks)))
        changed[place] = pack_tasks(tasks) if tasks else None
        row.queued -= 1
        if is_fresh(task):
            return task, list(changed.items())
        row.copies = max(0, row.copies - 1)
    return None, list(changed.items())


def _nth_place(row: HostState, number: int) -> tuple[int, int]:
    """Return grade and sequence of one of a host's queue rows, counted over all grades."""
    for grade, span in row.spans.items():
        if number < span.tail - span.head:
            return grade, span.head + number
        number -= span.tail - span.head
    raise IndexError(number)
