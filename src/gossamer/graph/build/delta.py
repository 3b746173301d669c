"""Delta: the newest pages, uncompressed, on top of a graph that does not know them.

It has names and numbers of its own, and says which of the graph's nodes have the same name. Two
files of one number: DELTA-N.urls and DELTA-N.rows. The manifest tells which number holds.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.graph.build.news import Fresh
from gossamer.graph.build.sorting import ArcSorter
from gossamer.graph.names import UrlMap
from gossamer.graph.rows import Ids, Kinds, Places, Rows

MARK = b"gossamer-delta-1"
_ALIGN = 8
UNKNOWN, PAGE, GONE = 0, 1, 2
"""What is known of a URL: nothing new, its links, or that it has none any more."""


class Columns(NamedTuple):
    """A delta's numbers; those of node n of the delta are the n-th, or in row n."""

    standing: NDArray[np.uint8]
    at: NDArray[np.float64]
    """When that was learned; 0 if nothing was."""
    node: Places
    """The graph's node of the same name, or -1."""
    out_offsets: Places
    out_targets: Ids
    out_kinds: Kinds
    in_offsets: Places
    in_sources: Ids
    in_kinds: Kinds


_TYPES = ("u1", "f8", "i8", "i8", "u4", "u1", "i8", "u4", "u1")


class Delta:
    """The newest pages: names, rows, and rows back."""

    def __init__(self, names: UrlMap, columns: Columns) -> None:
        self.names = names
        self.columns = columns
        is_newer = (columns.standing != UNKNOWN) & (columns.node >= 0)
        self.replaced: Places = np.sort(columns.node[is_newer])
        """Nodes of the graph whose rows do not hold any more."""

    @property
    def pages(self) -> int:
        """Return how many pages have new rows, or none any more."""
        return int((self.columns.standing != UNKNOWN).sum())

    @property
    def arcs(self) -> int:
        """Return the number of links."""
        return len(self.columns.out_targets)

    @classmethod
    def open(cls, folder: Path, number: int) -> "Delta":
        """Return a delta as it was written; raise `CorruptFile` if it is not."""
        path = rows_path(folder, number)
        data = path.read_bytes()
        head = len(MARK) + 8
        checksum = int.from_bytes(data[len(MARK) : head], "little")
        if not data.startswith(MARK) or xxhash.xxh3_64_intdigest(data[head:]) != checksum:
            raise CorruptFile(path, 0, "an incomplete delta")
        counts = np.frombuffer(data, "<i8", len(_TYPES), head).tolist()
        start = head + 8 * len(_TYPES)
        found: list[NDArray[np.generic]] = []
        for kind, count in zip(_TYPES, counts, strict=True):
            column = np.frombuffer(data, f"<{kind}", count, start)
            found.append(column)
            start += -(-column.nbytes // _ALIGN) * _ALIGN
        return cls(UrlMap.open(names_path(folder, number)), Columns(*found))  # type: ignore[arg-type]  # as `_TYPES` says

    def out(self, number: int) -> tuple[Ids, Kinds]:
        """Return where the links of one of its URLs lead, and their kinds."""
        columns = self.columns
        row = slice(*columns.out_offsets[number : number + 2].tolist())
        return columns.out_targets[row], columns.out_kinds[row]

    def back(self, number: int) -> tuple[Ids, Kinds]:
        """Return which of its pages link to one of its URLs, and in which ways."""
        columns = self.columns
        row = slice(*columns.in_offsets[number : number + 2].tolist())
        return columns.in_sources[row], columns.in_kinds[row]


def names_path(folder: Path, number: int) -> Path:
    """Return the file of a delta's names."""
    return folder / f"delta-{number}.urls"


def rows_path(folder: Path, number: int) -> Path:
    """Return the file of a delta's rows."""
    return folder / f"delta-{number}.rows"


def write_delta(folder: Path, number: int, fresh: Fresh, names: UrlMap | None) -> Delta:
    """Write what is new as a delta on a graph with these names."""
    standing = np.zeros(fresh.nodes, np.uint8)
    standing[fresh.sources] = np.where(fresh.is_page, PAGE, GONE)
    at = np.zeros(fresh.nodes)
    at[fresh.sources] = fresh.at
    own = UrlMap.open(fresh.names)
    columns = Columns(standing, at, _nodes_of(own, names), *_columns(fresh, folder))
    given: tuple[NDArray[np.generic], ...] = columns
    parts = [column.astype(f"<{kind}") for kind, column in zip(_TYPES, given, strict=True)]
    counts = np.array([len(part) for part in parts], "<i8")
    content = b"".join([counts.tobytes(), *map(_aligned, parts)])
    checksum = xxhash.xxh3_64_intdigest(content).to_bytes(8, "little")
    rows_path(folder, number).write_bytes(MARK + checksum + content)
    fresh.names.replace(names_path(folder, number))
    return Delta(own, columns)


def _aligned(part: NDArray[np.generic]) -> bytes:
    data = part.tobytes()
    return data + bytes(-len(data) % _ALIGN)


def _nodes_of(own: UrlMap, names: UrlMap | None) -> Places:
    """Return the graph's node of each name, or -1."""
    if names is None:
        return np.full(len(own), -1, np.int64)
    found = [names.nodes_of_keys(keys) for keys in own.keys(0)]
    return np.concatenate([np.empty(0, np.int64), *found])


def _columns(fresh: Fresh, folder: Path) -> tuple[Places, Ids, Kinds, Places, Ids, Kinds]:
    with ArcSorter(folder) as out, ArcSorter(folder) as back:
        for sources, targets, kinds in fresh.arcs():
            out.add(sources, targets, kinds)
            back.add(targets, sources, kinds)
        return *_whole(list(out.rows(fresh.nodes))), *_whole(list(back.rows(fresh.nodes)))


def _whole(blocks: list[Rows]) -> tuple[Places, Ids, Kinds]:
    """Return several blocks of rows as one."""
    lengths = [np.diff(rows.offsets) for rows in blocks]
    offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]))
    targets = np.concatenate([np.empty(0, np.uint32), *(rows.targets for rows in blocks)])
    none = np.empty(0, np.uint8)
    kinds = [rows.kinds if rows.kinds is not None else none for rows in blocks]
    return offsets, targets, np.concatenate([none, *kinds])
