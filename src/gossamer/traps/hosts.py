"""Made-up hosts: judged by hosts instead of pages."""

from collections.abc import Callable, Iterable

from xxhash import xxh3_64_intdigest

from gossamer.config import TrapsConfig
from gossamer.model import Fetched, Objection, Reject, Task, Turn
from gossamer.traps.registry import UnitRegistry
from gossamer.traps.rules import KNOWN_DOMAINS, LEAF_SHARE, Decision, decide_on_hosts
from gossamer.traps.unit import Unit, domain_unit, host_of, units_of
from gossamer.urls import registrable_domain

HOSTS_PER_LEAF = 4
ANSWERED_KEPT = 256


class Domains:
    """Does a registrable domain make up hosts without an end?

    A few hosts of a domain are let in at once. The others wait until one of those has answered: a
    host whose first page names no new host is a leaf, and a domain with leaves is released. A
    domain whose new hosts only name newer ones is closed to further hosts.
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

    def objection(self, host: str) -> Objection | None:
        """Object to a host that a closed domain has made up."""
        domain = registrable_domain(host)
        if domain == host or not self._registry.has_watched(domain):
            return None
        unit = self._registry.find(domain_unit(domain))
        if unit is None or not unit.verdict or not self.is_new(host):
            return None
        return Objection(Reject(unit.verdict), unit.detail)

    def holding(self, task: Task) -> Unit | None:
        """Return the domain that must hold this new task back; None if it may be queued."""
        host = task.url.host
        domain = registrable_domain(host)
        self._note_linking_domain(task, domain)
        if domain == host or host.removeprefix("www.") == domain or not self.is_new(host):
            return None
        unit = self._registry.get(domain_unit(domain))
        if unit.probation is not None:
            return None if host in unit.unanswered else unit
        unit.unanswered.setdefault(host, self.generation(unit, task))
        if len(unit.unanswered) > self._config.new_hosts + HOSTS_PER_LEAF * unit.leaves:
            del unit.unanswered[host]
            suspicion = f"{len(unit.unanswered)} new hosts have not answered yet"
            self._registry.put_on_probation(unit, suspicion)
            return unit
        return None

    def _note_linking_domain(self, task: Task, domain: str) -> None:
        """Remember that another domain links a host: somebody thinks that it is worth it."""
        linker = registrable_domain(host_in(task.via))
        if linker not in {domain, ""}:
            unit = self._registry.get(units_of(task.url)[-1])
            if len(unit.linking_domains) < KNOWN_DOMAINS:
                unit.linking_domains.add(xxh3_64_intdigest(linker.encode()))

    def generation(self, unit: Unit, task: Task) -> int:
        """Return how many hosts in a row, each named by the one before, led to a task's host."""
        return unit.answered.get(host_in(task.via), 0)

    def objection_to_unanswered(self, task: Task) -> Objection | None:
        """Object to a host that was let in before its domain was closed, and never answered."""
        unit = self.find_unit(task.url.host)
        if unit is None or not unit.verdict or task.url.host not in unit.unanswered:
            return None
        return Objection(Reject(unit.verdict), unit.detail)

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
                self._registry.put_on_probation(unit, f"{unit.pages} new hosts named newer ones")
            unit.next_check = unit.pages + self._config.new_hosts
        if (probation := unit.probation) is not None:
            probation.pages += 1
            probation.productive += bool(new)
            probation.leaves += not new
            probation.new_urls += new
            probation.depth = max(probation.depth, generation + 1) if new else probation.depth
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


def host_in(text: str) -> str:
    """Return the host of a URL's text; "" if there is none."""
    return host_of(text.partition("://")[2])
