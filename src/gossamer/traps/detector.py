"""Traps: is a part of a site without an end? Suspects are throttled, tried, and freed or closed."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from msgspec import Struct

from gossamer.config import TrapsConfig
from gossamer.model import Link, LinkKind, Objection, Reject, Row, Task, TrapNote, Turn, Url
from gossamer.traps.court import NOWHERE, Court
from gossamer.traps.evidence.names import units_of
from gossamer.traps.evidence.unit import Trial, Unit
from gossamer.traps.look import choose
from gossamer.traps.pen import Held, Pens, Scan
from gossamer.traps.register import Register
from gossamer.traps.rows import host_of_unit
from gossamer.traps.words import note_of, shown
from gossamer.urls import Patterns

PROBES = 2
"""Pages of a unit on trial, or new hosts of a domain, that may be under way at once."""


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

    def take(self, held: Held) -> None:
        """Add a task that was held."""
        (self.new if held.is_new else self.known).append(held.task)


class TrapDetector:
    """Judges units. Rows in and rows out, like every station.

    `observe` hears of every finished task, `admit` sorts what goes to the queue, `may_go` is asked
    before each request, and `release` gives back what may go to the queue after all.
    """

    def __init__(
        self,
        config: TrapsConfig,
        scan: Scan,
        seeds: Iterable[Url],
        host_count: Callable[[str], int],
    ) -> None:
        self._is_on = config.enabled
        self._trusted = Patterns(config.trust)
        self._register = Register(scan)
        names = [unit.name for unit in self._register.watched()]
        self._pens = Pens(scan, [*names, *self._register.leaving])
        for name in self._register.leaving:
            self._pens.open(name)
        self._court = Court(config, self._register, self._pens, seeds, host_count)
        for unit in self._register.watched():
            if not config.enabled or self._is_trusted(unit):
                self._court.acquit(unit)
            elif unit.verdict:
                self._pens.close(unit.name)

    @property
    def held(self) -> int:
        """Return how many tasks are held back and not decided on."""
        return self._pens.waiting

    def notes(self) -> tuple[TrapNote, ...]:
        """Return the units that are throttled or closed, for `status`."""
        units = self._register.watched()
        return choose([note_of(unit, self._pens.count(unit.name)) for unit in units])

    def object_to(self, link: Link, _depth: int, _source: str) -> Objection | None:
        """Refuse links into closed units: the filter of this room."""
        url = link.target
        unit = self._register.governing(url)
        if unit is not None and unit.verdict:
            if link.kind is LinkKind.SEED:
                return None
            unit.refused += 1
            return Objection(Reject(unit.verdict), unit.detail)
        if self._register.has_closed_domains:
            return self._court.domains.objection(url.host)
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
                if not self._register.has_watched(host) and not self._court.domains.is_new(host):
                    free.add(host)
        return admitted

    def _is_admitted(self, task: Task) -> bool:
        if task.kind is LinkKind.SEED or self._trusts(task.url):
            return True
        unit, way = self._register.governing(task.url), NOWHERE
        if unit is not None:
            way = self._court.way_to(unit, task)
        elif (unit := self._court.domains.holds(task)) is not None:
            way = (self._court.domains.steps_to(unit, task), 0)
        else:
            return True
        if unit.verdict:
            self._court.refuse(unit, 1)
        else:
            self._pens.of(unit.name).put(task, way, is_new=True)
            self._court.touched[unit.name] = None
        return False

    def may_go(self, task: Task) -> Objection | Hold | None:
        """Tell what is to become of a task whose turn it is: None lets it go."""
        url = task.url
        if task.kind is LinkKind.SEED:
            return None
        unit = self._register.governing(url)
        if unit is None:
            self._pens.forget(url)
            return self._court.domains.may_go(task)
        if unit.verdict:
            unit.refused += 1
            return Objection(Reject(unit.verdict), unit.detail)
        trial, pen = unit.trial, self._pens.of(unit.name)
        if trial is None or url.key in trial.out:
            return None
        if not pen and len(trial.out) < PROBES:
            trial.out[url.key] = NOWHERE
            return None
        self._court.end_probe(url, units_of(url))  # of a larger unit: a smaller one has it now
        pen.put(task, NOWHERE, is_new=False)
        return Hold.ON_PROBATION

    def observe(self, turn: Turn) -> None:
        """Hear how a task has ended."""
        is_first = turn.retry_at is None and turn.task.kind is not LinkKind.REVISIT
        if self._is_on and is_first and not self._trusts(turn.task.url):
            self._court.observe(turn)

    def release(self) -> ReleasedTasks:
        """Return the tasks that may go to the queue after all."""
        court = self._court
        back = ReleasedTasks([], [], court.refused)
        court.refused = {}
        touched, court.touched = court.touched, {}
        for name in touched:
            unit = self._register.find(name)
            if unit is not None and unit.trial is not None:
                self._probe(unit, unit.trial, back)
        for held in self._pens.let_out():
            back.take(held)
        for name in self._pens.left:
            if not self._register.of(name).is_watched:  # or it is on trial again
                self._register.drop(name)
        self._pens.left.clear()
        return back

    def _probe(self, unit: Unit, trial: Trial, back: ReleasedTasks) -> None:
        """Let out the next probes of a unit on trial; what is closed by now is refused."""
        pen = self._pens.filled(unit.name)
        out = unit.young if unit.is_domain else trial.out
        while len(out) < PROBES and (held := pen.next_probe(trial)) is not None:
            url = held.task.url
            governing = self._register.governing(url)
            if governing is not None and governing.verdict:
                self._court.refuse(governing, 1)
                continue
            if not unit.is_domain:
                trial.out[url.key] = held.way
            elif self._court.domains.is_new(url.host):
                unit.young[url.host] = held.way[0]
            self._register.change(unit)
            back.take(held)

    def wake(self) -> ReleasedTasks:
        """Return tasks when nothing else is left to do: a probe that is out by now is lost."""
        for unit in self._register.watched():
            if unit.trial is not None and self._pens.count(unit.name):
                unit.trial.out.clear()
                unit.young.clear()
                self._court.touched[unit.name] = None
        return self.release()

    def rows_to_commit(self) -> list[Row]:
        """Give the rows that changed since the last commit."""
        return [*self._register.rows_to_commit(), *self._pens.rows_to_commit()]

    def _trusts(self, url: Url) -> bool:
        trusted = self._trusted
        return bool(trusted) and bool(trusted.match_host(url.host) or trusted.match_url(url.text))

    def _is_trusted(self, unit: Unit) -> bool:
        host = host_of_unit(unit.name)
        return bool(self._trusted.match_host(host) or self._trusted.match_url(shown(unit.name)))
