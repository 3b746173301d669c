"""Traps: is a part of a site without an end? Suspects are throttled, tried, and freed or closed."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from msgspec import Struct

from gossamer.config import TrapsConfig
from gossamer.filter.lists import Patterns
from gossamer.filter.traps.domains import Domains
from gossamer.filter.traps.hearing import Page, halve, hear, note, page_of
from gossamer.filter.traps.look import choose
from gossamer.filter.traps.names import address_of, child_of, climb, units_of
from gossamer.filter.traps.pen import Scan
from gossamer.filter.traps.register import Register
from gossamer.filter.traps.rows import host_of_unit
from gossamer.filter.traps.rules import (
    ALL_THE_SAME,
    STRIKES,
    Finding,
    finding,
    is_of_child,
    same_child,
    suspicion,
)
from gossamer.filter.traps.unit import Trial, Unit
from gossamer.filter.traps.words import closed_because, note_of, shown
from gossamer.model import (
    Fetched,
    Link,
    LinkKind,
    Objection,
    Reject,
    Row,
    Task,
    TrapNote,
    Turn,
    Url,
)

PROBES = 2
"""Pages of a unit on trial that may be under way at once."""


class Stay(Enum):
    """A task that may not go now: its unit waits with it."""

    HELD = "held"


class Return(Struct, frozen=True):
    """Tasks for the queue: those that their hosts have counted, and those they have not."""

    known: list[Task]
    new: list[Task]


class Path(NamedTuple):
    """The page that was heard of last: what it brings was reached by this way of its trial."""

    via: str
    way: tuple[int, int]
    child: str


class Traps:
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
        self._config = config
        self._register = Register(scan)
        self._domains = Domains(config, self._register, host_count)
        self._trusted = Patterns(config.trust)
        self._seeds = [address_of(seed) for seed in seeds]
        self._touched: dict[str, None] = {}
        self.refused: dict[str, int] = {}
        """Held tasks that were refused since the caller last emptied this."""
        self._path = Path("", (0, 0), "")
        for unit in self._register.watched():
            if not config.enabled or self._is_trusted(unit):
                self._register.acquit(unit)

    @property
    def held(self) -> int:
        """Return how many tasks are held back and not decided on."""
        return self._register.all_held

    def notes(self) -> tuple[TrapNote, ...]:
        """Return the units that are throttled or closed, for `status`."""
        held = self._register.held
        return choose([note_of(unit, held(unit.name)) for unit in self._register.watched()])

    def object_to(self, link: Link, _depth: int, _source: str) -> Objection | None:
        """Refuse links into closed units: the filter of this room."""
        url = link.target
        unit = self._register.governing(url)
        if unit is not None and unit.verdict:
            if link.kind is LinkKind.SEED:
                return None
            unit.refused += 1
            return Objection(Reject(unit.verdict), unit.detail)
        return self._domains.objection(url.host) if self._domains.are_closed else None

    def admit(self, tasks: Sequence[Task]) -> list[Task]:
        """Return those of some new tasks that may be queued; the others are held or refused."""
        if not self._config.enabled:
            return list(tasks)
        free: set[str] = set()
        admitted: list[Task] = []
        for task in tasks:
            host = task.url.host
            if host in free or self._is_admitted(task):
                admitted.append(task)
                if not self._register.is_watched(host) and not self._domains.is_new(host):
                    free.add(host)
        return admitted

    def _is_admitted(self, task: Task) -> bool:
        if task.kind is LinkKind.SEED or self._trusts(task.url):
            return True
        unit = self._register.governing(task.url)
        if unit is None:
            unit = self._domains.holds(task)
            if unit is None:
                return True
            way = (self._domains.steps_to(unit, task), 0)
        else:
            way = self._way_to(unit, task)
        if unit.verdict:
            self._refuse(unit, 1)
            unit.refused += 1
        else:
            self._register.pen(unit.name).put(task, way, is_new=True)
            self._touched[unit.name] = None
        return False

    def _way_to(self, unit: Unit, task: Task) -> tuple[int, int]:
        """Return how many pages of a unit's trial led to a new task, and how many in its child."""
        if task.via != self._path.via:
            return 0, 0
        child = child_of(unit.name, units_of(task.url))
        steps, inside = self._path.way
        return steps, inside if child and child == self._path.child else 0

    def may_go(self, task: Task) -> Objection | Stay | None:
        """Tell what is to become of a task whose turn it is: None lets it go."""
        url = task.url
        if task.kind is LinkKind.SEED:
            return None
        unit = self._register.governing(url)
        if unit is None:
            return self._domains.may_go(task)
        if unit.verdict:
            unit.refused += 1
            return Objection(Reject(unit.verdict), unit.detail)
        trial, pen = unit.trial, self._register.pen(unit.name)
        if trial is None or url.key in trial.out:
            return None
        self._touched[unit.name] = None
        self._register.change(unit)
        if not pen and len(trial.out) < PROBES:
            trial.out[url.key] = (0, 0)
            return None
        self._withdraw(url)
        pen.put(task, (0, 0), is_new=False)
        return Stay.HELD

    def _withdraw(self, url: Url) -> None:
        """Forget a probe of a larger unit that a smaller one on trial now waits with."""
        for name in units_of(url):
            unit = self._register.find(name)
            if (
                unit is not None
                and unit.trial is not None
                and unit.trial.out.pop(url.key, None) is not None
            ):
                self._touched[name] = None

    def observe(self, turn: Turn) -> None:
        """Hear how a task has ended."""
        if not self._config.enabled or turn.retry_at is not None or self._trusts(turn.task.url):
            return
        self._decide_on_hosts(turn)
        url = turn.task.url
        names = units_of(url)
        way = self._end_probe(url, names)
        self._path = Path(url.text, way, "")
        if isinstance(turn.outcome, Fetched) and not turn.label:
            self._hear(page_of(turn), names, way)

    def _hear(self, page: Page, names: list[str], way: tuple[int, int]) -> None:
        """Let a page speak for the smallest unit on trial, or for all its units if none is."""
        governing = self._register.governing(page.task.url)
        limit = self._config.unproven_pages
        if governing is not None and governing.verdict:
            return
        for name in names:
            unit = self._register.of(name)
            if (trial := unit.trial) is not None:
                child = child_of(name, names)
                self._path = Path(page.task.url.text, (way[0] + 1, way[1] + 1), child)
                hear(unit, trial, page, way, child)
                self._register.change(unit)
                self._decide(unit, trial, child)
                if trial.pages * 2 in {limit, 2 * limit}:
                    halve(trial)
                return
            note(unit, page)
            is_full = unit.block_pages >= self._config.suspect_pages
            if is_full and self._look_at(unit, page, is_tried=governing is not None):
                return

    def _end_probe(self, url: Url, names: Sequence[str]) -> tuple[int, int]:
        """Note that a page is no longer under way; return the way of its trial that led to it."""
        if not self._register.is_watched(url.host):
            return 0, 0
        way = (0, 0)
        for name in names:
            unit = self._register.find(name)
            if unit is not None and unit.trial is not None:
                way = max(way, unit.trial.out.pop(url.key, (0, 0)))
                self._touched[name] = None
                self._register.change(unit)
        return way

    def _look_at(self, unit: Unit, page: Page, *, is_tried: bool) -> bool:
        """Put a unit on trial if its last block of pages is suspect; tell whether that was done.

        Not if a larger unit is on trial: that one is tried first.
        """
        is_due = unit.pages >= unit.next_look and not is_tried
        why = suspicion(unit, page) if is_due else ""
        unit.block_pages = unit.block_bred = unit.block_fresh = 0
        unit.block_same = 0
        if why and not (suspect := self._register.of(climb(unit.name))).is_watched:
            self._register.try_unit(suspect, why)
            self._touched[suspect.name] = None
        return bool(why)

    def _decide(self, unit: Unit, trial: Trial, child: str) -> None:
        found = finding(unit, trial, self._config, is_home=self._is_home(unit))
        if found is Finding.FREE:
            self._register.acquit(unit)
        elif found is Finding.SAME:
            self._convict(unit, trial, same_child(trial))
        elif child and not trial.is_heir and is_of_child(trial, self._config):
            self._follow_into(unit, trial, child, found)
        elif found is Finding.ENDLESS:
            self._close(unit, trial, found)

    def _follow_into(self, unit: Unit, trial: Trial, name: str, found: Finding) -> None:
        """Judge the child that the trial has led into: it has its own trial, or its end."""
        child = self._register.of(name)
        self._register.try_unit(child, trial.suspicion)
        child.trial = Trial(suspicion=trial.suspicion, depth=trial.depth, is_heir=True)
        unit.trial = Trial(suspicion=trial.suspicion, out=trial.out, strikes=trial.strikes)
        self._touched[name] = None
        if found is Finding.ENDLESS:
            self._close(child, trial, found)

    def _convict(self, unit: Unit, trial: Trial, child: str) -> None:
        """Close a unit that repeats itself, or the child of it that alone does so."""
        if child:
            guilty = self._register.of(climb(child))
            self._register.try_unit(guilty, trial.suspicion)
            unit.trial = Trial(suspicion=trial.suspicion, out=trial.out, strikes=trial.strikes)
            self._close(guilty, trial, Finding.SAME)
        elif not self._is_home(unit) or trial.same >= ALL_THE_SAME * trial.pages:
            self._close(unit, trial, Finding.SAME)

    def _decide_on_hosts(self, turn: Turn) -> None:
        unit = self._domains.unit(turn.task.url.host)
        found = self._domains.observe(unit, turn) if unit is not None else Finding.OPEN
        if unit is None or unit.trial is None:
            return
        self._touched[unit.name] = None
        if found is Finding.FREE:
            self._register.acquit(unit)
        elif found is Finding.HOSTS:
            self._close(unit, unit.trial, found)

    def _close(self, unit: Unit, trial: Trial, found: Finding) -> None:
        detail = closed_because(unit, trial, found)
        unit.verdict = found.value
        self._refuse(unit, self._register.close(unit, found.value, detail))
        around = self._register.on_trial_around(unit)
        if around is not None and around.trial is not None:
            around.trial.strikes += 1
            has_value = around.trial.leaves or self._is_home(around)
            if around.trial.strikes >= STRIKES and not has_value:
                self._close(around, trial, found)

    def _refuse(self, unit: Unit, count: int) -> None:
        self.refused[unit.verdict] = self.refused.get(unit.verdict, 0) + count

    def release(self) -> Return:
        """Return the tasks that may go to the queue after all."""
        back = Return([], [])
        if not self._touched and not self._register.is_leaving:
            return back
        touched, self._touched = self._touched, {}
        for name in touched:
            unit = self._register.find(name)
            if unit is not None and unit.trial is not None:
                self._probe(unit, unit.trial, back)
        for held in self._register.let_out():
            (back.new if held.is_new else back.known).append(held.task)
        return back

    def _probe(self, unit: Unit, trial: Trial, back: Return) -> None:
        pen = self._register.refill(unit.name)
        out = unit.young if unit.name.startswith("*.") else trial.out
        while len(out) < PROBES:
            if (held := pen.next_probe(trial)) is None:
                return
            task = held.task
            governing = self._register.governing(task.url)
            if governing is not None and governing.verdict:
                self._refuse(governing, 1)
                continue
            if out is trial.out:
                trial.out[task.url.key] = held.way
            elif self._domains.is_new(task.url.host):
                unit.young[task.url.host] = held.way[0]
            self._register.change(unit)
            (back.new if held.is_new else back.known).append(task)

    def wake(self) -> Return:
        """Return tasks when there is nothing else left to do: now every trial must go on or end."""
        for unit in self._register.watched():
            trial = unit.trial
            if trial is None or not self._register.held(unit.name):
                continue
            trial.out.clear()
            unit.young.clear()
            self._touched[unit.name] = None
        return self.release()

    def rows_to_commit(self) -> list[Row]:
        """Give the rows that changed since the last commit."""
        return self._register.rows_to_commit()

    def _is_home(self, unit: Unit) -> bool:
        return any(seed.startswith(unit.name) for seed in self._seeds)

    def _trusts(self, url: Url) -> bool:
        trusted = self._trusted
        return bool(trusted) and bool(trusted.match_host(url.host) or trusted.match_url(url.text))

    def _is_trusted(self, unit: Unit) -> bool:
        host = host_of_unit(unit.name)
        return bool(self._trusted.match_host(host) or self._trusted.match_url(shown(unit.name)))
