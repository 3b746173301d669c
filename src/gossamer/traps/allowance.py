"""Allowance and turns: how many requests may be made on probation, and whose turn is it? Pure.

A trap may have as many hosts and folders as it likes; it has one registrable domain, or it has few
addresses. What a unit has spent is kept in its own row, so a unit that is released gives it back.

Each request moves a domain's clock on, the less the likelier the unit is to end. Nobody may be far
ahead of the slowest: a maze has a thousand URLs ready, the log of a small project has one, and
should come to its end all the same. Who does not move for some seconds is not waited for.
"""

from collections import Counter
from collections.abc import Callable, Iterable

from gossamer.config import TrapsConfig
from gossamer.model import Url
from gossamer.traps.unit import Probation, Unit, host_of
from gossamer.urls import registrable_domain

ADDRESS_FACTOR = 10
"""An address may have so many times the allowance of a domain: it may be that of a large provider.
"""
ADDRESSES_KEPT = 8
HOMES_ASKED = 64
"""Of more seeds than these it is not asked host by host whether all have something left."""
_HOME = "home "
"""What the names of the accounts of seeds' hosts begin with."""
NEW_HOST_COST = 2
"""The first request to a host costs its robots.txt, too."""


class Allowance:
    """What is left for units on probation."""

    def __init__(
        self,
        config: TrapsConfig,
        seeds: Iterable[Url],
        host_count: Callable[[str], int],
        *,
        per_home: int,
        shards: int,
    ) -> None:
        """Count from nothing; the host of a seed may have `per_home` URLs, on probation or not.

        An address may have hosts in all shards: each has its part of what the address may have.
        """
        self._host_count = host_count
        self._per_domain = config.allowance
        self._per_address = max(1, ADDRESS_FACTOR * config.allowance // shards)
        self._per_home = per_home
        self._homes: set[str] = set()
        self.add_homes(seeds)
        self._spent: Counter[str] = Counter()
        self._spent_at: Counter[str] = Counter()
        self._out: Counter[str] = Counter()
        self._out_at: Counter[str] = Counter()
        """Of domains that are suspected with their address, by that."""

    def add_homes(self, seeds: Iterable[Url]) -> None:
        """Take the hosts of seeds for home."""
        self._homes |= {seed.host.removeprefix("www.") for seed in seeds}

    def is_home(self, unit: Unit) -> bool:
        """Return True if a unit lies on the host of a seed."""
        return not unit.is_domain and host_of(unit.name).removeprefix("www.") in self._homes

    def load(self, unit: Unit, sign: int = 1) -> None:
        """Count what a unit has spent and sent out, at a start; with -1 give it back."""
        if (probation := unit.probation) is None:
            return
        account = self.account_of(unit)
        self._spent[account] += sign * probation.spent
        self._out[account] += sign * len(probation.in_flight)
        self._out_at[probation.shared] += sign * len(probation.in_flight)
        for address, count in probation.spent_at.items():
            self._spent_at[address] += sign * count

    def has_room(self, unit: Unit, probation: Probation) -> bool:
        """Return True if another request may be made for a unit on probation."""
        host = host_of(unit.name)
        if self.is_home(unit):
            account = _HOME + host
            used = self._spent.get(account, 0) + self._out.get(account, 0)
            return max(used, self._host_count(host)) < self._per_home
        account = registrable_domain(host)
        used = self._spent.get(account, 0) + self._out.get(account, 0)
        if used >= self._per_domain:
            return False
        spent, out, most = self._spent_at.get, self._out_at.get, self._per_address
        return all(spent(at, 0) + out(at, 0) < most for at in probation.spent_at)

    @property
    def is_left_everywhere(self) -> bool:
        """Return True if no account and no address has spent what it may, out tasks included.

        Whoever sums over thousands of units need not ask for each of them then.
        """
        limits = (self._per_domain, self._per_address, self._per_home)
        if min(limits) <= 0 or len(self._homes) > HOMES_ASKED:
            return False
        for account in self._spent.keys() | self._out.keys():
            most = self._per_home if account.startswith(_HOME) else self._per_domain
            if self._spent.get(account, 0) + self._out.get(account, 0) >= most:
                return False
        addresses = self._spent_at.keys() | self._out_at.keys()
        at, out = self._spent_at.get, self._out_at.get
        if any(at(one, 0) + out(one, 0) >= self._per_address for one in addresses):
            return False
        hosts = (name for home in self._homes for name in (home, f"www.{home}"))
        return all(self._host_count(host) < self._per_home for host in hosts)

    def used_by(self, unit: Unit) -> str:
        """Return in words if a part of a seed's host has used up most of its URLs; "" if not.

        What is left is for the other parts, too.
        """
        known = self._host_count(host_of(unit.name))
        if 2 * known < self._per_home or 2 * unit.new_urls < known:
            return ""
        return f"its pages named {unit.new_urls:,} of the {known:,} known URLs of its host"

    def why_spent(self, unit: Unit, probation: Probation) -> str:
        """Return in words why no request may be made for a unit on probation; "" if one may."""
        if self.has_room(unit, probation):
            return ""
        if self.is_home(unit):
            urls = f"{self._per_home:,} URLs, filter.max_urls_per_host"
            return f"what the host of a seed may have ({urls}) is spent"
        account = self.account_of(unit)
        if self._spent[account] + self._out[account] >= self._per_domain:
            pages = f"{self._per_domain:,} pages on probation, traps.allowance"
            return f"the allowance of {account} ({pages}) is spent"
        pages = f"{ADDRESS_FACTOR} times traps.allowance"
        return f"the allowance of its IP address ({pages}) is spent"

    def spent_by(self, unit: Unit) -> int:
        """Return what the domain of a unit has spent."""
        return self._spent[self.account_of(unit)]

    def has_out(self, unit: Unit) -> bool:
        """Return True if the domain of a unit has tasks out."""
        return self._out[self.account_of(unit)] > 0

    def out_at(self, address: str) -> int:
        """Return how many tasks are out of domains that are suspected with their address."""
        return self._out_at[address]

    def send(self, unit: Unit, count: int = 1) -> None:
        """Note that tasks of a unit go out."""
        self._out[self.account_of(unit)] += count
        if unit.probation is not None:
            self._out_at[unit.probation.shared] += count

    def take_back(self, unit: Unit, count: int = 1) -> None:
        """Note that tasks that went out have ended, or are lost."""
        self.send(unit, -count)

    def spend(self, unit: Unit, probation: Probation, address: str, cost: int) -> None:
        """Count a request that was made; `address` is "" if nobody answered."""
        probation.spent += cost
        self._spent[self.account_of(unit)] += cost
        if address and (address in probation.spent_at or len(probation.spent_at) < ADDRESSES_KEPT):
            probation.spent_at[address] = probation.spent_at.get(address, 0) + cost
            self._spent_at[address] += cost

    def account_of(self, unit: Unit) -> str:
        """Return whose allowance a unit spends: its domain's, or that of a seed's host."""
        host = host_of(unit.name)
        return _HOME + host if self.is_home(unit) else registrable_domain(host)


LEAD = 4.0
"""A clock may be so far ahead of the slowest: requests of a unit of weight 1."""
PATIENCE_S = 5.0


class ProbationTurns:
    """The clocks of domains that hold tasks, or have some out."""

    def __init__(self) -> None:
        self._clocks: dict[str, float] = {}
        self._moved: dict[str, float] = {}
        """When each moved last."""
        self._now = 0.0
        self._floor = 0.0

    def join(self, name: str) -> float:
        """Let a domain have turns; return its clock. A new one begins where the slowest is."""
        if name not in self._clocks:
            self._clocks[name] = self._floor
            self._moved[name] = self._now
        return self._clocks[name]

    def leave(self, name: str) -> None:
        """Let a domain go: it has nothing left to do."""
        self._clocks.pop(name, None)
        self._moved.pop(name, None)
        self._set_floor()

    def take(self, name: str, cost: float) -> None:
        """Move the clock of a domain that had a turn."""
        self._clocks[name] = self.join(name) + cost
        self._moved[name] = self._now
        self._set_floor()

    def is_due(self, name: str) -> bool:
        """Return True if a domain may have a turn now."""
        return self.join(name) <= self._floor + LEAD

    def look(self, now: float) -> None:
        """Note the time: nobody waits for who has not moved for long."""
        self._now = now
        for name, clock in list(self._clocks.items()):
            if now - self._moved[name] > PATIENCE_S and clock < self._floor + LEAD:
                self._clocks[name] = self._floor + LEAD
                self._moved[name] = now
        self._set_floor()

    def _set_floor(self) -> None:
        self._floor = min(self._clocks.values(), default=self._floor)
