"""UnitRegistry: all known units, and how those on probation or closed lie in the state.

    t + ring + hash of the unit + u            Unit, while it is on probation or closed
    t + ring + hash of the unit + p + URL key  a task that is held back (see `held`)

All keys begin with the ring, so that they move with their domain when a crawl is split anew.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec
from xxhash import xxh3_64_intdigest

from gossamer.model import Row, Url
from gossamer.traps.rules import RECHECK_FACTOR
from gossamer.traps.unit import Probation, Unit, address_of, host_of, units_at
from gossamer.urls import ring_of

TRAP_ROWS = b"t"
UNITS_KEPT = 50_000
PREFIX_BYTES = 12
"""Bytes that the keys of a unit and of its held tasks have in common."""
_UNIT_ROW = b"u"
RING_BYTES = 3

ScanRows: TypeAlias = Callable[[bytes], Iterator[tuple[bytes, bytes]]]
"""(prefix of keys) → the committed rows, in order."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Unit)


def row_prefix(name: str) -> bytes:
    """Return what the keys of a unit and of its held tasks begin with."""
    digest = xxh3_64_intdigest(name.encode())
    ring = ring_of(host_of(name))
    return TRAP_ROWS + ring.to_bytes(RING_BYTES, "big") + digest.to_bytes(8, "big")


def unit_key(name: str) -> bytes:
    """Return the key of a unit's row."""
    return row_prefix(name) + _UNIT_ROW


def is_unit_row(key: bytes) -> bool:
    """Return True if a row of traps is a unit, not a held task."""
    return key[PREFIX_BYTES:] == _UNIT_ROW


def decode_unit(value: bytes) -> Unit:
    """Return the unit that a row holds."""
    return _decoder.decode(value)


class UnitRegistry:
    """Units by name. Those that are not watched are forgotten when there are too many."""

    def __init__(self, scan: ScanRows) -> None:
        self._units: dict[str, Unit] = {}
        self._watched: dict[str, Unit] = {}
        self._hosts: dict[str, int] = {}
        """Hosts (and domains) with units on probation or closed: how many."""
        self._changed: set[str] = set()
        self._gone: list[Row] = []
        self.releasing: list[str] = []
        """Units released before a crash, whose tasks have not all gone to the queue."""
        for key, value in scan(TRAP_ROWS):
            if not is_unit_row(key):
                continue
            unit = decode_unit(value)
            self._units[unit.name] = unit
            if unit.is_watched:
                self._watch(unit, 1)
            else:
                self.releasing.append(unit.name)

    def has_watched(self, host: str) -> bool:
        """Return True if any unit of a host, or of a domain, is on probation or closed."""
        return host in self._hosts

    @property
    def is_quiet(self) -> bool:
        """Return True if no unit is on probation or closed."""
        return not self._watched

    def get(self, name: str) -> Unit:
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
        """Return the unit that decides about a URL: a closed one, else the smallest on probation.

        None if no unit of the URL is watched.
        """
        return self.governing_at(url.host, address_of(url)) if url.host in self._hosts else None

    def governing_at(self, host: str, address: str) -> Unit | None:
        """Return the unit that decides about an address; None if no unit of it is watched."""
        if host not in self._hosts:
            return None
        on_probation = None
        for name in units_at(address):
            unit = self._watched.get(name)
            if unit is not None and unit.verdict:
                return unit
            on_probation = on_probation or unit
        return on_probation

    def on_probation_around(self, unit: Unit) -> Unit | None:
        """Return the smallest unit on probation that a unit lies in."""
        around = [
            other
            for name in units_at(unit.name)
            if name != unit.name
            and (other := self._watched.get(name)) is not None
            and other.probation is not None
        ]
        return max(around, key=lambda other: len(other.name), default=None)

    def watched(self) -> Iterator[Unit]:
        """Yield the units on probation or closed."""
        return iter(list(self._watched.values()))

    def put_on_probation(self, unit: Unit, probation: Probation) -> None:
        """Begin the probation of a unit."""
        unit.probation = probation
        self._watch(unit, 1)
        self.change(unit)

    def release(self, unit: Unit) -> None:
        """End a unit's probation, or open it again; it may be suspected again when it has grown.

        Its row stays until `drop`: only then has all that it held gone to the queue.
        """
        unit.probation, unit.verdict, unit.detail = None, "", ""
        unit.next_check = max(1, unit.pages) * RECHECK_FACTOR
        unit.listed = 0
        self._watch(unit, -1)
        self.change(unit)

    def drop(self, name: str) -> None:
        """Delete the row of a released unit."""
        self._changed.discard(name)
        self._gone.append((unit_key(name), None))

    def close(self, unit: Unit, verdict: str, detail: str) -> None:
        """Close a unit."""
        unit.probation, unit.verdict, unit.detail = None, verdict, detail
        self._watch(unit, 1)
        self.change(unit)

    def refuse(self, unit: Unit, count: int) -> None:
        """Count URLs that a closed unit refuses."""
        unit.refused += count
        self.change(unit)

    def change(self, unit: Unit) -> None:
        """Have a watched unit written with the next commit."""
        self._changed.add(unit.name)

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that changed since the last call."""
        rows, self._gone = self._gone, []
        rows += [(unit_key(name), _encoder.encode(self._units[name])) for name in self._changed]
        self._changed.clear()
        return rows

    def _watch(self, unit: Unit, step: int) -> None:
        if (unit.name in self._watched) == (step > 0):
            return
        host = host_of(unit.name)
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
