"""Frontier: add, next, settle. Which URL next, and when?"""

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from gossamer.config import FrontierConfig, PolitenessConfig
from gossamer.frontier.front import Front
from gossamer.frontier.hosts import Answer, HostTable, mend_clock, rest
from gossamer.frontier.importance import GRADE_BY_ORDER
from gossamer.frontier.intake import Intake
from gossamer.frontier.leases import Delayed, Leases
from gossamer.frontier.rows import (
    HOST,
    LEASE,
    least_depth,
    put_tasks,
    take_tasks,
    unpack_tasks,
)
from gossamer.frontier.workbench import ActiveHost, Workbench
from gossamer.model import HostKey, Row, Task
from gossamer.urls import host_key

ACTIVATE_AT_ONCE = 64


IsSettled: TypeAlias = Callable[[Task], bool]
"""Tells whether a task's end is already on record."""


class ReadRows(Protocol):
    """What the frontier needs of the state: it reads rows, and hands back rows to be written."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        ...

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Give keys with a prefix and their values, in order."""
        ...


class Frontier:
    """Waiting URLs of all hosts: on disk by host and grade, a few leased ones in memory.

    The caller dispatches what `next` gives, tells how it ended, and commits `rows_to_commit` in
    one batch with everything else; after `committed` the new leases may be dispatched.
    """

    def __init__(
        self, config: FrontierConfig, rules: PolitenessConfig, rows: ReadRows, random: Random
    ) -> None:
        self.at_least = 1
        """Hosts that are kept active while there are any (Mercator: three per fetch in flight)."""
        self._config, self._rules, self._rows = config, rules, rows
        self.hosts = HostTable(rows.get)
        self._front = Front(config.grades, random)
        self._bench = Workbench(self.hosts)
        self._leases = Leases()
        self._delayed = Delayed(rows.scan)
        grade_of = GRADE_BY_ORDER[config.order]
        self._intake = Intake(lambda depth: grade_of(depth, config.grades))
        self._pending: list[Row] = []
        self._on_disk = 0

    def recover(self, now: float, is_settled: IsSettled, *, all_wait: bool) -> None:
        """Build the frontier from its rows, after a clean stop or any death.

        Leased tasks that were not settled go back into their queues, and their hosts wait their
        full gap (after a reboot, `all_wait`, every host does). Commit it before dispatching.
        """
        leased = list(self._rows.scan(LEASE))
        with_lease = {key[1:12] for key, _ in leased}
        for key, value in leased:  # first in the queue: what was begun there is not done again
            self._front.push(key[1:12], self._intake.grade_of(least_depth(value)))
        for host, row in self.hosts.load(self._rows.scan(HOST)):
            self._on_disk += row.queued
            if mend_clock(row, self._rules, now, must_wait=all_wait or host in with_lease):
                self.hosts.change(host, row)
            if grade := row.best_grade():
                self._front.push(host, grade)
        for key, value in leased:
            self._pending.append((key, None))
            if (row_of_host := self.hosts.find(key[1:12])) is not None:
                tasks = unpack_tasks(value, row_of_host.name, 0)
                self.add([task for task in tasks if not is_settled(task)], are_new=False)
        if all_wait:
            self._pending += self._delayed.clamp(now)

    @property
    def queued(self) -> int:
        """Return how many URLs wait for their fetch or are leased."""
        return self._on_disk + self._delayed.count + self._leases.count + self._intake.count

    @property
    def active_hosts(self) -> int:
        """Return how many hosts have a back queue in memory."""
        return len(self._bench.hosts)

    @property
    def has_uncommitted(self) -> bool:
        """Tell whether there is anything that a commit would write."""
        return bool(
            self._bench.awaiting or self._intake.count or self._pending or self.hosts.has_changes
        )

    @property
    def has_leases_to_commit(self) -> bool:
        """Tell whether hosts wait for a commit of their leases."""
        return bool(self._bench.awaiting)

    def next_moment(self, *, is_first: bool = False) -> float | None:
        """Return when the next host or delayed task becomes ready, or None."""
        if is_first:
            return self._bench.next_moment(is_first=True)
        moments = (self._bench.next_moment(), self._delayed.next_due_at)
        return min((m for m in moments if m is not None), default=None)

    def add(self, tasks: Iterable[Task], *, are_new: bool = True) -> None:
        """Take tasks in; they are on disk after the next commit."""
        for host, count in self._intake.add(tasks).items():
            if are_new:
                self.hosts.note_known(host, count)

    def delay(self, task: Task, due_at: float) -> None:
        """Let one task wait for its next try; its lease ends here."""
        self._pending += self._leases.withdraw(task)
        self._pending.append(self._delayed.put(task, due_at))

    def lease_first(self, tasks: Iterable[Task]) -> None:
        """Lease tasks past the queues: they may be asked for after the next commit, before others.

        They are kept elsewhere. After a death their leases are told to be settled, and are gone.
        """
        by_host: dict[str, list[Task]] = {}
        for task in tasks:
            by_host.setdefault(task.url.host, []).append(task)
        for name, portion in by_host.items():
            row, key = self.hosts.row(name), host_key(name)
            host = self._bench.hosts.get(key) or self._bench.open(key, row)
            self._take_lease(host, portion, is_first=True)

    def next(self, now: float, *, is_first: bool = False) -> Task | None:
        """Take a task that may be asked for now; its host is busy until it is settled.

        None may also mean that leases wait for their commit: see `has_uncommitted`. With
        `is_first`, only tasks that were leased past the queues.
        """
        if is_first:
            host = self._bench.take_ready(now, is_first=True)
            return self._leases.hand_out(host.next_lease()) if host is not None else None
        if not self._pending:  # only committed rows can be woken
            for task, row in self._delayed.take_due(now):
                self._pending.append(row)
                self.add([task], are_new=False)
        if self.active_hosts < self.at_least:
            self._activate()
        while (host := self._bench.take_ready(now)) is not None:
            if host.waiting:
                if host.waiting * 4 <= self._config.lease_urls and not host.uncommitted:
                    self._lease(host)  # early, so that the host need not wait for a commit
                return self._leases.hand_out(host.next_lease())
            self._refill(host)
        self._activate()
        return None

    def _refill(self, host: ActiveHost) -> None:
        """Give an empty host new tasks, or let it go: it is off the bench and not busy."""
        if host.uncommitted or self._lease(host) or host.key in self._intake.hosts:
            self._bench.awaiting[host.key] = host
            return
        self._bench.remove(host)
        if grade := host.row.best_grade():
            self._front.push(host.key, grade)

    def _activate(self) -> None:
        """Draw waiting hosts onto the bench: as many as it takes until enough are ready."""
        drawn = 0
        while drawn < ACTIVATE_AT_ONCE and not (self._bench.is_full or self._leases.is_full):
            if (key := self._front.draw()) is None:
                return
            row = self.hosts.find(key)
            if key not in self._bench.hosts and row is not None and row.best_grade():
                drawn += 1
                self._refill(self._bench.open(key, row))

    def _lease(self, host: ActiveHost) -> bool:
        """Move whole queue rows of a host into a lease; tell whether there were any."""
        if self._leases.is_full or (host.taken >= self._config.quantum_urls and len(self._front)):
            return False
        tasks, rows = take_tasks(host.key, host.row, self._config.lease_urls, self._rows.get)
        self._pending += rows
        self._on_disk -= len(tasks)
        return bool(tasks) and self._take_lease(host, tasks)

    def _take_lease(self, host: ActiveHost, tasks: list[Task], *, is_first: bool = False) -> bool:
        lease, row = self._leases.take(host.key, host.row, tasks)
        lease.is_first = is_first
        self._pending.append(row)
        self.hosts.change(host.key, host.row)
        self._bench.await_commit(host, lease)
        return True

    def settle(self, task: Task, now: float, answer: Answer | None) -> None:
        """End a task's turn at its host; no answer means no request, so that no gap is due."""
        host = self._bench.hosts[host_key(task.url.host)]
        if answer is not None:
            rest(host.row, self._rules, now, answer)
            self.hosts.change(host.key, host.row)
        self._bench.release(host)

    def reserve(self, host: str, now: float) -> float | None:
        """Make a host busy until it is settled; None when done, else when to ask again."""
        return self._bench.reserve(host_key(host), self.hosts.row(host), now)

    def put_back(
        self, task: Task, until: float, reason: str, *, is_of_origin: bool = False
    ) -> None:
        """Return a task to the head of its host's queue; the host waits until a moment.

        If the reason is of its origin alone and others have work, only it waits. Settle it, too.
        """
        host = self._bench.hosts[host_key(task.url.host)]
        if is_of_origin and host.has_work_besides(task.url.origin):
            self.delay(task, until)
            return
        self._leases.take_back(task)
        host.was_given_back()
        self.hosts.hold(host.key, host.row, until, reason)

    def conclude(self, task: Task) -> None:
        """End a task's lease: its URL record goes into the same commit."""
        self._pending += self._leases.conclude(task)

    def rows_to_commit(self) -> list[Row]:
        """Give all rows that changed since the last commit."""
        for key, grade, tasks in self._intake.drain():
            self._store_intake(key, grade, tasks)
        rows, self._pending = self._pending, []
        rows.extend(self.hosts.rows_to_commit())
        return rows

    def _store_intake(self, key: HostKey, grade: int, tasks: list[Task]) -> None:
        host = self._bench.hosts.get(key)
        row = self.hosts.row(tasks[0].url.host)
        self.hosts.change(key, row)
        if (
            host is not None
            and not row.queued
            and not self._leases.is_full
            and host.leased + len(tasks) <= self._config.lease_urls
        ):
            self._take_lease(host, [replace(task, grade=grade) for task in tasks])
            return
        if host is None and grade > row.best_grade():
            self._front.push(key, grade)
        self._pending += put_tasks(key, row, grade, tasks)
        self._on_disk += len(tasks)

    def committed(self) -> None:
        """Let new leases go: the last rows are in the state."""
        self._bench.committed()
