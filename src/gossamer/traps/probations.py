"""Probations: counts what pages show about their units, puts units on probation, and decides."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gossamer.config import TrapsConfig
from gossamer.model import NO_CONTENT, Fetched, Task, Turn, Url
from gossamer.traps.held import HeldQueues, closed_because
from gossamer.traps.hosts import Domains
from gossamer.traps.mirrors import Mirrors
from gossamer.traps.observations import (
    Observation,
    count_page,
    count_probe,
    is_redirect_page,
    observation_of,
    remember_half,
)
from gossamer.traps.registry import UnitRegistry
from gossamer.traps.rules import (
    ALL_SAME_SHARE,
    STRIKES,
    SUSPECT_PAGES,
    Decision,
    decide,
    is_fast,
    is_in_child,
    same_child,
    suspicion,
)
from gossamer.traps.unit import (
    NO_TRAIL,
    Probation,
    Trail,
    Unit,
    address_of,
    child_of,
    units_of,
    word_folder_around,
)


class _LastPage(NamedTuple):
    """The page that was observed last: the new tasks it brings continue its trail."""

    url: str
    trail: Trail
    child: str


class Probations:
    """Decides about units."""

    def __init__(
        self,
        config: TrapsConfig,
        registry: UnitRegistry,
        queues: HeldQueues,
        seeds: Iterable[Url],
        host_count: Callable[[str], int],
    ) -> None:
        self._config, self._registry, self._queues = config, registry, queues
        self.domains = Domains(config, registry, host_count)
        self._seeds = [address_of(seed) for seed in seeds]
        self._mirrors = Mirrors(host_count)
        self._last = _LastPage("", NO_TRAIL, "")
        self._touched: dict[str, None] = {}
        self._refused: dict[str, int] = {}

    def touch(self, name: str) -> None:
        """Note that a unit may have room for another probe."""
        self._touched[name] = None

    def take_touched(self) -> Iterable[str]:
        """Return the units that may have room for another probe since the last call."""
        touched, self._touched = self._touched, {}
        return touched

    def take_refused(self) -> dict[str, int]:
        """Return how many tasks each reason refused since the last call."""
        refused, self._refused = self._refused, {}
        return refused

    def observe(self, turn: Turn) -> None:
        """Count a finished task, and decide about its units."""
        self._observe_host(turn)
        url = turn.task.url
        names = units_of(url)
        trail = self.end_probe(url, names)
        self._last = _LastPage(url.text, trail, "")
        is_content = isinstance(turn.outcome, Fetched) and turn.label not in NO_CONTENT
        is_page = is_content and not is_redirect_page(turn)
        if is_page:
            self._observe_page(observation_of(turn), names, trail)
        self._observe_copy(turn, self._registry.get(names[-1]), is_page=is_page)

    def trail_to(self, unit: Unit, task: Task) -> Trail:
        """Return how many pages of a probation led to a new task, and how many in its child."""
        if task.via != self._last.url:
            return NO_TRAIL
        child = child_of(unit.name, units_of(task.url))
        steps, in_child = self._last.trail
        return steps, in_child if child and child == self._last.child else 0

    def end_probe(self, url: Url, names: Sequence[str]) -> Trail:
        """Note that a page is no longer in flight; return the trail that led to it."""
        if not self._registry.has_watched(url.host):
            return NO_TRAIL
        trail = NO_TRAIL
        for name in names:
            unit = self._registry.find(name)
            if unit is not None and unit.probation is not None:
                trail = max(trail, unit.probation.in_flight.pop(url.key, NO_TRAIL))
                self.touch(name)
                self._registry.change(unit)
        return trail

    def refuse(self, unit: Unit, count: int) -> None:
        """Count tasks that a closed unit refuses."""
        unit.refused += count
        self._refused[unit.verdict] = self._refused.get(unit.verdict, 0) + count

    def release(self, unit: Unit) -> None:
        """Release a unit, and all that it holds."""
        self._registry.release(unit)
        self._queues.release(unit.name)

    def _observe_host(self, turn: Turn) -> None:
        unit = self.domains.find_unit(turn.task.url.host)
        if unit is None or unit.verdict:
            return
        decision = self.domains.observe(unit, turn)
        if unit.probation is None:
            return
        self.touch(unit.name)
        if decision is Decision.RELEASE:
            self.release(unit)
        elif decision is Decision.HOSTS:
            self._close(unit, unit.probation, decision)

    def _observe_copy(self, turn: Turn, host: Unit, *, is_page: bool) -> None:
        """Close hosts that have nothing but another's pages, if there are several."""
        original, mirrors = self._mirrors.observe(turn, host, is_page=is_page)
        for mirror in mirrors:
            if not mirror.verdict and not self._is_home(mirror):
                probation = Probation(suspicion=f"its pages are those of {original}")
                self._close(mirror, probation, Decision.MIRROR)

    def _observe_page(self, page: Observation, names: list[str], trail: Trail) -> None:
        """Count a page for the smallest unit on probation, or for all its units if none is."""
        governing = self._registry.governing(page.task.url)
        if governing is not None and governing.verdict:
            return
        for name in names:
            unit = self._registry.get(name)
            if unit.probation is not None:
                self._observe_probe(unit, unit.probation, page, trail, child_of(name, names))
                return
            count_page(unit, page)
            is_full = unit.block_pages >= SUSPECT_PAGES
            if is_full and self._check(unit, page, may_suspect=governing is None):
                return

    def _check(self, unit: Unit, page: Observation, *, may_suspect: bool) -> bool:
        """Put a unit on probation if its last block of pages is suspect; return True if it is.

        Not if a larger unit is on probation: that one is decided first.
        """
        is_due = unit.pages >= unit.next_check and may_suspect
        why = suspicion(unit, page) if is_due else ""
        unit.block_pages = unit.block_productive = unit.block_new_urls = unit.block_same = 0
        if why:
            suspect = self._registry.get(word_folder_around(unit.name))
            if not suspect.is_watched:
                self._registry.put_on_probation(suspect, why)
                self.touch(suspect.name)
        return bool(why)

    def _observe_probe(
        self, unit: Unit, probation: Probation, page: Observation, trail: Trail, child: str
    ) -> None:
        """Count a page of a unit on probation, and decide."""
        self._last = _LastPage(page.task.url.text, (trail[0] + 1, trail[1] + 1), child)
        count_probe(unit, probation, page, trail, child)
        self._registry.change(unit)
        self._decide(unit, probation, child)
        limit = self._config.unproven_pages
        if probation.pages * 2 in {limit, 2 * limit}:
            remember_half(probation)

    def _decide(self, unit: Unit, probation: Probation, child: str) -> None:
        decision = decide(unit, probation, self._config, is_home=self._is_home(unit))
        if decision is Decision.RELEASE:
            self.release(unit)
        elif decision is Decision.SAME:
            self._close_same(unit, probation)
        elif child and not probation.is_inherited and is_in_child(probation):
            self._follow_into(unit, probation, child, decision)
        elif decision is Decision.ENDLESS:
            self._close(unit, probation, decision)

    def _follow_into(self, unit: Unit, probation: Probation, name: str, decision: Decision) -> None:
        """Decide on the child that the probes have led into: its own probation, or its end."""
        child = self._registry.get(name)
        self._registry.put_on_probation(child, probation.suspicion)
        child.probation = Probation(
            suspicion=probation.suspicion, depth=probation.depth, is_inherited=True
        )
        unit.probation = _begun_again(probation)
        self.touch(name)
        if decision is Decision.ENDLESS and is_fast(child):
            self._close(child, probation, decision)

    def _close_same(self, unit: Unit, probation: Probation) -> None:
        """Close a unit that repeats itself, or the child of it that alone does so."""
        child = same_child(probation)
        if child:
            unit.probation = _begun_again(probation)
            suspect = self._registry.get(word_folder_around(child))
            self._close(suspect, probation, Decision.SAME)
        elif not self._is_home(unit) or probation.same >= ALL_SAME_SHARE * probation.pages:
            self._close(unit, probation, Decision.SAME)

    def _close(self, unit: Unit, probation: Probation, decision: Decision) -> None:
        """Close a unit; several closed children close the unit around them, if it has no value."""
        self._registry.close(unit, decision.value, closed_because(unit, probation, decision))
        self.refuse(unit, self._queues.close(unit.name))
        around = self._registry.on_probation_around(unit)
        if around is None or around.probation is None:
            return
        around.probation.strikes += 1
        has_value = around.probation.leaves or self._is_home(around)
        if around.probation.strikes >= STRIKES and not has_value:
            self._close(around, probation, decision)

    def _is_home(self, unit: Unit) -> bool:
        """Return True if a seed lies in a unit."""
        return any(seed.startswith(unit.name) for seed in self._seeds)


def _begun_again(probation: Probation) -> Probation:
    """Return the probation of a unit after its child was dealt with: the counts start anew."""
    return Probation(
        suspicion=probation.suspicion, in_flight=probation.in_flight, strikes=probation.strikes
    )
