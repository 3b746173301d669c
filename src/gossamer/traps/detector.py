"""TrapDetector: suspect parts of sites are put on probation, probed, and released or closed."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from msgspec import Struct

from gossamer.config import TrapsConfig
from gossamer.model import Link, LinkKind, Objection, Reject, Row, Task, TrapNote, Turn, Url
from gossamer.traps.held import HeldQueues, HeldTask, most_important, note_of
from gossamer.traps.probations import Probations
from gossamer.traps.registry import ScanRows, UnitRegistry
from gossamer.traps.unit import NO_TRAIL, Probation, Unit, host_of, units_of
from gossamer.urls import Patterns

PROBES = 2
"""Pages of a unit on probation, or new hosts of a domain, that may be in flight at once."""


class Hold(Enum):
    """A task that may not be fetched now: its unit is on probation and holds it back."""

    ON_PROBATION = "on probation"


class ReleasedTasks(Struct, frozen=True):
    """Tasks for the queue, those that their hosts have counted and those they have not.

    `refused` counts, by reason, those that were held and will not come back.
    """

    known: list[Task]
    new: list[Task]
    refused: dict[str, int]

    def add(self, held: HeldTask) -> None:
        """Add a task that was held."""
        (self.new if held.is_new else self.known).append(held.task)


class TrapDetector:
    """Holds back what belongs to units on probation. Rows in and rows out, like every station.

    `observe` is told of every finished task, `admit` sorts what goes to the queue, `may_go` is
    asked before each request, and `release` gives back what may go to the queue after all.
    """

    def __init__(
        self,
        config: TrapsConfig,
        scan: ScanRows,
        seeds: Iterable[Url],
        host_count: Callable[[str], int],
    ) -> None:
        self._is_on = config.enabled
        self._trusted = Patterns(config.trust)
        self._registry = UnitRegistry(scan)
        names = [unit.name for unit in self._registry.watched()]
        self._queues = HeldQueues(scan, [*names, *self._registry.releasing])
        for name in self._registry.releasing:
            self._queues.release(name)
        self._probations = Probations(config, self._registry, self._queues, seeds, host_count)
        self._domains = self._probations.domains
        for unit in self._registry.watched():
            if not config.enabled or self._trusts_unit(unit):
                self._probations.release(unit)
            elif unit.verdict:
                self._queues.close(unit.name)

    @property
    def held(self) -> int:
        """Return how many tasks are held back and not decided on."""
        return self._queues.undecided

    def notes(self) -> tuple[TrapNote, ...]:
        """Return the units on probation or closed, for `status`."""
        units = self._registry.watched()
        return most_important([note_of(unit, self._queues.count(unit.name)) for unit in units])

    def object_to(self, link: Link, _depth: int, _source: str) -> Objection | None:
        """Refuse links into closed units: the filter of this room."""
        url = link.target
        unit = self._registry.governing(url)
        if unit is not None and unit.verdict:
            if link.kind is LinkKind.SEED:
                return None
            unit.refused += 1
            return Objection(Reject(unit.verdict), unit.detail)
        if self._registry.has_closed_domains:
            return self._domains.objection(url.host)
        return None

    def admit(self, tasks: Sequence[Task]) -> list[Task]:
        """Return those of some new tasks that may be queued; the others are held or refused."""
        if not self._is_on:
            return list(tasks)
        free: set[str] = set()
        admitted: list[Task] = []
        for task in tasks:
            host = task.url.host
            if host in free or self._is_admitted(task):
                admitted.append(task)
                if not self._registry.has_watched(host) and not self._domains.is_new(host):
                    free.add(host)
        return admitted

    def _is_admitted(self, task: Task) -> bool:
        if task.kind is LinkKind.SEED or self._trusts(task.url):
            return True
        unit, trail = self._registry.governing(task.url), NO_TRAIL
        if unit is not None:
            trail = self._probations.trail_to(unit, task)
        elif (unit := self._domains.holding(task)) is not None:
            trail = (self._domains.generation(unit, task), 0)
        else:
            return True
        if unit.verdict:
            self._probations.refuse(unit, 1)
        else:
            self._queues.get(unit.name).put(task, trail, is_new=True)
            self._probations.touch(unit.name)
        return False

    def may_go(self, task: Task) -> Objection | Hold | None:
        """Return what speaks against fetching a task whose turn it is; None if nothing does.

        A task that is held comes back by `release`.
        """
        url = task.url
        if task.kind is LinkKind.SEED:
            return None
        unit = self._registry.governing(url)
        if unit is None:
            self._queues.forget(url)
            return self._domains.objection_to_unanswered(task)
        if unit.verdict:
            unit.refused += 1
            return Objection(Reject(unit.verdict), unit.detail)
        probation, queue = unit.probation, self._queues.get(unit.name)
        if probation is None or url.key in probation.in_flight:
            return None
        if not queue and len(probation.in_flight) < PROBES:
            probation.in_flight[url.key] = NO_TRAIL
            return None
        self._probations.end_probe(url, units_of(url))  # of a larger unit: a smaller one has it now
        queue.put(task, NO_TRAIL, is_new=False)
        return Hold.ON_PROBATION

    def observe(self, turn: Turn) -> None:
        """Take note of how a task has ended."""
        is_first = turn.retry_at is None and turn.task.kind is not LinkKind.REVISIT
        if self._is_on and is_first and not self._trusts(turn.task.url):
            self._probations.observe(turn)

    def release(self) -> ReleasedTasks:
        """Return the tasks that may go to the queue after all."""
        released = ReleasedTasks([], [], self._probations.take_refused())
        for name in self._probations.take_touched():
            unit = self._registry.find(name)
            if unit is not None and unit.probation is not None:
                self._send_probes(unit, unit.probation, released)
        for held in self._queues.take_released():
            released.add(held)
        for name in self._queues.take_emptied():
            if not self._registry.get(name).is_watched:  # or it is on probation again
                self._registry.drop(name)
        return released

    def _send_probes(self, unit: Unit, probation: Probation, released: ReleasedTasks) -> None:
        """Release the next probes of a unit on probation; what is closed by now is refused."""
        queue = self._queues.get_filled(unit.name)
        in_flight = unit.unanswered if unit.is_domain else probation.in_flight
        while len(in_flight) < PROBES and (held := queue.next_probe(probation)) is not None:
            url = held.task.url
            governing = self._registry.governing(url)
            if governing is not None and governing.verdict:
                self._probations.refuse(governing, 1)
                continue
            if not unit.is_domain:
                probation.in_flight[url.key] = held.trail
            elif self._domains.is_new(url.host):
                unit.unanswered[url.host] = held.trail[0]
            self._registry.change(unit)
            released.add(held)

    def wake(self) -> ReleasedTasks:
        """Return tasks when nothing else is left to do: a probe still in flight by now is lost."""
        for unit in self._registry.watched():
            if unit.probation is not None and self._queues.count(unit.name):
                unit.probation.in_flight.clear()
                unit.unanswered.clear()
                self._probations.touch(unit.name)
        return self.release()

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that changed since the last call."""
        return [*self._registry.rows_to_commit(), *self._queues.rows_to_commit()]

    def _trusts(self, url: Url) -> bool:
        trusted = self._trusted
        return bool(trusted) and bool(trusted.match_host(url.host) or trusted.match_url(url.text))

    def _trusts_unit(self, unit: Unit) -> bool:
        example = unit.name if unit.is_domain else f"http://{unit.name}"
        return bool(
            self._trusted.match_host(host_of(unit.name)) or self._trusted.match_url(example)
        )
