"""Two sorted lists of names as one: who is which node of the merged graph."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.names import UrlMap, UrlMapWriter
from gossamer.graph.rows import Ids


class Merged(NamedTuple):
    """The names of a graph and of what is new, numbered together."""

    names: Path
    nodes: int
    of_old: Ids
    """Number of each node of the graph; ascending."""
    of_new: Ids
    """Number of each name that comes with what is new; ascending."""
    old_of_new: NDArray[np.int64]
    """The graph's node of the same name, or -1."""


def alone(path: Path, nodes: int) -> Merged:
    """Return the numbers of what is new where there was no graph."""
    return Merged(
        names=path,
        nodes=nodes,
        of_old=np.empty(0, np.uint32),
        of_new=np.arange(nodes, dtype=np.uint32),
        old_of_new=np.full(nodes, -1, np.int64),
    )


def merge_names(old: UrlMap, new: UrlMap, path: Path) -> Merged:
    """Write the URL map of all names of two maps."""
    writer = UrlMapWriter(path)
    before: list[int] = []
    """How many old names come before each new one."""
    is_old: list[bool] = []
    done = 0
    fresh = _Reader(new.keys(0))
    for keys in old.keys(0):
        extra: list[bytes] = []
        for key in fresh.until(keys[-1]):
            place = bisect_left(keys, key)
            before.append(done + place)
            is_old.append(keys[place] == key)
            if not is_old[-1]:
                extra.append(key)
        done += len(keys)
        writer.add(sorted(keys + extra) if extra else keys)
    for keys in fresh.rest():
        before += [done] * len(keys)
        is_old += [False] * len(keys)
        writer.add(keys)
    writer.close()
    return _numbered(path, len(old), np.array(before, np.int64), np.array(is_old, np.bool_))


def _numbered(path: Path, old: int, before: NDArray[np.int64], is_old: NDArray[np.bool_]) -> Merged:
    """Return the numbers, given how many old names come before each new one."""
    is_added = ~is_old
    added_before: NDArray[np.int64] = np.cumsum(is_added) - is_added
    shifts = (
        np.bincount(before[is_added], minlength=old + 1)[:old] if old else np.empty(0, np.int64)
    )
    return Merged(
        names=path,
        nodes=old + int(is_added.sum()),
        of_old=(np.arange(old) + np.cumsum(shifts)).astype(np.uint32),
        of_new=(before + added_before).astype(np.uint32),
        old_of_new=np.where(is_old, before, -1),
    )


class _Reader:
    """Sorted keys that come in batches, taken up to some key at a time."""

    def __init__(self, batches: Iterable[list[bytes]]) -> None:
        self._batches = iter(batches)
        self._keys: list[bytes] = []
        self._at = 0

    def until(self, last: bytes) -> Iterator[bytes]:
        """Yield the next keys that are not above another one."""
        while self._has_keys() and self._keys[self._at] <= last:
            end = bisect_left(self._keys, last + b"\0", lo=self._at)
            yield from self._keys[self._at : end]
            self._at = end

    def rest(self) -> Iterator[list[bytes]]:
        """Yield all others in batches."""
        while self._has_keys():
            yield self._keys[self._at :]
            self._at = len(self._keys)

    def _has_keys(self) -> bool:
        while self._at == len(self._keys):
            keys = next(self._batches, None)
            if keys is None:
                return False
            self._keys, self._at = keys, 0
        return True
