"""The enqueue buffer: tasks that were added since the last commit, by host and grade."""

from collections.abc import Callable, Iterable, Iterator

from gossamer.model import HostKey, Task
from gossamer.urls import host_key


class Intake:
    """Tasks on their way to disk."""

    def __init__(self, grade_of: Callable[[Task], int]) -> None:
        self.grade_of = grade_of
        self._tasks: dict[tuple[HostKey, int], list[Task]] = {}
        self.hosts: set[HostKey] = set()
        self.count = 0

    def add(self, tasks: Iterable[Task]) -> dict[str, int]:
        """Take tasks in; return how many there were of each host."""
        counts: dict[str, int] = {}
        for task in tasks:
            host = task.url.host
            key = host_key(host)
            self._tasks.setdefault((key, self.grade_of(task)), []).append(task)
            self.hosts.add(key)
            counts[host] = counts.get(host, 0) + 1
        self.count += sum(counts.values())
        return counts

    def drain(self) -> Iterator[tuple[HostKey, int, list[Task]]]:
        """Give everything by host and grade, and be empty."""
        tasks, self._tasks, self.hosts, self.count = self._tasks, {}, set(), 0
        for (key, grade), portion in tasks.items():
            yield key, grade, portion
