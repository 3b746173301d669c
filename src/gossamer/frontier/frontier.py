"""Frontier: add, next, settle. Which URL next, and when?"""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Protocol

from gossamer.config import FrontierConfig, PolitenessConfig
from gossamer.frontier.front import Front
from gossamer.frontier.hosts import HostAnswer, HostTable, mend_clock, rest
from gossamer.frontier.leases import Delayed
from gossamer.frontier.order import GRADES, Order, breadth_first
from gossamer.frontier.rows import HOST, LEASE, unpack_tasks
from gossamer.frontier.supply import IsSettled, Supply
from gossamer.model import LinkKind, Row, Task
from gossamer.urls import host_key, ring_of


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
        self,
        config: FrontierConfig,
        rules: PolitenessConfig,
        rows: ReadRows,
        random: Random,
        order: Order | None = None,
        *,
        at_least: int = 1,
        is_settled: IsSettled = lambda _task: False,
    ) -> None:
        """Keep `at_least` hosts active while there are any (Mercator: three per fetch in flight).

        `is_settled` is asked of tasks whose URL may be queued twice.
        """
        self._at_least = at_least
        self._config, self._rules, self._rows = config, rules, rows
        self.order = order or breadth_first(config.grades)
        self.hosts = HostTable(rows.get)
        front = Front(max(GRADES, config.grades), random, is_strict=self.order.is_strict)
        self.supply = Supply(config, self.order, self.hosts, front, rows.get, is_settled)
        self._bench, self._leases = self.supply.bench, self.supply.leases
        self._delayed = Delayed(rows.scan)

    def recover(self, now: float, is_settled: IsSettled, *, all_wait: bool) -> None:
        """Build the frontier from its rows, after a clean stop or any death.

        Leased tasks that were not settled go back into their queues, and their hosts wait their
        full gap (after a reboot, `all_wait`, every host does). Commit it before dispatching.
        """
        supply = self.supply
        leased = list(self._rows.scan(LEASE))
        with_lease = {key[1:12] for key, _ in leased}
        for key in with_lease:  # first in the queue: what was begun there is not done again
            supply.front.push(key, max(GRADES, self._config.grades))
        for host, row in self.hosts.load(self._rows.scan(HOST)):
            supply.on_disk += row.queued - row.copies
            self.order.note_known(int.from_bytes(host[:3], "big"), row.known)
            if mend_clock(row, self._rules, now, must_wait=all_wait or host in with_lease):
                self.hosts.change(host, row)
            if grade := row.best_grade():
                supply.front.push(host, grade)
        for key, value in leased:
            supply.pending.append((key, None))
            if (row_of_host := self.hosts.find(key[1:12])) is not None:
                tasks = unpack_tasks(value, row_of_host.name, 0)
                self.add([task for task in tasks if not is_settled(task)], are_new=False)
        if all_wait:
            supply.pending += self._delayed.clamp(now)

    @property
    def queued(self) -> int:
        """Return how many URLs wait for their fetch or are leased."""
        return (
            self.supply.on_disk
            + self._delayed.count
            + self._leases.count
            + self.supply.intake.count
        )

    @property
    def active_hosts(self) -> int:
        """Return how many hosts have a back queue in memory."""
        return len(self._bench.hosts)

    @property
    def has_uncommitted(self) -> bool:
        """Return True if there is anything that a commit would write."""
        return bool(
            self._bench.awaiting
            or self.supply.intake.count
            or self.supply.risen.count
            or self.supply.pending
            or self.hosts.has_changes
        )

    @property
    def has_leases_to_commit(self) -> bool:
        """Return True if hosts wait for a commit of their leases."""
        return bool(self._bench.awaiting)

    def next_moment(self, *, is_first: bool = False) -> float | None:
        """Return when the next host or delayed task becomes ready, or None."""
        if is_first:
            return self._bench.next_moment(is_first=True)
        moments = (self._bench.next_moment(), self._delayed.next_due_at)
        return min((m for m in moments if m is not None), default=None)

    def add(self, tasks: Iterable[Task], *, are_new: bool = True) -> None:
        """Take tasks in; they are on disk after the next commit."""
        for host, count in self.supply.intake.add(tasks).items():
            if are_new:
                self.hosts.note_known(host, count)
                self.order.note_known(ring_of(host), count)

    def promote(self, tasks: Iterable[Task]) -> None:
        """Let queued URLs that are worth more by now wait in a better place."""
        self.supply.risen.add(tasks)

    def delay(self, task: Task, due_at: float) -> None:
        """Let one task wait for its next try; its lease ends here."""
        self.supply.pending += self._leases.withdraw(task)
        self.supply.pending.append(self._delayed.put(task, due_at))

    def next(self, now: float, *, is_first: bool = False) -> Task | None:
        """Take a task that may be asked for now; its host is busy until it is settled.

        None may also mean that leases wait for their commit: see `has_uncommitted`. With
        `is_first`, only tasks that were leased past the queues.
        """
        if is_first:
            host = self._bench.take_ready(now, is_first=True)
            return self._leases.hand_out(host.next_lease()) if host is not None else None
        if not self.supply.pending:  # only committed rows can be woken
            for task, row in self._delayed.take_due(now):
                self.supply.pending.append(row)
                self.add([task], are_new=False)
        if self.active_hosts < self._at_least:
            self.supply.activate()
        while (host := self._bench.take_ready(now)) is not None:
            if host.waiting:
                if host.waiting * 4 <= self.supply.lease_urls and not host.uncommitted:
                    self.supply.lease(host)  # early, so that the host need not wait for a commit
                return self._leases.hand_out(host.next_lease())
            self.supply.refill(host)
        self.supply.activate()
        return None

    def settle(self, task: Task, now: float, answer: HostAnswer | None) -> None:
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
        is_queued = task.kind is not LinkKind.REVISIT  # a revisit waits in no row but its lease
        if is_of_origin and is_queued and host.has_work_besides(task.url.origin):
            self.delay(task, until)
            return
        self._leases.take_back(task)
        host.was_given_back()
        self.hosts.hold(host.key, host.row, until, reason)

    def conclude(self, task: Task) -> None:
        """End a task's lease: its URL record goes into the same commit."""
        self.supply.pending += self._leases.conclude(task)
        if self.order.credit is not None:
            self.order.credit.credits.settle(task.url.key)

    def rows_to_commit(self) -> list[Row]:
        """Give all rows that changed since the last commit."""
        rows = self.supply.rows()
        rows.extend(self.hosts.rows_to_commit())
        return rows

    def committed(self) -> None:
        """Let new leases go: the last rows are in the state."""
        self._bench.committed()
        self._leases.committed()
