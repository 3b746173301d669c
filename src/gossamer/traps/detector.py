"""TrapDetector: suspect parts of sites are put on probation, and wait behind everything else."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from gossamer.config import TrapsConfig
from gossamer.model import Link, LinkKind, Objection, Reject, Row, Task, TrapNote, Turn, Url
from gossamer.traps.allowance import NEW_HOST_COST, Allowance
from gossamer.traps.held import HeldQueues, HeldTask, most_important, note_of
from gossamer.traps.hosts import host_in
from gossamer.traps.probations import Probations
from gossamer.traps.registry import ScanRows, UnitRegistry
from gossamer.traps.rules import LISTED_BY_ONE, MOST_WEIGHT, NEW_PAGES
from gossamer.traps.trust import trusts_unit, trusts_url
from gossamer.traps.turns import Turns
from gossamer.traps.unit import NO_TRAIL, Probation, Unit, host_of, units_at, units_of
from gossamer.urls import Patterns, registrable_domain

PROBES = 2
"""Pages of a unit on probation, or new hosts of a domain, that may be out while others wait."""
OPEN_PROBES = 32
"""The same when nothing waits that comes before: so many that a host need not pause..."""
HOST_PROBES = 4
"""...and so many of a domain, whose hosts are asked side by side."""


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
    asked before each request, and `release` gives back what may go to the queue after all: as much
    as `obey` was told last.
    """

    def __init__(
        self,
        config: TrapsConfig,
        scan: ScanRows,
        seeds: Iterable[Url],
        host_count: Callable[[str], int],
        *,
        per_home: int,
        shards: int = 1,
    ) -> None:
        """Read the units; `per_home` is the allowance of a seed's host."""
        self._is_on = config.enabled
        self._trusted = Patterns(config.trust)
        self._registry = UnitRegistry(scan)
        names = [unit.name for unit in self._registry.watched()]
        self._queues = HeldQueues(scan, [*names, *self._registry.releasing])
        for name in self._registry.releasing:
            self._queues.release(name)
        self._reopen()
        self._allowance = Allowance(config, seeds, host_count, per_home=per_home, shards=shards)
        self._probations = Probations(
            config, self._registry, self._queues, self._allowance, host_count
        )
        self._domains = self._probations.domains
        self._ready: dict[str, None] = {}
        """Units that hold tasks, and have an allowance left as far as is known."""
        self._turns = Turns()
        self._is_open = False
        self._granted = self.used = 0
        """How many tasks may go, and have gone, while others wait that are free."""
        self._trusted_tasks: list[HeldTask] = []
        self._free_trusted(all_units=not config.enabled)

    def _reopen(self) -> None:
        """Put units on probation that were closed by an earlier version, though not empty."""
        for unit in self._registry.watched():
            if unit.verdict in {Reject.TRAP_ENDLESS, Reject.TRAP_HOSTS}:
                probation = Probation(suspicion=unit.detail.partition("; overrule")[0])
                probation.is_endless = True
                unit.verdict = unit.detail = ""
                self._registry.put_on_probation(unit, probation)
            elif unit.verdict:
                self._queues.close(unit.name)

    def trust(self, patterns: Sequence[str]) -> None:
        """Let go, and never hold again, what matches patterns: all of them, the old ones too."""
        self._trusted = Patterns(patterns)
        self._free_trusted(all_units=False)

    def add_seeds(self, seeds: Iterable[Url]) -> None:
        """Take the hosts of further seeds for home."""
        self._allowance.add_homes(seeds)
        for unit in self._registry.watched():
            self._probations.touch(unit.name)

    def _free_trusted(self, *, all_units: bool) -> None:
        for unit in self._registry.watched():
            if all_units or trusts_unit(self._trusted, unit):
                self._probations.release(unit)
            elif self._trusted:
                self._trusted_tasks += self._queues.move(unit.name, self.trusts)

    @property
    def held(self) -> int:
        """Return how many tasks are held back."""
        return self._queues.undecided

    @property
    def let_go(self) -> int:
        """Return how many tasks were held, and are on their way to the queue."""
        return self._queues.releasing + len(self._trusted_tasks)

    @property
    def left(self) -> int:
        """Return how many of the tasks that are held will yet go: an allowance is left for them."""
        return sum(
            self._queues.count(unit.name)
            for unit in self._registry.watched()
            if unit.probation is not None and self._allowance.has_room(unit, unit.probation)
        )

    @property
    def is_waiting(self) -> bool:
        """Return True if held tasks may yet go to the queue, as far as is known."""
        return bool(
            self._ready
            or self._probations.has_touched
            or self._queues.is_releasing
            or self._trusted_tasks
        )

    @property
    def may_send(self) -> bool:
        """Return True if held tasks may go to the queue, and wait for none of those that are out.

        Those that are out may be on hosts that are down.
        """
        if self._probations.has_touched or self._queues.is_releasing or self._trusted_tasks:
            return True
        units = map(self._registry.get, self._ready)
        return any(
            unit.probation is not None and len(unit.probation.in_flight) < self._room_of(unit)
            for unit in units
        )

    @property
    def out(self) -> int:
        """Return how many tasks are queued or under way on probation."""
        return self._probations.out

    def is_out(self, url: Url) -> bool:
        """Return True if a URL is queued or under way on probation."""
        return self._probations.is_out(url.key)

    def hosts_out(self) -> list[str]:
        """Return the host of each task that is out on probation; of a made-up host, its domain."""
        return [host_of(name) for name in self._probations.units_out()]

    def notes(self) -> tuple[TrapNote, ...]:
        """Return the units that hold URLs or are closed, for `status`."""
        found = [
            note_of(unit, self._queues.count(unit.name), self._allowance)
            for unit in self._registry.watched()
        ]
        return most_important([note for note in found if note.held or note.reason])

    def note_on(self, name: str) -> TrapNote | None:
        """Return what `status` says of a unit that is on probation; None if it is not, any more."""
        unit = self._registry.find(name)
        if unit is None or unit.probation is None:
            return None
        return note_of(unit, self._queues.count(name), self._allowance)

    def object_to(self, link: Link, _depth: int, _source: str) -> Objection | None:
        """Refuse links into closed units: the filter of this room."""
        unit = self._registry.governing(link.target)
        if unit is None or not unit.verdict or link.kind is LinkKind.SEED:
            return None
        unit.refused += 1
        return Objection(Reject(unit.verdict), unit.detail)

    def mark(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Return tasks as other shards should know them: those that a doubtful page brought."""
        if not tasks or self._probations.source_of(tasks[0]) is None:
            return tasks
        return [replace(task, is_doubtful=True) for task in tasks]

    def admit(self, tasks: Sequence[Task]) -> list[Task]:
        """Return those of some new tasks that may be queued; the others are held or refused."""
        if not self._is_on:
            return list(tasks)
        free: set[str] = set()
        admitted: list[Task] = []
        has_source = bool(tasks) and self._probations.source_of(tasks[0]) is not None
        for task in tasks:
            host = task.url.host
            if host in free or self._is_admitted(task):
                admitted.append(replace(task, is_doubtful=False) if task.is_doubtful else task)
                is_known = not self._registry.has_watched(host) and not self._domains.is_new(host)
                if is_known and not has_source and not task.is_doubtful:
                    free.add(host)
        return admitted

    def _is_admitted(self, task: Task) -> bool:
        """Return True if a new task may be queued; else hold it, or refuse it."""
        if task.kind is LinkKind.SEED or self.trusts(task.url):
            return True
        unit = self._holding(task)
        if unit is None:
            return True
        if unit.verdict:
            self._probations.refuse(unit, 1)
        else:
            trail = self._probations.trail_to(unit, task)
            self._queues.get(unit.name).put(replace(task, is_doubtful=False), trail, is_new=True)
            self._probations.touch(unit.name)
        return False

    def _holding(self, task: Task) -> Unit | None:
        """Return the unit that holds a new task, or that refuses it; None if it is free.

        What a page on probation brings is on probation, too, wherever it lies in its domain; so is
        a new host that only such pages name.
        """
        url = task.url
        unit = self._registry.governing(url)
        if unit is not None and (unit.verdict or not self._is_listed(task, unit)):
            return unit
        source = self._probations.source_of(task)
        if source is not None and ring_is_same(source, url):
            return source
        if (source is not None or task.is_doubtful) and self._domains.is_new(url.host):
            host = self._registry.get(units_of(url)[-1])
            if not host.is_watched:
                self._probations.begin(host, "only pages on probation name it", source)
            return host
        return self._domains.holding(task) if unit is None else None

    def _is_listed(self, task: Task, unit: Unit) -> bool:
        """Return True if what lists a URL of a unit on probation lies outside, and is free."""
        if task.is_doubtful or self._probations.source_of(task) is not None:
            return False
        source = task.via.partition("://")[2]
        if task.kind is not LinkKind.SITEMAP:
            if source.startswith(unit.name):
                return False
            if self._registry.governing_at(host_in(task.via), source) is not None:
                return False
            if unit.abroad and not self._may_list(unit, units_at(source)[-1]):
                return False
        if unit.probation is not None:
            self._probations.note_listed(unit)
        return True

    def _may_list(self, unit: Unit, lister: str) -> bool:
        """Return True if a host has not listed too many URLs of one with which it may grow."""
        if lister not in unit.abroad:
            return True
        unit.listers[lister] = unit.listers.get(lister, 0) + 1
        return unit.listers[lister] <= LISTED_BY_ONE

    def may_go(self, task: Task) -> Objection | Hold | None:
        """Return what speaks against fetching a task whose turn it is; None if nothing does.

        A task that is held comes back by `release`.
        """
        url = task.url
        if task.kind is LinkKind.SEED or self._probations.is_out(url.key) or self.trusts(url):
            return None
        unit = self._registry.governing(url)
        if unit is None:
            self._queues.forget(url)
            unit = self._domains.holding_known(task)
            if unit is None:
                return None
        elif unit.verdict:
            unit.refused += 1
            return Objection(Reject(unit.verdict), unit.detail)
        elif self._is_listed(task, unit):
            return None
        self._queues.get(unit.name).put(task, NO_TRAIL, is_new=False)
        self._probations.touch(unit.name)
        return Hold.ON_PROBATION

    def observe(self, turn: Turn) -> None:
        """Take note of how a task has ended."""
        is_first = turn.retry_at is None and turn.task.kind is not LinkKind.REVISIT
        if self._is_on and is_first and not self.trusts(turn.task.url):
            self._probations.observe(turn)

    def note_listed(self, tasks: Sequence[Task]) -> None:
        """Let held URLs go that pages of other shards list, if those are free."""
        if self._is_on and not self._registry.is_quiet:
            self._probations.note_listed_urls(task for task in tasks if not task.is_doubtful)

    def obey(self, *, is_open: bool, granted: int, now: float) -> None:
        """Be told whether nothing else waits anywhere, or how many tasks may go meanwhile."""
        self._is_open, self._granted = is_open, granted
        self._turns.look(now)
        if is_open or self.used < granted:
            for name in self._ready:
                self._probations.touch(name)

    def release(self) -> ReleasedTasks:
        """Return the tasks that may go to the queue after all."""
        released = ReleasedTasks([], [], self._probations.take_refused())
        self._send(released)
        trusted, self._trusted_tasks = self._trusted_tasks, []
        for held in (*self._probations.take_listed(), *trusted, *self._queues.take_released()):
            released.add(held)
        for name in self._queues.take_emptied():
            if not self._registry.get(name).is_watched:  # or it is on probation again
                self._registry.drop(name)
        return released

    def _send(self, released: ReleasedTasks) -> None:
        """Let tasks go that may, from those units first whose turn it is."""
        waiting: list[tuple[float, str, Unit, Probation]] = []
        for name in self._probations.take_touched():
            unit = self._registry.find(name)
            if unit is None or unit.probation is None or not self._queues.count(name):
                self._leave(name)
                continue
            self._ready[name] = None
            clock = self._turns.join(self._turn_of(unit))
            waiting.append((clock, name, unit, unit.probation))
        for _, name, unit, probation in sorted(waiting, key=lambda one: one[:2]):
            if not self._send_of(unit, probation, released):
                self._leave(name)

    def _leave(self, name: str) -> None:
        """Note that a unit has nothing to send; what is out still has its turn."""
        self._ready.pop(name, None)
        unit = self._registry.get(name)
        turn = self._turn_of(unit)
        is_home, probation = self._allowance.is_home(unit), unit.probation
        has_own_out = probation is not None and bool(probation.in_flight)
        if not (has_own_out if is_home else self._allowance.has_out(unit)) and not any(
            self._turn_of(self._registry.get(other)) == turn for other in self._ready
        ):
            self._turns.leave(turn)

    def _turn_of(self, unit: Unit) -> str:
        """Return with whom a unit has its turn: its domain; at home the folder that it lies in.

        The folders of a seed's host may be as different as the sites of others.
        """
        if self._allowance.is_home(unit):
            return "/".join(unit.name.split("/", 2)[:2])
        return self._allowance.account_of(unit)

    def _send_of(self, unit: Unit, probation: Probation, released: ReleasedTasks) -> bool:
        """Let tasks of one unit go; return False if it has none left, or no allowance."""
        is_open, room = self._is_open, self._room_of(unit)
        is_new = self._allowance.spent_by(unit) < NEW_PAGES
        weight = MOST_WEIGHT if is_new else probation.weight
        turn = self._turn_of(unit)
        queue = self._queues.get_filled(unit.name)
        while len(probation.in_flight) < room:
            if not (self._turns.is_due(turn) if is_open else self.used < self._granted):
                return True
            if not self._allowance.has_room(unit, probation):
                return False
            held = queue.next_probe(probation)
            if held is None:
                queue = self._queues.get_filled(unit.name)
                if not queue:
                    return False
                continue
            if self._was_moved(unit, held):
                continue
            is_new_host = unit.is_domain and self._domains.is_new(held.task.url.host)
            cost = NEW_HOST_COST if is_new_host else 1
            self.used += 0 if is_open else cost
            self._turns.take(turn, cost / weight)
            self._probations.send(unit, probation, held)
            released.add(held)
        return True

    def _room_of(self, unit: Unit) -> int:
        """Return how many tasks of a unit may be out at a time."""
        if not self._is_open:
            return PROBES
        return HOST_PROBES if unit.is_domain else OPEN_PROBES

    def _was_moved(self, unit: Unit, held: HeldTask) -> bool:
        """Leave a task to a smaller unit that is on probation or closed by now, if there is one."""
        governing = self._registry.governing(held.task.url)
        if governing is None or governing.name == unit.name:
            return False
        if governing.verdict:
            self._probations.refuse(governing, 1)
        elif len(governing.name) > len(unit.name):
            self._queues.get(governing.name).put(held.task, held.trail, is_new=held.is_new)
            self._probations.touch(governing.name)
        else:
            return False
        return True

    def wake(self) -> None:
        """Be told that nothing is queued or under way: what is out on probation is lost."""
        self._probations.forget_out()

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that changed since the last call."""
        return [*self._registry.rows_to_commit(), *self._queues.rows_to_commit()]

    def trusts(self, url: Url) -> bool:
        """Return True if a URL is never held: `[traps] trust` names it, or its host."""
        return bool(self._trusted) and trusts_url(self._trusted, url)


def ring_is_same(unit: Unit, url: Url) -> bool:
    """Return True if a URL lies in the domain of a unit."""
    return registrable_domain(host_of(unit.name)) == registrable_domain(url.host)
