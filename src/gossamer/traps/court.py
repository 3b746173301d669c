"""Court: hears what pages tell about their units, puts units on trial, and decides."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gossamer.config import TrapsConfig
from gossamer.model import Fetched, Task, Turn, Url
from gossamer.traps.domains import Domains
from gossamer.traps.evidence.hearing import Page, halve, hear, is_signpost, note, page_of
from gossamer.traps.evidence.names import address_of, child_of, climb, units_of
from gossamer.traps.evidence.rules import (
    ALL_THE_SAME,
    STRIKES,
    SUSPECT_PAGES,
    Finding,
    finding,
    is_clear,
    is_of_child,
    same_child,
    suspicion,
)
from gossamer.traps.evidence.unit import Trial, Unit, Way
from gossamer.traps.mirrors import Mirrors
from gossamer.traps.pen import Pens
from gossamer.traps.register import Register
from gossamer.traps.words import closed_because

NOWHERE: Way = (0, 0)


class Path(NamedTuple):
    """The page that was heard of last: what it brings was reached by this way of its trial."""

    via: str
    way: Way
    child: str


class Court:
    """Decides about units; `touched` names those whose waiting room should be looked at."""

    def __init__(
        self,
        config: TrapsConfig,
        register: Register,
        pens: Pens,
        seeds: Iterable[Url],
        host_count: Callable[[str], int],
    ) -> None:
        self._config, self._register, self._pens = config, register, pens
        self.domains = Domains(config, register, host_count)
        self._seeds = [address_of(seed) for seed in seeds]
        self._mirrors = Mirrors()
        self._path = Path("", NOWHERE, "")
        self.touched: dict[str, None] = {}
        self.refused: dict[str, int] = {}

    def observe(self, turn: Turn) -> None:
        """Hear how a task has ended."""
        self._decide_on_hosts(turn)
        url = turn.task.url
        names = units_of(url)
        way = self.end_probe(url, names)
        self._path = Path(url.text, way, "")
        if isinstance(turn.outcome, Fetched) and not turn.label and not is_signpost(turn):
            self._hear(page_of(turn), names, way)
            self._compare(turn, self._register.of(names[-1]))

    def _compare(self, turn: Turn, host: Unit) -> None:
        """Close hosts that have nothing but another's pages, if there are several."""
        original, mirrors = self._mirrors.observe(turn, host)
        for mirror in mirrors:
            if not mirror.verdict and not self._is_home(mirror):
                trial = Trial(suspicion=f"its pages are those of {original}")
                self._close(mirror, trial, Finding.MIRROR)

    def way_to(self, unit: Unit, task: Task) -> Way:
        """Return how many pages of a unit's trial led to a new task, and how many in its child."""
        if task.via != self._path.via:
            return NOWHERE
        child = child_of(unit.name, units_of(task.url))
        steps, inside = self._path.way
        return steps, inside if child and child == self._path.child else 0

    def end_probe(self, url: Url, names: Sequence[str]) -> Way:
        """Note that a page is no longer under way; return the way of its trial that led to it."""
        if not self._register.has_watched(url.host):
            return NOWHERE
        way = NOWHERE
        for name in names:
            unit = self._register.find(name)
            if unit is not None and unit.trial is not None:
                way = max(way, unit.trial.out.pop(url.key, NOWHERE))
                self.touched[name] = None
                self._register.change(unit)
        return way

    def refuse(self, unit: Unit, count: int) -> None:
        """Count tasks that a closed unit refuses."""
        unit.refused += count
        self.refused[unit.verdict] = self.refused.get(unit.verdict, 0) + count

    def acquit(self, unit: Unit) -> None:
        """Let a unit go, and all that it holds."""
        self._register.acquit(unit)
        self._pens.open(unit.name)

    def _hear(self, page: Page, names: list[str], way: Way) -> None:
        """Let a page speak for the smallest unit on trial, or for all its units if none is."""
        governing = self._register.governing(page.task.url)
        if governing is not None and governing.verdict:
            return
        for name in names:
            unit = self._register.of(name)
            if unit.trial is not None:
                self._hear_on_trial(unit, unit.trial, page, way, child_of(name, names))
                return
            note(unit, page)
            is_full = unit.block_pages >= SUSPECT_PAGES
            if is_full and self._look_at(unit, page, is_tried=governing is not None):
                return

    def _hear_on_trial(self, unit: Unit, trial: Trial, page: Page, way: Way, child: str) -> None:
        self._path = Path(page.task.url.text, (way[0] + 1, way[1] + 1), child)
        hear(unit, trial, page, way, child)
        self._register.change(unit)
        self._decide(unit, trial, child)
        limit = self._config.unproven_pages
        if trial.pages * 2 in {limit, 2 * limit}:
            halve(trial)

    def _look_at(self, unit: Unit, page: Page, *, is_tried: bool) -> bool:
        """Put a unit on trial if its last block of pages is suspect; tell whether that was done.

        Not if a larger unit is on trial: that one is tried first.
        """
        is_due = unit.pages >= unit.next_look and not is_tried
        why = suspicion(unit, page) if is_due else ""
        unit.block_pages = unit.block_bred = unit.block_fresh = unit.block_same = 0
        if why and not (suspect := self._register.of(climb(unit.name))).is_watched:
            self._register.try_unit(suspect, why)
            self.touched[suspect.name] = None
        return bool(why)

    def _decide(self, unit: Unit, trial: Trial, child: str) -> None:
        found = finding(unit, trial, self._config, is_home=self._is_home(unit))
        if found is Finding.FREE:
            self.acquit(unit)
        elif found is Finding.SAME:
            self._convict(unit, trial, same_child(trial))
        elif child and not trial.is_heir and is_of_child(trial):
            self._follow_into(unit, trial, child, found)
        elif found is Finding.ENDLESS:
            self._close(unit, trial, found)

    def _follow_into(self, unit: Unit, trial: Trial, name: str, found: Finding) -> None:
        """Judge the child that the trial has led into: it has its own trial, or its end."""
        child = self._register.of(name)
        self._register.try_unit(child, trial.suspicion)
        child.trial = Trial(suspicion=trial.suspicion, depth=trial.depth, is_heir=True)
        unit.trial = Trial(suspicion=trial.suspicion, out=trial.out, strikes=trial.strikes)
        self.touched[name] = None
        if found is Finding.ENDLESS and is_clear(child):
            self._close(child, trial, found)

    def _convict(self, unit: Unit, trial: Trial, child: str) -> None:
        """Close a unit that repeats itself, or the child of it that alone does so."""
        if child:
            unit.trial = Trial(suspicion=trial.suspicion, out=trial.out, strikes=trial.strikes)
            self._close(self._register.of(climb(child)), trial, Finding.SAME)
        elif not self._is_home(unit) or trial.same >= ALL_THE_SAME * trial.pages:
            self._close(unit, trial, Finding.SAME)

    def _decide_on_hosts(self, turn: Turn) -> None:
        unit = self.domains.unit(turn.task.url.host)
        if unit is None or unit.verdict:
            return
        found = self.domains.observe(unit, turn)
        if unit.trial is None:
            return
        self.touched[unit.name] = None
        if found is Finding.FREE:
            self.acquit(unit)
        elif found is Finding.HOSTS:
            self._close(unit, unit.trial, found)

    def _close(self, unit: Unit, trial: Trial, found: Finding) -> None:
        """Close a unit; several closed children close the unit around them, if it has no value."""
        self._register.close(unit, found.value, closed_because(unit, trial, found))
        self.refuse(unit, self._pens.close(unit.name))
        around = self._register.on_trial_around(unit)
        if around is None or around.trial is None:
            return
        around.trial.strikes += 1
        has_value = around.trial.leaves or self._is_home(around)
        if around.trial.strikes >= STRIKES and not has_value:
            self._close(around, trial, found)

    def _is_home(self, unit: Unit) -> bool:
        return any(seed.startswith(unit.name) for seed in self._seeds)
