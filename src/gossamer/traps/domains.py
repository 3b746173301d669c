"""Domains: does a registrable domain invent hosts without an end?

A few hosts of a domain are let in at once. The others wait until one of those has answered: a host
whose first page names no new host is a leaf, and a domain with leaves is let go. A domain whose new
hosts only name newer ones is closed to further hosts.
"""

from collections.abc import Callable, Iterable

from xxhash import xxh3_64_intdigest

from gossamer.config import TrapsConfig
from gossamer.model import Fetched, Objection, Reject, Task, Turn
from gossamer.traps.evidence.names import units_of
from gossamer.traps.evidence.rules import KNOWN_DOMAINS, LEAF_SHARE, Finding, of_hosts
from gossamer.traps.evidence.unit import Unit
from gossamer.traps.register import Register
from gossamer.traps.rows import host_of_unit
from gossamer.urls import registrable_domain

HOSTS_PER_LEAF = 4
ANSWERED_KEPT = 256


class Domains:
    """The part of traps that looks at hosts instead of pages."""

    def __init__(
        self, config: TrapsConfig, register: Register, host_count: Callable[[str], int]
    ) -> None:
        self._config = config
        self._register = register
        self._host_count = host_count

    def is_new(self, host: str) -> bool:
        """Tell whether no URL of a host was ever taken in."""
        return not self._host_count(host)

    def unit(self, host: str) -> Unit | None:
        """Return the unit of a host's domain, if that is looked at; names of their own are not."""
        return self._register.find(name_of(registrable_domain(host)))

    def objection(self, host: str) -> Objection | None:
        """Object to a host that a closed domain has made up."""
        domain = registrable_domain(host)
        if domain == host or not self._register.has_watched(domain):
            return None
        unit = self._register.find(name_of(domain))
        if unit is None or not unit.verdict or not self.is_new(host):
            return None
        return Objection(Reject(unit.verdict), unit.detail)

    def holds(self, task: Task) -> Unit | None:
        """Return the domain that must wait with this new task; None if the task may go."""
        host = task.url.host
        domain = registrable_domain(host)
        self._note_linker(task, domain)
        if domain == host or host.removeprefix("www.") == domain or not self.is_new(host):
            return None
        unit = self._register.of(name_of(domain))
        if unit.trial is not None:
            return None if host in unit.young else unit
        unit.young.setdefault(host, self.steps_to(unit, task))
        if len(unit.young) > self._config.new_hosts + HOSTS_PER_LEAF * unit.leaves:
            del unit.young[host]
            self._register.try_unit(unit, f"{len(unit.young)} new hosts have not answered yet")
            return unit
        return None

    def _note_linker(self, task: Task, domain: str) -> None:
        """Remember that another domain links a host: somebody thinks that it is worth it."""
        linker = registrable_domain(host_in(task.via))
        if linker not in {domain, ""}:
            unit = self._register.of(units_of(task.url)[-1])
            if len(unit.domains) < KNOWN_DOMAINS:
                unit.domains.add(xxh3_64_intdigest(linker.encode()))

    def steps_to(self, unit: Unit, task: Task) -> int:
        """Return how many hosts in a row, each named by the one before, led to a task's host."""
        return unit.answered.get(host_in(task.via), 0)

    def may_go(self, task: Task) -> Objection | None:
        """Object to a host that was let in before its domain was closed, and never answered."""
        unit = self.unit(task.url.host)
        if unit is None or not unit.verdict or task.url.host not in unit.young:
            return None
        return Objection(Reject(unit.verdict), unit.detail)

    def observe(self, unit: Unit, turn: Turn) -> Finding:
        """Hear of a finished task: was it the first of its host, and which hosts does it name?"""
        host = turn.task.url.host
        if host not in unit.young or turn.retry_at is not None:
            return Finding.OPEN
        steps = unit.young.pop(host)
        if not isinstance(turn.outcome, Fetched):
            return self._heard(unit)
        fresh = self._new_hosts(host, turn.new_tasks)
        unit.pages += 1
        unit.leaves += not fresh
        if fresh and len(unit.answered) < ANSWERED_KEPT:
            unit.answered[host] = steps + 1
        if not unit.is_watched and unit.pages > max(unit.next_look, self._config.new_hosts):
            if unit.leaves < LEAF_SHARE * unit.pages:
                self._register.try_unit(unit, f"{unit.pages} new hosts named newer ones")
            unit.next_look = unit.pages + self._config.new_hosts
        if (trial := unit.trial) is not None:
            trial.pages += 1
            trial.bred += bool(fresh)
            trial.leaves += not fresh
            trial.fresh += fresh
            trial.depth = max(trial.depth, steps + 1) if fresh else trial.depth
        return self._heard(unit)

    def _heard(self, unit: Unit) -> Finding:
        if unit.trial is None:
            return Finding.OPEN
        self._register.change(unit)
        return of_hosts(unit.trial, self._config)

    def _new_hosts(self, host: str, tasks: Iterable[Task]) -> int:
        domain = registrable_domain(host)
        others = {task.url.host for task in tasks} - {host}
        return sum(registrable_domain(other) == domain and self.is_new(other) for other in others)


def host_in(text: str) -> str:
    """Return the host of a URL's text; "" if there is none."""
    return host_of_unit(text.partition("://")[2])


def name_of(domain: str) -> str:
    """Return the name of a domain's unit."""
    return f"*.{domain}"
