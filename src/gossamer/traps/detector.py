"""TrapDetector: suspect parts of sites are put on probation, and wait behind everything else."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from gossamer.config import TrapsConfig
from gossamer.model import Link, LinkKind, Objection, Reject, Row, Task, TrapNote, Turn, Url
from gossamer.traps.allowance import NEW_HOST_COST, Allowance, ProbationTurns
from gossamer.traps.held import (
    HeldQueues,
    HeldTask,
    ReadTrapRows,
    holder_among,
    most_important,
    note_of,
)
from gossamer.traps.hosts import host_in
from gossamer.traps.probations import Probations
from gossamer.traps.registry import ScanRows, UnitRegistry
from gossamer.traps.rules import (
    LEAST_WEIGHT,
    LISTED_BY_ONE,
    MOST_WEIGHT,
    NEW_PAGES,
    is_repeating,
    is_unending,
)
from gossamer.traps.trust import trusts_unit, trusts_url
from gossamer.traps.unit import NO_TRAIL, Probation, Unit, host_of, host_unit, units_at
from gossamer.urls import Patterns, registrable_domain

PROBES = 2
"""Pages of a unit on probation, or new hosts of a domain, that may be out while others wait."""
OPEN_PROBES = 32
"""The same when nothing waits that comes before: so many that a host need not pause..."""
SHARED_PROBES = 64
"""...and so many of all domains that are suspected with their address..."""
HOST_PROBES = 4
"""...and so many of a domain, whose hosts are asked side by side, and of what repeats itself: each
page tells where to look next."""


class ReadyUnits:
    """Units that hold tasks, and have an allowance left as far as is known.

    Of domains that are suspected together there may be thousands: only a few are asked at a time.
    """

    def __init__(self) -> None:
        self._alone: dict[str, None] = {}
        self._shared: dict[str, dict[str, None]] = {}
        """By the address with which they are suspected."""
        self._address: dict[str, str] = {}

    def __bool__(self) -> bool:
        """Return True if there is any."""
        return bool(self._alone or self._shared)

    def add(self, unit: Unit, probation: Probation) -> None:
        """Add a unit."""
        if not probation.shared:
            self._alone[unit.name] = None
            return
        self._address[unit.name] = probation.shared
        self._shared.setdefault(probation.shared, {})[unit.name] = None

    def discard(self, name: str) -> None:
        """Remove a unit, if it is among them."""
        self._alone.pop(name, None)
        if address := self._address.pop(name, ""):
            del self._shared[address][name]
            if not self._shared[address]:
                del self._shared[address]

    def first(self) -> Iterator[str]:
        """Yield all units, of those that are suspected together only the first few."""
        yield from self._alone
        for together in self._shared.values():
            yield from islice(together, SHARED_PROBES)


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


NOTHING_RELEASED = ReleasedTasks([], [], {})


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
        self._has_trusted = bool(self._trusted)
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
        self._ready = ReadyUnits()
        self._turns = ProbationTurns()
        self._is_open = False
        self._granted = self.used = self.used_open = 0
        """How many tasks may go, and have gone, while others wait that are free; and while none do.
        """
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
        self._has_trusted = bool(self._trusted)
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
        if self._allowance.is_left_everywhere:
            return self._queues.undecided
        return sum(
            count
            for unit in self._registry.watched()
            if unit.probation is not None
            and (count := self._queues.count(unit.name))
            and self._allowance.has_room(unit, unit.probation)
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
        units = map(self._registry.get, self._ready.first())
        return any(
            unit.probation is not None and self._has_room(unit, unit.probation) for unit in units
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
        """Return the units that hold URLs, are closed or have endless sitemaps, for `status`."""
        found = ((unit, self._queues.count(unit.name)) for unit in self._registry.watched())
        told = [(unit, n) for unit, n in found if n or unit.verdict or is_cut_off(unit)]
        return tuple(note_of(unit, n, self._allowance) for unit, n in most_important(told))

    def note_on(self, name: str) -> TrapNote | None:
        """Return what `status` says of a unit that is on probation; None if it is not, any more."""
        unit = self._registry.find(name)
        if unit is None or unit.probation is None:
            return None
        return note_of(unit, self._queues.count(name), self._allowance)

    def object_to(self, link: Link, _depth: int, _source: str) -> Objection | None:
        """Refuse links into closed units: the filter of this room."""
        unit = self._closed_for(link)
        if unit is None:
            return None
        self._registry.refuse(unit, 1)
        return Objection(Reject(unit.verdict), unit.detail)

    def objection_to(self, link: Link, _depth: int, _source: str) -> Objection | None:
        """Return what the filter would say of a link, for whoever only asks: nothing is counted."""
        unit = self._closed_for(link)
        return None if unit is None else Objection(Reject(unit.verdict), unit.detail)

    def _closed_for(self, link: Link) -> Unit | None:
        unit = self._registry.governing(link.target)
        is_open = unit is None or not unit.verdict or link.kind is LinkKind.SEED
        return None if is_open else unit

    def holder_of(self, url: Url, rows: ReadTrapRows) -> str | None:
        """Return the unit that holds a URL back, or lets it go, by committed rows; None if none."""
        open_units = (unit.name for unit in self._registry.watched() if not unit.verdict)
        return holder_among((*open_units, *self._queues.released_units), rows, url)

    def mark(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Return tasks as other shards should know them: whether a doubtful page brought them."""
        return self._probations.mark(tasks)

    def admit(self, tasks: Sequence[Task]) -> list[Task]:
        """Return those of some new tasks that may be queued; the others are held or refused."""
        if not self._is_on:
            return list(tasks)
        free: set[str] = set()
        admitted: list[Task] = []
        has_source = bool(tasks) and self._probations.source_of(tasks[0]) is not None
        for task in tasks:
            host = task.url.host
            if task.named_at:
                self._probations.shared.note_task(task)
            if host in free or self._is_admitted(task):
                admitted.append(_as_stored(task))
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
            self._queues.get(unit.name).put(_as_stored(task), trail, is_new=True)
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
        if unit is None and (together := self._probations.suspected_with_others(url)) is not None:
            return together
        if (source is not None or task.is_doubtful) and self._domains.is_new(url.host):
            host = self._registry.get(host_unit(url))
            if not host.is_watched:
                self._probations.begin(host, "only pages on probation name it", source)
            return host
        return self._domains.holding(task) if unit is None else None

    def _is_listed(self, task: Task, unit: Unit) -> bool:
        """Return True if what lists a URL of a unit on probation lies outside, and is free."""
        if task.is_doubtful or self._probations.source_of(task) is not None:
            return False
        source = task.via.partition("://")[2]
        if task.kind is LinkKind.SITEMAP:
            if unit.probation is not None and unit.probation.has_endless_sitemaps:
                return False
        else:
            if source.startswith(unit.name):
                return False
            host = host_in(task.via)
            if self._registry.governing_at(host, source) is not None:
                return False
            if self._probations.shared.suspected_at(host):
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
            unit = unit or self._probations.suspected_with_others(url)
            if unit is None:
                return None
        elif unit.verdict:
            self._registry.refuse(unit, 1)
            return Objection(Reject(unit.verdict), unit.detail)
        elif self._is_listed(task, unit):
            return None
        self._queues.get(unit.name).put(task, NO_TRAIL, is_new=False)
        self._probations.touch(unit.name)
        return Hold.ON_PROBATION

    def observe(self, turn: Turn) -> Turn:
        """Take note of how a task has ended; return it with the unit on whose probation it was."""
        is_first = turn.retry_at is None and turn.task.kind is not LinkKind.REVISIT
        if self._is_on and is_first and not self.trusts(turn.task.url):
            name = self._probations.name_of_probation(turn.task.url.key)
            self._probations.observe(turn)
            return replace(turn, on_probation=name) if name else turn
        return turn

    def note_listed(self, tasks: Sequence[Task]) -> None:
        """Let held URLs go that pages of other shards list, if those are free."""
        if not self._is_on:
            return
        free = [task for task in tasks if not task.is_doubtful]
        for task in free:
            self._probations.shared.note_task(task)
        if not self._registry.is_quiet:
            self._probations.note_listed_urls(free)

    def obey(self, *, is_open: bool, granted: int, now: float) -> None:
        """Be told whether nothing else waits anywhere, or how many tasks may go meanwhile."""
        self._is_open, self._granted = is_open, granted
        self._turns.look(now)
        if is_open or self.used < granted:
            for name in self._ready.first():
                self._probations.touch(name)

    def release(self) -> ReleasedTasks:
        """Return the tasks that may go to the queue after all."""
        if self._probations.is_quiet and not (self._trusted_tasks or self._queues.has_released):
            return NOTHING_RELEASED
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
            self._ready.add(unit, unit.probation)
            clock = self._turns.join(self._turn_of(unit))
            waiting.append((clock, name, unit, unit.probation))
        for _, name, unit, probation in sorted(waiting, key=_turn_order):
            if not self._send_of(unit, probation, released):
                self._leave(name)

    def _leave(self, name: str) -> None:
        """Note that a unit has nothing to send; what is out still has its turn."""
        unit = self._registry.get(name)
        self._ready.discard(name)
        turn = self._turn_of(unit)
        is_home, probation = self._allowance.is_home(unit), unit.probation
        has_own_out = probation is not None and bool(probation.in_flight)
        if not (has_own_out if is_home else self._allowance.has_out(unit)) and not any(
            self._turn_of(self._registry.get(other)) == turn for other in self._ready.first()
        ):
            self._turns.leave(turn)

    def _turn_of(self, unit: Unit) -> str:
        """Return with whom a unit has its turn: its domain; at home the folder that it lies in.

        Domains that are suspected together have one turn.

        The folders of a seed's host may be as different as the sites of others.
        """
        if self._allowance.is_home(unit):
            return "/".join(unit.name.split("/", 2)[:2])
        if unit.probation is not None and unit.probation.shared:
            return f"at {unit.probation.shared}"
        return self._allowance.account_of(unit)

    def _send_of(self, unit: Unit, probation: Probation, released: ReleasedTasks) -> bool:
        """Let tasks of one unit go; return False if it has none left, or no allowance."""
        is_open = self._is_open
        is_new = self._allowance.spent_by(unit) < NEW_PAGES and not probation.shared
        turn = self._turn_of(unit)
        weight = MOST_WEIGHT if is_new else self._weight_of(turn, probation)
        queue = self._queues.get_filled(unit.name)
        while self._has_room(unit, probation):
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
            is_new_host = self._domains.is_new(held.task.url.host) and (
                unit.is_domain or bool(probation.shared)
            )
            cost = NEW_HOST_COST if is_new_host else 1
            self.used += 0 if is_open else cost
            self.used_open += cost if is_open else 0
            self._turns.take(turn, cost / weight)
            self._probations.send(unit, probation, held)
            released.add(held)
        return True

    def _weight_of(self, turn: str, probation: Probation) -> float:
        """Return the weight of a unit: no more than that of a list with which it has its turn.

        The pages of a list that does not end are as many as one likes, though each has an end; so
        are the domains that are suspected together.
        """
        if probation.shared:
            return LEAST_WEIGHT
        weight = probation.weight
        for name in self._ready.first():
            unit = self._registry.get(name)
            other = unit.probation
            if other is not None and other.weight < weight and is_unending(other):
                weight = other.weight if self._turn_of(unit) == turn else weight
        return weight

    def _has_room(self, unit: Unit, probation: Probation) -> bool:
        """Return True if another task of a unit may be out."""
        if probation.shared and self._allowance.out_at(probation.shared) >= SHARED_PROBES:
            return False
        is_narrow = unit.is_domain or is_repeating(probation)
        room = PROBES if not self._is_open else HOST_PROBES if is_narrow else OPEN_PROBES
        return len(probation.in_flight) < room

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
        return self._has_trusted and trusts_url(self._trusted, url)


def is_cut_off(unit: Unit) -> bool:
    """Return True if a unit has more than was followed, though it holds no URL of it."""
    return unit.probation is not None and unit.probation.has_endless_sitemaps


def _as_stored(task: Task) -> Task:
    """Return a task without what it has told on its way here."""
    if not task.is_doubtful and not task.named_at:
        return task
    return replace(task, is_doubtful=False, named_at="", generation=0)


def _turn_order(one: tuple[float, str, Unit, Probation]) -> tuple[float, str]:
    """Return what goes first; of domains that are suspected together, the first that was named."""
    clock, name, _, probation = one
    return clock, f"at {probation.shared}" if probation.shared else name


def ring_is_same(unit: Unit, url: Url) -> bool:
    """Return True if a URL lies in the domain of a unit."""
    return registrable_domain(host_of(unit.name)) == registrable_domain(url.host)
