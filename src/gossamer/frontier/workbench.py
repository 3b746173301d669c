"""Active hosts, ordered by the earliest moment at which each may be asked again.

And tasks that are in no queue: out on a lease, waiting for a moment, or just added.
"""

import heapq
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import NamedTuple, TypeAlias

from gossamer.frontier.rows import (
    DELAYED,
    HostState,
    HostStates,
    delayed_key,
    due_moment,
    lease_key,
    pack_delayed,
    pack_tasks,
    unpack_delayed,
    url_key_in,
)
from gossamer.model import HostKey, Row, Task
from gossamer.urls import host_key

MAX_LEASED = 500_000
"""Tasks in memory at most, but for one lease per host in flight; each takes 250 bytes."""
WAKE_AT_ONCE = 1000
LONGEST_WAIT_S = 86_400.0
"""No try is ever put off for longer: the longest Retry-After that is obeyed."""


@dataclass(slots=True)
class Lease:
    """Tasks of one host that were taken from disk together."""

    key: bytes
    """Of its row."""
    tasks: list[Task]
    """Those that were not handed out yet; the next one is the last."""
    left: int
    """Tasks that are not concluded, those that were handed out included."""
    is_first: bool = False
    """Goes before the host's other leases, and before other hosts."""


class Leases:
    """Open leases, and which of them each task that was handed out belongs to.

    A lease row is written once and deleted when the last of its tasks is concluded. In between a
    concluded task is known by its URL record, so a lease costs two writes however long it is. Only
    a task that leaves without a final record (to wait for its next try) has the row rewritten.
    """

    def __init__(self) -> None:
        self._out: dict[int, tuple[Lease, Task]] = {}
        self.keys: set[int] = set()
        """Of the URLs under lease, and of those that ended since the last commit: their records
        cannot be read yet."""
        self._ended: list[int] = []
        self.count = 0
        """Tasks under lease that are not concluded."""

    @property
    def is_full(self) -> bool:
        """Return True if no more tasks should be taken into memory."""
        return self.count >= MAX_LEASED

    def take(
        self, host: HostKey, row: HostState, tasks: Sequence[Task], *, is_first: bool = False
    ) -> tuple[Lease, Row]:
        """Lease tasks of a host; also the row that must be committed before they are used."""
        row.lease_sequence += 1
        key = lease_key(host, row.lease_sequence)
        self.count += len(tasks)
        self.keys.update([task.url.key for task in tasks])
        lease = Lease(key, list(reversed(tasks)), len(tasks), is_first)
        return lease, (key, pack_tasks(tasks))

    def hand_out(self, lease: Lease) -> Task:
        """Return the next task of a lease that has one."""
        task = lease.tasks.pop()
        self._out[task.url.key] = lease, task
        return task

    def take_back(self, task: Task) -> None:
        """Put a task that was handed out, or its like, back to the head of its lease."""
        lease, _ = self._out.pop(task.url.key)
        lease.tasks.append(task)

    def conclude(self, task: Task) -> Sequence[Row]:
        """End a task's lease; return the deletion of its row if it was the last of it."""
        found = self._out.pop(task.url.key, None)
        return () if found is None else self._end_one(found[0], task)

    def withdraw(self, task: Task) -> Sequence[Row]:
        """Take a task out of its lease, in the row too; return the row to be written."""
        found = self._out.pop(task.url.key, None)
        if found is None:
            return ()
        lease, _ = found
        if deletion := self._end_one(lease, task):
            return deletion
        out = [other for of, other in self._out.values() if of is lease]
        return ((lease.key, pack_tasks([*out, *reversed(lease.tasks)])),)

    def end(self, lease: Lease) -> Sequence[Row]:
        """End a lease of which no task is out; return the deletion of its row."""
        self._ended += [task.url.key for task in lease.tasks]
        self.count -= lease.left
        lease.tasks.clear()
        return ((lease.key, None),)

    def end_some(self, lease: Lease, tasks: Sequence[Task]) -> Sequence[Row]:
        """End tasks of a lease that were not handed out; their records go into the same commit."""
        keys = {task.url.key for task in tasks}
        lease.tasks = [task for task in lease.tasks if task.url.key not in keys]
        return [row for task in tasks for row in self._end_one(lease, task)]

    def committed(self) -> None:
        """Forget the URLs whose leases ended: their ends are on record."""
        self.keys.difference_update(self._ended)
        self._ended.clear()

    def _end_one(self, lease: Lease, task: Task) -> Sequence[Row]:
        self._ended.append(task.url.key)
        self.count -= 1
        lease.left -= 1
        return () if lease.left else ((lease.key, None),)


class DelayedTasks:
    """The delayed rows of the state; in memory there is only their number and the next moment."""

    def __init__(self, scan: Callable[[bytes], Iterator[tuple[bytes, bytes]]]) -> None:
        self._scan = scan
        self.count = 0
        self.next_due_at: float | None = None
        for key, _ in scan(DELAYED):
            self.count += 1
            if self.next_due_at is None:
                self.next_due_at = due_moment(key)

    def clamp(self, now: float) -> Iterator[Row]:
        """Bring moments nearer that only a clock set back can have put so far ahead."""
        for key, value in self._scan(DELAYED):
            if due_moment(key) > now + LONGEST_WAIT_S:
                self.next_due_at = now
                yield key, None
                yield delayed_key(now, url_key_in(key)), value

    def hasten(self, keys: Container[int], now: float) -> Iterator[Row]:
        """Let tasks of some URLs wait no longer; yield the rows to be written."""
        for key, value in self._scan(DELAYED):
            if (url_key := url_key_in(key)) in keys and due_moment(key) > now:
                self.next_due_at = now
                yield key, None
                yield delayed_key(now, url_key), value

    def take_out(self, is_wanted: Callable[[Task], bool]) -> Iterator[tuple[Task, Row]]:
        """Yield tasks that shall wait no longer, each with the deletion of its row."""
        for key, value in self._scan(DELAYED):
            if is_wanted(task := unpack_delayed(value)):
                self.count -= 1
                yield task, (key, None)

    def next_host(self) -> str:
        """Return the host of the task that is due first; "" if that is not committed yet."""
        for key, value in self._scan(DELAYED):
            if due_moment(key) == self.next_due_at:
                return unpack_delayed(value).url.host
            break
        return ""

    def put(self, task: Task, due_at: float) -> Row:
        """Let a task wait; return the row to be written."""
        self.count += 1
        if self.next_due_at is None or due_at < self.next_due_at:
            self.next_due_at = due_at
        return delayed_key(due_at, task.url.key), pack_delayed(task)

    def take_due(self, now: float) -> Iterator[tuple[Task, Row]]:
        """Yield the tasks whose moment has come, each with the deletion of its row.

        Only committed rows are seen: call it when nothing is waiting to be written.
        """
        if self.next_due_at is None or self.next_due_at > now:
            return
        self.next_due_at = None
        for taken, (key, value) in enumerate(self._scan(DELAYED)):
            if (due_at := due_moment(key)) > now or taken == WAKE_AT_ONCE:
                self.next_due_at = due_at
                return
            self.count -= 1
            yield unpack_delayed(value), (key, None)


class EnqueueBuffer:
    """Tasks that were added since the last commit, by host and grade."""

    def __init__(self, grade_of: Callable[[Task], int]) -> None:
        self._grade_of = grade_of
        self._tasks: dict[tuple[HostKey, int], list[Task]] = {}
        self.hosts: set[HostKey] = set()
        self.count = 0

    def add(self, tasks: Iterable[Task]) -> dict[str, int]:
        """Add tasks; return how many there were of each host."""
        counts: dict[str, int] = {}
        for task in tasks:
            host = task.url.host
            key = host_key(host)
            self._tasks.setdefault((key, self._grade_of(task)), []).append(task)
            self.hosts.add(key)
            counts[host] = counts.get(host, 0) + 1
        self.count += sum(counts.values())
        return counts

    def drain(self) -> Iterator[tuple[HostKey, int, list[Task]]]:
        """Yield everything by host and grade, and be empty."""
        tasks, self._tasks, self.hosts, self.count = self._tasks, {}, set(), 0
        for (key, grade), portion in tasks.items():
            yield key, grade, portion


BUSY_RETRY_S = 0.1
MAX_ACTIVE = 100_000
"""Hosts on the bench at most: what 1,000 pages a second need at gaps of 100 seconds."""


class HostKind(Enum):
    """What may be expected of a host."""

    ANSWERED = "answered"
    NEW = "new"
    """It has never answered anything."""
    PARKED = "parked"
    """It is down; whatever is asked is a probe."""

    __hash__ = object.__hash__  # Enum's own is a function in Python, called for every look-up


def kind_of(row: HostState) -> HostKind:
    """Return what may be expected of a host."""
    if row.outage is not None and row.outage.is_parked:
        return HostKind.PARKED
    return HostKind.ANSWERED if row.answered_at else HostKind.NEW


class Openings(NamedTuple):
    """To which hosts a request may be begun, and which of them go first."""

    kinds: tuple[HostKind, ...]
    first: HostKind | None = None


ALL_HOSTS = Openings(tuple(HostKind))

_Heap: TypeAlias = list[tuple[float, int, HostKey]]


@dataclass(slots=True, kw_only=True)
class ActiveHost:
    """A host with a back queue in memory: its row, and the tasks that are leased from disk.

    There may be 100,000 of them, so it holds little: no queue object, no timer, no coroutine.
    """

    key: HostKey
    row: HostState
    leases: list[Lease] = field(default_factory=list)
    """In the state: their tasks may be asked for, those of the first lease first."""
    uncommitted: list[Lease] = field(default_factory=list)
    """Not yet in the state: their tasks may not."""
    waiting: int = 0
    """Tasks of `leases` that were not handed out."""
    is_busy: bool = False
    """A request to this host is in flight."""
    taken: int = 0
    """Tasks handed out since the host became active."""
    ticket: int = 0
    """Number of the host's valid entry in the heap; an entry with another number is stale."""

    def next_lease(self) -> Lease:
        """Return the lease that the next task comes from; the host is busy with it."""
        self.is_busy = True
        self.taken += 1
        self.waiting -= 1
        while not self.leases[0].tasks:
            del self.leases[0]
        return self.leases[0]

    def has_work_besides(self, origin: str) -> bool:
        """Return True if a leased task belongs to another origin (scheme or port) of the host."""
        return any(task.url.origin != origin for lease in self.leases for task in lease.tasks)

    def was_given_back(self) -> None:
        """Note that the task that was handed out last is back in its lease."""
        self.taken -= 1
        self.waiting += 1

    def best_grade(self) -> int:
        """Return the best grade of its tasks, leased or queued.

        The task that comes next may have less: if that counted, a lease taken long ago would keep
        a host back whose queue has become the best of all.
        """
        leased = [task.grade for lease in self.leases for task in lease.tasks]
        return max(self.row.best_grade(), *leased) if leased else self.row.best_grade()

    @property
    def is_first(self) -> bool:
        """Return True if its next task goes before those of other hosts."""
        for lease in self.leases:
            if lease.tasks:
                return lease.is_first
        return False

    @property
    def leased(self) -> int:
        """Return how many tasks lie in its leases and were not handed out."""
        return self.waiting + sum(len(lease.tasks) for lease in self.uncommitted)


class Ready:
    """Hosts that may be asked now, by the best grade of their tasks.

    A host whose grade rises gets a second entry; the entry of its old grade is skipped.
    """

    def __init__(self) -> None:
        self._entries: dict[int, deque[tuple[int, ActiveHost]]] = {}
        self._valid: dict[HostKey, tuple[int, int]] = {}
        """Grade and ticket of each host's valid entry. A host with another ticket is not here: it
        is busy, or leaves its server alone."""

    def put(self, host: ActiveHost) -> None:
        """Take in a host that came off the heap; its ticket stays valid."""
        grade = host.best_grade()
        self._valid[host.key] = grade, host.ticket
        self._entries.setdefault(grade, deque()).append((host.ticket, host))

    def rise(self, host: ActiveHost) -> None:
        """Let a host move up if it is here and its tasks are worth more by now."""
        if host.key in self._valid:
            grade, ticket = self._valid[host.key]
            if ticket == host.ticket and host.best_grade() > grade:
                self.put(host)

    def best_grade(self) -> int:
        """Return the highest grade of a host that is here; -1 if none is."""
        while self._entries:
            grade = max(self._entries)
            entries = self._entries[grade]
            while entries:
                ticket, host = entries[0]
                if self._valid.get(host.key) == (grade, ticket):
                    if host.ticket == ticket:
                        return grade
                    del self._valid[host.key]
                entries.popleft()
            del self._entries[grade]
        return -1

    def take(self) -> ActiveHost | None:
        """Take a host of the highest grade, the one that came first."""
        grade = self.best_grade()
        if grade < 0:
            return None
        _, host = self._entries[grade].popleft()
        del self._valid[host.key]
        return host


class Workbench:
    """Hosts that have work, ordered by when they may next be asked.

    Invariant: an active host is on the bench, leased or idle, never two of these.

    - On the bench it has one valid entry, whose number is its `ticket`: in the heap of its kind
      until its moment has come; in a strict order `take_ready` then moves it to `Ready`, where it
      waits for its turn by grade. Every other entry of the host is stale and skipped.
    - Leased to whoever took it (`take_ready`, `reserve`), it has no ticket and is busy as soon as
      a task of it is handed out. Nobody can reach it a second time: one connection per host
      follows from ownership, not from a lock.
    - Idle, it has no ticket and is not busy: the next commit lays it back on the bench.

    Besides, a host in any of the three may await a commit of leases. One that is not active waits
    in the front queues.
    """

    def __init__(self, table: HostStates, *, is_strict: bool = False) -> None:
        self._table = table
        self._ready = {kind: Ready() for kind in HostKind} if is_strict else None
        self.hosts: dict[HostKey, ActiveHost] = {}
        """The active hosts."""
        self.awaiting: dict[HostKey, ActiveHost] = {}
        """Hosts with something that only a commit will let go."""
        self._heaps: dict[HostKind, _Heap] = {kind: [] for kind in HostKind}
        """By kind, which does not change while a host is on the bench."""
        self._first: _Heap = []
        """The same of hosts whose next task goes before those of others."""
        self._tickets = 0

    @property
    def is_full(self) -> bool:
        """Return True if no more hosts should become active."""
        return len(self.hosts) >= MAX_ACTIVE

    def open(self, key: HostKey, row: HostState) -> ActiveHost:
        """Make a host active; it is on nobody's list yet."""
        self._table.use(key, row)
        self.hosts[key] = host = ActiveHost(key=key, row=row)
        return host

    def reserve(self, key: HostKey, row: HostState, now: float) -> float | None:
        """Make a host busy outside its queue; None when done, else when to ask again."""
        host = self.hosts.get(key)
        if host is not None and host.is_busy:
            return now + BUSY_RETRY_S
        if row.next_at > now:
            return row.next_at
        host = host or self.open(key, row)
        host.is_busy, host.ticket = True, 0
        return None

    def put(self, host: ActiveHost) -> None:
        """Lay a host on the bench; it is ready from its row's `next_at` on."""
        self._tickets += 1
        host.ticket = self._tickets
        heap = self._first if host.is_first else self._heaps[kind_of(host.row)]
        heapq.heappush(heap, (host.row.next_at, self._tickets, host.key))

    def take_ready(
        self, now: float, open_to: Openings = ALL_HOSTS, *, is_first: bool = False
    ) -> ActiveHost | None:
        """Take a host off the bench, if any is ready: the one that has been ready longest.

        In a strict order it is the one whose best task has the highest grade. With `is_first`, only
        one whose next task goes before those of others.
        """
        host = self._take_earliest(self._first, now) if self._first else None
        if host is None and not is_first:
            first = open_to.first
            if first is not None and (self._ready is not None or self._heaps[first]):
                host = self._take_usual(now, (first,))
            if host is None:
                host = self._take_usual(now, open_to.kinds)
        if host is not None:
            host.ticket = 0
        return host

    def ready_kinds(self, now: float) -> set[HostKind]:
        """Return of which kinds hosts are ready."""
        found = {kind for kind, heap in self._heaps.items() if self._earliest(heap)[0] <= now}
        if self._ready is not None:
            found |= {kind for kind, ready in self._ready.items() if ready.best_grade() >= 0}
        return found

    def rise(self, host: ActiveHost) -> None:
        """Note that a host has a new task: in a strict order it may now go before others."""
        if self._ready is not None:
            self._ready[kind_of(host.row)].rise(host)

    def _take_usual(self, now: float, kinds: Sequence[HostKind]) -> ActiveHost | None:
        if self._ready is None:
            earliest, heap = (inf, 0), self._first
            for kind in kinds:  # for every request: most often all heaps but one are empty
                of_kind = self._heaps[kind]
                if of_kind and (first := self._earliest(of_kind)) < earliest:
                    earliest, heap = first, of_kind
            return self.hosts[heapq.heappop(heap)[2]] if earliest[0] <= now else None
        for kind in kinds:
            while (host := self._take_earliest(self._heaps[kind], now)) is not None:
                self._ready[kind].put(host)
        ready = [self._ready[kind] for kind in kinds]
        best = max(ready, key=Ready.best_grade, default=None)
        return best.take() if best is not None else None

    def _earliest(self, heap: _Heap) -> tuple[float, int]:
        """Return moment and ticket of a heap's first host; stale entries before it are dropped."""
        while heap:
            moment, ticket, key = heap[0]
            host = self.hosts.get(key)
            if host is not None and host.ticket == ticket:
                return moment, ticket
            heapq.heappop(heap)
        return inf, 0

    def _take_earliest(self, heap: _Heap, now: float) -> ActiveHost | None:
        while heap and heap[0][0] <= now:
            _, ticket, key = heapq.heappop(heap)
            host = self.hosts.get(key)
            if host is not None and host.ticket == ticket:
                return host
        return None

    def release(self, host: ActiveHost) -> None:
        """Lay a busy host back, unless it has nothing to do before the next commit."""
        host.is_busy = False
        if host.key not in self.awaiting or host.waiting:
            self.put(host)

    def await_commit(self, host: ActiveHost, lease: Lease | None = None) -> None:
        """Keep a host for the next commit; a lease that it is given may be used after it."""
        if lease is not None:
            host.uncommitted.append(lease)
        self.awaiting[host.key] = host

    def committed(self) -> None:
        """Let leases go that were committed."""
        awaiting, self.awaiting = self.awaiting, {}
        for host in awaiting.values():
            has_first = any(lease.is_first for lease in host.uncommitted)
            if host.uncommitted:
                host.waiting = host.leased
                host.leases += host.uncommitted
                host.uncommitted.clear()
            if has_first:
                host.leases.sort(key=lambda lease: not lease.is_first)
            if not host.is_busy and (has_first or not host.ticket):
                self.put(host)

    def remove(self, host: ActiveHost) -> None:
        """Forget a host that has no work left."""
        del self.hosts[host.key]
        self._table.release(host.key)
        host.ticket = 0

    def set_aside(self, host: ActiveHost) -> list[Lease]:
        """Take a host that is not busy off the bench; return the leases that it no longer has.

        One with tasks that go before others stays for these alone, on the bench or awaiting.
        """
        given = [lease for lease in (*host.leases, *host.uncommitted) if not lease.is_first]
        host.leases = [lease for lease in host.leases if lease.is_first]
        host.uncommitted = [lease for lease in host.uncommitted if lease.is_first]
        host.waiting = sum(len(lease.tasks) for lease in host.leases)
        if host.waiting:
            self.put(host)
        elif not host.uncommitted:
            self.awaiting.pop(host.key, None)
            self.remove(host)
        return given

    def next_host(self) -> HostState | None:
        """Return the host that becomes ready first, of those that wait for their moment."""
        heaps = [heap for heap in (self._first, *self._heaps.values()) if self._earliest(heap)[1]]
        if not heaps:
            return None
        return self.hosts[min(heaps, key=self._earliest)[0][2]].row

    def next_moment(self, open_to: Openings = ALL_HOSTS, *, is_first: bool = False) -> float | None:
        """Return when the next host becomes ready, or None if none waits for its moment.

        It does not know hosts in `Ready`: their moment has come. So ask after `take_ready` has
        given None, which empties `Ready`, or while no request may be begun anyway.
        """
        heaps = [] if is_first else [self._heaps[kind] for kind in open_to.kinds]
        moment, _ = min(map(self._earliest, (self._first, *heaps)))
        return moment if moment < inf else None
