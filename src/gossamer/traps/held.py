"""HeldQueues: the tasks that units on probation hold back. They lie in the state too, a row each.

Most queues stay small. Of a large one only a part is in memory; the rest is read again when that
has gone.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from shlex import quote
from typing import NamedTuple, Protocol

import msgspec

from gossamer.log import counted
from gossamer.model import Row, Task, TrapNote, Url
from gossamer.traps.allowance import Allowance
from gossamer.traps.registry import (
    PREFIX_BYTES,
    RING_BYTES,
    TRAP_ROWS,
    ScanRows,
    decode_unit,
    is_unit_row,
    row_prefix,
)
from gossamer.traps.rules import Decision, is_repeating
from gossamer.traps.unit import (
    Probation,
    Trail,
    Unit,
    address_of,
    child_of,
    group_of,
    shape_of,
    units_of,
)
from gossamer.urls import ring_of


class ReadTrapRows(Protocol):
    """The rows of a state."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys with a prefix and their values, in order."""


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

    def __init__(self, name: str, unit_of: dict[int, str]) -> None:
        """Be empty; `unit_of` is told by key which tasks are in memory, and whose they are."""
        self._name = name
        self._unit_of = unit_of
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
    def read(cls, name: str, scan: ScanRows, unit_of: dict[int, str]) -> "HeldQueue":
        """Return a queue as its rows have it."""
        queue = cls(name, unit_of)
        for _, value in scan(queue._prefix):
            if len(queue._held) < IN_MEMORY:
                queue._keep(decode_held(value))
            else:
                queue._on_disk += 1
        return queue

    def put(self, task: Task, trail: Trail, *, is_new: bool) -> None:
        """Hold a task."""
        held = HeldTask(task, trail, is_new)
        self._rows[self._row_key(task.url.key)] = _encoder.encode(held)
        if len(self._held) < IN_MEMORY:
            self._keep(held)
        else:
            self._on_disk += 1

    def take(self, key: int) -> HeldTask:
        """Take one task out."""
        self._rows[self._row_key(key)] = None
        self._unit_of.pop(key, None)
        return self._held.pop(key)

    def take_if_held(self, key: int, scan: ScanRows) -> HeldTask | None:
        """Take one task out, if it is held, wherever it lies."""
        if key in self._held:
            return self.take(key)
        row = self._row_key(key)
        if not self._on_disk or self._rows.get(row, b"") is None:
            return None
        value = self._rows.get(row) or next((value for _, value in scan(row)), None)
        if value is None:
            return None
        self._rows[row] = None
        self._on_disk -= 1
        return decode_held(value)

    def has(self, key: int) -> bool:
        """Return True if a task is held, as far as is known without reading the rows."""
        return key in self._held

    @property
    def is_partly_on_disk(self) -> bool:
        """Return True if there is more than is in memory."""
        return self._on_disk > 0

    def items(self, scan: ScanRows) -> dict[int, HeldTask]:
        """Return all tasks by key, those on disk included."""
        if not self._on_disk:
            return dict(self._held)
        rows = {**dict(scan(self._prefix)), **self._rows}
        found = (decode_held(value) for value in rows.values() if value is not None)
        return {held.task.url.key: held for held in found}

    def refill(self, scan: ScanRows) -> None:
        """Read tasks from their rows when none is left in memory."""
        if self._held or not self._on_disk:
            return
        for key, value in scan(self._prefix):
            if self._rows.get(key, value) is not None:
                self._keep(decode_held(value))
                if len(self._held) >= IN_MEMORY:
                    break
        self._on_disk = max(0, self._on_disk - len(self._held))
        if not self._held:  # what is left was put in since the last commit
            for pending in self._rows.values():
                if pending is not None:
                    self._keep(decode_held(pending))
            self._on_disk = 0

    def take_oldest(self, count: int) -> list[HeldTask]:
        """Take the oldest tasks out."""
        return [self.take(key) for key in list(islice(self._held, count))]

    def next_probe(self, probation: Probation) -> HeldTask | None:
        """Take out the task whose page is likely to decide most.

        If pages repeat each other: by turns one that is likely to lead on, to see whether it does
        so for ever, and one of another kind, which may have a text of its own. If they bring ever
        more URLs: by turns one of the newest, to follow them down, and one
        elsewhere in the unit and of another shape, to find a page that ends. Once that has led
        nowhere, the oldest.
        """
        if probation.is_endless and not is_repeating(probation):
            return next(iter(self.take_oldest(1)), None)
        newest = list(islice(reversed(self._held.values()), PROBES_CONSIDERED))[::-1]
        if not newest:
            return None
        if is_repeating(probation):
            others = [held for held in newest if self._group(held) not in probation.same_by_child]
            aside = _like(others or newest, probation, is_productive=False)
            aside = aside or (others[-1] if others else None)
            if aside is None or not self._probes % 2:
                aside = _like(newest, probation, is_productive=True)
            chosen = aside or newest[-1]
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

    def _keep(self, held: HeldTask) -> None:
        key = held.task.url.key
        self._held[key] = held
        self._unit_of[key] = self._name

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
        self._unit_of: dict[int, str] = {}
        self._queues = {name: HeldQueue.read(name, scan, self._unit_of) for name in names}
        self._used = set(self._queues)
        """Queues that may have changed since the last commit."""
        self._releasing: dict[str, None] = {}
        self._emptied: list[str] = []
        self._closed: set[str] = set()

    def get(self, name: str) -> HeldQueue:
        """Return the queue of a unit."""
        self._used.add(name)
        if name not in self._queues:
            self._queues[name] = HeldQueue(name, self._unit_of)
        return self._queues[name]

    def get_filled(self, name: str) -> HeldQueue:
        """Return the queue of a unit, with something in memory if there is anything."""
        queue = self.get(name)
        queue.refill(self._scan)
        return queue

    def count(self, name: str) -> int:
        """Return how many tasks a unit holds."""
        queue = self._queues.get(name)
        return 0 if queue is None else len(queue)

    def unit_of(self, key: int) -> str:
        """Return the unit that holds a URL in memory; "" if none does."""
        return self._unit_of.get(key, "")

    def take_if_held(self, name: str, key: int) -> HeldTask | None:
        """Take a task out of a unit's queue, if it is held there, in memory or not."""
        return self.get(name).take_if_held(key, self._scan) if name in self._queues else None

    def is_partly_on_disk(self, name: str) -> bool:
        """Return True if a unit holds more than is in memory."""
        return name in self._queues and self._queues[name].is_partly_on_disk

    def move(self, name: str, matches: Callable[[Url], bool]) -> list[HeldTask]:
        """Take all tasks out of a unit's queue whose URLs match, those on disk included."""
        queue = self.get(name)
        keys = [key for key, held in queue.items(self._scan).items() if matches(held.task.url)]
        taken = [queue.take_if_held(key, self._scan) for key in keys]
        return [held for held in taken if held is not None]

    @property
    def undecided(self) -> int:
        """Return how many tasks are held by units that are neither closed nor released."""
        closed, releasing = self._closed, self._releasing
        queues = self._queues.items()
        return sum(len(q) for name, q in queues if name not in closed and name not in releasing)

    @property
    def releasing(self) -> int:
        """Return how many tasks of released units have not been taken yet."""
        return sum(map(self.count, self._releasing))

    @property
    def released_units(self) -> Iterable[str]:
        """Units whose tasks are on their way to the queue."""
        return self._releasing

    @property
    def is_releasing(self) -> bool:
        """Return True if tasks of released units have not all been taken."""
        return bool(self._releasing)

    def release(self, name: str) -> None:
        """Have all that a unit holds taken by `take_released`, by and by."""
        self._closed.discard(name)
        self._releasing[name] = None

    def close(self, name: str) -> int:
        """Drop what a closed unit holds; return how many tasks that refuses."""
        self._closed.add(name)
        self._releasing.pop(name, None)
        return self.get(name).close(self._scan) if name in self._queues else 0

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

    @property
    def has_released(self) -> bool:
        """Return True if `take_released` or `take_emptied` would return something."""
        return bool(self._releasing or self._emptied)

    def take_emptied(self) -> list[str]:
        """Return the released units whose last task was taken since the last call."""
        emptied, self._emptied = self._emptied, []
        return emptied

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that changed since the last call."""
        rows: list[Row] = []
        for name in self._used:
            queue = self._queues[name]
            rows.extend(queue.rows_to_commit())
            if not queue:
                del self._queues[name]
        self._used.clear()
        return rows


WAITS_FOR_SHARE = (
    "it waits for its share: while anything else waits, a tenth of the requests go to what is on "
    "probation"
)
MOST_NOTES = 100
"""So many units are named by `status`, those with the most refusals first."""


def count_held_new(scan: ScanRows) -> int:
    """Return how many URLs are held back, or were until they were refused, uncounted by hosts."""
    return sum(not is_unit_row(key) and decode_held(value).is_new for key, value in scan(TRAP_ROWS))


def held_tasks(scan: ScanRows) -> Iterator[Task]:
    """Yield the tasks that are held back."""
    for key, value in scan(TRAP_ROWS):
        if not is_unit_row(key):
            yield decode_held(value).task


def holding_units(scan: ScanRows) -> dict[bytes, Unit]:
    """Return all units that have a row, by what the keys of their held tasks begin with."""
    return {
        key[:PREFIX_BYTES]: decode_unit(value) for key, value in scan(TRAP_ROWS) if is_unit_row(key)
    }


def tasks_of_units(scan: ScanRows, ring: bytes = b"") -> Iterator[tuple[bytes, Task]]:
    """Yield the tasks that are held back, each with what the keys of its unit begin with.

    `ring`: only those of units whose key begins with it.
    """
    for key, value in scan(TRAP_ROWS + ring):
        if not is_unit_row(key):
            yield key[:PREFIX_BYTES], decode_held(value).task


def held_by(rows: ReadTrapRows, url: Url) -> Unit | None:
    """Return the unit on probation that holds a URL back, if one does.

    It may be a unit that the URL does not lie in: one of its domain whose pages alone list it. Or
    one that is being released: what it held is not all in the queue yet.
    """
    ring = TRAP_ROWS + ring_of(url.host).to_bytes(RING_BYTES, "big")
    units = [decode_unit(value) for key, value in rows.scan(ring) if is_unit_row(key)]
    for unit in units:
        if not unit.verdict and rows.get(held_key(unit.name, url.key)) is not None:
            return unit
    return None


def holder_among(names: Iterable[str], rows: ReadTrapRows, url: Url) -> str | None:
    """Return which of some units holds a URL back, by committed rows; None if none does."""
    ring = TRAP_ROWS + ring_of(url.host).to_bytes(RING_BYTES, "big")
    for name in names:
        if row_prefix(name).startswith(ring) and rows.get(held_key(name, url.key)) is not None:
            return name
    return None


def note_of(unit: Unit, held: int, allowance: Allowance) -> TrapNote:
    """Return what `status` says of a unit; what a closed one holds is as good as refused."""
    probation, detail, suspicion, waits_for = unit.probation, unit.detail, "", ""
    if probation is not None:
        suspicion = _suspicion(probation)
        spent = allowance.why_spent(unit, probation)
        waits_for = "allowance" if spent else "share"
        detail = probation_because(unit, probation, spent or WAITS_FOR_SHARE)
    return TrapNote(
        unit=unit.name,
        reason=unit.verdict,
        pages=unit.pages,
        held=0 if unit.verdict else held,
        refused=unit.refused,
        detail=detail,
        suspicion=suspicion,
        waits_for=waits_for,
        pattern=_pattern(unit),
    )


def most_important(units: Iterable[tuple[Unit, int]]) -> list[tuple[Unit, int]]:
    """Return the units with the most URLs refused or held back; each comes with how many it holds.

    There may be thousands, and a note is mostly words.
    """

    def rank(one: tuple[Unit, int]) -> tuple[int, str]:
        unit, held = one
        return -unit.refused - (0 if unit.verdict else held), unit.name

    return nsmallest(MOST_NOTES, units, key=rank)


def closed_because(unit: Unit, probation: Probation, decision: Decision) -> str:
    """Return why a unit was closed, and how to overrule that."""
    because = (
        f"{unit.pages} pages, of the last {probation.pages} {probation.same} said what "
        f"others had said, and {probation.same_productive} of these led to new URLs"
    )
    if decision is Decision.MIRROR:
        because = f"{probation.suspicion}: {unit.copies} of {unit.pages}, under the same paths"
    return f"{unit.name} closed: {because}; if it is honest: {_remedy(unit)}"


def probation_because(unit: Unit, probation: Probation, waits: str) -> str:
    """Return why a unit is on probation, how far it got, and how to overrule that."""
    because = f"{unit.name} is on probation: {_suspicion(probation)}"
    return f"{because}; {waits}; {_remedy(unit)}"


def _suspicion(probation: Probation) -> str:
    since = counted(probation.spent, "page")
    return probation.suspicion + (f", {since} fetched since" if probation.spent else "")


def _remedy(unit: Unit) -> str:
    return f"gossamer trust DIR {quote(_pattern(unit))} lets it go on"


def _pattern(unit: Unit) -> str:
    """Return the pattern that names all of a unit."""
    return unit.name if unit.is_domain else f"{unit.name}*"
