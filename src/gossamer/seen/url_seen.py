"""UrlSeen: which of these URLs are new to us? Rows in, rows out; it never opens the database."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from msgspec import Struct, msgpack
from numpy.typing import NDArray

from gossamer.config import SeenConfig
from gossamer.errors import Bug, CorruptFile
from gossamer.model import Row
from gossamer.seen.kernels import Flags, Keys, miss
from gossamer.seen.runs import (
    KeyTable,
    Run,
    RunJob,
    damaged,
    merged,
    open_run,
    run_number,
    run_path,
    verify_as,
    write_run,
)

LOG = b"s"
"""Prefix of a log row: sequence number → the fingerprints of one commit, not yet in any run."""
MANIFEST = b"S"
"""Prefix of a manifest row: run number → what the run's file must hold."""

_NO_SLOTS: Keys = np.zeros(2, np.uint64)
"""The slots of a table that holds nothing."""
YOUNG_KEYS = 200_000
"""Keys up to which a plain set does without compiled code."""

MAPPED_LOOKUPS = 1 << 22
"""Look-ups on disk after which mapped pages are let go, so that runs which nobody asks any more do
not stay ours for ever. To map a page anew costs more than ten look-ups, so this must be rare; the
system takes mapped pages back by itself when memory is short."""

_RING_BITS = 24
_KEY_BITS = 64


class _RunEntry(Struct, frozen=True, array_like=True):
    """A line of the manifest: what the header of the run's file must say too."""

    count: int
    checksum: int


class YoungTable:
    """A plain set for the first keys of a crawl.

    A test is as quick as in the compiled table, at eight times the memory; but nothing has to be
    compiled yet, which on a new machine takes longer than a small crawl.
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: set[int] = set()

    @property
    def count(self) -> int:
        """Return how many keys are held."""
        return len(self._keys)

    def add(self, keys: Iterable[int]) -> Keys:
        """Remember keys; return those that were not yet here, each once."""
        fresh = self.new_among(dict.fromkeys(keys))
        self._keys.update(fresh)
        return np.array(fresh, np.uint64)

    def new_among(self, keys: Iterable[int]) -> list[int]:
        """Return those of the keys that are not held."""
        held = self._keys
        return [key for key in keys if key not in held]

    def unknown(self, keys: Keys) -> Flags:
        """Return, for each key, True if it is not held."""
        held = self._keys
        return np.array([key not in held for key in keys.tolist()], np.bool_)

    def keys(self) -> Keys:
        """Return every key once, in no order."""
        return np.fromiter(self._keys, np.uint64, len(self._keys))


class UrlSeen:
    """The set of all fingerprints ever added: newest in memory, the rest in sorted runs on disk.

    Invariants: a key lies in the log (as committed rows) or in a run that the manifest names;
    the frozen table holds only keys whose log rows have been handed out; at most one piece of
    work is under way; no merge starts before the files replaced by the last one are gone.
    """

    def __init__(self, folder: Path, config: SeenConfig, runs: list[Run], next_run: int) -> None:
        self._folder = folder
        self._config = config
        self._runs = runs
        self._next_run = next_run
        self._table: KeyTable | YoungTable = KeyTable() if runs else YoungTable()
        self._frozen: KeyTable | None = None
        self._log: list[int] = []
        self._frozen_log: tuple[int, ...] = ()
        self._next_log = 0
        self._pending: list[Keys] = []
        self._work: RunJob | None = None
        self._replaced: list[Path] = []
        self._lookups = 0

    @classmethod
    def open(
        cls, folder: Path, config: SeenConfig, rows: Iterable[tuple[bytes, bytes]]
    ) -> "UrlSeen":
        """Return the set as of the committed rows with prefixes `s` and `S`.

        Files in the folder that the manifest does not name are deleted, so what the rows say must
        be durable by now. Fingerprints still in the log are replayed.
        """
        folder.mkdir(parents=True, exist_ok=True)
        log, manifest = _sort_rows(folder, rows)
        files = {run_path(folder, number) for number in manifest}
        strays = _run_files(folder) - files
        next_run = 1 + max((run_number(path) for path in files | strays), default=0)
        for path in strays:
            path.unlink()
        runs = [_open_named(folder, number, manifest[number]) for number in sorted(manifest)]
        seen = cls(folder, config, _largest_first(runs), next_run)
        seen._replay(log)
        return seen

    @property
    def known(self) -> int:
        """Return how many keys have been added."""
        frozen = self._frozen.count if self._frozen is not None else 0
        return self._table.count + frozen + sum(run.count for run in self._runs)

    def unknown(self, keys: Keys) -> Flags:
        """Return, for each key, True if it was never added."""
        if isinstance(self._table, YoungTable):
            return self._table.unknown(keys)
        keys = np.ascontiguousarray(keys, np.uint64)
        unknown = np.empty(len(keys), np.bool_)
        frozen = self._frozen.slots if self._frozen is not None else _NO_SLOTS
        if miss(keys, self._table.slots, frozen, unknown):
            for run in self._runs:
                self._lookups += run.search(keys, unknown)
            if self._lookups > MAPPED_LOOKUPS:
                self._let_go()
        return unknown

    def new_among(self, keys: Collection[int]) -> list[int]:
        """Return those of the keys that were never added, in order: `unknown` for plain numbers."""
        if isinstance(self._table, YoungTable):
            return self._table.new_among(keys)
        array = np.fromiter(keys, np.uint64, len(keys))
        new: list[int] = array[self.unknown(array)].tolist()
        return new

    def add(self, keys: Keys | Sequence[int]) -> None:
        """Remember keys that `unknown` has just called unknown; the next commit logs them.

        A key may come twice in one call. One that already lies in a run would be counted twice in
        `known` until a merge meets both.
        """
        if isinstance(self._table, YoungTable) and self._table.count > YOUNG_KEYS:
            self._table = self._grown_up()
        fresh = self._added(keys)
        if len(fresh):
            self._pending.append(fresh)

    def rows_to_commit(self) -> list[Row]:
        """Return one log row with all keys added since the last call, if there are any."""
        rows: list[Row] = []
        if self._pending:
            keys = np.concatenate(self._pending)
            rows.append((_row_key(LOG, self._next_log), keys.astype("<u8").tobytes()))
            self._log.append(self._next_log)
            self._next_log += 1
            self._pending.clear()
        self._freeze_if_full()
        return rows

    def due(self) -> RunJob | None:
        """Return a run that ought to be written now, or None; the next one after its `install`."""
        if self._work is not None:
            return None
        self._freeze_if_full()
        path = run_path(self._folder, self._next_run)
        if self._frozen is not None:
            self._work = RunJob(path=path, frozen=self._frozen, log=self._frozen_log)
        elif not self._replaced and (alike := alike_runs(self._runs, self._config)):
            self._work = RunJob(path=path, replaces=alike)
        self._next_run += self._work is not None
        return self._work

    def install(self, work: RunJob) -> list[Row]:
        """Use the run that finished work has made; return the rows that make it official."""
        made = work.made
        if made is None or work is not self._work:
            raise Bug(f"{work.path.name} was installed before it was done, or twice")
        self._work = None
        kept = [run for run in self._runs if run not in work.replaces]
        self._runs = _largest_first([*kept, made])
        self._replaced += [run.path for run in work.replaces]
        if work.frozen is not None:
            self._frozen, self._frozen_log = None, ()
        entry = msgpack.encode(_RunEntry(made.count, made.checksum))
        rows: list[Row] = [(_row_key(MANIFEST, made.number), entry)]
        rows += [(_row_key(MANIFEST, run.number), None) for run in work.replaces]
        rows += [(_row_key(LOG, number), None) for number in work.log]
        return rows

    def discard_replaced(self) -> None:
        """Delete the files of merged runs; call it once the rows of `install` are durable."""
        for path in self._replaced:
            path.unlink(missing_ok=True)
        self._replaced.clear()

    def range_keys(self, first_ring: int, last_ring: int) -> Iterator[NDArray[np.uint64]]:
        """Yield all keys of a range of the ring, both ends included, in order, in chunks."""
        shift = _KEY_BITS - _RING_BITS
        first, last = first_ring << shift, ((last_ring + 1) << shift) - 1
        sources = [run.between(first, last) for run in self._runs]
        for table in (self._table, self._frozen):
            keys = np.sort(table.keys()) if table is not None else np.empty(0, np.uint64)
            keys = keys[(keys >= np.uint64(first)) & (keys <= np.uint64(last))]
            sources.append(iter([keys] if len(keys) else []))
        return merged(sources)

    def restrict(self, spans: Sequence[tuple[int, int]]) -> list[Row]:
        """Write one run with the keys of some ranges only; return the rows that make it official.

        The ranges are in order. For a set that nobody uses: it is to be closed then. The replaced
        files go at its next opening. Nothing is returned when all keys lie in the ranges.
        """
        path = run_path(self._folder, self._next_run)
        keys = chain.from_iterable(self.range_keys(*span) for span in spans)
        made = write_run(path, keys, self.known)
        if made.count == self.known:
            path.unlink()
            return []
        logs = (*self._log, *self._frozen_log)
        rows: list[Row] = [(_row_key(MANIFEST, run.number), None) for run in self._runs]
        rows += [(_row_key(LOG, number), None) for number in logs]
        entry = msgpack.encode(_RunEntry(made.count, made.checksum))
        rows.append((_row_key(MANIFEST, made.number), entry))
        return rows

    def close(self) -> None:
        """Let go of everything; what was not committed is gone, and any later use fails."""
        self.__dict__.clear()

    def _replay(self, log: dict[int, Keys]) -> None:
        """Take the keys of committed log rows back into the table."""
        for number in sorted(log):
            self._added(log[number])
            self._log.append(number)
            self._next_log = number + 1

    def _added(self, keys: Keys | Sequence[int]) -> Keys:
        """Take keys into the table; return those that were not yet in it."""
        if not isinstance(self._table, YoungTable):
            return self._table.add(np.array(keys, np.uint64))
        return self._table.add(keys.tolist() if isinstance(keys, np.ndarray) else keys)

    def _freeze_if_full(self) -> None:
        """Set a full table aside for a flush, unless it holds keys that no commit knows of.

        A run with such a key could become durable without the queue entry of its URL, which would
        then be seen and never fetched.
        """
        if self._table.count < self._config.run_keys or self._frozen is not None or self._pending:
            return
        self._frozen, self._frozen_log = self._grown_up(), tuple(self._log)
        self._table, self._log = KeyTable(), []

    def _grown_up(self) -> KeyTable:
        """Return the table as a compiled one: the crawl is large enough to pay for numba."""
        if isinstance(self._table, KeyTable):
            return self._table
        grown = KeyTable()
        grown.add(self._table.keys())
        return grown

    def _let_go(self) -> None:
        """Give mapped pages of the runs back; the system keeps them for as long as it likes."""
        self._lookups = 0
        for run in self._runs:
            run.let_go()


def run_names(rows: Iterable[tuple[bytes, bytes]]) -> list[str]:
    """Return the names of the runs that committed rows with prefix `RUN_ROWS` name."""
    return [run_path(Path(), int.from_bytes(key[1:], "big")).name for key, _ in rows]


def check_seen(folder: Path, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[CorruptFile]:
    """Yield what is wrong with the set of the committed rows; its files are read, nothing else."""
    try:
        _, manifest = _sort_rows(folder, rows)
    except CorruptFile as error:
        yield error
        return
    for number, entry in manifest.items():
        try:
            verify_as(run_path(folder, number), entry.count, entry.checksum)
        except CorruptFile as error:
            yield error


def alike_runs(runs: Sequence[Run], config: SeenConfig) -> tuple[Run, ...]:
    """Return the runs to merge: of the smallest size class that is full, or none."""
    classes: dict[int, list[Run]] = {}
    for run in runs:
        classes.setdefault(_size_class(run.count, config), []).append(run)
    for _, alike in sorted(classes.items()):
        if len(alike) >= config.fan_in:
            return tuple(alike[: config.fan_in])
    return ()


def _size_class(count: int, config: SeenConfig) -> int:
    """Return how many merges a run of this size has been through, about."""
    merges, flushes = 0, count // config.run_keys
    while flushes >= config.fan_in:
        merges, flushes = merges + 1, flushes // config.fan_in
    return merges


def _largest_first(runs: list[Run]) -> list[Run]:
    """Return runs in the order of search: a known key is most often in a large one."""
    return sorted(runs, key=lambda run: (-run.count, run.number))


def _row_key(prefix: bytes, number: int) -> bytes:
    return prefix + number.to_bytes(8, "big")


def _sort_rows(
    folder: Path, rows: Iterable[tuple[bytes, bytes]]
) -> tuple[dict[int, Keys], dict[int, _RunEntry]]:
    """Return the log by sequence number and the manifest by run number."""
    log: dict[int, Keys] = {}
    manifest: dict[int, _RunEntry] = {}
    for key, value in rows:
        number = int.from_bytes(key[1:], "big")
        if key[:1] == MANIFEST:
            manifest[number] = msgpack.decode(value, type=_RunEntry)
        elif len(value) % 8:
            raise CorruptFile(folder, 0, f"log row {number} has {len(value)} bytes")
        else:
            log[number] = np.frombuffer(value, "<u8")
    return log, manifest


def _open_named(folder: Path, number: int, entry: _RunEntry) -> Run:
    """Return a run that the manifest names, if it is the one that was meant."""
    run = open_run(run_path(folder, number))
    if (run.count, run.checksum) != (entry.count, entry.checksum):
        raise damaged(run.path, 0, "it is not the run that was committed")
    return run


def _run_files(folder: Path) -> set[Path]:
    """Return the runs in a folder, half-written ones included."""
    name = "run-" + "[0-9]" * 10
    return {*folder.glob(name + ".keys"), *folder.glob(name + ".tmp")}
