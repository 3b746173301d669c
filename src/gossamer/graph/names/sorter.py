"""NameSorter: any number of keys, in any order and often repeated, to sorted ones.

What fits into the memory that is granted is held in a set, so that a repeated key costs a look-up
and nothing else. A full set goes to disk as a sorted run; runs are merged a piece at a time.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import zstandard

from gossamer.errors import CannotGoOn, CorruptFile

KEY_OVERHEAD_BYTES = 120
"""What Python adds to a key: its object, places in the set (which doubles), one in a list."""
BATCH_KEYS = 4096
FAN_IN = 64
"""So many runs are merged into one."""
_LEVEL = 1
_LENGTH_BYTES = 4


class NameSorter:
    """Keys on their way into order. Its files stay in the folder, which is the caller's."""

    def __init__(self, folder: Path, memory_bytes: int) -> None:
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._held: set[bytes] = set()
        self._held_bytes = 0
        self._runs: list[Path] = []
        self._next_run = 0

    def add(self, keys: Iterable[bytes]) -> None:
        """Add keys; those that are held already cost nothing."""
        fresh = set(keys).difference(self._held)
        if not fresh:
            return
        self._held |= fresh
        self._held_bytes += sum(map(len, fresh)) + KEY_OVERHEAD_BYTES * len(fresh)
        if self._held_bytes >= self._memory_bytes:
            self._flush()

    def merged(self) -> Iterator[list[bytes]]:
        """Yield all keys once, ascending, in batches. Nothing can be added afterwards."""
        if self._runs:
            self._flush()
            yield from _merged([_pieces(run) for run in self._runs])
            return
        keys = sorted(self._held)
        self._held = set()
        yield from _batches(keys)

    def _flush(self) -> None:
        if not self._held:
            return
        keys = sorted(self._held)
        self._held = set()
        self._held_bytes = 0
        self._runs.append(self._write(_batches(keys)))
        if len(self._runs) == FAN_IN:
            whole = self._write(_merged([_pieces(run) for run in self._runs]))
            for run in self._runs:
                run.unlink()
            self._runs = [whole]

    def _write(self, batches: Iterable[Sequence[bytes]]) -> Path:
        path = self._folder / f"names-{self._next_run:06d}.run"
        self._next_run += 1
        packer = zstandard.ZstdCompressor(level=_LEVEL)
        try:
            with path.open("wb") as file:
                for keys in batches:
                    packed = packer.compress(b"\0".join(keys))
                    file.write(len(packed).to_bytes(_LENGTH_BYTES, "little") + packed)
        except OSError as problem:
            raise CannotGoOn(
                f"cannot write {path}: {problem.strerror}; free some disk space"
            ) from problem
        return path


def _batches(keys: list[bytes]) -> Iterator[list[bytes]]:
    return (keys[at : at + BATCH_KEYS] for at in range(0, len(keys), BATCH_KEYS))


def _pieces(path: Path) -> Iterator[list[bytes]]:
    """Yield the keys of a run, piece by piece."""
    unpacker = zstandard.ZstdDecompressor()
    with path.open("rb") as file:
        while length := file.read(_LENGTH_BYTES):
            try:
                packed = file.read(int.from_bytes(length, "little"))
                yield unpacker.decompress(packed).split(b"\0")
            except zstandard.ZstdError as problem:
                raise CorruptFile(path, file.tell(), str(problem)) from problem


def _merged(runs: Sequence[Iterator[list[bytes]]]) -> Iterator[list[bytes]]:
    """Yield the keys of sorted runs once each, ascending.

    All keys up to the least of the pieces' last ones are at hand: they are sorted at once, which
    for Python is a merge of ascending stretches.
    """
    at_hand = [(piece, run) for run in runs if (piece := next(run, None))]
    while at_hand:
        limit = min(piece[-1] for piece, _ in at_hand)
        ready: list[bytes] = []
        left = []
        for piece, run in at_hand:
            cut = bisect_right(piece, limit)
            ready += piece[:cut]
            rest: list[bytes] | None = piece[cut:] or next(run, None)
            if rest:
                left.append((rest, run))
        at_hand = left
        ready.sort()
        yield list(dict.fromkeys(ready))
