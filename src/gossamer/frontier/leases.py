"""Tasks in no queue: those out on a lease, those that wait for a moment, and those just added."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gossamer.frontier.rows import (
    DELAYED,
    HostRow,
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
        self, host: HostKey, row: HostRow, tasks: Sequence[Task], *, is_first: bool = False
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
