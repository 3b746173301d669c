"""Frontier: add, next, settle. Which URL next, and when?

A URL's way: `add` buffers it until the next commit (`EnqueueBuffer`), which puts it into a packed
row of its host and grade. Its host waits in the front queues until it is drawn onto the workbench.
There, rows are moved into a lease; once that is committed, `next` gives the URL out, `settle` lets
its host go, and `conclude` ends its lease. `delay` takes it off for a later try.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from random import Random
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from gossamer.config import FrontierConfig, PolitenessConfig
from gossamer.frontier.front_queues import FrontQueues
from gossamer.frontier.hosts import HostTable
from gossamer.frontier.leases import DelayedTasks, EnqueueBuffer, Leases
from gossamer.frontier.order import GRADES, Order, breadth_first
from gossamer.frontier.outage import (
    Parked,
    Verdict,
    is_hopeless,
    is_overdue,
    note_failure,
    park_row,
    parks_alone_at,
    robots_wakes,
    wake_row,
    wants_witness,
)
from gossamer.frontier.parking import (
    TRIES_KEPT,
    FailingTasks,
    LostTask,
    ParkedHosts,
    draw_task,
    witness_task,
)
from gossamer.frontier.politeness import HostAnswer, note_answer, note_restart
from gossamer.frontier.rows import (
    HOST,
    LEASE,
    FailedTry,
    HostOutage,
    HostRow,
    pack_tasks,
    put_tasks,
    take_tasks,
    unpack_tasks,
)
from gossamer.frontier.workbench import (
    ALL_HOSTS,
    ActiveHost,
    HostKind,
    Openings,
    Workbench,
    kind_of,
)
from gossamer.model import HostKey, LinkKind, Row, Task, WaitsFor
from gossamer.urls import host_key, ring_of

ACTIVATE_AT_ONCE = 64
SPARE = 8
"""Times the hosts that must be active: drawn in search of those that may be asked."""
FREE_TRY_S = 5.0
"""How long a task that failed waits on for what others of its host tell."""
STRICT_LEASE_URLS = 8
"""URLs leased at a time in a strict order: what is leased does not give way to what is better."""

IsSettled: TypeAlias = Callable[[Task], bool]
"""Returns True if a task's end is already on record."""


class ReadRows(Protocol):
    """What the frontier needs of the state: it reads rows, and hands back rows to be written."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys with a prefix and their values, in order."""


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
    ) -> None:
        """Keep `at_least` hosts active while there are any (Mercator: three per fetch in flight).

        `is_settled` is asked of tasks whose URL may be queued twice; only an order with credit
        does that.
        """
        self._config, self._rules, self._rows, self._random = config, rules, rows, random
        self._at_least, self._is_settled = at_least, is_settled
        self.order = order or breadth_first(config.grades)
        self.hosts = HostTable(rows.get)
        """What is known of each host."""
        self._front = FrontQueues(
            max(GRADES, config.grades), random, is_strict=self.order.is_strict
        )
        self._bench = Workbench(self.hosts, is_strict=self.order.is_strict)
        self._leases = Leases()
        self._delayed = DelayedTasks(rows.scan)
        self._new = EnqueueBuffer(self.order.grade)
        self._risen = EnqueueBuffer(self.order.grade)
        """Tasks whose URLs are queued already and are worth more by now."""
        self._pending: list[Row] = []
        """Rows for the next commit, but for those of hosts and of what is buffered."""
        self._on_disk = 0
        """Tasks in queue rows; old places of URLs that wait in a better one are not counted."""
        self._parked = ParkedHosts()
        self._failing = FailingTasks(rows.get)
        self._lost: list[LostTask] = []
        """Tasks that have ended without another request; the caller records them."""
        self._unresolved: set[HostKey] = set()
        """Hosts whose names no resolver answered for when they were last looked up."""
        self._failed_at: dict[HostKey, float] = {}
        """Hosts that had answered before and have failed since any host answered last."""
        self.answered_at: float | None = None
        """When any host last answered, in this run."""
        self.answered_hosts = 0
        """Hosts that have ever answered anything."""
        self._lease_urls = config.lease_urls
        """URLs of one host that are taken from disk at a time."""
        if self.order.is_strict:
            self._lease_urls = min(config.lease_urls, STRICT_LEASE_URLS)

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
            self._on_disk += row.queued - row.copies
            self.order.note_known(int.from_bytes(host[:3], "big"), row.known)
            if note_restart(row, self._rules, now, must_wait=all_wait or host in with_lease):
                self.hosts.change(host, row)
            self._failing.load(host, row)
            self.answered_hosts += row.answered_at > 0.0
            if row.is_parked:
                self._parked.count(host, row)
                self._parked.expect_probe(host, row)
            elif grade := row.best_grade():
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
        elsewhere = self._delayed.count + self._leases.count + self._new.count
        return self._on_disk + self._failing.count + elsewhere

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
            or self._pending
            or self.hosts.has_changes
        )

    @property
    def has_leases_to_commit(self) -> bool:
        """Return True if hosts wait for a commit of their leases."""
        return bool(self._bench.awaiting)

    @property
    def parked(self) -> Parked:
        """Return how many hosts are parked, and how many URLs wait for them."""
        return self._parked.totals

    def next_moment(self, open_to: Openings = ALL_HOSTS, *, is_first: bool = False) -> float | None:
        """Return when the next host or delayed task becomes ready; None if none waits for a moment.

        Hosts that are ready already are not counted: see `Workbench.next_moment`.
        """
        if is_first:
            return self._bench.next_moment(is_first=True)
        moments = (
            self._bench.next_moment(open_to),
            self._delayed.next_due_at,
            self._failing.next_due_at,
            self._parked.next_probe_at,
        )
        return min((m for m in moments if m is not None), default=None)

    def add(self, tasks: Iterable[Task], *, are_new: bool = True) -> None:
        """Queue tasks; they are on disk after the next commit."""
        for host, count in self._new.add(tasks).items():
            if are_new:
                self.hosts.note_known(host, count)
                self.order.note_known(ring_of(host), count)

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
                    self._pending.append((key, pack_tasks(left) if left else None))
        self.add(tasks, are_new=False)

    def promote(self, tasks: Iterable[Task]) -> None:
        """Let queued URLs that are worth more by now wait in a better place."""
        self._risen.add(tasks)

    def delay(self, task: Task, due_at: float) -> None:
        """Let one task wait for its next try; its lease ends here."""
        self._pending += self._leases.withdraw(task)
        self._pending.append(self._delayed.put(task, due_at))

    def hasten(self, keys: Container[int], now: float) -> None:
        """Let delayed tasks of some URLs, as far as they are committed, wait no longer."""
        self._pending += self._delayed.hasten(keys, now)

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
            self._take_lease(host, portion, is_first=True)

    def kind_of(self, host: str) -> HostKind:
        """Return what may be expected of a host."""
        return kind_of(self.hosts.row(host))

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
        if not self._pending:  # only committed rows can be woken
            for task, row in self._delayed.take_due(now):
                self._pending.append(row)
                self.add([task], are_new=False)
        self._wake_failing(now)
        self._begin_probes(now)
        if self.active_hosts < self._at_least:
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
        if answer is not None:
            had_answered = host.row.answered_at > 0.0
            note_answer(host.row, self._rules, now, answer)
            self.answered_hosts += not had_answered and host.row.answered_at > 0.0
            self.hosts.change(host.key, host.row)
            if answer.failure is not None:
                if not answer.failure.is_silent:
                    self._note_network(now)
                elif had_answered:
                    self._failed_at[host.key] = now
                note_failure(host.row, answer.failure, now, self._random, answer.latency_s)
            elif answer.is_throttled:
                self._note_network(now)
            else:
                self._take_answer(host, task, answer, now)
            if host.row.is_parked and (answer.failure is not None or answer.is_throttled):
                self._bench.release(host)
                self._set_aside(host)
                return
        self._bench.release(host)

    def _note_network(self, now: float) -> None:
        """Note that something came back over the network."""
        self._failed_at.clear()
        self.answered_at = now

    def _take_answer(self, host: ActiveHost, task: Task, answer: HostAnswer, now: float) -> None:
        """Note that a host has answered: it is awake, and its failures get their owners."""
        self._note_network(now)
        row = host.row
        if answer.is_page and not answer.is_witness:
            row.witness = task.url.text
        if not answer.is_whole or not (answer.is_page or robots_wakes(row)):
            return
        was_parked = row.is_parked
        for verdict in wake_row(row, by_witness=answer.is_witness):
            self._resolve(host.key, verdict)
        if was_parked:
            self._parked.count(host.key, row)

    def _resolve(self, key: HostKey, verdict: Verdict) -> None:
        """Give a task that failed back to its queue, charged if the failure was its own."""
        tried = verdict.failed
        task, deletion = self._failing.take(key, tried)
        self._pending.append(deletion)
        if task is None:
            return
        if not verdict.is_own:
            self.add([self._unharmed(task)], are_new=False)
        elif tried.is_last:
            self._end(task, tried.reason, tried.detail)
        else:
            again = replace(task, attempt=task.attempt + 1)
            self._pending.append(self._delayed.put(again, tried.retry_at))

    def _end(self, task: Task, reason: str, detail: str) -> None:
        self._lost.append(LostTask(task, reason, detail))
        if self.order.credit is not None:
            self.order.credit.credits.settle(task.url.key)

    def _unharmed(self, task: Task) -> Task:
        """Return a task that failed through no fault of its own.

        Where a URL may be queued twice, one that was never charged could not be told from its old
        place in the queue, which is skipped: it has one attempt less.
        """
        return replace(task, attempt=1) if self.order.credit and not task.attempt else task

    def take_lost(self) -> list[LostTask]:
        """Take the tasks that have ended without another request: their ends are to be recorded."""
        lost, self._lost = self._lost, []
        return lost

    def set_failed(self, task: Task, tried: FailedTry) -> None:
        """Keep a task that failed until it is known whose fault it was; its lease ends here.

        Settle it too, with the failure.
        """
        key = host_key(task.url.host)
        row = self.hosts.row(task.url.host)
        self._pending += self._leases.withdraw(task)
        row.outage = row.outage or HostOutage()
        if len(row.outage.tries) >= TRIES_KEPT:
            self.add([self._unharmed(task)], are_new=False)
            return
        self._pending += self._failing.put(key, row, task, tried)
        self.hosts.change(key, row)

    def _wake_failing(self, now: float) -> None:
        """Let tasks go whose next try is due although nothing is known yet: it is free.

        While the host has other tasks, those tell more. If none is left and the failure is not the
        first, the host is parked: the page that it is known to answer is asked instead.
        """
        for key, url_key in self._failing.take_due(now):
            row = self.hosts.find(key)
            if row is None or row.outage is None or row.outage.is_parked:
                continue
            tried = next((one for one in row.outage.tries if one.url_key == url_key), None)
            if tried is None or tried.retry_at > now:
                continue
            if self._has_work(key, row):
                self._failing.expect(key, tried, now + FREE_TRY_S)
            elif row.outage.failures >= parks_alone_at(tried):
                self.park(row.name, now, row.outage.reason)
            else:
                row.outage.tries.remove(tried)
                self.hosts.change(key, row)
                self._resolve(key, Verdict(tried, is_own=False))

    def _has_work(self, key: HostKey, row: HostRow) -> bool:
        """Return True if a host has tasks that are queued, leased or under way."""
        host = self._bench.hosts.get(key)
        is_active = host is not None and (host.is_busy or host.leased > 0)
        return is_active or row.queued > row.copies or key in self._new.hosts

    def park(self, host: str, now: float, reason: str) -> None:
        """Park a host from outside: its URLs wait unharmed until a probe is answered."""
        row, key = self.hosts.row(host), host_key(host)
        park_row(row, reason, now, self._random)
        self.hosts.change(key, row)
        active = self._bench.hosts.get(key)
        if active is None:
            self._parked.count(key, row)
            self._parked.expect_probe(key, row)
        elif not active.is_busy:
            self._set_aside(active)

    def is_failing(self, host: str) -> bool:
        """Return True if a host did not answer last, parked or not."""
        row = self.hosts.find(host_key(host))
        return row is not None and row.outage is not None

    def probe_at(self, host: str) -> float | None:
        """Return when a parked host may be probed; None if the host is not parked."""
        row = self.hosts.find(host_key(host))
        return row.outage.probe_at if row is not None and row.outage and row.is_parked else None

    def _set_aside(self, host: ActiveHost) -> None:
        """Take a parked host off the bench; its leases go back to its queue.

        Revisits are in no row but their lease: they stay, and are the next probes.
        """
        for lease in self._bench.set_aside(host):
            tasks = [task for task in lease.tasks if task.kind is not LinkKind.PROBE]
            self.add([self._unharmed(task) for task in tasks], are_new=False)
            self._pending += self._leases.end(lease)
        self._parked.count(host.key, host.row, host.leased)
        self._parked.expect_probe(host.key, host.row)

    def _begin_probes(self, now: float) -> None:
        """Lay parked hosts whose probe is due on the bench, each with one task."""
        while not self._leases.is_full and (key := self._parked.take_due(now)) is not None:
            row = self.hosts.find(key)
            if key in self._bench.hosts or row is None or not row.is_parked:
                continue
            if row.next_at > now:
                self._parked.expect_probe(key, row)
            else:
                self._probe(self._bench.open(key, row))

    def _probe(self, host: ActiveHost) -> bool:
        """Lease one task of a parked host, or let the host go; return True if there was one."""
        if (task := self._draw_probe(host.key, host.row)) is not None:
            self._take_lease(host, [task])
        elif host.key in self._new.hosts:
            self._bench.await_commit(host)
        else:
            self._bench.remove(host)
        self._parked.count(host.key, host.row, host.leased)
        return task is not None

    def _draw_probe(self, key: HostKey, row: HostRow) -> Task | None:
        """Return what a parked host is asked for next: a URL that has not failed, if there is one.

        Now and then it is the page that the host is known to answer.
        """
        outage = row.outage
        if outage is None:
            return None
        if wants_witness(row, all_failed=row.queued <= row.copies and bool(outage.tries)):
            return witness_task(row)
        before = row.queued - row.copies
        task, rows = draw_task(key, row, self._rows.get, self._random, self._is_fresh)
        if task is None and row.queued > 0:
            task = self._take_first(key, row)
        self._pending += rows
        self._on_disk += row.queued - row.copies - before
        self.hosts.change(key, row)
        while task is None and outage.tries:
            tried = outage.tries.pop(self._random.randrange(len(outage.tries)))
            task, deletion = self._failing.take(key, tried)
            self._pending.append(deletion)
        return task

    def _take_first(self, key: HostKey, row: HostRow) -> Task | None:
        """Return the first task of a queue that is full of holes; the rest of its row is queued."""
        fresh: dict[int, Task] = {}
        while not fresh and row.best_grade():
            taken, rows = take_tasks(key, row, 1, self._rows.get)
            self._pending += rows
            self._keep_fresh(row, taken, fresh)
        row.copies = min(row.copies, row.queued)
        tasks = list(fresh.values())
        self.add(tasks[1:], are_new=False)
        return tasks[0] if tasks else None

    def _is_fresh(self, task: Task) -> bool:
        """Return True if a queued task did not have its turn from a better place."""
        if self.order.credit is None:
            return True
        return not (task.url.key in self._leases.keys or self._is_settled(task))

    def give_up_hosts(
        self, now: float, give_up_s: float, *, probes: int | None = None, at_most: int = 1000
    ) -> int:
        """End some of the tasks of parked hosts that are given up; return how many.

        Those are hosts that have answered before and were down for `give_up_s`; and, if a number
        of probes is given, those that never answered and failed so many. Record what `take_lost`
        gives and commit; call it again until it returns 0.
        """
        ended = 0
        for key in self._parked.hosts():
            row = self.hosts.find(key)
            if row is None or row.outage is None or key in self._bench.hosts:
                continue
            is_unknown = probes is not None and is_hopeless(row, probes)
            if is_unknown or is_overdue(row, now, give_up_s):
                said = "host never answered" if is_unknown else "host stopped answering"
                count = row.outage.probes
                detail = f"{said}, {count} probe{'' if count == 1 else 's'}"
                ended += self._give_up(key, row, detail, at_most - ended)
            if ended >= at_most:
                break
        return ended

    def _give_up(self, key: HostKey, row: HostRow, detail: str, at_most: int) -> int:
        """End some tasks of a host; when none is left, the host is as if it were new."""
        outage = row.outage
        if outage is None:
            return 0
        reason, ended = outage.reason, len(self._lost)
        while outage.tries and len(self._lost) - ended < at_most:
            tried = outage.tries.pop()
            task, deletion = self._failing.take(key, tried)
            self._pending.append(deletion)
            if task is not None:
                self._end(task, tried.reason, detail)
        before = row.queued - row.copies
        while row.best_grade() and (left := at_most - len(self._lost) + ended) > 0:
            fresh: dict[int, Task] = {}
            taken, rows = take_tasks(key, row, left, self._rows.get)
            self._pending += rows
            self._keep_fresh(row, taken, fresh)
            for task in fresh.values():
                self._end(task, reason, detail)
        row.copies = min(row.copies, row.queued)
        self._on_disk += row.queued - row.copies - before
        if not row.waiting:
            row.outage = None
        self.hosts.change(key, row)
        self._parked.count(key, row)
        return len(self._lost) - ended

    def shift_outages(self, seconds: float) -> None:
        """Let time that has passed without a network not count for how long hosts were down."""
        for key in self._parked.hosts():
            row = self.hosts.find(key)
            if row is not None and row.outage is not None and row.outage.parked_at is not None:
                row.outage.parked_at += seconds
                self.hosts.change(key, row)

    def failed_s(self, now: float) -> list[float]:
        """Return how long ago each host failed that had answered, since any host answered last."""
        return [now - at for at in self._failed_at.values()]

    def probe_soon(self, now: float, at_most: int | None = None) -> None:
        """Let parked hosts be probed as soon as their gap allows: all, or some drawn at random."""
        keys = self._parked.hosts()
        if at_most is not None and at_most < len(keys):
            keys = self._random.sample(keys, at_most)
        for key in keys:
            row = self.hosts.find(key)
            if row is None or row.outage is None or row.outage.reason == "throttled":
                continue
            row.next_at = min(row.next_at, now + row.gap_s)
            row.outage.probe_at = row.next_at
            self.hosts.change(key, row)
            if (host := self._bench.hosts.get(key)) is None:
                self._parked.expect_probe(key, row)
            elif not host.is_busy and host.waiting:
                self._bench.put(host)

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
        parked, probe_at = self._parked.next_host, self._parked.next_probe_at
        if parked is not None and probe_at is not None:
            row = self.hosts.find(parked)
            if row is not None and row.outage is not None:
                yield _wait_of(row.name, probe_at - now, row.outage)
        failing, retry_at = self._failing.next_host(), self._failing.next_due_at
        if failing is not None and retry_at is not None:
            row = self.hosts.find(failing[0])
            if row is not None and row.outage is not None and not row.is_parked:
                yield _wait_of(row.name, retry_at - now, row.outage)
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
        self._pending += self._leases.conclude(task)
        if self.order.credit is not None:
            self.order.credit.credits.settle(task.url.key)

    def rows_to_commit(self) -> list[Row]:
        """Return all rows that changed since the last commit."""
        for key, grade, tasks in self._new.drain():
            self._store_new(key, grade, tasks)
        for key, grade, tasks in self._risen.drain():
            self._store_risen(key, grade, tasks)
        rows, self._pending = self._pending, []
        rows.extend(self.hosts.rows_to_commit())
        return rows

    def committed(self) -> None:
        """Let new leases go: the last rows are in the state."""
        self._bench.committed()
        self._leases.committed()
        self._failing.committed()

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
            self._probe(host)
            return
        if host.uncommitted or self._lease(host) or host.key in self._new.hosts:
            self._bench.await_commit(host)
            return
        self._bench.remove(host)
        if grade := host.row.best_grade():
            self._front.push(host.key, grade)

    def _lease(self, host: ActiveHost) -> bool:
        """Move whole queue rows of a host into a lease; return True if there were any."""
        if self._leases.is_full or self._must_make_room(host):
            return False
        row, wanted = host.row, self._lease_urls
        before = row.queued - row.copies
        tasks: dict[int, Task] = {}
        while len(tasks) < wanted and row.best_grade():
            taken, rows = take_tasks(
                host.key,
                row,
                wanted - len(tasks),
                self._rows.get,
                is_newest_first=self.order.is_newest_first,
            )
            self._pending += rows
            self._keep_fresh(row, taken, tasks)
        row.copies = min(row.copies, row.queued)
        self._on_disk += row.queued - row.copies - before
        self.hosts.change(host.key, row)
        if tasks:
            self._take_lease(host, list(tasks.values()))
        return bool(tasks)

    def _must_make_room(self, host: ActiveHost) -> bool:
        """Return True if a waiting host has more right to go on."""
        if self.order.is_strict:
            return self._front.best_grade() > host.row.best_grade() > 0
        return host.taken >= self._config.quantum_urls and len(self._front) > 0

    def _keep_fresh(self, row: HostRow, tasks: list[Task], into: dict[int, Task]) -> None:
        """Keep the tasks whose URL did not have its turn from a better place in the queue."""
        if self.order.credit is None and not row.copies:
            into.update((task.url.key, task) for task in tasks)
            return
        before = len(into)
        for task in tasks:
            key = task.url.key
            if not (key in into or key in self._leases.keys or self._is_settled(task)):
                into[key] = task
        row.copies = max(0, row.copies - len(tasks) + len(into) - before)

    def _take_lease(
        self, host: ActiveHost, tasks: Sequence[Task], *, is_first: bool = False
    ) -> None:
        """Lease tasks of a host, to be committed before they are handed out."""
        lease, row = self._leases.take(host.key, host.row, tasks, is_first=is_first)
        self._pending.append(row)
        self.hosts.change(host.key, host.row)
        self._bench.await_commit(host, lease)

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
            self._take_lease(host, [replace(task, grade=grade) for task in tasks])
            return
        self._enqueue(key, row, grade, tasks)
        self._on_disk += len(tasks)

    def _store_risen(self, key: HostKey, grade: int, tasks: list[Task]) -> None:
        """Let queued URLs wait in a better place, too; the old place is skipped when it is met."""
        row = self.hosts.row(tasks[0].url.host)
        held = self._leases.keys
        fresh = {task.url.key: task for task in tasks if task.url.key not in held}
        if not fresh:
            return
        self._enqueue(key, row, grade, list(fresh.values()))
        row.copies += len(fresh)
        self.hosts.change(key, row)

    def _enqueue(self, key: HostKey, row: HostRow, grade: int, tasks: list[Task]) -> None:
        """Append tasks to a host's queue of one grade; the host may move up for it."""
        host = self._bench.hosts.get(key)
        if host is None and grade > row.best_grade() and not row.is_parked:
            self._front.push(key, grade)
        had_any = row.waiting > 0
        self._pending += put_tasks(key, row, grade, tasks)
        if host is not None:
            self._bench.rise(host)
        if row.is_parked:
            self._parked.count(key, row, host.leased if host is not None else 0)
            if host is None and not had_any:
                self._parked.expect_probe(key, row)


def _wait_of(host: str, seconds: float, outage: HostOutage) -> WaitsFor:
    """Return the wait for a host that failed: why it did, and what it said."""
    last = outage.tries[-1] if outage.tries else None
    detail = last.detail if last is not None and last.reason == outage.reason else ""
    return WaitsFor(host=host, seconds=max(0.0, seconds), reason=outage.reason, detail=detail)
