"""Made-up hosts: judged by hosts instead of pages."""

from collections.abc import Callable, Iterable

from gossamer.config import TrapsConfig
from gossamer.model import Fetched, Task, Turn
from gossamer.traps.registry import UnitRegistry
from gossamer.traps.rules import LEAF_SHARE, Decision, decide_on_hosts, weight_of
from gossamer.traps.unit import Probation, Unit, domain_unit, host_of
from gossamer.urls import registrable_domain

HOSTS_PER_LEAF = 4
ANSWERED_KEPT = 256
LISTED_HOSTS = 1000
"""So many hosts of a domain may be listed by its own front pages: a directory ends, a trap's does
not."""


class Domains:
    """Does a registrable domain make up hosts without an end?

    A few hosts of a domain are let in at once. The others wait until one of those has answered: a
    host whose first page names no new host is a leaf, and a domain with leaves is released. Hosts
    that other domains list, or the domain's own front pages, need not wait.
    """

    def __init__(
        self, config: TrapsConfig, registry: UnitRegistry, host_count: Callable[[str], int]
    ) -> None:
        self._config = config
        self._registry = registry
        self._host_count = host_count

    def is_new(self, host: str) -> bool:
        """Return True if no URL of a host was ever queued."""
        return not self._host_count(host)

    def find_unit(self, host: str) -> Unit | None:
        """Return the unit of a host's domain, if it is known."""
        return self._registry.find(domain_unit(registrable_domain(host)))

    def holding(self, task: Task) -> Unit | None:
        """Return the domain that must hold this new task back; None if it may be queued."""
        host = task.url.host
        domain = registrable_domain(host)
        if is_front_host(host, domain):
            return None
        if not self.is_new(host):
            return self.holding_known(task)
        unit = self._registry.get(domain_unit(domain))
        if host in unit.unanswered or self._is_listed(unit, task, domain):
            return None
        if unit.probation is not None:
            return unit
        unit.unanswered[host] = self.generation(unit, task)
        if len(unit.unanswered) > self._config.new_hosts + HOSTS_PER_LEAF * unit.leaves:
            del unit.unanswered[host]
            suspicion = f"{len(unit.unanswered)} new hosts have not answered yet"
            self._registry.put_on_probation(unit, Probation(suspicion=suspicion))
            return unit
        return None

    def holding_known(self, task: Task) -> Unit | None:
        """Return the domain on probation that holds a task of a host that was let in before.

        Only what its own made-up hosts have brought.
        """
        host = task.url.host
        domain = registrable_domain(host)
        if not self._registry.has_watched(domain) or is_front_host(host, domain):
            return None
        unit = self._registry.find(domain_unit(domain))
        source = host_in(task.via)
        if unit is None or unit.probation is None or host in unit.unanswered:
            return None
        is_own = registrable_domain(source) == domain and not is_front_host(source, domain)
        return unit if is_own else None

    def _is_listed(self, unit: Unit, task: Task, domain: str) -> bool:
        """Return True if a free page outside of the made-up hosts lists a host."""
        if task.is_doubtful:
            return False
        source = host_in(task.via)
        is_of_domain = registrable_domain(source) == domain
        if is_of_domain and not (is_front_host(source, domain) and unit.listed < LISTED_HOSTS):
            return False
        unit.listed += 1
        return True

    def generation(self, unit: Unit, task: Task) -> int:
        """Return how many hosts in a row, each named by the one before, led to a task's host."""
        return unit.answered.get(host_in(task.via), 0)

    def observe(self, unit: Unit, turn: Turn) -> Decision:
        """Count a finished task of a domain: was it the first of its host, and does it name others?

        Return what follows for the domain.
        """
        host = turn.task.url.host
        if host not in unit.unanswered or turn.retry_at is not None:
            return Decision.UNDECIDED
        generation = unit.unanswered.pop(host)
        if not isinstance(turn.outcome, Fetched):
            return self._decide(unit)
        new = self._count_new_hosts(host, turn.new_tasks)
        unit.pages += 1
        unit.leaves += not new
        if new and len(unit.answered) < ANSWERED_KEPT:
            unit.answered[host] = generation + 1
        if not unit.is_watched and unit.pages > max(unit.next_check, self._config.new_hosts):
            if unit.leaves < LEAF_SHARE * unit.pages:
                suspicion = f"{unit.pages} new hosts named newer ones"
                self._registry.put_on_probation(unit, Probation(suspicion=suspicion))
            unit.next_check = unit.pages + self._config.new_hosts
        if (probation := unit.probation) is not None:
            probation.pages += 1
            probation.productive += bool(new)
            probation.leaves += not new
            probation.new_urls += new
            probation.depth = max(probation.depth, generation + 1) if new else probation.depth
            probation.weight = weight_of(probation)
        return self._decide(unit)

    def _decide(self, unit: Unit) -> Decision:
        if unit.probation is None:
            return Decision.UNDECIDED
        self._registry.change(unit)
        return decide_on_hosts(unit.probation, self._config)

    def _count_new_hosts(self, host: str, tasks: Iterable[Task]) -> int:
        domain = registrable_domain(host)
        others = {task.url.host for task in tasks} - {host}
        return sum(registrable_domain(other) == domain and self.is_new(other) for other in others)


def is_front_host(host: str, domain: str) -> bool:
    """Return True if a host is where a domain's own front page is."""
    return host.removeprefix("www.") == domain


def host_in(text: str) -> str:
    """Return the host of a URL's text; "" if there is none."""
    return host_of(text.partition("://")[2])
