"""Pen: the waiting room of a unit on trial. What is in it lies in the state too, a row per URL.

Most pens stay small. Of a large one only the newest part is in memory; the rest is read again when
that has gone.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from gossamer.model import Row, Task, Url
from gossamer.traps.evidence.names import address_of, child_of, group_of, shape_of, units_of
from gossamer.traps.evidence.unit import Trial, Way
from gossamer.traps.rows import (
    pack_held,
    pen_key,
    pen_prefix,
    ring_of_unit,
    unpack_held,
)

IN_MEMORY = 4096
AT_ONCE = 512
"""So many tasks of an acquitted unit are let out at a time."""
LOOKED_AT = 128
"""So many of the newest are looked at for the best next probe."""
KEPT_WHEN_CLOSED = 1000
"""So many URLs of a closed unit are kept, so that whoever trusts it can go on from there."""

Scan = Callable[[bytes], Iterator[tuple[bytes, bytes]]]


class Held(NamedTuple):
    """One task that waits."""

    task: Task
    way: Way
    """How many pages of the trial led to it in a row, and how many of them in its child."""
    is_new: bool
    """Whether its host has not counted it yet."""


class Pen:
    """The held tasks of one unit, the newest last."""

    def __init__(self, ring: int, name: str) -> None:
        self._ring, self._name = ring, name
        self._held: dict[int, Held] = {}
        self._on_disk = 0
        self._turns = 0
        self._last = ""
        self.rows: dict[bytes, bytes | None] = {}
        """To be committed."""

    def __len__(self) -> int:
        """Return how many tasks wait."""
        return len(self._held) + self._on_disk

    @classmethod
    def read(cls, ring: int, name: str, scan: Scan) -> "Pen":
        """Return a pen as its rows have it."""
        pen = cls(ring, name)
        for key, value in scan(pen_prefix(ring, name)):
            if len(pen._held) < IN_MEMORY:
                pen._held[int.from_bytes(key[-8:], "big")] = Held(*unpack_held(value))
            else:
                pen._on_disk += 1
        return pen

    def put(self, task: Task, way: Way, *, is_new: bool) -> None:
        """Hold a task."""
        held = Held(task, way, is_new)
        key = task.url.key
        self.rows[pen_key(self._ring, self._name, key)] = pack_held(task, way, is_new=is_new)
        if len(self._held) < IN_MEMORY:
            self._held[key] = held
        else:
            self._on_disk += 1

    def take(self, key: int) -> Held:
        """Let one task out."""
        self.rows[pen_key(self._ring, self._name, key)] = None
        return self._held.pop(key)

    def has(self, key: int) -> bool:
        """Tell whether a task is held, as far as is known without looking at the rows."""
        return key in self._held

    def refill(self, scan: Scan) -> None:
        """Read tasks from their rows when none is left in memory."""
        if self._held or not self._on_disk:
            return
        for key, value in scan(pen_prefix(self._ring, self._name)):
            if self.rows.get(key, value) is not None:
                self._held[int.from_bytes(key[-8:], "big")] = Held(*unpack_held(value))
                if len(self._held) >= IN_MEMORY:
                    break
        self._on_disk = max(0, self._on_disk - len(self._held))
        if not self._held:  # what is left was put in since the last commit
            self._refill_from_pending()

    def _refill_from_pending(self) -> None:
        for key, value in self.rows.items():
            if value is not None:
                self._held[int.from_bytes(key[-8:], "big")] = Held(*unpack_held(value))
        self._on_disk = 0

    def take_some(self, count: int) -> list[Held]:
        """Let the oldest out."""
        return [self.take(key) for key in list(self._held)[:count]]

    def next_probe(self, trial: Trial) -> Held | None:
        """Take the task whose page tells most.

        If pages repeat each other: one that is likely to lead on, to see whether it does so for
        ever. If they bring ever more URLs: by turns one of the newest, to follow them down, and one
        elsewhere in the unit and of another shape, to find a page that ends.
        """
        newest = list(self._held.values())[-LOOKED_AT:]
        if not newest:
            return None
        if trial.same * 2 > trial.pages:
            others = [held for held in newest if self._group(held) not in trial.children]
            from_other = others[-1] if others and self._turns % 2 else None
            chosen = from_other or self._like(newest, trial, has_bred=True) or newest[-1]
        elif self._turns % 2:
            others = [held for held in newest if self._child(held) != self._last] or newest
            chosen = self._like(others, trial, has_bred=False) or others[-1]
        else:
            last = newest[-1].task.via
            deepest = [held for held in newest if held.task.via == last]
            chosen = min(deepest, key=lambda held: held.task.url.key)  # any: keys are hashes
            self._last = self._child(chosen)
        self._turns += 1
        return self.take(chosen.task.url.key)

    def _child(self, held: Held) -> str:
        """Return the child of the unit that a task lies in."""
        names = units_of(held.task.url)
        return child_of(self._name, names) if self._name in names else ""

    def _group(self, held: Held) -> str:
        return group_of(self._child(held), self._name)

    def _like(self, newest: list[Held], trial: Trial, *, has_bred: bool) -> Held | None:
        for held in reversed(newest):
            if (shape_of(address_of(held.task.url)) in trial.shapes) == has_bred:
                return held
        return None

    def close(self, scan: Scan) -> int:
        """Drop all but some; return how many there were."""
        count = len(self)
        for key in list(self._held)[KEPT_WHEN_CLOSED:]:
            self.take(key)
        if self._on_disk:
            kept = {pen_key(self._ring, self._name, key) for key in self._held}
            for row, _ in scan(pen_prefix(self._ring, self._name)):
                if row not in kept:
                    self.rows[row] = None
            self.rows.update({row: None for row in self.rows if row not in kept})
            self._on_disk = 0
        return count


class Pens:
    """The waiting rooms of all units."""

    def __init__(self, scan: Scan, names: Iterable[str]) -> None:
        self._scan = scan
        self._pens = {name: Pen.read(ring_of_unit(name), name, scan) for name in names}
        self._leaving: dict[str, None] = {}
        self.left: list[str] = []
        """Acquitted units that hold nothing any more, for the caller to take note of."""
        self._closed: set[str] = set()

    def of(self, name: str) -> Pen:
        """Return the waiting room of a unit."""
        if name not in self._pens:
            self._pens[name] = Pen(ring_of_unit(name), name)
        return self._pens[name]

    def count(self, name: str) -> int:
        """Return how many tasks of a unit wait."""
        return len(self._pens[name]) if name in self._pens else 0

    @property
    def waiting(self) -> int:
        """Return how many tasks wait that will yet be let out or refused."""
        return sum(len(pen) for name, pen in self._pens.items() if name not in self._closed)

    def open(self, name: str) -> None:
        """Let out all that an acquitted unit holds, by and by."""
        self._closed.discard(name)
        self._leaving[name] = None

    def forget(self, url: Url) -> None:
        """Drop a held task that has come from the queue: orders may move copies of it there."""
        if self._leaving:
            for name in units_of(url):
                if name in self._leaving and self.of(name).has(url.key):
                    self.of(name).take(url.key)

    def close(self, name: str) -> int:
        """Close the waiting room of a closed unit; return how many tasks that refuses."""
        self._closed.add(name)
        self._leaving.pop(name, None)
        return self._pens[name].close(self._scan) if name in self._pens else 0

    def filled(self, name: str) -> Pen:
        """Return a unit's waiting room, with something in memory if there is anything."""
        pen = self.of(name)
        pen.refill(self._scan)
        return pen

    def let_out(self) -> list[Held]:
        """Take some of what acquitted units held."""
        name = next(iter(self._leaving), "")
        if not name:
            return []
        out = self.filled(name).take_some(AT_ONCE)
        if not self.count(name):
            del self._leaving[name]
            self.left.append(name)
        return out

    def rows_to_commit(self) -> list[Row]:
        """Give the rows that changed since the last commit."""
        rows: list[Row] = []
        for name, pen in list(self._pens.items()):
            rows.extend(pen.rows.items())
            pen.rows = {}
            if not pen:
                del self._pens[name]
        return rows
