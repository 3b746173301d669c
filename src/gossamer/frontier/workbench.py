"""Active hosts, ordered by the earliest moment at which each may be asked again."""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import NamedTuple, TypeAlias

from gossamer.frontier.hosts import HostTable
from gossamer.frontier.leases import Lease
from gossamer.frontier.rows import HostRow
from gossamer.model import HostKey

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


def kind_of(row: HostRow) -> HostKind:
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
    row: HostRow
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

    def __init__(self, table: HostTable, *, is_strict: bool = False) -> None:
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

    def open(self, key: HostKey, row: HostRow) -> ActiveHost:
        """Make a host active; it is on nobody's list yet."""
        self._table.use(key, row)
        self.hosts[key] = host = ActiveHost(key=key, row=row)
        return host

    def reserve(self, key: HostKey, row: HostRow, now: float) -> float | None:
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

    def next_host(self) -> HostRow | None:
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
