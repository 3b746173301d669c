"""Sweeping: tasks that are not wanted any more leave the frontier at once, wherever they wait.

The caller has committed all that happened before each step, records what a step gives, and commits
again. Tasks that were handed out are not touched: their turn ends them.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias

from gossamer.frontier.parking import Parking
from gossamer.frontier.queues import HostQueues, ReadRows
from gossamer.frontier.rows import (
    FAILING,
    HOST,
    QUEUE,
    decode_host,
    unpack_delayed,
    unpack_tasks,
)
from gossamer.model import LinkKind, Task
from gossamer.urls import host_key

AT_ONCE = 200
"""Queue rows that are looked at between two turns of others; each has up to 64 tasks."""
_HOST = slice(1, 12)
_OF_STORED_PAGES = frozenset({LinkKind.REVISIT, LinkKind.WITNESS})
IsUnwanted: TypeAlias = Callable[[Task], bool]


class Sweep:
    """Takes tasks out of the frontier."""

    def __init__(self, queues: HostQueues, parking: Parking, rows: ReadRows) -> None:
        self._queues = queues
        self._parking = parking
        self._rows = rows

    def queued(self, is_unwanted: IsUnwanted) -> Iterator[list[bytes]]:
        """Yield the places of queue rows with unwanted tasks, AT_ONCE rows at a time.

        The rows are those of the moment of the first step; `take` looks at them again.
        """
        name, host = "", b""
        rows = self._rows.scan(QUEUE)
        while some := list(islice(rows, AT_ONCE)):
            places = []
            for place, value in some:
                if place[_HOST] != host:
                    host, found = place[_HOST], self._rows.get(HOST + place[_HOST])
                    name = decode_host(found).name if found is not None else ""
                if any(map(is_unwanted, unpack_tasks(value, name, 0))):
                    places.append(place)
            yield places

    def take(self, places: list[bytes], is_unwanted: IsUnwanted) -> list[Task]:
        """Take unwanted tasks out of queue rows; return those that had no turn."""
        found = [t for place in places for t in self._queues.take_from(place, is_unwanted)]
        self._parking.recount({place[_HOST] for place in places})
        return found

    def take_waiting(self, is_unwanted: IsUnwanted) -> list[Task]:
        """Take out the unwanted tasks that are leased, or wait for another try."""
        found: list[Task] = []
        for host in self._queues.bench.hosts.values():
            for lease in host.leases:
                gone = [t for t in lease.tasks if t.kind not in _OF_STORED_PAGES and is_unwanted(t)]
                if gone:
                    host.waiting -= len(gone)
                    self._queues.write(self._queues.leases.end_some(lease, gone))
                    found += gone
        for task, row in self._queues.delayed.take_out(is_unwanted):
            self._queues.write([row])
            found.append(task)
        failing = [unpack_delayed(value) for _, value in self._rows.scan(FAILING)]
        found += [t for t in failing if is_unwanted(t) and self._parking.take_failed(t)]
        self._parking.recount({host_key(task.url.host) for task in found})
        return found
