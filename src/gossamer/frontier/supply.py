"""Supply: waiting hosts onto the bench, waiting tasks into leases; what the front and rows give."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from gossamer.config import FrontierConfig
from gossamer.frontier.front import Front
from gossamer.frontier.hosts import HostTable
from gossamer.frontier.intake import Intake
from gossamer.frontier.leases import Leases
from gossamer.frontier.order import Order
from gossamer.frontier.rows import HostRow, put_tasks, take_tasks
from gossamer.frontier.workbench import ActiveHost, Workbench
from gossamer.model import HostKey, Row, Task
from gossamer.urls import host_key

ACTIVATE_AT_ONCE = 64
STRICT_LEASE_URLS = 8
"""URLs leased at a time in a strict order: what is leased does not give way to what is better."""

IsSettled: TypeAlias = Callable[[Task], bool]
"""Returns True if a task's end is already on record."""


class Supply:
    """Moves tasks of waiting hosts from their rows to the bench, and new ones to their rows."""

    def __init__(
        self,
        config: FrontierConfig,
        order: Order,
        hosts: HostTable,
        front: Front,
        get: Callable[[bytes], bytes | None],
        is_settled: IsSettled,
    ) -> None:
        self.is_settled = is_settled
        """Asked of tasks whose URL may be queued twice; only an order with credit does that."""
        self.order, self.front, self.hosts = order, front, hosts
        self.bench = Workbench(hosts, is_strict=order.is_strict)
        self.leases = Leases()
        self.intake = Intake(order.grade)
        self.risen = Intake(order.grade)
        """Tasks whose URLs are queued already and are worth more by now."""
        self.pending: list[Row] = []
        self.on_disk = 0
        """Tasks in queue rows; old places of URLs that wait in a better one are not counted."""
        self.lease_urls = config.lease_urls
        """URLs of one host that are taken from disk at a time."""
        if order.is_strict:
            self.lease_urls = min(config.lease_urls, STRICT_LEASE_URLS)
        self._config, self._get = config, get

    def refill(self, host: ActiveHost) -> None:
        """Give an empty host new tasks, or let it go: it is off the bench and not busy."""
        if host.uncommitted or self.lease(host) or host.key in self.intake.hosts:
            self.bench.awaiting[host.key] = host
            return
        self.bench.remove(host)
        if grade := host.row.best_grade():
            self.front.push(host.key, grade)

    def activate(self) -> None:
        """Draw waiting hosts onto the bench: as many as it takes until enough are ready."""
        drawn = 0
        while drawn < ACTIVATE_AT_ONCE and not (self.bench.is_full or self.leases.is_full):
            if (found := self.front.draw()) is None:
                return
            key, grade = found
            row = self.hosts.find(key)
            if key in self.bench.hosts or row is None or not (best := row.best_grade()):
                continue
            if self.order.is_strict and best < grade:
                self.front.push(key, best)  # what it was pushed for is gone
                continue
            drawn += 1
            self.refill(self.bench.open(key, row))

    def lease(self, host: ActiveHost) -> bool:
        """Move whole queue rows of a host into a lease; return True if there were any."""
        if self.leases.is_full or self._must_make_room(host):
            return False
        row, wanted = host.row, self.lease_urls
        before = row.queued - row.copies
        tasks: dict[int, Task] = {}
        while len(tasks) < wanted and row.best_grade():
            taken, rows = take_tasks(
                host.key,
                row,
                wanted - len(tasks),
                self._get,
                is_newest_first=self.order.is_newest_first,
            )
            self.pending += rows
            self._take_fresh(row, taken, tasks)
        row.copies = min(row.copies, row.queued)
        self.on_disk += row.queued - row.copies - before
        self.hosts.change(host.key, row)
        return bool(tasks) and self.take_lease(host, list(tasks.values()))

    def _must_make_room(self, host: ActiveHost) -> bool:
        """Return True if a waiting host has more right to go on."""
        if self.order.is_strict:
            return self.front.best_grade() > host.row.best_grade() > 0
        return host.taken >= self._config.quantum_urls and len(self.front) > 0

    def _take_fresh(self, row: HostRow, tasks: list[Task], into: dict[int, Task]) -> None:
        """Keep the tasks whose URL did not have its turn from a better place in the queue."""
        if self.order.credit is None and not row.copies:
            into.update((task.url.key, task) for task in tasks)
            return
        before = len(into)
        for task in tasks:
            key = task.url.key
            if not (key in into or key in self.leases.keys or self.is_settled(task)):
                into[key] = task
        row.copies = max(0, row.copies - len(tasks) + len(into) - before)

    def lease_first(self, tasks: Sequence[Task]) -> None:
        """Lease tasks past the queues: they may be asked for after the next commit, before others.

        They are kept elsewhere. After a death their leases are told to be settled, and are gone.
        """
        by_host: dict[str, list[Task]] = {}
        for task in tasks:
            by_host.setdefault(task.url.host, []).append(task)
        for name, portion in by_host.items():
            row, key = self.hosts.row(name), host_key(name)
            host = self.bench.hosts.get(key) or self.bench.open(key, row)
            self.take_lease(host, portion, is_first=True)

    def take_lease(
        self, host: ActiveHost, tasks: Sequence[Task], *, is_first: bool = False
    ) -> bool:
        """Lease tasks of a host, to be committed before they are handed out."""
        lease, row = self.leases.take(host.key, host.row, tasks)
        lease.is_first = is_first
        self.pending.append(row)
        self.hosts.change(host.key, host.row)
        self.bench.await_commit(host, lease)
        return True

    def store(self, key: HostKey, grade: int, tasks: list[Task]) -> None:
        """Put tasks that were taken in where they belong: a lease of an idle host, or its queue."""
        host = self.bench.hosts.get(key)
        row = self.hosts.row(tasks[0].url.host)
        self.hosts.change(key, row)
        if (
            host is not None
            and not row.queued
            and not self.leases.is_full
            and host.leased + len(tasks) <= self.lease_urls
        ):
            self.take_lease(host, [replace(task, grade=grade) for task in tasks])
            return
        if host is None and grade > row.best_grade():
            self.front.push(key, grade)
        self.pending += put_tasks(key, row, grade, tasks)
        self.on_disk += len(tasks)
        if host is not None:
            self.bench.rise(host)

    def store_risen(self, key: HostKey, grade: int, tasks: list[Task]) -> None:
        """Let queued URLs wait in a better place, too; the old place is skipped when it is met."""
        row = self.hosts.row(tasks[0].url.host)
        held = self.leases.keys
        fresh = {task.url.key: task for task in tasks if task.url.key not in held}
        if not fresh:
            return
        host = self.bench.hosts.get(key)
        if host is None and grade > row.best_grade():
            self.front.push(key, grade)
        self.pending += put_tasks(key, row, grade, list(fresh.values()))
        if host is not None:
            self.bench.rise(host)
        row.copies += len(fresh)
        self.hosts.change(key, row)

    def rows(self) -> list[Row]:
        """Give the rows of what was taken in, leased or moved since the last call."""
        for key, grade, tasks in self.intake.drain():
            self.store(key, grade, tasks)
        for key, grade, tasks in self.risen.drain():
            self.store_risen(key, grade, tasks)
        rows, self.pending = self.pending, []
        return rows
