"""Hosts that fail: parked, probed, woken or given up; and the tasks that failed on them.

`outage` decides, from a host's row alone; here it is done.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from random import Random

from msgspec import Struct
from msgspec.structs import replace

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
from gossamer.frontier.politeness import HostAnswer
from gossamer.frontier.queues import HostQueues
from gossamer.frontier.rows import (
    FailedTry,
    HostOutage,
    HostState,
    failing_key,
    pack_delayed,
    unpack_delayed,
)
from gossamer.frontier.workbench import ActiveHost
from gossamer.log import counted
from gossamer.model import HostKey, LinkKind, Row, Task, Url, WaitsFor
from gossamer.urls import fingerprint, host_key

TRIES_KEPT = 512
"""Failures that a host's row remembers: what failed beyond them waits as if it had not."""
FREE_TRY_S = 5.0
"""How long a task that failed waits on for what others of its host tell."""


class LostTask(Struct, frozen=True):
    """A task that ends without another request, and why."""

    task: Task
    reason: str
    detail: str


class ParkedHosts:
    """Running totals of the parked hosts, and a heap of their probes. The rows know the rest."""

    def __init__(self) -> None:
        self._urls: dict[HostKey, int] = {}
        """How many URLs wait for each parked host that has any."""
        self._total = 0
        self.probes: list[tuple[float, HostKey]] = []
        """A heap of moments; entries may be stale."""
        self._due: dict[HostKey, float] = {}
        """The moment of each host's valid entry."""

    @property
    def totals(self) -> Parked:
        """Return how many hosts are parked, and how many URLs wait for them."""
        return Parked(hosts=len(self._urls), urls=self._total)

    def hosts(self) -> list[HostKey]:
        """Return the parked hosts for which URLs wait."""
        return list(self._urls)

    def count(self, key: HostKey, row: HostState, leased: int = 0) -> None:
        """Bring the totals up to date after a host has changed."""
        self._total -= self._urls.pop(key, 0)
        if not row.is_parked:
            self._due.pop(key, None)
        urls = row.waiting + leased
        if row.is_parked and urls:
            self._urls[key] = urls
            self._total += urls

    def expect_probe(self, key: HostKey, row: HostState) -> None:
        """Let a parked host be probed at its moment."""
        if row.is_parked and self._due.get(key) != row.next_at:
            self._due[key] = row.next_at
            heapq.heappush(self.probes, (row.next_at, key))

    @property
    def next_host(self) -> HostKey | None:
        """Return the host whose probe is due first."""
        return None if self.next_probe_at is None else self.probes[0][1]

    def take_due(self, now: float) -> HostKey | None:
        """Take a host whose probe is due, if there is one."""
        moment = self.next_probe_at
        if moment is None or moment > now:
            return None
        key = heapq.heappop(self.probes)[1]
        del self._due[key]
        return key

    @property
    def next_probe_at(self) -> float | None:
        """Return when the next probe is due."""
        while self.probes and self._due.get(self.probes[0][1]) != self.probes[0][0]:
            heapq.heappop(self.probes)
        return self.probes[0][0] if self.probes else None


class FailingTasks:
    """Tasks that failed in their host's run of failures: whose fault it was is not known yet.

    Each lies in a row of its own, and its host's row has a note of the failure. While the host is
    not parked, a task does not wait longer than for its next try, which is then free.
    """

    def __init__(self, get: Callable[[bytes], bytes | None]) -> None:
        self._get = get
        self._uncommitted: dict[bytes, Task] = {}
        self.retries: list[tuple[float, HostKey, int]] = []
        """A heap of moments; entries may be stale."""
        self.count = 0

    def load(self, host: HostKey, row: HostState) -> None:
        """Take up what a host's row remembers, at a start."""
        for tried in row.outage.tries if row.outage is not None else ():
            self.count += 1
            self.expect(host, tried, tried.retry_at)

    def put(self, host: HostKey, row: HostState, task: Task, tried: FailedTry) -> list[Row]:
        """Keep a task that failed; return the row to be written."""
        if row.outage is None:
            raise ValueError(f"{row.name} has no run of failures")
        row.outage.tries.append(tried)
        key = failing_key(host, task.url.key)
        self._uncommitted[key] = task
        self.count += 1
        self.expect(host, tried, tried.retry_at)
        return [(key, pack_delayed(task))]

    def take(self, host: HostKey, tried: FailedTry) -> tuple[Task | None, Row]:
        """Take a task away; return it and the deletion of its row. The note is the caller's."""
        key = failing_key(host, tried.url_key)
        self.count -= 1
        task = self._uncommitted.pop(key, None)
        if task is None and (value := self._get(key)) is not None:
            task = unpack_delayed(value)
        return task, (key, None)

    def expect(self, host: HostKey, tried: FailedTry, moment: float) -> None:
        """Let a try be due at a moment."""
        heapq.heappush(self.retries, (moment, host, tried.url_key))

    def take_due(self, now: float) -> Iterator[tuple[HostKey, int]]:
        """Yield host and URL key of the tries whose moment has come; they may be stale."""
        while self.retries and self.retries[0][0] <= now:
            _, host, url_key = heapq.heappop(self.retries)
            yield host, url_key

    def next_host(self) -> tuple[HostKey, int] | None:
        """Return host and URL key of the next try; it may be stale."""
        return self.retries[0][1:] if self.retries else None

    @property
    def next_due_at(self) -> float | None:
        """Return when the next try is due."""
        return self.retries[0][0] if self.retries else None

    def committed(self) -> None:
        """Read tasks from their rows from now on."""
        self._uncommitted.clear()


class Parking:
    """Parks hosts that fail, probes them, wakes them or gives them up; keeps what failed there."""

    def __init__(
        self, queues: HostQueues, get: Callable[[bytes], bytes | None], random: Random
    ) -> None:
        self._queues, self._random = queues, random
        self._hosts, self._bench = queues.hosts, queues.bench
        self._parked = ParkedHosts()
        self._failing = FailingTasks(get)
        self._lost: list[LostTask] = []
        """Tasks that have ended without another request; the caller records them."""
        self._failed_at: dict[HostKey, float] = {}
        """Hosts that had answered before and have failed since any host answered last."""
        self.answered_at: float | None = None
        """When any host last answered, in this run."""
        self.answered_hosts = 0
        """Hosts that have ever answered anything."""

    def load(self, key: HostKey, row: HostState) -> None:
        """Take up what a host's row says, at a start."""
        self._failing.load(key, row)
        self.answered_hosts += row.answered_at > 0.0
        if row.is_parked:
            self._parked.count(key, row)
            self._parked.expect_probe(key, row)

    @property
    def totals(self) -> Parked:
        """Return how many hosts are parked, and how many URLs wait for them."""
        return self._parked.totals

    @property
    def failing(self) -> int:
        """Return how many tasks have failed and wait in rows of their own."""
        return self._failing.count

    @property
    def has_moments(self) -> bool:
        """Return True if there are tries or probes to wait for: asked before every request."""
        return bool(self._failing.retries or self._parked.probes)

    def next_moments(self) -> tuple[float | None, float | None]:
        """Return when the next try of a task that failed is due, and the next probe."""
        return self._failing.next_due_at, self._parked.next_probe_at

    def waits(self, now: float) -> Iterator[WaitsFor]:
        """Yield what the first of the parked hosts waits for, and the first task that failed."""
        parked, probe_at = self._parked.next_host, self._parked.next_probe_at
        if parked is not None and probe_at is not None:
            row = self._hosts.find(parked)
            if row is not None and row.outage is not None:
                yield _wait_of(row.name, probe_at - now, row.outage)
        failing, retry_at = self._failing.next_host(), self._failing.next_due_at
        if failing is not None and retry_at is not None:
            row = self._hosts.find(failing[0])
            if row is not None and row.outage is not None and not row.is_parked:
                yield _wait_of(row.name, retry_at - now, row.outage)

    def is_failing(self, host: str) -> bool:
        """Return True if a host did not answer last, parked or not."""
        row = self._hosts.find(host_key(host))
        return row is not None and row.outage is not None

    def probe_at(self, host: str) -> float | None:
        """Return when a parked host may be probed; None if the host is not parked."""
        row = self._hosts.find(host_key(host))
        return row.outage.probe_at if row is not None and row.outage and row.is_parked else None

    def failed_s(self, now: float) -> list[float]:
        """Return how long ago each host failed that had answered, since any host answered last."""
        return [now - at for at in self._failed_at.values()]

    def note_answer(
        self, host: ActiveHost, task: Task, answer: HostAnswer, now: float, *, had_answered: bool
    ) -> None:
        """Take in how a request ended: a failure may park its host, an answer wakes it."""
        self.answered_hosts += not had_answered and host.row.answered_at > 0.0
        failure = answer.failure
        if failure is None or not failure.is_silent:  # something came back over the network
            self._failed_at.clear()
            self.answered_at = now
        elif had_answered:
            self._failed_at[host.key] = now
        if failure is not None:
            note_failure(host.row, failure, now, self._random, answer.latency_s)
        elif not answer.is_throttled:
            self._wake(host, task, answer)

    def _wake(self, host: ActiveHost, task: Task, answer: HostAnswer) -> None:
        """Note that a host has answered: it is awake, and its failures get their owners."""
        row = host.row
        if answer.is_page and not answer.is_witness:
            row.witness = task.url.text
        if row.outage is None or not answer.is_whole:
            return
        if not (answer.is_page or robots_wakes(row)):
            return
        was_parked = row.is_parked
        for verdict in wake_row(row, by_witness=answer.is_witness):
            self._resolve(host.key, verdict)
        if was_parked:
            self._parked.count(host.key, row)

    def _resolve(self, key: HostKey, verdict: Verdict) -> None:
        """Give a task that failed back to its queue, charged if the failure was its own."""
        tried = verdict.failed
        task = self._take_failing(key, tried)
        if task is None:
            return
        if not verdict.is_own:
            self._queues.add_unharmed([task])
        elif tried.is_last:
            self._end(task, tried.reason, tried.detail)
        else:
            again = replace(task, attempt=task.attempt + 1)
            self._queues.write([self._queues.delayed.put(again, tried.retry_at)])

    def _take_failing(self, key: HostKey, tried: FailedTry) -> Task | None:
        """Take a task that failed out of its row; the note in its host's row is the caller's."""
        task, deletion = self._failing.take(key, tried)
        self._queues.write([deletion])
        return task

    def _end(self, task: Task, reason: str, detail: str) -> None:
        self._lost.append(LostTask(task, reason, detail))
        self._queues.settle(task)

    def take_lost(self) -> list[LostTask]:
        """Take the tasks that have ended without another request: their ends are to be recorded."""
        lost, self._lost = self._lost, []
        return lost

    def set_failed(self, task: Task, tried: FailedTry) -> None:
        """Keep a task that failed until it is known whose fault it was; its lease ends here.

        Settle it too, with the failure.
        """
        key = host_key(task.url.host)
        row = self._hosts.row(task.url.host)
        self._queues.write(self._queues.leases.withdraw(task))
        row.outage = row.outage or HostOutage()
        if len(row.outage.tries) >= TRIES_KEPT:
            self._queues.add_unharmed([task])
            return
        self._queues.write(self._failing.put(key, row, task, tried))
        self._hosts.change(key, row)

    def committed(self) -> None:
        """Read tasks that failed from their rows from now on."""
        self._failing.committed()

    def retry_due(self, now: float) -> None:
        """Let tasks go whose next try is due although nothing is known yet: it is free.

        While the host has other tasks, those tell more. If none is left and the failure is not the
        first, the host is parked: the page that it is known to answer is asked instead.
        """
        for key, url_key in self._failing.take_due(now):
            row = self._hosts.find(key)
            if row is None or row.outage is None or row.outage.is_parked:
                continue
            tried = next((one for one in row.outage.tries if one.url_key == url_key), None)
            if tried is None or tried.retry_at > now:
                continue
            if self._queues.has_work(key, row):
                self._failing.expect(key, tried, now + FREE_TRY_S)
            elif row.outage.failures >= parks_alone_at(tried):
                self.park(row.name, now, row.outage.reason)
            else:
                row.outage.tries.remove(tried)
                self._hosts.change(key, row)
                self._resolve(key, Verdict(tried, is_own=False))

    def park(self, host: str, now: float, reason: str) -> None:
        """Park a host from outside: its URLs wait unharmed until a probe is answered."""
        row, key = self._hosts.row(host), host_key(host)
        park_row(row, reason, now, self._random)
        self._hosts.change(key, row)
        active = self._bench.hosts.get(key)
        if active is None:
            self._parked.count(key, row)
            self._parked.expect_probe(key, row)
        elif not active.is_busy:
            self.set_aside(active)

    def set_aside(self, host: ActiveHost) -> None:
        """Take a parked host off the bench; its leases go back to its queue.

        Revisits are in no row but their lease: they stay, and are the next probes.
        """
        for lease in self._bench.set_aside(host):
            self._queues.add_unharmed(t for t in lease.tasks if t.kind is not LinkKind.WITNESS)
            self._queues.write(self._queues.leases.end(lease))
        self._parked.count(host.key, host.row, host.leased)
        self._parked.expect_probe(host.key, host.row)

    def note_queued(self, key: HostKey, row: HostState, *, had_any: bool) -> None:
        """Note that a parked host has got more tasks."""
        host = self._bench.hosts.get(key)
        self._parked.count(key, row, host.leased if host is not None else 0)
        if host is None and not had_any:
            self._parked.expect_probe(key, row)

    def begin_probes(self, now: float) -> None:
        """Lay parked hosts whose probe is due on the bench, each with one task."""
        while not self._queues.leases.is_full and (key := self._parked.take_due(now)) is not None:
            row = self._hosts.find(key)
            if key in self._bench.hosts or row is None or not row.is_parked:
                continue
            if row.next_at > now:
                self._parked.expect_probe(key, row)
            else:
                self.probe(self._bench.open(key, row))

    def probe(self, host: ActiveHost) -> None:
        """Lease one task of a parked host, or let the host go."""
        if (task := self._draw_probe(host.key, host.row)) is not None:
            self._queues.lease(host, [task])
        elif host.key in self._queues.new.hosts:
            self._bench.await_commit(host)
        else:
            self._bench.remove(host)
        self._parked.count(host.key, host.row, host.leased)

    def _draw_probe(self, key: HostKey, row: HostState) -> Task | None:
        """Return what a parked host is asked for next: a URL that has not failed, if there is one.

        Now and then it is the page that the host is known to answer.
        """
        outage = row.outage
        if outage is None:
            return None
        if wants_witness(row, all_failed=row.queued <= row.copies and bool(outage.tries)):
            return witness_task(row)
        task = self._queues.draw(key, row, self._random)
        while task is None and outage.tries:
            tried = outage.tries.pop(self._random.randrange(len(outage.tries)))
            task = self._take_failing(key, tried)
        return task

    def forget_witness(self, host: str) -> None:
        """No longer ask for the page that a host is known to answer: it is not wanted any more."""
        row = self._hosts.row(host)
        row.witness = ""
        self._hosts.change(host_key(host), row)

    def probe_soon(self, now: float, at_most: int | None = None) -> None:
        """Let parked hosts be probed as soon as their gap allows: all, or some drawn at random."""
        keys = self._parked.hosts()
        if at_most is not None and at_most < len(keys):
            keys = self._random.sample(keys, at_most)
        for key in keys:
            row = self._hosts.find(key)
            if row is None or row.outage is None or row.outage.reason == "throttled":
                continue
            row.next_at = min(row.next_at, now + row.gap_s)
            row.outage.probe_at = row.next_at
            self._hosts.change(key, row)
            if (host := self._bench.hosts.get(key)) is None:
                self._parked.expect_probe(key, row)
            elif not host.is_busy and host.waiting:
                self._bench.put(host)

    def shift_outages(self, seconds: float) -> None:
        """Let time that has passed without a network not count for how long hosts were down."""
        for key in self._parked.hosts():
            row = self._hosts.find(key)
            if row is not None and row.outage is not None and row.outage.parked_at is not None:
                row.outage.parked_at += seconds
                self._hosts.change(key, row)

    def give_up_hosts(
        self, now: float, give_up_s: float, *, probes: int | None = None, at_most: int = 1000
    ) -> int:
        """End some of the tasks of parked hosts that are given up; return how many.

        Those are hosts that have answered before and were down for `give_up_s`; and, if a number
        of probes is given, those that never answered and were down as long, or failed so many.
        Record what `take_lost` gives and commit; call it again until it returns 0.
        """
        ended = 0
        for key in self._parked.hosts():
            row = self._hosts.find(key)
            if row is None or row.outage is None or key in self._bench.hosts:
                continue
            may_end = row.answered_at > 0.0 or probes is not None
            is_unknown = probes is not None and is_hopeless(row, probes)
            if is_unknown or (may_end and is_overdue(row, now, give_up_s)):
                said = "host stopped answering" if row.answered_at else "host never answered"
                detail = f"{said}, {counted(row.outage.probes, 'probe')}"
                ended += self._give_up(key, row, detail, at_most - ended)
            if ended >= at_most:
                break
        return ended

    def end_queued(self, host: str, reason: str, detail: str, at_most: int) -> None:
        """End some of the queued tasks of a host that has its turn: what it said holds for all.

        Record what `take_lost` gives, in one commit with this.
        """
        key = host_key(host)
        if (active := self._bench.hosts.get(key)) is not None:
            for task in self._queues.take(key, active.row, at_most):
                self._end(task, reason, detail)

    def take_failed(self, task: Task) -> bool:
        """Take a task that failed in its host's run of failures out of it; return True if it was.

        A host that has none left, and nothing queued, is as if it were new.
        """
        key = host_key(task.url.host)
        row = self._hosts.find(key)
        outage = row.outage if row is not None else None
        if row is None or outage is None:
            return False
        tried = next((one for one in outage.tries if one.url_key == task.url.key), None)
        if tried is None:
            return False
        outage.tries.remove(tried)
        self._take_failing(key, tried)
        return True

    def recount(self, hosts: Iterable[HostKey]) -> None:
        """Bring the totals of hosts up to date whose tasks were taken out."""
        for key in hosts:
            if (row := self._hosts.find(key)) is not None:
                host = self._bench.hosts.get(key)
                self._parked.count(key, row, host.leased if host is not None else 0)

    def _give_up(self, key: HostKey, row: HostState, detail: str, at_most: int) -> int:
        """End some tasks of a host; when none is left, the host is as if it were new."""
        outage = row.outage
        if outage is None:
            return 0
        before = len(self._lost)
        while outage.tries and len(self._lost) - before < at_most:
            tried = outage.tries.pop()
            if (task := self._take_failing(key, tried)) is not None:
                self._end(task, tried.reason, detail)
        for task in self._queues.take(key, row, at_most - len(self._lost) + before):
            self._end(task, outage.reason, detail)
        if not row.waiting:
            row.outage = None
        self._parked.count(key, row)
        return len(self._lost) - before


def witness_task(row: HostState) -> Task:
    """Return the task of asking a host for the page that it is known to answer."""
    text = row.witness
    origin = "/".join(text.split("/", 3)[:3])
    url = Url(text=text, host=row.name, origin=origin, key=fingerprint(text, row.name))
    return Task(url=url, kind=LinkKind.WITNESS)


def _wait_of(host: str, seconds: float, outage: HostOutage) -> WaitsFor:
    """Return the wait for a host that failed: why it did, and what it said."""
    last = outage.tries[-1] if outage.tries else None
    detail = last.detail if last is not None and last.reason == outage.reason else ""
    return WaitsFor(host=host, seconds=max(0.0, seconds), reason=outage.reason, detail=detail)
