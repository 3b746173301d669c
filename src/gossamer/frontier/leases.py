"""Tasks that are in no queue: those that are out on a lease, and those that wait for a moment."""

from collections.abc import Callable, Iterator, Sequence

from gossamer.frontier.rows import (
    DELAYED,
    HostRow,
    delayed_key,
    due_moment,
    lease_key,
    pack_tasks,
    unpack_delayed,
    url_key_in,
)
from gossamer.model import HostKey, Row, Task

WAKE_AT_ONCE = 1000
LONGEST_WAIT_S = 86_400.0
"""No try is ever put off for longer: the longest Retry-After that is obeyed."""


class Leases:
    """Open leases by URL key.

    A lease row is written once and deleted when the last of its tasks is concluded. In between a
    concluded task is known by its URL record, so a lease costs two writes however long it is. Only
    a task that leaves without a final record (to wait for its next try) has the row rewritten.
    """

    def __init__(self) -> None:
        self._row_of: dict[int, bytes] = {}
        self._tasks: dict[bytes, dict[int, Task]] = {}

    def __len__(self) -> int:
        return len(self._row_of)

    def take(self, host: HostKey, row: HostRow, tasks: Sequence[Task]) -> Row:
        """Lease tasks of a host; return the row that must be committed before they are used."""
        row.lease_sequence += 1
        key = lease_key(host, row.lease_sequence)
        self._tasks[key] = {task.url.key: task for task in tasks}
        self._row_of.update(dict.fromkeys(self._tasks[key], key))
        return key, pack_tasks(tasks)

    def conclude(self, task: Task) -> Row | None:
        """End a task's lease; return the deletion of its row if it was the last of it."""
        key = self._row_of.pop(task.url.key, None)
        if key is None:
            return None
        del self._tasks[key][task.url.key]
        if self._tasks[key]:
            return None
        del self._tasks[key]
        return key, None

    def withdraw(self, task: Task) -> Row | None:
        """Take a task out of its lease, in the row too; return the row to be written."""
        key = self._row_of.get(task.url.key)
        deletion = self.conclude(task)
        if key is None or deletion is not None:
            return deletion
        return key, pack_tasks(list(self._tasks[key].values()))


class Delayed:
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

    def put(self, task: Task, due_at: float) -> Row:
        """Let a task wait; return the row to be written."""
        self.count += 1
        if self.next_due_at is None or due_at < self.next_due_at:
            self.next_due_at = due_at
        return delayed_key(due_at, task.url.key), pack_tasks([task])

    def take_due(self, now: float) -> Iterator[tuple[Task, Row]]:
        """Give the tasks whose moment has come, each with the deletion of its row.

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
