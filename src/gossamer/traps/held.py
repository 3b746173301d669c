"""HeldQueues: the tasks that units on probation hold back. They lie in the state too, a row each.

Most queues stay small. Of a large one only a part is in memory; the rest is read again when that
has gone.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from gossamer.model import Row, Task, TrapNote, Url
from gossamer.traps.registry import (
    PREFIX_BYTES,
    TRAP_ROWS,
    ScanRows,
    decode_unit,
    is_unit_row,
    row_prefix,
    unit_key,
)
from gossamer.traps.rules import Decision
from gossamer.traps.unit import (
    Probation,
    Trail,
    Unit,
    address_of,
    child_of,
    domain_unit,
    group_of,
    shape_of,
    units_of,
)
from gossamer.urls import registrable_domain

IN_MEMORY = 4096
RELEASED_AT_ONCE = 512
"""So many tasks of a released unit go to the queue at a time."""
PROBES_CONSIDERED = 128
"""The best next probe is chosen among so many of the newest."""
KEPT_WHEN_CLOSED = 1000
"""So many URLs of a closed unit are kept, so that whoever trusts it can go on from there."""
_HELD_ROW = b"p"


class HeldTask(NamedTuple):
    """One task that is held back. Its row is the same tuple in MessagePack."""

    task: Task
    trail: Trail
    """How many pages of the probation led to it in a row, and how many of them in its child."""
    is_new: bool
    """Whether its host has not counted it yet."""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(HeldTask)


def held_key(name: str, url_key: int) -> bytes:
    """Return the key of a held task's row."""
    return row_prefix(name) + _HELD_ROW + url_key.to_bytes(8, "big")


def decode_held(value: bytes) -> HeldTask:
    """Return the task that a row holds."""
    return _decoder.decode(value)


class HeldQueue:
    """The held tasks of one unit, the newest last."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._prefix = row_prefix(name) + _HELD_ROW
        self._held: dict[int, HeldTask] = {}
        self._on_disk = 0
        self._probes = 0
        self._last_child = ""
        self._rows: dict[bytes, bytes | None] = {}
        """To be committed."""

    def __len__(self) -> int:
        """Return how many tasks are held."""
        return len(self._held) + self._on_disk

    @classmethod
    def read(cls, name: str, scan: ScanRows) -> "HeldQueue":
        """Return a queue as its rows have it."""
        queue = cls(name)
        for key, value in scan(queue._prefix):
            if len(queue._held) < IN_MEMORY:
                queue._held[int.from_bytes(key[-8:], "big")] = decode_held(value)
            else:
                queue._on_disk += 1
        return queue

    def put(self, task: Task, trail: Trail, *, is_new: bool) -> None:
        """Hold a task."""
        held = HeldTask(task, trail, is_new)
        key = task.url.key
        self._rows[self._row_key(key)] = _encoder.encode(held)
        if len(self._held) < IN_MEMORY:
            self._held[key] = held
        else:
            self._on_disk += 1

    def take(self, key: int) -> HeldTask:
        """Take one task out."""
        self._rows[self._row_key(key)] = None
        return self._held.pop(key)

    def has(self, key: int) -> bool:
        """Return True if a task is held, as far as is known without reading the rows."""
        return key in self._held

    def refill(self, scan: ScanRows) -> None:
        """Read tasks from their rows when none is left in memory."""
        if self._held or not self._on_disk:
            return
        for key, value in scan(self._prefix):
            if self._rows.get(key, value) is not None:
                self._held[int.from_bytes(key[-8:], "big")] = decode_held(value)
                if len(self._held) >= IN_MEMORY:
                    break
        self._on_disk = max(0, self._on_disk - len(self._held))
        if not self._held:  # what is left was put in since the last commit
            for key, pending in self._rows.items():
                if pending is not None:
                    self._held[int.from_bytes(key[-8:], "big")] = decode_held(pending)
            self._on_disk = 0

    def take_oldest(self, count: int) -> list[HeldTask]:
        """Take the oldest tasks out."""
        return [self.take(key) for key in list(self._held)[:count]]

    def next_probe(self, probation: Probation) -> HeldTask | None:
        """Take out the task whose page is likely to decide most.

        If pages repeat each other: one that is likely to lead on, to see whether it does so for
        ever. If they bring ever more URLs: by turns one of the newest, to follow them down, and one
        elsewhere in the unit and of another shape, to find a page that ends.
        """
        newest = list(self._held.values())[-PROBES_CONSIDERED:]
        if not newest:
            return None
        if probation.same * 2 > probation.pages:
            others = [held for held in newest if self._group(held) not in probation.same_by_child]
            from_other = others[-1] if others and self._probes % 2 else None
            chosen = from_other or _like(newest, probation, is_productive=True) or newest[-1]
        elif self._probes % 2:
            others = [held for held in newest if self._child(held) != self._last_child] or newest
            chosen = _like(others, probation, is_productive=False) or others[-1]
        else:
            last = newest[-1].task.via
            deepest = [held for held in newest if held.task.via == last]
            chosen = min(deepest, key=lambda held: held.task.url.key)  # any: keys are hashes
            self._last_child = self._child(chosen)
        self._probes += 1
        return self.take(chosen.task.url.key)

    def close(self, scan: ScanRows) -> int:
        """Drop all tasks but some; return how many there were."""
        count = len(self)
        for key in list(self._held)[KEPT_WHEN_CLOSED:]:
            self.take(key)
        if self._on_disk:
            kept = {self._row_key(key) for key in self._held}
            for row, _ in scan(self._prefix):
                if row not in kept:
                    self._rows[row] = None
            self._rows.update({row: None for row in self._rows if row not in kept})
            self._on_disk = 0
        return count

    def rows_to_commit(self) -> Iterable[Row]:
        """Return the rows that changed since the last call."""
        rows, self._rows = self._rows, {}
        return rows.items()

    def _row_key(self, url_key: int) -> bytes:
        return self._prefix + url_key.to_bytes(8, "big")

    def _child(self, held: HeldTask) -> str:
        """Return the child of the unit that a task lies in."""
        names = units_of(held.task.url)
        return child_of(self._name, names) if self._name in names else ""

    def _group(self, held: HeldTask) -> str:
        return group_of(self._child(held), self._name)


def _like(newest: list[HeldTask], probation: Probation, *, is_productive: bool) -> HeldTask | None:
    """Return the newest task whose URL has, or has not, the shape of one that brought new URLs."""
    for held in reversed(newest):
        if (shape_of(address_of(held.task.url)) in probation.shapes) == is_productive:
            return held
    return None


class HeldQueues:
    """The held tasks of all units."""

    def __init__(self, scan: ScanRows, names: Iterable[str]) -> None:
        self._scan = scan
        self._queues = {name: HeldQueue.read(name, scan) for name in names}
        self._releasing: dict[str, None] = {}
        self._emptied: list[str] = []
        self._closed: set[str] = set()

    def get(self, name: str) -> HeldQueue:
        """Return the queue of a unit."""
        if name not in self._queues:
            self._queues[name] = HeldQueue(name)
        return self._queues[name]

    def get_filled(self, name: str) -> HeldQueue:
        """Return the queue of a unit, with something in memory if there is anything."""
        queue = self.get(name)
        queue.refill(self._scan)
        return queue

    def count(self, name: str) -> int:
        """Return how many tasks a unit holds."""
        return len(self._queues[name]) if name in self._queues else 0

    @property
    def undecided(self) -> int:
        """Return how many tasks are held that will yet be released or refused."""
        return sum(len(queue) for name, queue in self._queues.items() if name not in self._closed)

    def release(self, name: str) -> None:
        """Have all that a unit holds taken by `take_released`, by and by."""
        self._closed.discard(name)
        self._releasing[name] = None

    def close(self, name: str) -> int:
        """Drop what a closed unit holds; return how many tasks that refuses."""
        self._closed.add(name)
        self._releasing.pop(name, None)
        return self._queues[name].close(self._scan) if name in self._queues else 0

    def forget(self, url: Url) -> None:
        """Drop a held task that has come from the queue: orders may move copies of it there."""
        if self._releasing:
            for name in units_of(url):
                if name in self._releasing and self.get(name).has(url.key):
                    self.get(name).take(url.key)

    def take_released(self) -> list[HeldTask]:
        """Take some of the tasks of released units out."""
        name = next(iter(self._releasing), "")
        if not name:
            return []
        out = self.get_filled(name).take_oldest(RELEASED_AT_ONCE)
        if not self.count(name):
            del self._releasing[name]
            self._emptied.append(name)
        return out

    def take_emptied(self) -> list[str]:
        """Return the released units whose last task was taken since the last call."""
        emptied, self._emptied = self._emptied, []
        return emptied

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that changed since the last call."""
        rows: list[Row] = []
        for name, queue in list(self._queues.items()):
            rows.extend(queue.rows_to_commit())
            if not queue:
                del self._queues[name]
        return rows


MOST_NOTES = 100
"""So many units are named by `status`, those with the most refusals first."""


def read_trap_notes(scan: ScanRows) -> tuple[TrapNote, ...]:
    """Return the units of a stopped crawl that are on probation or closed."""
    units: dict[bytes, Unit] = {}
    held: Counter[bytes] = Counter()
    for key, value in scan(TRAP_ROWS):
        if is_unit_row(key):
            units[key[:PREFIX_BYTES]] = decode_unit(value)
        else:
            held[key[:PREFIX_BYTES]] += 1
    return most_important([note_of(unit, held[key]) for key, unit in units.items()])


def count_held_new(scan: ScanRows) -> int:
    """Return how many URLs are held back, or were until they were refused, uncounted by hosts."""
    return sum(not is_unit_row(key) and decode_held(value).is_new for key, value in scan(TRAP_ROWS))


def held_because(get: Callable[[bytes], bytes | None], url: Url) -> str:
    """Return which unit on probation holds a URL back, and why; "" if none does."""
    for name in [*units_of(url), domain_unit(registrable_domain(url.host))]:
        value = get(unit_key(name))
        if value is None or get(held_key(name, url.key)) is None:
            continue
        unit = decode_unit(value)
        if unit.probation is not None:
            return _on_probation_because(unit, unit.probation)
    return ""


def note_of(unit: Unit, held: int) -> TrapNote:
    """Return what `status` says of a unit; what a closed one holds is as good as refused."""
    probation = unit.probation
    detail = unit.detail if probation is None else _on_probation_because(unit, probation)
    undecided = 0 if unit.verdict else held
    return TrapNote(unit.name, unit.verdict, unit.pages, undecided, unit.refused, detail)


def most_important(notes: list[TrapNote]) -> tuple[TrapNote, ...]:
    """Return the notes of the units with the most URLs refused or held back."""
    ordered = sorted(notes, key=lambda note: (-note.refused - note.held, note.unit))
    return tuple(ordered[:MOST_NOTES])


def closed_because(unit: Unit, probation: Probation, decision: Decision) -> str:
    """Return why a unit was closed, and how to overrule that."""
    match decision:
        case Decision.SAME:
            because = (
                f"{unit.pages} pages, of the last {probation.pages} {probation.same} said what "
                f"others had said, and {probation.same_productive} of these led to new URLs"
            )
        case Decision.MIRROR:
            because = f"{probation.suspicion}: {unit.copies} of {unit.pages}, under the same paths"
        case Decision.HOSTS:
            because = (
                f"{probation.productive} of the last {probation.pages} new hosts named "
                f"{probation.new_urls} newer ones"
            )
        case _:
            because = (
                f"{unit.pages} pages, of the last {probation.pages} {probation.productive} brought "
                f"new URLs ({probation.new_urls}), {probation.depth} in a row, and "
                f"{probation.leaves} were an end"
            )
    pattern = unit.name if unit.is_domain else f"{unit.name}*"
    return f'{unit.name} closed: {because}; overrule with [traps] trust = ["{pattern}"]'


def _on_probation_because(unit: Unit, probation: Probation) -> str:
    return f"{unit.name} is on probation: {probation.suspicion}"
