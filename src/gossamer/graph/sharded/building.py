"""Build the graphs of a store's shards: on one machine, or on several at once.

First the links between shards are sent; then a round says what is read; then each shard is built
by whoever claims it. A build that was killed is gone on with by the next one, here or elsewhere.
"""

import resource
import secrets
import shutil
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.graph.asking import opened
from gossamer.graph.build import GraphFacts, GraphOptions, build_from, read_manifest
from gossamer.graph.sharded.parts import fetch_part, hash_of_name
from gossamer.graph.sharded.records import ShardLinks
from gossamer.graph.sharded.rounds import (
    WAIT_S,
    GraphPart,
    GraphRound,
    RoundWorker,
    ShardFacts,
    Wait,
    WholeGraph,
)
from gossamer.graph.sharded.stores import NOBODY, CrawlShards, owners_of
from gossamer.model import BuildProgress, BuildStep
from gossamer.report import dropped_of
from gossamer.store import (
    BuiltElsewhere,
    CacheRoom,
    CrawlFolder,
    Lengths,
    LinkSender,
    noted_lengths,
)

KIB = 1024
MANIFEST = "manifest.json"


class StoredGraphFacts(Struct, frozen=True, kw_only=True):
    """What was built by this process, and what there is now."""

    did: Literal["nothing", "part", "full"]
    """part: other shards are missing yet, which were not asked for."""
    round: int
    nodes: int
    arcs: int
    pages: int
    shards: list[ShardFacts]
    """Those that this process has built."""


def build_stored_graph(
    url: str,
    room: CacheRoom,
    options: GraphOptions,
    wait: Wait,
    *,
    shards: Sequence[int] = (),
    tell: BuildProgress | None = None,
) -> StoredGraphFacts:
    """Bring the graphs of a store's shards, or of some of them, up to what was shipped."""
    if (options.redirects, options.canonical) != ("keep", "keep"):
        raise ConfigError(
            f"--redirects, --canonical: the graphs of the shards of {url} keep them as links; "
            f"`gossamer restore {url} --into DIR` makes a folder whose graph can follow them"
        )
    crawl = CrawlShards(url, room)
    crawl.expect(tuple(shards))
    return _Building(crawl, room, options, wait, tell or (lambda _: None)).build(tuple(shards))


class _Building:
    """One process that takes part."""

    def __init__(
        self,
        crawl: CrawlShards,
        room: CacheRoom,
        options: GraphOptions,
        wait: Wait,
        tell: BuildProgress,
    ) -> None:
        self._crawl = crawl
        self._room = room
        self._options = options
        self._wait = wait
        self._tell = tell
        self._nonce = secrets.token_hex(4)
        self._done: list[ShardFacts] = []

    def build(self, shards: tuple[int, ...]) -> StoredGraphFacts:
        """Bring the graphs up to date."""
        number = self._round()
        if number is None:
            return self._facts("nothing", *self._whole())
        self._crawl = CrawlShards(self._crawl.url, self._room)  # what the round reads is in it
        worker = RoundWorker(self._crawl.objects, self._crawl.rounds.prefix(number))
        reads = self._reads(number)
        left = list(shards or self._crawl.numbers)
        start = secrets.randbelow(len(left))
        left = left[start:] + left[:start]  # several that begin together begin with others
        while left:
            for shard in list(left):
                if self._is_made(number, shard) or self._makes(worker, number, reads, shard):
                    left.remove(shard)
            if left:
                self._wait(WAIT_S)
        whole = self._finished(number)
        return self._facts("full" if whole is not None else "part", number, whole)

    def _round(self) -> int | None:
        """Return the round to take part in; None if everything is in the newest."""
        rounds = self._crawl.rounds
        while True:
            newest = rounds.newest()
            if newest is not None and not self._is_whole(newest[0]):
                return newest[0]
            number = newest[0] if newest is not None else 0
            reads = self._newest_reads(number + 1)
            if newest is not None and not reads.is_full and _is_same(reads, newest[1]):
                return None
            if rounds.begin(number + 1, reads):
                return number + 1

    def _reads(self, number: int) -> GraphRound:
        newest = self._crawl.rounds.newest()
        if newest is None or newest[0] != number:
            raise CannotGoOn(
                f"another build of the graph of {self._crawl.url} has overtaken this one; "
                "run it again"
            )
        return newest[1]

    def _newest_reads(self, number: int) -> GraphRound:
        """Return what the next round shall read, after all links were sent."""
        crawl = self._crawl
        folder = crawl.place(f"sent-{self._nonce}")
        dropped = dropped_of(folder).digest
        covered: Lengths = {}
        others: dict[str, list[int]] = {}
        batches: dict[int, int] = {}
        worker = RoundWorker(crawl.objects, f"{crawl.rounds.prefix(number)}/sending")
        left = list(crawl.numbers)
        while left:
            for shard in list(left):
                counted = noted_lengths(folder, crawl.url, crawl.archive_of(shard), "links")
                if len(crawl.numbers) == 1:
                    covered |= counted
                elif not self._is_sent(shard, counted):
                    if not worker.takes(f"send-{shard:04d}"):
                        continue
                    self._send(shard, counted, folder)
                left.remove(shard)
            if left:
                self._wait(WAIT_S)
        shutil.rmtree(folder.root, ignore_errors=True)
        for shard in crawl.numbers if len(crawl.numbers) > 1 else ():
            batches[shard], last = crawl.exchange.sent(shard)
            covered |= last.covered
            others |= last.others
        return GraphRound(
            at=max(one.at for one in crawl.point.manifests),
            batches=batches,
            covered=covered,
            others=others,
            dropped=dropped if isinstance(dropped, str) else "",
            is_full=self._options.is_full,
            coding=self._options.coding,
        )

    def _is_sent(self, shard: int, counted: Lengths) -> bool:
        covered = self._crawl.exchange.sent(shard)[1].covered
        return all(covered.get(name, 0) >= length for name, length in counted.items())

    def _send(self, shard: int, counted: Lengths, folder: CrawlFolder) -> None:
        crawl = self._crawl
        sender = LinkSender(crawl.exchange, shard, crawl.numbers, crawl.owner_of_point, folder)
        sender.send(
            counted, self._nonce, tell=lambda n: self._tell(BuildStep(doing="reading", count=n))
        )

    def _is_made(self, number: int, shard: int) -> bool:
        return self._crawl.rounds.part(number, shard) is not None

    def _is_whole(self, number: int) -> bool:
        name = f"{self._crawl.rounds.prefix(number)}/whole"
        return self._crawl.rounds.read(name, WholeGraph) is not None

    def _makes(self, worker: RoundWorker, number: int, reads: GraphRound, shard: int) -> bool:
        """Make the graph of a shard; return False if somebody else is at it."""
        if not worker.takes(f"part-{shard:04d}"):
            return False
        try:
            self._make(worker, number, reads, shard)
        except BuiltElsewhere:  # by another process of this machine
            return False
        return True

    def _make(self, worker: RoundWorker, number: int, reads: GraphRound, shard: int) -> None:
        crawl = self._crawl
        folder = crawl.place(f"{shard:04d}")
        self._bring_last(number, shard, folder)
        source = self._source(folder, reads, shard)

        def tell(step: BuildStep) -> None:
            worker.beat()
            self._tell(step)

        options = replace(
            self._options, delta_share=0.0, is_full=reads.is_full, coding=reads.coding
        )
        facts = build_from(lambda: source, folder.root, options, tell)
        shutil.rmtree(folder.far, ignore_errors=True)  # it is read once
        worker.beat()
        part = self._shipped(number, shard, folder, facts)
        name = f"{crawl.rounds.prefix(number)}/parts/{shard:04d}"
        crawl.objects.create(name, msgspec.json.encode(part))
        self._done.append(part.facts())

    def _source(self, folder: CrawlFolder, reads: GraphRound, shard: int) -> ShardLinks:
        """Return what a shard's graph is made of."""
        crawl = self._crawl
        own = crawl.archive_of(shard)
        archive = {
            name: files
            for other in crawl.numbers
            for name, files in crawl.archive_of(other).items()
            if name in own or shard in reads.others.get(name, ())
        }
        there = noted_lengths(folder, crawl.url, archive, "links")
        lengths = {name: n for name, n in reads.covered.items() if name in there}
        return ShardLinks(
            folder, shard, crawl.owners, crawl.exchange, lengths=lengths, batches=reads.batches
        )

    def _bring_last(self, number: int, shard: int, folder: CrawlFolder) -> None:
        """Bring the graph that another machine has made in the last round, to go on with it."""
        place = folder.root / "graph"
        if number == 1 or read_manifest(place) is not None:
            return
        part = self._crawl.rounds.part(number - 1, shard)
        if part is None:
            return
        work = folder.root / "last"
        shutil.rmtree(work, ignore_errors=True)
        fetch_part(self._crawl, part, work)
        shutil.rmtree(place, ignore_errors=True)
        (work / "graph").rename(place)
        shutil.rmtree(work, ignore_errors=True)

    def _shipped(
        self, number: int, shard: int, folder: CrawlFolder, facts: GraphFacts
    ) -> GraphPart:
        """Bring a graph into the store; return what it is."""
        crawl, graph = self._crawl, opened(folder.root)
        place = folder.root / "graph"
        manifest = read_manifest(place)
        names = graph.names
        if manifest is None or names is None or graph.pages is None:
            raise CannotGoOn(f"{place} was changed while it was built; build again")
        owner = owners_of(names, crawl.owners)
        is_own = owner == shard
        prefix = f"{crawl.rounds.prefix(number)}/files/{shard:04d}-{self._nonce}"
        files = {
            name: crawl.put_file(f"{prefix}/{name}", place / name)
            for name in (*manifest.files, MANIFEST)
        }
        arcs = sum(
            int(np.diff(rows.offsets)[is_own[rows.first : rows.first + rows.nodes]].sum())
            for rows in graph.out.blocks()
        )
        hostless = names.urls(np.flatnonzero(owner == NOBODY))
        return GraphPart(
            shard=shard,
            files=files,
            nodes=int(is_own.sum()),
            arcs=arcs,
            pages=int((graph.pages & is_own).sum()),
            all_nodes=manifest.nodes,
            all_arcs=manifest.arcs,
            hostless=[hash_of_name(url) for url in hostless],
            records=facts.records,
            peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB,
        )

    def _finished(self, number: int) -> WholeGraph | None:
        """Let a round count if every shard has its graph; return what there is then."""
        crawl = self._crawl
        parts = [crawl.rounds.part(number, shard) for shard in crawl.numbers]
        made = [part for part in parts if part is not None]
        if len(made) < len(parts):
            return None
        hostless = {one for part in made for one in part.hostless}
        whole = WholeGraph(
            at=self._reads(number).at,
            shards=list(crawl.numbers),
            nodes=sum(part.nodes for part in made) + len(hostless),
            arcs=sum(part.arcs for part in made),
            pages=sum(part.pages for part in made),
        )
        name = f"{crawl.rounds.prefix(number)}/whole"
        crawl.objects.create(name, msgspec.json.encode(whole))
        crawl.rounds.forget_before(number)
        return whole

    def _whole(self) -> tuple[int, WholeGraph | None]:
        found = self._crawl.rounds.newest_whole()
        return found if found is not None else (0, None)

    def _facts(
        self, did: Literal["nothing", "part", "full"], number: int, whole: WholeGraph | None
    ) -> StoredGraphFacts:
        return StoredGraphFacts(
            did=did,
            round=number,
            nodes=whole.nodes if whole is not None else 0,
            arcs=whole.arcs if whole is not None else 0,
            pages=whole.pages if whole is not None else 0,
            shards=sorted(self._done, key=lambda one: one.shard),
        )


def _is_same(one: GraphRound, other: GraphRound) -> bool:
    """Return True if two rounds read the same in the same way."""
    return (one.batches, one.covered, one.dropped, one.coding) == (
        other.batches,
        other.covered,
        other.dropped,
        other.coding,
    )
