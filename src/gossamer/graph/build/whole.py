"""Base: the files of a whole graph in a folder, opened together."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.graph.bv import BVGraph, KindsFile
from gossamer.graph.names import UrlMap

WEB, TRANSPOSED = "web", "web-t"
NAMES = "web.urls"
PAGES = "web.pages"


class Base:
    """A graph in both directions, its kinds, its names, and which of its nodes are pages."""

    def __init__(self, folder: Path) -> None:
        self.out = BVGraph.open(folder / WEB)
        self.inn = BVGraph.open(folder / TRANSPOSED)
        self.out_kinds = KindsFile(folder / WEB, self.out.nodes)
        self.in_kinds = KindsFile(folder / TRANSPOSED, self.inn.nodes)
        self.names = UrlMap.open(folder / NAMES)
        path = folder / PAGES
        self._bits = np.fromfile(path, np.uint8)
        nodes = self.out.nodes
        if len(self._bits) != (nodes + 7) // 8:
            raise CorruptFile(path, 0, f"expected a bit for each of {nodes} nodes")
        if not nodes == self.inn.nodes == len(self.names):
            raise CorruptFile(folder / NAMES, 0, f"expected the names of {nodes} nodes")

    def is_page(self, node: int) -> bool:
        """Return True if the links of a node are known."""
        return bool(self._bits[node >> 3] >> (7 - (node & 7)) & 1)

    def pages(self) -> NDArray[np.bool_]:
        """Tell the same of all nodes."""
        return np.unpackbits(self._bits, count=self.out.nodes).view(np.bool_)


def write_pages(folder: Path, is_page: NDArray[np.bool_]) -> None:
    """Write down which nodes are pages."""
    np.packbits(is_page).tofile(folder / PAGES)
