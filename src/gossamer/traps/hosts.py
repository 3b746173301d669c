"""Made-up hosts of a domain, and made-up domains of an address: judged by these, not by pages."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec import Struct

from gossamer.config import TrapsConfig
from gossamer.model import FOLLOWED, Fetched, Refused, Task, Turn, hosts_of
from gossamer.traps.registry import UnitRegistry
from gossamer.traps.rules import (
    ENOUGH_LEAVES,
    LEAF_SHARE,
    RECHECK_ADDRESS_FACTOR,
    Decision,
    decide_on_hosts,
    weight_of,
)
from gossamer.traps.unit import Probation, Unit, domain_unit, host_of
from gossamer.urls import registrable_domain

HOSTS_PER_LEAF = 4
ANSWERED_KEPT = 256
LISTED_HOSTS = 1000
"""So many hosts of a domain may be listed by its own front pages: a directory ends, a trap's does
not."""

DOMAINS_KEPT = 100_000
MEMBER_GENERATION = 2
"""Domains that one with a listing elsewhere names are no members: it may be a directory."""
NEW_DOMAINS = 16
"""So many members are let in at once, or may have answered without one that names no other..."""
DOMAINS_PER_LEAF = 4
"""...and so many more for each that does not."""
ENOUGH_ANSWERS = 6
SHARE_HERE = 0.85
"""Of the domains that an address names so many must be on it, of so many that have answered."""


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


class Lineage(NamedTuple):
    """Where the domain is that names another, and how many on its address led to it in a row."""

    address: str
    generation: int


class _Domain(Struct):
    """What is known of a registrable domain."""

    generation: int
    """Domains in a row on one address, each named by the one before; 0 if listed elsewhere."""
    named_at: str
    """The address of the domain that named it; "" if listed elsewhere."""
    address: str = ""
    """Its own; "" before it has answered."""
    is_productive: bool = False
    """It named a domain that nobody had named before."""


class _Group(Struct):
    """The domains of one address that are known from each other only."""

    unanswered: int = 0
    """Members that have not answered yet."""
    answered: int = 0
    leaves: int = 0
    """Members that have answered, and those of them that name no new domain."""
    named: int = 0
    here: int = 0
    """Domains, members or not, that its domains have named and that have answered; from here."""
    next_check: int = 0
    """Members that must have answered before it may be suspected again."""
    is_suspect: bool = False

    @property
    def is_free(self) -> bool:
        """Return True if it names as many domains elsewhere, or as many leaves, as is honest."""
        is_mixed = self.named >= ENOUGH_ANSWERS and self.here < SHARE_HERE * self.named
        has_leaves = self.leaves >= ENOUGH_LEAVES and self.leaves >= LEAF_SHARE * self.answered
        return is_mixed or has_leaves

    @property
    def is_growing(self) -> bool:
        """Return True if more domains are named than may be without suspicion."""
        known = max(self.unanswered, self.answered)
        most = NEW_DOMAINS + DOMAINS_PER_LEAF * self.leaves
        return self.named >= ENOUGH_ANSWERS and known > most

    @property
    def may_be_suspected(self) -> bool:
        """Return True if nothing speaks for it, and it was not cleared a short while ago."""
        return not self.is_free and self.answered >= self.next_check

    def count(self, domain: _Domain, sign: int) -> None:
        """Count a domain if it is a member; with -1 count it no longer."""
        if domain.generation < MEMBER_GENERATION:
            return
        if domain.address:
            self.answered += sign
            self.leaves += sign * (not domain.is_productive)
        else:
            self.unanswered += sign


class SharedAddresses:
    """Does an address make up registrable domains without an end?

    A few are let in at once. The others wait until one of those has answered: a domain whose first
    page names no new domain is a leaf, and an address with leaves is cleared. A domain that is
    listed elsewhere is free: by a page on another address that is free itself.

    Kept in memory only: after a start it is found out anew, for what is not on probation yet. Each
    shard has some of the domains; what it suspects is suspected by the others, too.
    """

    def __init__(self) -> None:
        self._domains: dict[str, _Domain] = {}
        self._groups: dict[str, _Group] = {}
        self._suspects = 0

    def load(self, host: str, address: str, *, has_answered: bool) -> None:
        """Take note of a host that is on probation with its address since an earlier run."""
        group = self._group(address)
        own = address if has_answered else ""
        domain = _Domain(MEMBER_GENERATION, address, own, is_productive=True)
        self._add(registrable_domain(host), domain)
        group.count(domain, 1)
        group.named += has_answered
        group.here += has_answered
        self._suspect(group)

    def suspected_at(self, host: str) -> str:
        """Return the address with which a host's domain is suspected; "" if it is not."""
        if not self._suspects:
            return ""
        domain = self._domains.get(registrable_domain(host))
        if domain is None or not domain.generation:
            return ""
        if domain.address and domain.generation < MEMBER_GENERATION and not domain.is_productive:
            return ""
        at = domain.named_at
        return at if self._group(at).is_suspect else ""

    def count_at(self, address: str) -> int:
        """Return how many domains of an address are known from each other only."""
        group = self._group(address)
        return group.answered + group.unanswered

    def lineage_of(self, host: str) -> Lineage | None:
        """Return what a page of a host says about the domains that it names."""
        domain = self._domains.get(registrable_domain(host))
        if domain is None or not domain.address:
            return None
        return Lineage(domain.address, domain.generation)

    def observe(self, turn: Turn, *, is_free: bool) -> str:
        """Take note of a finished task; return the address that it clears of suspicion, or "".

        Only a page that is free, not on probation, lists domains that were named before.
        """
        if isinstance(turn.outcome, Refused) or turn.outcome.document is None:
            return ""
        address = turn.outcome.document.address
        if not address:  # behind a proxy nobody knows
            return ""
        host = turn.task.url.host
        name = registrable_domain(host)
        domain = self._get(name)
        lineage = Lineage(address, self._generation_at(domain, address))
        brought = [task for task in turn.new_tasks if not task.is_requisite]
        others = {task.url.host for task in brought if task.url.host != host}
        domains = _domains_of(others, name) if others else ()
        new = [other for other in domains if self.note(other, lineage)]
        self._answer(domain, address, names_new=bool(new))
        if is_free and turn.found is not None and not self.suspected_at(host):
            linked = hosts_of(turn.found.links, FOLLOWED) - {host}
            for other in _domains_of(linked - others, name):
                if other in self._domains:
                    self.note(other, lineage)
        return self._decide(domain.address)

    def note_task(self, task: Task) -> None:
        """Take note of a domain that a page in another shard names; it may be suspected there."""
        name = registrable_domain(task.url.host)
        if not task.named_at or (task.is_doubtful and name in self._domains):
            return
        self.note(name, Lineage(task.named_at, task.generation))
        group = self._group(task.named_at)
        if task.is_doubtful and task.generation and group.may_be_suspected:
            self._suspect(group)

    def note(self, name: str, lineage: Lineage) -> bool:
        """Take note that a domain is named; return True if nobody had named it before."""
        generation = lineage.generation + 1
        domain = self._domains.get(name)
        if domain is None:
            domain = self._add(name, _Domain(generation, lineage.address))
            self._group(lineage.address).count(domain, 1)
            return True
        if not domain.generation:
            return False
        is_here = lineage.address == domain.named_at
        if not is_here or generation < domain.generation:
            group = self._group(domain.named_at)
            group.count(domain, -1)
            domain.generation = generation if is_here else 0
            group.count(domain, 1)
        return False

    def _get(self, name: str) -> _Domain:
        """Return a domain; one that nobody has named is a seed's, or was forgotten."""
        return self._domains.get(name) or self._add(name, _Domain(0, ""))

    def _add(self, name: str, domain: _Domain) -> _Domain:
        """Add a domain; forget the oldest if there are too many: they are free when met again."""
        if len(self._domains) >= DOMAINS_KEPT:
            for old in list(self._domains)[: DOMAINS_KEPT // 8]:
                gone = self._domains.pop(old)
                if not gone.address:
                    self._group(gone.named_at).count(gone, -1)
        self._domains[name] = domain
        return domain

    def _group(self, address: str) -> _Group:
        return self._groups.setdefault(address, _Group())

    def _generation_at(self, domain: _Domain, address: str) -> int:
        """Return the generation of a domain that answers from an address."""
        return domain.generation if address == domain.named_at else 0

    def _answer(self, domain: _Domain, address: str, *, names_new: bool) -> None:
        """Take note of a domain's page: it is on the address of those that named it, or not."""
        group = self._group(domain.named_at)
        if domain.generation:
            group.count(domain, -1)
        if not domain.address:
            domain.address = address
            group.named += 1
            group.here += address == domain.named_at
        domain.generation = self._generation_at(domain, domain.address)
        domain.is_productive = domain.is_productive or names_new
        group.count(domain, 1)

    def _decide(self, address: str) -> str:
        """Suspect an address, or clear it; return it if it was cleared."""
        group = self._group(address)
        if group.is_suspect and group.is_free:
            group.is_suspect = False
            group.next_check = RECHECK_ADDRESS_FACTOR * group.answered
            self._suspects -= 1
            return address
        if group.is_growing and group.may_be_suspected:
            self._suspect(group)
        return ""

    def _suspect(self, group: _Group) -> None:
        self._suspects += not group.is_suspect
        group.is_suspect = True


def _domains_of(hosts: Iterable[str], own: str) -> set[str]:
    """Return the domains of some hosts but for one's own."""
    return {registrable_domain(host) for host in hosts} - {own}
