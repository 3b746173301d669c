"""Row: the links of one URL in one direction, named only where they are looked at.

A page that a million others link to is answered as quickly as any, ten links at a time.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.names import key_of
from gossamer.graph.rows import Ids, Kinds

NamedLinks: TypeAlias = Sequence[tuple[str, int]]
"""URLs and the kinds of the links, in the order of the graph."""


class Naming(NamedTuple):
    """Nodes to words and back."""

    words: Callable[[NDArray[np.integer]], list[str]]
    node: Callable[[str], int | None]


class NodeRow:
    """Links as nodes of a graph."""

    def __init__(self, nodes: Ids, kinds: Kinds | None, naming: Naming) -> None:
        self._nodes = nodes
        self._kinds = kinds
        self._naming = naming

    def __len__(self) -> int:
        return len(self._nodes)

    def behind(self, url: str) -> int | None:
        """Return the place of the first link that comes behind a URL; None if that is not known."""
        node = self._naming.node(url)
        return None if node is None else int(np.searchsorted(self._nodes, node, side="right"))

    def part(self, places: slice) -> NamedLinks:
        """Return some of the links."""
        words = self._naming.words(self._nodes[places])
        kinds = self._kinds[places].tolist() if self._kinds is not None else [0] * len(words)
        return list(zip(words, kinds, strict=True))


class ListRow:
    """Links that have names already, in any order."""

    def __init__(self, links: NamedLinks) -> None:
        self._links = sorted((key_of(url), url, int(kinds)) for url, kinds in links)

    def __len__(self) -> int:
        return len(self._links)

    def behind(self, url: str) -> int | None:
        """Return the place of the first link that comes behind a URL."""
        key = key_of(url)
        return sum(one[0] <= key for one in self._links)

    def part(self, places: slice) -> NamedLinks:
        """Return some of the links."""
        return [(url, kinds) for _, url, kinds in self._links[places]]


Row: TypeAlias = NodeRow | ListRow
