"""Register: all units that are known, and those on trial or closed by host."""

from collections.abc import Iterator

from gossamer.model import Row, Url
from gossamer.traps.evidence.names import units_of
from gossamer.traps.evidence.rules import LOOK_AGAIN
from gossamer.traps.evidence.unit import Trial, Unit
from gossamer.traps.pen import Scan
from gossamer.traps.rows import (
    TRAPS,
    encode_unit,
    host_of_unit,
    read_units,
    ring_of_unit,
    unit_key,
)

UNITS_KEPT = 50_000


class Register:
    """Units by name. Those that are not watched are forgotten when there are too many."""

    def __init__(self, scan: Scan) -> None:
        self._units: dict[str, Unit] = {}
        self._watched: dict[str, Unit] = {}
        self._hosts: dict[str, int] = {}
        """Hosts (and domains) with units on trial or closed: how many."""
        self._changed: set[str] = set()
        self._gone: list[Row] = []
        self.has_closed_domains = False
        self.leaving: list[str] = []
        """Units that were acquitted before a death, and whose tasks have not all been let out."""
        for unit in read_units(scan(TRAPS)):
            self._units[unit.name] = unit
            if not unit.is_watched:
                self.leaving.append(unit.name)
                continue
            self._watch(unit, 1)
            self.has_closed_domains |= unit.is_domain and bool(unit.verdict)

    def has_watched(self, host: str) -> bool:
        """Tell whether any unit of a host, or of a domain, is on trial or closed."""
        return host in self._hosts

    def of(self, name: str) -> Unit:
        """Return a unit; a new one if it was not known."""
        unit = self._units.get(name)
        if unit is None:
            if len(self._units) >= UNITS_KEPT:
                self._forget()
            unit = self._units[name] = Unit(name=name)
        return unit

    def find(self, name: str) -> Unit | None:
        """Return a unit if it is known."""
        return self._units.get(name)

    def governing(self, url: Url) -> Unit | None:
        """Return the unit whose word counts for a URL: a closed one, else the smallest on trial."""
        if url.host not in self._hosts:
            return None
        on_trial = None
        for name in units_of(url):
            unit = self._watched.get(name)
            if unit is not None and unit.verdict:
                return unit
            on_trial = on_trial or unit
        return on_trial

    def on_trial_around(self, unit: Unit) -> Unit | None:
        """Return the smallest unit on trial that a unit lies in."""
        around = [
            other
            for name, other in self._watched.items()
            if other.trial is not None and name != unit.name and unit.name.startswith(name)
        ]
        return max(around, key=lambda other: len(other.name), default=None)

    def watched(self) -> Iterator[Unit]:
        """Give the units on trial or closed."""
        return iter(list(self._watched.values()))

    def try_unit(self, unit: Unit, suspicion: str) -> None:
        """Put a unit on trial."""
        unit.trial = Trial(suspicion=suspicion)
        self._watch(unit, 1)
        self.change(unit)

    def acquit(self, unit: Unit) -> None:
        """Let a unit go; it is looked at again when it has grown.

        Its row stays until `drop`: only then has all that it held been let out.
        """
        unit.trial, unit.verdict, unit.detail = None, "", ""
        unit.next_look = max(1, unit.pages) * LOOK_AGAIN
        self._watch(unit, -1)
        self.change(unit)

    def drop(self, name: str) -> None:
        """Delete the row of an acquitted unit."""
        self._changed.discard(name)
        self._gone.append((unit_key(ring_of_unit(name), name), None))

    def close(self, unit: Unit, verdict: str, detail: str) -> None:
        """Close a unit."""
        unit.trial, unit.verdict, unit.detail = None, verdict, detail
        self._watch(unit, 1)
        self.change(unit)
        self.has_closed_domains |= unit.is_domain

    def change(self, unit: Unit) -> None:
        """Have a watched unit written with the next commit."""
        self._changed.add(unit.name)

    def rows_to_commit(self) -> list[Row]:
        """Give the rows that changed since the last commit."""
        rows, self._gone = self._gone, []
        for name in self._changed:
            rows.append((unit_key(ring_of_unit(name), name), encode_unit(self._units[name])))
        self._changed.clear()
        return rows

    def _watch(self, unit: Unit, step: int) -> None:
        if (unit.name in self._watched) == (step > 0):
            return
        host = host_of_unit(unit.name)
        self._hosts[host] = self._hosts.get(host, 0) + step
        if step > 0:
            self._watched[unit.name] = unit
        else:
            del self._watched[unit.name]
        if not self._hosts[host]:
            del self._hosts[host]

    def _forget(self) -> None:
        """Forget the oldest units that are free: they begin anew when they are met again."""
        free = [name for name, unit in self._units.items() if not unit.is_watched]
        for name in free[: UNITS_KEPT // 8]:
            del self._units[name]
