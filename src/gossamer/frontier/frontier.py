"""Frontier: add, next, settle. Which URL next, and when?

A URL's way: `add` buffers it until the next commit (`EnqueueBuffer`), which puts it into a packed
row of its host and grade. Its host waits in the front queues until it is drawn onto the workbench.
There, rows are moved into a lease; once that is committed, `next` gives the URL out, `settle` lets
its host go, and `conclude` ends its lease. `delay` takes it off for a later try.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from random import Random

from msgspec.structs import replace

from gossamer.config import FrontierConfig, PolitenessConfig
from gossamer.frontier.order import GRADES, Order, breadth_first
from gossamer.frontier.outage import Parked
from gossamer.frontier.parking import Parking
from gossamer.frontier.politeness import HostAnswer, HostDelays, note_answer, note_restart
from gossamer.frontier.queues import FrontQueues, HostQueues, IsSettled, ReadRows
from gossamer.frontier.rows import HOST, LEASE, HostState, pack_tasks, unpack_tasks
from gossamer.frontier.sweeping import Sweep
from gossamer.frontier.workbench import (
    ALL_HOSTS,
    ActiveHost,
    EnqueueBuffer,
    HostKind,
    Openings,
    kind_of,
)
from gossamer.model import HostKey, LinkKind, Row, Task, WaitsFor
from gossamer.urls import host_key

ACTIVATE_AT_ONCE = 64
SPARE = 8
"""Times the hosts that must be active: drawn in search of those that may be asked."""
STRICT_LEASE_URLS = 8
"""URLs leased at a time in a strict order: what is leased does not give way to what is better."""


class Frontier:
    """Waiting URLs of all hosts: on disk by host and grade, a few leased ones in memory.

    The caller dispatches what `next` gives, says how it ended, and commits `rows_to_commit` in
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
        own_delays: Mapping[str, float] | None = None,
    ) -> None:
        """Keep `at_least` hosts active while there are any (Mercator: three per fetch in flight).

        `is_settled` is asked of tasks whose URL may be queued twice; only an order with credit
        does that. `own_delays` are fixed delays of single hosts.
        """
        self._config, self._rows = config, rows
        self.delays = HostDelays(rules, own_delays)
        """How long hosts are left alone."""
        self._at_least = at_least
        self.order = order or breadth_first(config.grades)
        self._front = FrontQueues(
            max(GRADES, config.grades), random, is_strict=self.order.is_strict
        )
        self._queues = HostQueues(rows, self.order, is_settled)
        self._bench, self._leases = self._queues.bench, self._queues.leases
        self._delayed, self._new = self._queues.delayed, self._queues.new
        self._risen = EnqueueBuffer(self.order.grade)
        """Tasks whose URLs are queued already and are worth more by now."""
        self.hosts = self._queues.hosts
        """What is known of each host."""
        self.parking = Parking(self._queues, rows.get, random)
        """Hosts that fail, and the tasks that failed on them."""
        self._unresolved: set[HostKey] = set()
        """Hosts whose names no resolver answered for when they were last looked up."""
        self._lease_urls = config.lease_urls
        """URLs of one host that are taken from disk at a time."""
        if self.order.is_strict:
            self._lease_urls = min(config.lease_urls, STRICT_LEASE_URLS)
        if self.order.is_newest_first:
            self._lease_urls = 1  # what is leased would go before what the next page brings

    def recover(self, now: float, is_settled: IsSettled, *, all_wait: bool) -> None:
        """Build the frontier from its rows, after a clean stop or any death.

        Leased tasks that were not settled go back into their queues, and their hosts wait their
        full gap (after a reboot, `all_wait`, every host does). Commit it before dispatching.
        """
        leased = list(self._rows.scan(LEASE))
        with_lease = {key[1:12] for key, _ in leased}
        for key in with_lease:  # first in the queue: what was begun there is not done again
            self._front.push(key, max(GRADES, self._config.grades))
        for host, row in self.hosts.load(self._rows.scan(HOST)):
            self._queues.load(row)
            self.order.note_known(int.from_bytes(host[:3], "big"), row.known)
            if note_restart(
                row, self.delays.of(row.name), now, must_wait=all_wait or host in with_lease
            ):
                self.hosts.change(host, row)
            self.parking.load(host, row)
            if not row.is_parked and (grade := row.best_grade()):
                self._front.push(host, grade)
        for key, value in leased:
            self._queues.write([(key, None)])
            if (row_of_host := self.hosts.find(key[1:12])) is not None:
                tasks = unpack_tasks(value, row_of_host.name, 0)
                self.add([task for task in tasks if not is_settled(task)], are_new=False)
        if all_wait:
            self._queues.write(self._delayed.clamp(now))

    @property
    def queued(self) -> int:
        """Return how many URLs wait for their fetch or are leased."""
        elsewhere = self._delayed.count + self._leases.count + self._new.count
        return self._queues.on_disk + self.parking.failing + elsewhere

    @property
    def active_hosts(self) -> int:
        """Return how many hosts have a back queue in memory."""
        return len(self._bench.hosts)

    @property
    def has_uncommitted(self) -> bool:
        """Return True if there is anything that a commit would write."""
        return bool(
            self._bench.awaiting
            or self._new.count
            or self._risen.count
            or self._queues.has_rows
            or self.hosts.has_changes
        )

    @property
    def has_leases_to_commit(self) -> bool:
        """Return True if hosts wait for a commit of their leases."""
        return bool(self._bench.awaiting)

    @property
    def sweep(self) -> Sweep:
        """Takes out what is not wanted any more, wherever it waits."""
        return Sweep(self._queues, self.parking, self._rows)

    @property
    def parked(self) -> Parked:
        """Return how many hosts are parked, and how many URLs wait for them."""
        return self.parking.totals

    def next_moment(self, open_to: Openings = ALL_HOSTS, *, is_first: bool = False) -> float | None:
        """Return when the next host or delayed task becomes ready; None if none waits for a moment.

        Hosts that are ready already are not counted: see `Workbench.next_moment`.
        """
        if is_first:
            return self._bench.next_moment(is_first=True)
        moments = (
            self._bench.next_moment(open_to),
            self._delayed.next_due_at,
            *self.parking.next_moments(),
        )
        return min((m for m in moments if m is not None), default=None)

    def add(self, tasks: Iterable[Task], *, are_new: bool = True) -> None:
        """Queue tasks; they are on disk after the next commit."""
        self._queues.add(tasks, are_new=are_new)

    def queue_again(self, tasks: Sequence[Task]) -> None:
        """Queue tasks whose URLs had ended. All that happened so far must be committed.

        The row of a lease that is still open may name them: after a death they would be in both.
        """
        ended = {task.url.key for task in tasks}
        for host in {task.url.host for task in tasks}:
            for key, value in self._rows.scan(LEASE + host_key(host)):
                leased = unpack_tasks(value, host, 0)
                left = [task for task in leased if task.url.key not in ended]
                if len(left) < len(leased):
                    self._queues.write([(key, pack_tasks(left) if left else None)])
        self.add(tasks, are_new=False)

    def promote(self, tasks: Iterable[Task]) -> None:
        """Let queued URLs that are worth more by now wait in a better place."""
        self._risen.add(tasks)

    def delay(self, task: Task, due_at: float) -> None:
        """Let one task wait for its next try; its lease ends here."""
        self._queues.write(self._leases.withdraw(task))
        self._queues.write([self._delayed.put(task, due_at)])

    def hasten(self, keys: Container[int], now: float) -> None:
        """Let delayed tasks of some URLs, as far as they are committed, wait no longer."""
        self._queues.write(self._delayed.hasten(keys, now))

    def lease_first(self, tasks: Sequence[Task]) -> None:
        """Lease tasks past the queues: they may be asked for after the next commit, before others.

        The caller keeps them elsewhere: after a death `recover` must find their leases settled.
        """
        by_host: dict[str, list[Task]] = {}
        for task in tasks:
            by_host.setdefault(task.url.host, []).append(task)
        for name, portion in by_host.items():  # of a parked host they are its next probes
            row, key = self.hosts.row(name), host_key(name)
            host = self._bench.hosts.get(key) or self._bench.open(key, row)
            self._queues.lease(host, portion, is_first=True)

    def kind_of(self, host: str) -> HostKind:
        """Return what may be expected of a host."""
        active = self._bench.hosts.get(host_key(host))
        return kind_of(self.hosts.row(host) if active is None else active.row)

    def ready_kinds(self, now: float) -> set[HostKind]:
        """Return of which kinds there are hosts that may be asked now."""
        return self._bench.ready_kinds(now)

    def next(
        self, now: float, open_to: Openings = ALL_HOSTS, *, is_first: bool = False
    ) -> Task | None:
        """Take a task that may be asked for now; its host is busy until it is settled.

        None may also mean that leases wait for their commit: see `has_uncommitted`. With
        `is_first`, only tasks that were leased past the queues.
        """
        if is_first:
            host = self._bench.take_ready(now, is_first=True)
            return self._leases.hand_out(host.next_lease()) if host is not None else None
        if not self._queues.has_rows:  # only committed rows can be woken
            for task, row in self._delayed.take_due(now):
                self._queues.write([row])
                self.add([task], are_new=False)
        if self.parking.has_moments:
            self.parking.retry_due(now)
            self.parking.begin_probes(now)
        if self._front and len(self._bench.hosts) < self._at_least:
            self._activate()
        while (host := self._bench.take_ready(now, open_to)) is not None:
            if host.waiting:
                is_low = host.waiting * 4 <= self._lease_urls and not host.uncommitted
                if is_low and not host.row.is_parked:
                    self._lease(host)  # early, so that the host need not wait for a commit
                return self._leases.hand_out(host.next_lease())
            self._refill(host)
        # Hosts of a kind that may not be asked now pile up on the bench: not without end.
        if len(open_to.kinds) == len(HostKind) or self.active_hosts < SPARE * self._at_least:
            self._activate()
        return None

    def settle(self, task: Task, now: float, answer: HostAnswer | None) -> None:
        """End a task's turn at its host; no answer means no request, so that no gap is due."""
        host = self._bench.hosts[host_key(task.url.host)]
        if answer is None:
            self._bench.release(host)
            return
        had_answered = host.row.answered_at > 0.0
        note_answer(host.row, self.delays.of(host.row.name), now, answer)
        self.hosts.change(host.key, host.row)
        self.parking.note_answer(host, task, answer, now, had_answered=had_answered)
        self._bench.release(host)
        if (answer.failure is not None or answer.is_throttled) and host.row.is_parked:
            self.parking.set_aside(host)

    def note_unresolved(self, host: str) -> int:
        """Count a look-up of a host's name that no resolver answered; return how many in a row."""
        row, key = self.hosts.row(host), host_key(host)
        row.unresolved += 1
        self._unresolved.add(key)
        self.hosts.change(key, row)
        return row.unresolved

    @property
    def unresolved_urls(self) -> int:
        """Return how many URLs wait for hosts whose names no resolver has answered for."""
        found = 0
        for key in list(self._unresolved):
            row, host = self.hosts.find(key), self._bench.hosts.get(key)
            if row is None or not row.unresolved:
                self._unresolved.discard(key)
            elif not row.is_parked:
                found += row.waiting + (host.leased if host is not None else 0)
        return found

    def waits_for(self, now: float) -> WaitsFor | None:
        """Return which host may be asked next, and what it waits for; None if none has to wait."""
        found = [*self._waiting_hosts(now)]
        return min(found, key=lambda wait: wait.seconds, default=None)

    def _waiting_hosts(self, now: float) -> Iterator[WaitsFor]:
        """Yield the first of the active hosts, of the parked ones, and of tasks set aside."""
        if (row := self._bench.next_host()) is not None and row.next_at > now:
            yield WaitsFor(host=row.name, seconds=row.next_at - now, reason=row.reason)
        yield from self.parking.waits(now)
        if (due_at := self._delayed.next_due_at) is not None and (
            host := self._delayed.next_host()
        ):
            yield WaitsFor(host=host, seconds=max(0.0, due_at - now), reason="retry")

    def reserve(self, host: str, now: float) -> float | None:
        """Make a host busy until it is settled; None when done, else when to ask again."""
        return self._bench.reserve(host_key(host), self.hosts.row(host), now)

    def has_work_besides(self, task: Task) -> bool:
        """Return True if another origin of a task's host has leased tasks, and is not parked."""
        host = self._bench.hosts[host_key(task.url.host)]
        return not host.row.is_parked and host.has_work_besides(task.url.origin)

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
        if deletion := self._leases.conclude(task):
            self._queues.write(deletion)
        if self.order.credit is not None:
            self._queues.settle(task)

    def withdraw(self, task: Task) -> None:
        """End the lease of a task that waits elsewhere: no record will say so, thus its row does.

        Else it would be queued by a start after a kill, and wait in two places.
        """
        self._queues.write(self._leases.withdraw(task))
        if self.order.credit is not None:
            self._queues.settle(task)

    def rows_to_commit(self) -> list[Row]:
        """Return all rows that changed since the last commit."""
        for key, grade, tasks in self._new.drain():
            if self.order.is_newest_first:
                self._push_new(key, grade, tasks)
            else:
                self._store_new(key, grade, tasks)
        for key, grade, tasks in self._risen.drain():
            self._store_risen(key, grade, tasks)
        return self._queues.rows_to_commit()

    def committed(self) -> None:
        """Let new leases go: the last rows are in the state."""
        self._bench.committed()
        self._leases.committed()
        self.parking.committed()

    def _activate(self) -> None:
        """Draw waiting hosts onto the bench: as many as it takes until enough are ready."""
        drawn = 0
        while drawn < ACTIVATE_AT_ONCE and not (self._bench.is_full or self._leases.is_full):
            if (found := self._front.draw()) is None:
                return
            key, grade = found
            row = self.hosts.find(key)
            if key in self._bench.hosts or row is None or not (best := row.best_grade()):
                continue
            if row.is_parked:
                continue  # it is pushed again when it is awake
            if self.order.is_strict and best < grade:
                self._front.push(key, best)  # what it was pushed for is gone
                continue
            drawn += 1
            self._refill(self._bench.open(key, row))

    def _refill(self, host: ActiveHost) -> None:
        """Give an empty host new tasks, or let it go: it is off the bench and not busy."""
        if host.row.is_parked and not host.uncommitted:
            self.parking.probe(host)
            return
        # What a page has just brought goes before what is queued, if the newest goes first.
        waits = self.order.is_newest_first and host.key in self._new.hosts
        if host.uncommitted or waits or self._lease(host) or host.key in self._new.hosts:
            self._bench.await_commit(host)
            return
        self._bench.remove(host)
        if grade := host.row.best_grade():
            self._front.push(host.key, grade)

    def _lease(self, host: ActiveHost) -> bool:
        """Move whole queue rows of a host into a lease; return True if there were any."""
        if not self._may_lease(host):
            return False
        tasks = self._queues.take(host.key, host.row, self._lease_urls)
        if tasks:
            self._queues.lease(host, tasks)
        return bool(tasks)

    def _may_lease(self, host: ActiveHost) -> bool:
        """Return True if more tasks of a host may be taken into memory."""
        return not (self._leases.is_full or self._must_make_room(host))

    def _must_make_room(self, host: ActiveHost) -> bool:
        """Return True if a waiting host has more right to go on."""
        if self.order.is_strict:
            return self._front.best_grade() > host.row.best_grade() > 0
        return host.taken >= self._config.quantum_urls and len(self._front) > 0

    def _store_new(self, key: HostKey, grade: int, tasks: list[Task]) -> None:
        """Put new tasks where they belong: a lease of an idle host, or its queue."""
        host = self._bench.hosts.get(key)
        row = self.hosts.row(tasks[0].url.host)
        self.hosts.change(key, row)
        if (
            host is not None
            and not row.is_parked
            and not row.queued
            and not self._leases.is_full
            and host.leased + len(tasks) <= self._lease_urls
        ):
            self._queues.lease(host, [replace(task, grade=grade) for task in tasks])
            return
        self._enqueue(key, row, grade, tasks)

    def _push_new(self, key: HostKey, grade: int, tasks: list[Task]) -> None:
        """Put new tasks onto the stack of their host; an idle host goes on with the first at once.

        That is the first link of the page that came last.
        """
        host = self._bench.hosts.get(key)
        row = self.hosts.row(tasks[0].url.host)
        self.hosts.change(key, row)
        is_idle = host is not None and not (host.is_busy or host.leased or row.is_parked)
        if host is not None and is_idle and grade >= row.best_grade() and self._may_lease(host):
            last = tasks[-1].via
            first = next(
                n for n in range(len(tasks) - 1, -1, -1) if not n or tasks[n - 1].via != last
            )
            task = tasks.pop(first)
            self._queues.lease(host, [replace(task, grade=grade)])
        if tasks:
            self._enqueue(key, row, grade, tasks)

    def _store_risen(self, key: HostKey, grade: int, tasks: list[Task]) -> None:
        """Let queued URLs wait in a better place, too; the old place is skipped when it is met."""
        row = self.hosts.row(tasks[0].url.host)
        held = self._leases.keys
        fresh = {task.url.key: task for task in tasks if task.url.key not in held}
        if fresh:
            self._enqueue(key, row, grade, list(fresh.values()), are_copies=True)
            self.hosts.change(key, row)

    def _enqueue(
        self,
        key: HostKey,
        row: HostState,
        grade: int,
        tasks: list[Task],
        *,
        are_copies: bool = False,
    ) -> None:
        """Append tasks to a host's queue of one grade; the host may move up for it."""
        host = self._bench.hosts.get(key)
        if host is None and grade > row.best_grade() and not row.is_parked:
            self._front.push(key, grade)
        had_any = row.waiting > 0
        self._queues.put(key, row, grade, tasks, are_copies=are_copies)
        if host is not None:
            self._bench.rise(host)
        if row.is_parked:
            self.parking.note_queued(key, row, had_any=had_any)


def _first_of_last_page(tasks: Sequence[Task]) -> int:
    """Return which of some tasks is the first link of the page that came last."""
    number = len(tasks) - 1
    while number and tasks[number - 1].via == tasks[-1].via:
        number -= 1
    return number
