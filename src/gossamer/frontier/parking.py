"""Parked hosts: how many there are, whose probe is due, and the tasks that failed on them."""

import heapq
from collections.abc import Callable, Iterator
from random import Random

from msgspec import Struct

from gossamer.frontier.outage import Parked
from gossamer.frontier.rows import (
    FailedTry,
    HostRow,
    failing_key,
    pack_delayed,
    pack_tasks,
    queue_key,
    unpack_delayed,
    unpack_tasks,
)
from gossamer.model import HostKey, LinkKind, Row, Task, Url
from gossamer.urls import fingerprint

TRIES_KEPT = 512
"""Failures that a host's row remembers: what failed beyond them waits as if it had not."""
DRAWS = 8
"""Rows of a queue that are tried before the first one is taken: some were emptied by probes."""


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
        self._probes: list[tuple[float, HostKey]] = []
        self._due: dict[HostKey, float] = {}
        """The moment of each host's valid entry."""

    @property
    def totals(self) -> Parked:
        """Return how many hosts are parked, and how many URLs wait for them."""
        return Parked(hosts=len(self._urls), urls=self._total)

    def hosts(self) -> list[HostKey]:
        """Return the parked hosts for which URLs wait."""
        return list(self._urls)

    def count(self, key: HostKey, row: HostRow, leased: int = 0) -> None:
        """Bring the totals up to date after a host has changed."""
        self._total -= self._urls.pop(key, 0)
        if not row.is_parked:
            self._due.pop(key, None)
        urls = row.waiting + leased
        if row.is_parked and urls:
            self._urls[key] = urls
            self._total += urls

    def expect_probe(self, key: HostKey, row: HostRow) -> None:
        """Let a parked host be probed at its moment."""
        if row.is_parked and self._due.get(key) != row.next_at:
            self._due[key] = row.next_at
            heapq.heappush(self._probes, (row.next_at, key))

    @property
    def next_host(self) -> HostKey | None:
        """Return the host whose probe is due first."""
        return None if self.next_probe_at is None else self._probes[0][1]

    def take_due(self, now: float) -> HostKey | None:
        """Take a host whose probe is due, if there is one."""
        moment = self.next_probe_at
        if moment is None or moment > now:
            return None
        key = heapq.heappop(self._probes)[1]
        del self._due[key]
        return key

    @property
    def next_probe_at(self) -> float | None:
        """Return when the next probe is due."""
        while self._probes and self._due.get(self._probes[0][1]) != self._probes[0][0]:
            heapq.heappop(self._probes)
        return self._probes[0][0] if self._probes else None


class FailingTasks:
    """Tasks that failed in their host's run of failures: whose fault it was is not known yet.

    Each lies in a row of its own, and its host's row has a note of the failure. While the host is
    not parked, a task does not wait longer than for its next try, which is then free.
    """

    def __init__(self, get: Callable[[bytes], bytes | None]) -> None:
        self._get = get
        self._uncommitted: dict[bytes, Task] = {}
        self._retries: list[tuple[float, HostKey, int]] = []
        self.count = 0

    def load(self, host: HostKey, row: HostRow) -> None:
        """Take up what a host's row remembers, at a start."""
        for tried in row.outage.tries if row.outage is not None else ():
            self.count += 1
            self.expect(host, tried, tried.retry_at)

    def put(self, host: HostKey, row: HostRow, task: Task, tried: FailedTry) -> list[Row]:
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
        heapq.heappush(self._retries, (moment, host, tried.url_key))

    def take_due(self, now: float) -> Iterator[tuple[HostKey, int]]:
        """Yield host and URL key of the tries whose moment has come; they may be stale."""
        while self._retries and self._retries[0][0] <= now:
            _, host, url_key = heapq.heappop(self._retries)
            yield host, url_key

    def next_host(self) -> tuple[HostKey, int] | None:
        """Return host and URL key of the next try; it may be stale."""
        return self._retries[0][1:] if self._retries else None

    @property
    def next_due_at(self) -> float | None:
        """Return when the next try is due."""
        return self._retries[0][0] if self._retries else None

    def committed(self) -> None:
        """Read tasks from their rows from now on."""
        self._uncommitted.clear()


def witness_task(row: HostRow) -> Task:
    """Return the task of asking a host for the page that it is known to answer."""
    text = row.witness
    origin = "/".join(text.split("/", 3)[:3])
    url = Url(text=text, host=row.name, origin=origin, key=fingerprint(text, row.name))
    return Task(url=url, kind=LinkKind.PROBE)


def draw_task(
    host: HostKey,
    row: HostRow,
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


def _nth_place(row: HostRow, number: int) -> tuple[int, int]:
    """Return grade and sequence of one of a host's queue rows, counted over all grades."""
    for grade, span in row.spans.items():
        if number < span.tail - span.head:
            return grade, span.head + number
        number -= span.tail - span.head
    raise IndexError(number)
