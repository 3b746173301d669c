"""Probations: counts what pages show about their units, puts units on probation, and decides."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.config import TrapsConfig
from gossamer.model import MAX_NESTING, NO_CONTENT, Fetched, Refused, Task, Turn, Url, links_to
from gossamer.traps.allowance import NEW_HOST_COST, Allowance
from gossamer.traps.held import HeldQueues, HeldTask, closed_because
from gossamer.traps.hosts import Domains, SharedAddresses, host_in
from gossamer.traps.mirrors import Mirrors
from gossamer.traps.observations import (
    Observation,
    SameTrails,
    count_page,
    count_probe,
    is_part_of_page,
    is_redirect_page,
    observation_of,
    remember_half,
)
from gossamer.traps.registry import UnitRegistry
from gossamer.traps.rules import (
    ALL_SAME_SHARE,
    FAST_GROWTH,
    GROWTH_PAGES,
    HOME_GROWTH_PAGES,
    QUERY_GROWTH_PAGES,
    STRIKES,
    SUSPECT_PAGES,
    Decision,
    decide,
    entrances_of,
    grow_together,
    is_fast,
    is_growing_on,
    is_half_over,
    is_in_child,
    is_listed_elsewhere,
    may_grow,
    same_child,
    suspicion,
    weight_of,
)
from gossamer.traps.unit import (
    NO_TRAIL,
    Probation,
    Trail,
    Unit,
    begun_again,
    child_of,
    host_of,
    host_unit,
    probation_name,
    units_of,
    word_folder_around,
)
from gossamer.urls import registrable_domain

ABROAD_KEPT = 16
WEIGHED_EVERY = 8
"""Pages of a probation after which its weight is found anew."""


class _LastPage(NamedTuple):
    """The page that was observed last: the new tasks it brings continue its trail."""

    url: str = ""
    unit: str = ""
    """The unit on whose probation it was fetched; "" if it was fetched as any other."""
    trail: Trail = NO_TRAIL
    child: str = ""


class _Probe(NamedTuple):
    """A task that went out on probation."""

    unit: str
    trail: Trail


class Probations:
    """Decides about units."""

    def __init__(
        self,
        config: TrapsConfig,
        registry: UnitRegistry,
        queues: HeldQueues,
        allowance: Allowance,
        host_count: Callable[[str], int],
    ) -> None:
        self._config, self._registry, self._queues = config, registry, queues
        self._allowance = allowance
        self._host_count = host_count
        self.domains = Domains(config, registry, host_count)
        self.shared = SharedAddresses()
        self._mirrors = Mirrors(host_count)
        self._same_trails = SameTrails()
        self._last = _LastPage()
        self._touched: dict[str, None] = {}
        self._refused: dict[str, int] = {}
        self._listed: list[HeldTask] = []
        self._out: dict[int, str] = {}
        """Tasks that went out on probation, by key: of which unit."""
        for unit in registry.watched():
            if unit.probation is not None:
                self._out.update(dict.fromkeys(unit.probation.in_flight, unit.name))
                allowance.load(unit)
                if shared := unit.probation.shared:
                    has_answered = unit.probation.spent > 0
                    self.shared.load(host_of(unit.name), shared, has_answered=has_answered)
                self.touch(unit.name)

    @property
    def out(self) -> int:
        """Return how many tasks are out on probation, queued or under way."""
        return len(self._out)

    def units_out(self) -> Iterable[str]:
        """Return the units that have tasks out, once for each."""
        return self._out.values()

    def is_out(self, key: int) -> bool:
        """Return True if a URL is out on probation."""
        return key in self._out

    def name_of_probation(self, key: int) -> str:
        """Return the name of the probation that a URL is out on; "" if it is on none."""
        unit = self._registry.find(self._out.get(key, ""))
        return probation_name(unit) if unit is not None else ""

    def touch(self, name: str) -> None:
        """Note that a unit may have room for another probe."""
        self._touched[name] = None

    @property
    def is_quiet(self) -> bool:
        """Return True if there is nothing that `take_...` would return."""
        return not (self._touched or self._refused or self._listed)

    @property
    def has_touched(self) -> bool:
        """Return True if there is any such unit."""
        return bool(self._touched)

    def take_touched(self) -> Iterable[str]:
        """Return the units that may have room for another probe since the last call."""
        touched, self._touched = self._touched, {}
        return touched

    def take_refused(self) -> dict[str, int]:
        """Return how many held tasks were refused since the last call."""
        refused, self._refused = self._refused, {}
        return refused

    def take_listed(self) -> list[HeldTask]:
        """Return held tasks that were found to be listed elsewhere since the last call."""
        listed, self._listed = self._listed, []
        return listed

    def observe(self, turn: Turn) -> None:
        """Count a finished task, and decide about its units."""
        url = turn.task.url
        probe = self._end_probe(turn)
        self._observe_host(turn)
        self._observe_address(turn, is_free=probe is None)
        names = units_of(url)
        trail = probe.trail if probe is not None else NO_TRAIL
        self._last = _LastPage(url.text, probe.unit if probe is not None else "", trail)
        is_content = isinstance(turn.outcome, Fetched) and turn.label not in NO_CONTENT
        if is_part_of_page(turn):
            return
        is_page = is_content and not is_redirect_page(turn)
        if is_page:
            self._observe_page(observation_of(turn), names, trail)
            self._observe_sitemap(turn, self._registry.get(names[-1]))
        self._observe_copy(turn, self._registry.get(names[-1]), is_page=is_page)
        if probe is None and turn.found is not None and not self._registry.is_quiet:
            self._observe_listed(turn)

    def source_of(self, task: Task) -> Unit | None:
        """Return the unit on whose probation the page was fetched that brought a new task.

        None if the page was fetched as any other, or is not the last one.
        """
        if not self._last.unit or task.via != self._last.url:
            return None
        unit = self._registry.find(self._last.unit)
        return unit if unit is not None and unit.probation is not None else None

    def mark(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Return tasks that the last page brought as other shards should know them."""
        if not tasks or tasks[0].via != self._last.url:
            return tasks
        if self.source_of(tasks[0]) is not None:
            tasks = [replace(task, is_doubtful=True) for task in tasks]
        host = host_in(self._last.url)
        lineage = self.shared.lineage_of(host)
        if lineage is None:
            return tasks
        own, suspected = registrable_domain(host), bool(self.shared.suspected_at(host))
        address, generation = lineage
        return [
            task
            if task.url.host == host or registrable_domain(task.url.host) == own
            else replace(
                task,
                is_doubtful=task.is_doubtful or suspected,
                named_at=address,
                generation=generation,
            )
            for task in tasks
        ]

    def trail_to(self, unit: Unit, task: Task) -> Trail:
        """Return how many pages of a probation led to a new task, and how many in its child."""
        if unit.is_domain:
            return self.domains.generation(unit, task), 0
        if task.via != self._last.url:
            return NO_TRAIL
        names = units_of(task.url)
        child = child_of(unit.name, names) if unit.name in names else ""
        steps, in_child = self._last.trail
        return steps, in_child if child and child == self._last.child else 0

    def begin(
        self,
        unit: Unit,
        why: str,
        source: Unit | None = None,
        shared: str = "",
        *,
        is_steady: bool = False,
    ) -> None:
        """Put a unit on probation; the addresses of the unit that led to it count for it, too."""
        led = source.probation if source is not None else None
        spent_at = dict.fromkeys(led.spent_at, 0) if led is not None else {}
        shared = shared or (led.shared if led is not None else "")
        if shared:
            spent_at[shared] = 0
        begun = Probation(suspicion=why, spent_at=spent_at, shared=shared, is_steady=is_steady)
        begun.rate_before = unit.new_urls / unit.pages if unit.pages else FAST_GROWTH
        begun.is_again = unit.next_check > 0
        self._registry.put_on_probation(unit, begun)
        self.touch(unit.name)

    def suspected_with_others(self, url: Url) -> Unit | None:
        """Return the host of a URL, on probation, if its domain is suspected with its address."""
        shared = self.shared.suspected_at(url.host)
        if not shared:
            return None
        host = self._registry.get(host_unit(url))
        if not host.is_watched:
            count = self.shared.count_at(shared)
            self.begin(host, f"{count} domains at {shared} name ever newer ones", shared=shared)
        return host

    def send(self, unit: Unit, probation: Probation, held: HeldTask) -> None:
        """Note that a task goes out on probation."""
        url = held.task.url
        probation.in_flight[url.key] = held.trail
        self._out[url.key] = unit.name
        self._allowance.send(unit)
        if unit.is_domain and self.domains.is_new(url.host):
            unit.unanswered[url.host] = held.trail[0]
        self._registry.change(unit)

    def forget_out(self) -> None:
        """Forget what is out on probation: nothing is queued or under way, so it is lost."""
        for unit in self._registry.watched():
            if (probation := unit.probation) is not None:
                self._allowance.take_back(unit, len(probation.in_flight))
                probation.in_flight.clear()
                unit.unanswered.clear()
                self.touch(unit.name)
        self._out.clear()

    def refuse(self, unit: Unit, count: int) -> None:
        """Count tasks that a closed unit refuses."""
        self._registry.refuse(unit, count)
        self._refused[unit.verdict] = self._refused.get(unit.verdict, 0) + count

    def release(self, unit: Unit) -> None:
        """Release a unit, and all that it holds."""
        self._end(unit)
        self._registry.release(unit)
        self._queues.release(unit.name)

    def note_listed(self, unit: Unit, count: int = 1) -> None:
        """Count URLs of a unit on probation that are listed outside; most of them release it."""
        unit.listed += count
        self._registry.change(unit)
        if is_listed_elsewhere(unit, self._queues.count(unit.name)):
            self.release(unit)

    def note_listed_urls(self, tasks: Iterable[Task]) -> None:
        """Let held URLs go that a free page lists."""
        for task in tasks:
            name = self._queues.unit_of(task.url.key)
            if not name and (unit := self._registry.governing(task.url)) is not None:
                name = unit.name if self._queues.is_partly_on_disk(unit.name) else ""
            if not name or _lies_in(name, task.via):
                continue
            unit = self._registry.find(name)
            if unit is None or unit.probation is None:
                continue
            if (held := self._queues.take_if_held(name, task.url.key)) is not None:
                self._listed.append(held)
                self.note_listed(unit)

    def _end(self, unit: Unit) -> None:
        """Forget what a unit has out and has spent: its probation ends."""
        if unit.probation is not None:
            self._allowance.load(unit, -1)
            for key in unit.probation.in_flight:
                self._out.pop(key, None)

    def _end_probe(self, turn: Turn) -> _Probe | None:
        """Note that a task that went out on probation has ended; return what it was."""
        if not self._out:
            return None
        key = turn.task.url.key
        unit = self._registry.find(self._out.pop(key, ""))
        if unit is None or (probation := unit.probation) is None:
            return None
        trail = probation.in_flight.pop(key, NO_TRAIL)
        self._allowance.take_back(unit)
        if not isinstance(turn.outcome, Refused):
            document = turn.outcome.document
            address = document.address if document is not None else ""
            is_first = (
                turn.task.url.host in unit.unanswered
                if unit.is_domain
                else bool(probation.shared) and not probation.spent
            )
            self._allowance.spend(unit, probation, address, NEW_HOST_COST if is_first else 1)
        self.touch(unit.name)
        self._registry.change(unit)
        return _Probe(unit.name, trail)

    def _observe_listed(self, turn: Turn) -> None:
        """Let held URLs go that a page lists whose own units are free."""
        task, found = turn.task, turn.found
        has_watched = self._registry.has_watched
        if found is None or self._registry.governing(task.url) is not None:
            return
        if self.shared.suspected_at(task.url.host):
            return
        links = links_to(found.links, has_watched)
        links += links_to(found.links, self._is_of_watched_domain)
        self.note_listed_urls(task.follow(link) for link in links)

    def _is_of_watched_domain(self, host: str) -> bool:
        domain = registrable_domain(host)
        return domain != host and self._registry.has_watched(domain)

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
            unit.probation.is_endless = True

    def _observe_address(self, turn: Turn, *, is_free: bool) -> None:
        """Count the domains of an address; release them if they come to an end, or are listed."""
        cleared = self.shared.observe(turn, is_free=is_free)
        if cleared:
            for unit in self._registry.watched():
                if unit.probation is not None and unit.probation.shared == cleared:
                    self.release(unit)
        elif not is_free and not self.shared.suspected_at(turn.task.url.host):
            host = self._registry.get(host_unit(turn.task.url))
            if host.probation is not None and host.probation.shared:
                self.release(host)

    def _observe_copy(self, turn: Turn, host: Unit, *, is_page: bool) -> None:
        """Close hosts that have nothing but another's pages, if there are several."""
        original, mirrors = self._mirrors.observe(turn, host, is_page=is_page)
        for mirror in mirrors:
            if not mirror.verdict and not self._allowance.is_home(mirror):
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
            count_page(unit, page, self._same_trails)
            is_full = unit.block_pages >= SUSPECT_PAGES
            if is_full and self._check(unit, page, may_suspect=governing is None):
                return
        if governing is None:
            self._check_pairs(page)
            self._check_growth(self._registry.get(names[-1]), page.task.url.host)

    def _observe_sitemap(self, turn: Turn, host: Unit) -> None:
        """Put a host on probation whose indexes of sitemaps name further ones without an end."""
        is_deep = turn.is_sitemap and turn.task.nesting >= MAX_NESTING
        if not is_deep or turn.found is None or host.verdict or self._allowance.is_home(host):
            return
        if not any(link.is_sitemap for link in turn.found.links):
            return
        if host.probation is None:
            why = f"indexes of sitemaps name further ones more than {MAX_NESTING} deep"
            self.begin(host, why, is_steady=True)
        if host.probation is not None:
            host.probation.has_endless_sitemaps = True

    def _check(self, unit: Unit, page: Observation, *, may_suspect: bool) -> bool:
        """Put a unit on probation if its last block of pages is suspect; return True if it is.

        Not if a larger unit is on probation: that one is decided first.
        """
        is_due = unit.pages >= unit.next_check and may_suspect
        is_free = is_due and self._may_grow(unit)
        growth = self._growth_of(unit, is_free_to_grow=is_free) if is_due else ""
        why = (suspicion(unit, page, is_free_to_grow=is_free) or growth) if is_due else ""
        unit.block_pages = unit.block_productive = unit.block_new_urls = unit.block_same = 0
        unit.block_brought, unit.block_number = 0, unit.highest
        if why:
            suspect = self._registry.get(word_folder_around(unit.name))
            is_site = suspect.is_host and self._allowance.is_home(suspect)
            if not suspect.is_watched and not is_site:
                self.begin(suspect, why, is_steady=bool(growth))
                return True
        return False

    def _may_grow(self, unit: Unit) -> bool:
        """Return True if a part of a seed's host is not suspected yet for its growth."""
        if unit.is_query or unit.is_host or not self._allowance.is_home(unit):
            return False
        return may_grow(self._registry.get(unit.folder), unit.pages)

    def _growth_of(self, unit: Unit, *, is_free_to_grow: bool) -> str:
        """Return in words how a part of a host grows, if it is suspected for that; else ""."""
        is_home = self._allowance.is_home(unit)
        if unit.is_host:
            return ""
        if is_home and (used := self._allowance.used_by(unit)):
            return used
        first = QUERY_GROWTH_PAGES if unit.is_query else HOME_GROWTH_PAGES if is_home else 0
        if not first or is_free_to_grow or unit.pages < max(first, 2 * unit.growth_pages):
            return ""
        return _growth_in_words(unit) if is_growing_on(unit, unit.new_urls) else ""

    def _check_pairs(self, page: Observation) -> None:
        """Put two hosts on probation whose pages bring ever new pages of each other."""
        if not page.abroad:
            return
        host = self._registry.get(host_unit(page.task.url))
        for name, count in page.abroad.items():
            if name in host.abroad or len(host.abroad) < ABROAD_KEPT:
                host.abroad[name] = host.abroad.get(name, 0) + count
            other = self._registry.find(name)
            if other is None or other.is_watched or host.is_watched:
                continue
            if grow_together(host, other):
                for one, its in ((host, other), (other, host)):
                    if not self._allowance.is_home(one):
                        why = f"its pages and those of {its.name} list ever new ones"
                        self.begin(one, why, is_steady=True)

    def _check_growth(self, host: Unit, name: str) -> None:
        """Put a host on probation that grows as fast as ever, whoever lists its URLs."""
        if host.pages < GROWTH_PAGES or host.pages < 2 * host.growth_pages:
            return
        if self._allowance.is_home(host):
            return
        if is_growing_on(host, self._host_count(name)):
            self.begin(host, _growth_in_words(host), is_steady=True)

    def _observe_probe(
        self, unit: Unit, probation: Probation, page: Observation, trail: Trail, child: str
    ) -> None:
        """Count a page of a unit on probation, and decide."""
        self._last = self._last._replace(trail=(trail[0] + 1, trail[1] + 1), child=child)
        leads_on = not page.new and self._leads_on(unit, page)
        count_probe(unit, probation, page, trail, child, self._same_trails, leads_on)
        self._registry.change(unit)
        if probation.pages % WEIGHED_EVERY == 0:
            probation.weight = weight_of(probation, entrances=self._entrances_of(unit))
        self._decide(unit, probation, child)
        half = self._config.unproven_pages // 2
        if probation.pages == half or is_half_over(probation, self._config):
            remember_half(probation)

    def _entrances_of(self, unit: Unit) -> float:
        around = self._registry.find(unit.folder)
        is_home = around is not None and self._allowance.is_home(unit)
        return entrances_of(max(unit.doors, around.doors)) if is_home and around else 1.0

    def _leads_on(self, unit: Unit, page: Observation) -> bool:
        """Return True if a page leads to what another unit holds, which brought it before."""
        holders = {self._queues.unit_of(link.target.key) for link in page.links}
        return bool(holders - {"", unit.name})

    def _decide(self, unit: Unit, probation: Probation, child: str) -> None:
        decision = decide(probation, self._config, pages=unit.pages)
        is_source = probation.shared or probation.has_endless_sitemaps
        if decision is Decision.RELEASE and is_source:
            return  # its pages may end: the domains or sitemaps that it names do not
        if decision is Decision.RELEASE:
            self.release(unit)
        elif decision is Decision.SAME:
            self._close_same(unit, probation)
        elif child and not probation.is_inherited and is_in_child(probation):
            self._follow_into(unit, probation, child, decision)
        elif decision is Decision.ENDLESS:
            self._note_endless(unit, probation)
        elif decision is Decision.EASING:
            probation.is_easing = True

    def _follow_into(self, unit: Unit, probation: Probation, name: str, decision: Decision) -> None:
        """Go on in the child that the probes have led into: it has a probation of its own."""
        child = self._registry.get(name)
        if child.is_watched:
            return
        inherited = Probation(
            suspicion=probation.suspicion,
            depth=probation.depth,
            is_inherited=True,
            rate_before=probation.rate_before,
            is_steady=probation.is_steady,
            is_again=probation.is_again,
            spent_at=dict.fromkeys(probation.spent_at, 0),
            shared=probation.shared,
        )
        self._registry.put_on_probation(child, inherited)
        unit.probation = begun_again(probation)
        self.touch(name)
        self.touch(unit.name)
        if decision is Decision.ENDLESS and is_fast(child):
            self._note_endless(child, inherited)

    def _note_endless(self, unit: Unit, probation: Probation) -> None:
        """Let a unit go behind others; so does the unit around several, if it has no value."""
        probation.is_easing = False
        if probation.is_endless:
            return
        probation.is_endless = True
        self._strike(unit)

    def _strike(self, unit: Unit) -> None:
        around = self._registry.on_probation_around(unit)
        if around is None or around.probation is None:
            return
        around.probation.strikes += 1
        self._registry.change(around)
        if around.probation.strikes >= STRIKES and not around.probation.leaves:
            self._note_endless(around, around.probation)

    def _close_same(self, unit: Unit, probation: Probation) -> None:
        """Close a unit that repeats itself, or the child of it that alone does so."""
        child = same_child(probation)
        if child:
            unit.probation = begun_again(probation)
            suspect = self._registry.get(word_folder_around(child))
            self._close(suspect, probation, Decision.SAME)
        elif (
            not self._allowance.is_home(unit) or probation.same >= ALL_SAME_SHARE * probation.pages
        ):
            self._close(unit, probation, Decision.SAME)

    def _close(self, unit: Unit, probation: Probation, decision: Decision) -> None:
        """Close a unit."""
        self._end(unit)
        self._registry.close(unit, decision.value, closed_because(unit, probation, decision))
        self.refuse(unit, self._queues.close(unit.name))
        self._strike(unit)


def _growth_in_words(unit: Unit) -> str:
    return f"{unit.pages} pages, and still {unit.growth_rate:.1f} new URLs for each page"


def _lies_in(name: str, text: str) -> bool:
    """Return True if the page with a URL's text lies in a unit."""
    if name.startswith("*."):
        domain = name.removeprefix("*.")
        host = host_in(text)
        return registrable_domain(host) == domain and host.removeprefix("www.") != domain
    return text.partition("://")[2].startswith(name)
