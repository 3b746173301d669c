"""The graphs of a store's shards, asked: each question goes to the shard that owns the URL."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import xxhash
from msgspec.structs import replace
from numpy.typing import NDArray

from gossamer.durable import replacing
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.graph.asking import (
    LinkList,
    LinkOptions,
    Links,
    OpenedGraph,
    links,
    opened,
    respelled,
)
from gossamer.graph.sharded.rounds import GraphPart, ShardFacts
from gossamer.graph.sharded.stores import NOBODY, CrawlShards, owners_of
from gossamer.settings import load_crawl_config
from gossamer.store import CacheRoom, ShippedFile, copy_shipped
from gossamer.urls import parse

ASKED = "asked"


def has_stored_graph(url: str, room: CacheRoom) -> bool:
    """Return True if the shards of a store have graphs that can be asked."""
    return CrawlShards(url, room).rounds.newest_whole() is not None


class ShardGraph:
    """The graph of one shard, opened, and which of its URLs the ring gives to the shard."""

    def __init__(self, shard: int, part: GraphPart, graph: OpenedGraph, crawl: CrawlShards) -> None:
        self.shard = shard
        self.part = part
        self.graph = graph
        self._crawl = crawl

    def owners(self) -> NDArray[np.int32]:
        """Return which shard has each node."""
        names = self.graph.names
        return owners_of(names, self._crawl.owners) if names is not None else np.empty(0, np.int32)


class StoredGraph:
    """The graph of a crawl's store, shard by shard, as of its newest whole round."""

    def __init__(self, url: str, room: CacheRoom) -> None:
        self.crawl = CrawlShards(url, room)
        found = self.crawl.rounds.newest_whole()
        if found is None:
            raise ConfigError(f"{url} has no graph: run `gossamer build {url} graph`")
        self.number, self.whole = found
        self._opened: dict[int, ShardGraph] = {}
        place = self.crawl.place(ASKED)
        self._folder = place.root
        self._urls = load_crawl_config(place.root).urls
        for old in self._folder.glob("[0-9]*"):
            if old.name < f"{self.number:06d}":
                shutil.rmtree(old, ignore_errors=True)

    def has_newer_pages(self) -> bool:
        """Return True if more was shipped than the graph was made of."""
        return self.crawl.point.number >= 0 and _newest(self.crawl) > self.whole.at

    def shard(self, number: int) -> ShardGraph:
        """Return the graph of a shard; it is fetched if it is not here."""
        if number not in self._opened:
            part = self.crawl.rounds.part(self.number, number)
            if part is None:
                raise CannotGoOn(f"{self.crawl.url} is damaged: shard {number} has no graph")
            root = self._folder / f"{self.number:06d}" / f"{number:04d}"
            if not root.exists():
                fetch_part(self.crawl, part, root)
                with suppress(OSError):
                    shutil.copyfile(self._folder / "crawl.toml", root / "crawl.toml")
            self._opened[number] = ShardGraph(number, part, opened(root), self.crawl)
        return self._opened[number]

    def shards(self) -> Iterator[ShardGraph]:
        """Yield the graphs of all shards, one after the other; none is kept open."""
        for number in self.whole.shards:
            yield self.shard(number)
            self._opened.pop(number)

    def fetched_file(self, file: ShippedFile) -> Path:
        """Return where a file of this round is on this machine; it is fetched if it is not."""
        path = self._folder / f"{self.number:06d}" / file.name.replace("/", "-")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path, is_synced=False) as out:
                copy_shipped(self.crawl.objects, file, out)
        return path

    def parts(self) -> list[ShardFacts]:
        """Return what the shards have."""
        found = (self.crawl.rounds.part(self.number, one) for one in self.whole.shards)
        return [part.facts() for part in found if part is not None]

    def close_shards(self) -> None:
        """Let go of what is open."""
        self._opened.clear()

    def owner(self, url: str) -> int:
        """Return the shard that owns a URL, in any spelling; `NOBODY` of what has no host."""
        parsed = parse(url, self._urls)
        found = self.crawl.owners.of(parsed.text if parsed is not None else url)
        return NOBODY if found is None else found

    def links(self, url: str, options: LinkOptions) -> Links | None:
        """Return the links of a URL, in the order of the graph; None if it is not in the graph."""
        owner = self.owner(url)
        if owner != NOBODY:
            return links(self.shard(owner).graph, url, options)
        asked = replace(options, limit=None, after="")
        found = [links(one.graph, url, asked) for one in self.shards()]
        return _together([one for one in found if one is not None], options)

    def nearest(self, url: str) -> str | None:
        """Return the URL in the graph that is most likely meant by one that is not."""
        for one in respelled(url):
            owner = self.owner(one)
            if owner != NOBODY and self.shard(owner).graph.node(one) is not None:
                return one
        return None


def fetch_part(crawl: CrawlShards, part: GraphPart, root: Path) -> None:
    """Bring the graph of a shard into a new folder, at once."""
    work = root.with_name(f"{root.name}.{os.getpid()}")
    shutil.rmtree(work, ignore_errors=True)
    (work / "graph").mkdir(parents=True)
    for name, file in part.files.items():
        with (work / "graph" / name).open("wb") as out:
            copy_shipped(crawl.objects, file, out)
    try:
        work.rename(root)
    except OSError:  # somebody else was quicker
        shutil.rmtree(work, ignore_errors=True)


def hash_of_name(url: str) -> int:
    """Return what stands for a URL that belongs to no shard."""
    return xxhash.xxh3_64_intdigest(url.encode("utf-8", "surrogatepass"))


def _newest(crawl: CrawlShards) -> float:
    return max(one.at for one in crawl.point.manifests)


def _together(found: list[Links], options: LinkOptions) -> Links | None:
    """Return the links of a URL that several shards know, each some of them."""
    if not found:
        return None
    rows = [
        _merged([row for one in found if (row := getattr(one, name)) is not None], options)
        if options.direction in {None, way}
        else None
        for way, name in (("in", "incoming"), ("out", "outgoing"))
    ]
    return Links(url=found[0].url, incoming=rows[0], outgoing=rows[1])


def _merged(rows: list[LinkList], options: LinkOptions) -> LinkList:
    pairs = sorted(
        (url, kinds) for row in rows for url, kinds in zip(row.urls, row.kinds, strict=True)
    )
    behind = [one for one in pairs if one[0] > options.after] if options.after else pairs
    shown = behind[: options.limit]
    return LinkList(
        urls=[url for url, _ in shown],
        kinds=[kinds for _, kinds in shown],
        total=len(pairs),
        after=shown[-1][0] if len(shown) < len(behind) and shown else None,
    )
