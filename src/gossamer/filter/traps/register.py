"""Register: all units that are known, those on trial or closed by host, and their waiting rooms."""

from collections import deque
from collections.abc import Iterator

from gossamer.filter.traps.names import units_of
from gossamer.filter.traps.pen import Held, Pen, Scan
from gossamer.filter.traps.rows import (
    TRAPS,
    encode_unit,
    host_of_unit,
    read_units,
    ring_of_unit,
    unit_key,
)
from gossamer.filter.traps.rules import LOOK_AGAIN
from gossamer.filter.traps.unit import Trial, Unit
from gossamer.model import Row, Url

UNITS_KEPT = 50_000
AT_ONCE = 512
"""So many tasks of an acquitted unit are let out at a time."""


class Register:
    """Units by name. Those that are not watched are forgotten when there are too many."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._units: dict[str, Unit] = {}
        self._watched_units: dict[str, Unit] = {}
        self._watched: dict[str, int] = {}
        """Hosts (and domains) with units on trial or closed: how many."""
        self._pens: dict[str, Pen] = {}
        self._leaving: deque[str] = deque()
        self._changed: set[str] = set()
        self._gone: list[Row] = []
        self.has_closed_domains = False
        for unit in read_units(scan(TRAPS)):
            self._units[unit.name] = unit
            self._watch(unit, 1)
            self.has_closed_domains |= unit.name.startswith("*.") and bool(unit.verdict)
            self._pens[unit.name] = Pen.read(ring_of_unit(unit.name), unit.name, scan)

    def is_watched(self, host: str) -> bool:
        """Tell whether any unit of a host, or of a domain, is on trial or closed."""
        return host in self._watched

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
        if url.host not in self._watched:
            return None
        on_trial = None
        for name in units_of(url):
            unit = self._units.get(name)
            if unit is not None and unit.verdict:
                return unit
            if unit is not None and unit.trial is not None and on_trial is None:
                on_trial = unit
        return on_trial

    def on_trial_around(self, unit: Unit) -> Unit | None:
        """Return the smallest unit on trial that a unit lies in."""
        around = [
            other
            for name, other in self._watched_units.items()
            if other.trial is not None and name != unit.name and unit.name.startswith(name)
        ]
        return max(around, key=lambda other: len(other.name), default=None)

    def watched(self) -> Iterator[Unit]:
        """Give the units on trial or closed."""
        return iter(list(self._watched_units.values()))

    def pen(self, name: str) -> Pen:
        """Return the waiting room of a unit."""
        if name not in self._pens:
            self._pens[name] = Pen(ring_of_unit(name), name)
        return self._pens[name]

    def held(self, name: str) -> int:
        """Return how many tasks of a unit wait."""
        return len(self._pens[name]) if name in self._pens else 0

    @property
    def is_leaving(self) -> bool:
        """Tell whether acquitted units still hold tasks."""
        return bool(self._leaving)

    @property
    def all_held(self) -> int:
        """Return how many tasks wait that will yet be let out or refused."""
        return sum(len(pen) for name, pen in self._pens.items() if not self._units[name].verdict)

    def try_unit(self, unit: Unit, suspicion: str) -> None:
        """Put a unit on trial."""
        unit.trial = Trial(suspicion=suspicion)
        self._watch(unit, 1)
        self.change(unit)

    def acquit(self, unit: Unit) -> None:
        """Let a unit go, and all that was held back; it is looked at again when it has grown."""
        unit.trial, unit.verdict, unit.detail = None, "", ""
        unit.next_look = max(1, unit.pages) * LOOK_AGAIN
        self._watch(unit, -1)
        self._gone.append((unit_key(ring_of_unit(unit.name), unit.name), None))
        self._changed.discard(unit.name)
        if self.held(unit.name):
            self._leaving.append(unit.name)

    def close(self, unit: Unit, verdict: str, detail: str) -> int:
        """Close a unit; return how many held tasks that refuses."""
        unit.trial, unit.verdict, unit.detail = None, verdict, detail
        self.change(unit)
        count = self.pen(unit.name).close(self._scan) if unit.name in self._pens else 0
        unit.refused += count
        self.has_closed_domains |= unit.name.startswith("*.")
        return count

    def change(self, unit: Unit) -> None:
        """Have a watched unit written with the next commit."""
        self._changed.add(unit.name)

    def refill(self, name: str) -> Pen:
        """Return the waiting room of a unit, with something in memory if there is anything."""
        pen = self.pen(name)
        pen.refill(self._scan)
        return pen

    def let_out(self) -> list[Held]:
        """Take some of what acquitted units held."""
        if not self._leaving:
            return []
        name = self._leaving[0]
        out = self.refill(name).take_some(AT_ONCE)
        if not self.held(name):
            self._leaving.popleft()
        return out

    def rows_to_commit(self) -> list[Row]:
        """Give the rows that changed since the last commit."""
        if not self._changed and not self._gone and not self._pens:
            return []
        rows, self._gone = self._gone, []
        for name in self._changed:
            rows.append((unit_key(ring_of_unit(name), name), encode_unit(self._units[name])))
        self._changed.clear()
        for name, pen in list(self._pens.items()):
            rows.extend(pen.rows.items())
            pen.rows = {}
            if not pen and name not in self._watched_units:
                del self._pens[name]
        return rows

    def _watch(self, unit: Unit, step: int) -> None:
        if step > 0:
            self._watched_units[unit.name] = unit
        else:
            self._watched_units.pop(unit.name, None)
        host = host_of_unit(unit.name)
        count = self._watched.get(host, 0) + step
        if count > 0:
            self._watched[host] = count
        else:
            self._watched.pop(host, None)

    def _forget(self) -> None:
        """Forget the oldest units that are free: they begin anew when they are met again."""
        free = [name for name, unit in self._units.items() if not unit.is_watched]
        for name in free[: UNITS_KEPT // 8]:
            if name not in self._pens:
                del self._units[name]
