"""Connectivity: who links to this URL, and where does it link? From the graph and its delta."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.config import UrlConfig
from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.graph.build import (
    GONE,
    UNKNOWN,
    Base,
    Delta,
    GraphManifest,
    check_files,
    read_manifest,
    whole_folder,
)
from gossamer.graph.bv import BVGraph, KindsFile
from gossamer.graph.kinds import ALL, Kind
from gossamer.graph.names import UrlMap
from gossamer.graph.rows import Ids, Kinds
from gossamer.settings import load_crawl_config
from gossamer.store import CrawlFolder
from gossamer.urls import parse

Links: TypeAlias = list[tuple[str, Kind]]
"""URLs in order, and in which ways each is linked."""

ATTEMPTS = 5
"""A builder may replace the files while they are being opened."""


class Connectivity:
    """The links of a crawl, as its graph has them. One thread at a time may ask.

    Numbers of nodes are those of the last full graph (`out`, `inn`); `stale` tells how many pages
    are newer. Questions that name URLs are answered with those pages, too.
    """

    def __init__(self, folder: Path, manifest: GraphManifest, urls: UrlConfig) -> None:
        self.manifest = manifest
        self._urls = urls
        self._base = Base(folder)
        self._delta = Delta.open(folder, manifest.delta) if manifest.delta else None
        self._root = folder.parent

    @classmethod
    def open(cls, root: Path | str) -> Self:
        """Open the graph of a crawl."""
        place = CrawlFolder(Path(root))
        urls = load_crawl_config(place.root).urls if place.config_path.exists() else UrlConfig()
        for _ in range(ATTEMPTS):
            folder = whole_folder(place.root)
            manifest = read_manifest(folder) if folder is not None else None
            if folder is None or manifest is None:
                continue
            try:
                check_files(folder, manifest)
                found = cls(folder, manifest, urls)
            except (FileNotFoundError, CorruptFile):
                if whole_folder(place.root) == folder and read_manifest(folder) == manifest:
                    raise  # else it was replaced meanwhile
                continue
            if read_manifest(folder) == manifest:  # else its files are of two graphs
                return found
        raise CannotGoOn(f"{root} has no graph; run `gossamer build {root} graph`")

    @property
    def nodes(self) -> int:
        """Return how many URLs the last full graph has."""
        return self._base.out.nodes

    @property
    def arcs(self) -> int:
        """Return how many links the last full graph has."""
        return self._base.out.arcs

    @property
    def stale(self) -> int:
        """Return how many pages are newer than the last full graph."""
        return self._delta.pages if self._delta is not None else 0

    @property
    def out(self) -> BVGraph:
        """Return the last full graph."""
        return self._base.out

    @property
    def inn(self) -> BVGraph:
        """Return the last full graph, each link turned round."""
        return self._base.inn

    @property
    def names(self) -> UrlMap:
        """Return the URLs of the last full graph."""
        return self._base.names

    @property
    def base(self) -> Base:
        """Return all that the last full graph consists of."""
        return self._base

    def spelled(self, url: str) -> str:
        """Return a URL as the crawl spells it; itself if it is none."""
        if self._base.names.node(url) is not None:
            return url  # as most are; to read one costs the list of public suffixes, once
        parsed = parse(url, self._urls)
        return parsed.text if parsed is not None else url

    def node(self, url: str) -> int | None:
        """Return the number of a URL in the last full graph; None if it has none."""
        return self._base.names.node(self.spelled(url))

    def url(self, node: int) -> str:
        """Return the URL of a node of the last full graph."""
        return self._base.names.url(node)

    def urls(self, nodes: Sequence[int] | NDArray[np.integer]) -> list[str]:
        """Return the URLs of nodes of the last full graph."""
        return self._base.names.urls(nodes)

    def is_page(self, node: int) -> bool:
        """Return True if a node of the last full graph is a page, whose links are known."""
        return self._base.is_page(node)

    def links_out(self, url: str, kinds: Kind = ALL) -> Links | None:
        """Return where a URL links, sorted; None if no page links to it and it is none."""
        spot = self._spot(url)
        if not self._is_known(spot):
            return None
        delta = self._delta
        if delta is not None and self._is_newer(spot):
            return self._named(delta.names, *delta.out(spot[1]), kinds)
        if spot[0] < 0:
            return []
        return self._named(self._base.names, *self._base_row(spot[0], is_back=False), kinds)

    def links_in(self, url: str, kinds: Kind = ALL) -> Links | None:
        """Return who links to a URL, sorted; None if no page does and it is none."""
        spot = self._spot(url)
        if not self._is_known(spot):
            return None
        found: Links = []
        if spot[0] >= 0:
            found += self._named(self._base.names, *self._older_links_in(spot[0]), kinds)
        if self._delta is not None and spot[1] >= 0:
            found += self._named(self._delta.names, *self._delta.back(spot[1]), kinds)
        return sorted(found)

    def degree_out(self, url: str) -> int | None:
        """Return to how many URLs a URL links; None if it is unknown."""
        spot = self._spot(url)
        if not self._is_known(spot):
            return None
        if self._delta is not None and self._is_newer(spot):
            return len(self._delta.out(spot[1])[0])
        return self._base.out.outdegree(spot[0]) if spot[0] >= 0 else 0

    def degree_in(self, url: str) -> int | None:
        """Return how many pages link to a URL; None if it is unknown."""
        spot = self._spot(url)
        return self._links_in_count(spot) if self._is_known(spot) else None

    def has_page(self, url: str) -> bool:
        """Return True if the links of a URL are known, since it was fetched."""
        return self._has_page_at(self._spot(url))

    def _spot(self, url: str) -> "_Spot":
        """Return the numbers of a URL in graph and delta, each -1 if it has none there."""
        text = self.spelled(url)
        node = self._base.names.node(text)
        number = self._delta.names.node(text) if self._delta is not None else None
        return (-1 if node is None else node, -1 if number is None else number)

    def _is_newer(self, spot: "_Spot") -> bool:
        """Return True if the delta has a row, perhaps empty, in place of the graph's."""
        delta = self._delta
        return delta is not None and spot[1] >= 0 and delta.columns.standing[spot[1]] != UNKNOWN

    def _has_page_at(self, spot: "_Spot") -> bool:
        if self._delta is not None and self._is_newer(spot):
            return bool(self._delta.columns.standing[spot[1]] != GONE)
        return spot[0] >= 0 and self._base.is_page(spot[0])

    def _is_known(self, spot: "_Spot") -> bool:
        """Return True if a URL is a page or linked from one; one that is gone may be neither."""
        if spot == (-1, -1):
            return False
        return self._delta is None or self._has_page_at(spot) or self._links_in_count(spot) > 0

    def _links_in_count(self, spot: "_Spot") -> int:
        count = 0
        if spot[0] >= 0:
            count += len(self._older_links_in(spot[0])[0])
        if self._delta is not None and spot[1] >= 0:
            count += len(self._delta.back(spot[1])[0])
        return count

    def _older_links_in(self, node: int) -> tuple[Ids, Kinds]:
        """Return which pages of the graph link to a node, but for those with newer rows."""
        sources, kinds = self._base_row(node, is_back=True)
        if self._delta is None or not len(self._delta.replaced):
            return sources, kinds
        keep = ~_is_among(sources, self._delta.replaced)
        return sources[keep], kinds[keep]

    def _base_row(self, node: int, *, is_back: bool) -> tuple[Ids, Kinds]:
        base = self._base
        graph: BVGraph = base.inn if is_back else base.out
        ways: KindsFile = base.in_kinds if is_back else base.out_kinds
        targets = graph.successors(node)
        return targets, ways.of(node, len(targets))

    def _named(self, names: UrlMap, numbers: Ids, ways: Kinds, kinds: Kind) -> Links:
        if kinds != ALL:
            keep = np.flatnonzero(ways & np.uint8(kinds))
            numbers, ways = numbers[keep], ways[keep]
        return sorted(zip(names.urls(numbers), map(Kind, ways.tolist()), strict=True))


_Spot: TypeAlias = tuple[int, int]


def _is_among(numbers: Ids, ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    places = np.searchsorted(ascending, numbers)
    places[places == len(ascending)] = 0
    is_among: NDArray[np.bool_] = ascending[places] == numbers
    return is_among
