"""The indexes of a crawl's store: one for each shard, published where its checkpoints are.

    G/anchors/...      links that lead from the pages of one shard to those of another
    G/index/SSSS/...   the index of a shard, as `publish` writes it (G: the charter's layout)

A shard's index has the pages that the ring gives to it, up to what was shipped, and all that links
of the whole crawl say of them; so all of them together rank as one index of everything would. Any
machine can build any of them, several machines several at once: what they need of one another is in
the store, and who finds it missing makes it. A build that was killed goes on where it was; until it
is published the index before it is what is searched.
"""

import fcntl
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from gossamer.cluster import Ring
from gossamer.durable import replacing
from gossamer.errors import CannotGoOn, ConfigError, NotShippedYet
from gossamer.model import BuildProgress, BuildStep
from gossamer.ranks import RankFile, ranks_path
from gossamer.report import probations_of
from gossamer.search.build.builder import IndexBuild
from gossamer.search.build.options import IndexFacts, IndexOptions
from gossamer.search.manifest import Manifest, index_folder, read_manifest
from gossamer.search.published import Published, place_of_shard, publish
from gossamer.search.sources import HeldProbations, PageFacts
from gossamer.store import (
    ArchiveName,
    CacheRoom,
    CrawlFolder,
    CrawlStore,
    Lengths,
    LinkExchange,
    LinkSender,
    Mirror,
    Objects,
    ShippedFile,
    UrlOwners,
    copy_shipped,
    newest_checkpoint,
    noted_lengths,
)

SETTINGS = "crawl.toml"
SHORTEST_S, LONGEST_S = 2.0, 60.0
"""Between two looks at a store that is followed: longer the longer nothing is new."""


RanksOfShard: TypeAlias = Callable[[int], RankFile | None]
"""Who knows the ranks of the pages of a shard."""


class ShardIndex(NamedTuple):
    """What was done about the index of a shard."""

    shard: int
    facts: IndexFacts
    published: Published


class StoredIndexes:
    """The indexes of a crawl's store, as of its newest checkpoint."""

    def __init__(
        self, url: str, room: CacheRoom, options: IndexOptions, tell: BuildProgress
    ) -> None:
        """Take where the crawl is, and where to work: what was built there is gone on with."""
        self._objects = Objects(url)
        self._room = room
        self._options = options
        self._tell = tell
        self._point = newest_checkpoint(CrawlStore(self._objects))
        charter = self._point.charter
        self.ring = Ring.of(charter.ranges, charter.shards)
        self._exchange = LinkExchange(self._objects, charter.layout)

    @property
    def fingerprint(self) -> str:
        """Return by what the machines of the crawl's cluster know one another; "" without one."""
        return self._point.charter.fingerprint

    @property
    def has_ended(self) -> bool:
        """Return True if nothing crawled any more at the checkpoint."""
        return self._point.charter.has_ended

    def shards_of(self, node: str) -> list[int]:
        """Return the shards that a machine of a cluster had at the checkpoint."""
        return sorted(one.shard for one in self._point.manifests if one.node == node)

    def folders(self, shards: Sequence[int]) -> dict[int, Path]:
        """Return the folders of those of some shards that have an index on this machine."""
        roots = {shard: self._root(shard) for shard in shards}
        return {n: root for n, root in roots.items() if read_manifest(index_folder(root))}

    def build(
        self,
        shards: Sequence[int],
        nonce: str,
        *,
        ranks: RanksOfShard | None = None,
        is_alone: bool = True,
    ) -> Iterator[ShardIndex]:
        """Bring the indexes of some shards up to date and publish them, one after the other.

        `ranks` may know pages of other shards, too; without any those of the last time stay.
        Not `is_alone`: what others do not send yet is waited for; a little that is new may wait.
        """
        if unknown := sorted(set(shards) - set(self.ring.numbers)):
            raise ConfigError(
                f"--shard: {self._objects.url} has the shards "
                f"{self.ring.numbers[0]} to {self.ring.numbers[-1]}, found {unknown[0]}"
            )
        self.send(shards, nonce, is_alone=is_alone)
        for shard in shards:
            part = self._part(shard)
            building = IndexBuild(part, self._options, self._tell)
            with building.place.sole_builder():
                facts = building.build()
                if ranks is not None and (found := ranks(shard)) is not None:
                    self._keep_ranks(found, shard)
                sent = publish(building.place.folder, self.place_of(shard), is_sole=False)
            shutil.rmtree(part.folder.far, ignore_errors=True)  # it is read once
            yield ShardIndex(shard, facts, sent)

    def _keep_ranks(self, ranks: RankFile, shard: int) -> None:
        """Leave the ranks of a shard's pages beside its index."""
        path = ranks_path(self._root(shard))
        path.parent.mkdir(exist_ok=True)
        ranks.write_part(path, lambda keys: self.ring.are_of(shard, keys))

    def place_of(self, shard: int) -> str:
        """Return where the index of a shard is published."""
        return place_of_shard(self._objects.url, self._point.charter.layout, shard)

    def send(self, shards: Sequence[int], nonce: str, *, is_alone: bool) -> None:
        """Send the links between shards that nobody has sent: those from some shards first."""
        if self.ring.shards == 1 or not shards:
            return
        numbers = self.ring.numbers
        after = numbers.index(shards[-1]) + 1
        others = [*numbers[after:], *numbers[:after]] if is_alone else []
        for shard in dict.fromkeys([*shards, *others]):
            if shard in shards:
                self._send(shard, self._root(shard), nonce, is_all=is_alone)
                continue
            with self._sole_sender() as root:
                self._send(shard, root, nonce, is_all=is_alone)
                shutil.rmtree(root, ignore_errors=True)

    def _send(self, shard: int, root: Path, nonce: str, *, is_all: bool) -> None:
        folder = CrawlFolder(root)
        counted = noted_lengths(folder, self._objects.url, self._archive_of(shard), "links")
        sender = LinkSender(self._exchange, shard, self.ring.numbers, self.ring.owner, folder)
        sender.send(counted, nonce, is_all=is_all, tell=self._tell_sent)

    @contextmanager
    def _sole_sender(self) -> Iterator[Path]:
        """Give the folder in which links of others are read; another process here waits."""
        root = self._links_root()
        root.parent.mkdir(parents=True, exist_ok=True)
        with root.with_name(f"{root.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield root

    def _tell_sent(self, records: int) -> None:
        self._tell(BuildStep(doing="reading", count=records, unit="record"))

    def _part(self, shard: int) -> "StoredShard":
        """Return a shard, whose archive can be read."""
        root = self._root(shard)
        folder = CrawlFolder(root)
        folder.archive.mkdir(parents=True, exist_ok=True)
        settings = next(
            (m.root[SETTINGS] for m in self._point.manifests if SETTINGS in m.root), None
        )
        if settings is not None:
            with replacing(root / SETTINGS, is_synced=False) as out:
                copy_shipped(self._objects, settings, out)
        archive = dict(self._archive_of(shard))
        for other in self.ring.numbers if self.ring.shards > 1 else ():
            files = self._archive_of(other)
            for name, owners in self._exchange.sent(other)[1].others.items():
                if shard in owners and other != shard:
                    archive |= {one: files[one] for one in (name, _text_of(name)) if one in files}
        return StoredShard(
            folder,
            shard,
            self.ring,
            self._exchange,
            noted_lengths(folder, self._objects.url, archive, "links", "text"),
            self._probations,
            is_running=not self._point.charter.has_ended,
        )

    def _archive_of(self, shard: int) -> dict[str, list[ShippedFile]]:
        """Return the archive files of a shard."""
        return next(one.archive for one in self._point.manifests if one.shard == shard)

    def _root(self, shard: int) -> Path:
        """Return the folder in which a shard's index is built."""
        return self._crawl_root() / f"{shard:04d}"

    def _links_root(self) -> Path:
        """Return the folder in which links of shards are read that are indexed elsewhere."""
        return self._crawl_root() / "links"

    def _crawl_root(self) -> Path:
        name = f"{self._point.charter.crawl}-{self._point.charter.layout:04d}"
        return self._room.folder / "shards" / name

    def _probations(self) -> frozenset[str]:
        """Return the probations that hold URLs of a crawl that has ended; seldom there are any."""
        standings = [one.standing for one in self._point.manifests]
        if all(one is not None and not one.held for one in standings):
            return frozenset()
        mirror = Mirror(self._objects.url, self._room)
        try:
            return frozenset(probations_of(CrawlFolder(mirror.part().folder)))
        finally:
            mirror.close()


def follow_stored(
    look: Callable[[], StoredIndexes],
    choose: Callable[[StoredIndexes], Sequence[int]],
    nonce: str,
    wait: Callable[[float], None],
    find_ranks: Callable[[], RanksOfShard | None],
    tell_waiting: Callable[[str], None],
) -> Iterator[ShardIndex]:
    """Bring the indexes of some shards up to date again and again while the crawl runs.

    `look` finds the newest checkpoint, `choose` which shards are ours at it. The last time is after
    the crawl has ended: then nothing that others should have sent is waited for. Somebody else may
    build meanwhile, and the store may be away, but not before it was seen once.
    """
    pause_s, is_seen, told = SHORTEST_S, False, ""
    while True:
        is_last, is_new = False, False
        try:
            known = look()
            is_seen = True
            is_last = known.has_ended
            for one in known.build(choose(known), nonce, ranks=find_ranks(), is_alone=is_last):
                is_new = is_new or one.facts.did != "nothing"
                yield one
        except CannotGoOn as error:
            if not is_seen and not isinstance(error, NotShippedYet):
                raise
            is_last = False
            if str(error) != told:
                tell_waiting(told := str(error))
        if is_last:
            return
        pause_s = SHORTEST_S if is_new else min(2 * pause_s, LONGEST_S)
        wait(pause_s)


class StoredShard:
    """One shard of a crawl's store: the pages that the ring gives to it."""

    def __init__(
        self,
        folder: CrawlFolder,
        shard: int,
        ring: Ring,
        exchange: LinkExchange,
        counted: Lengths,
        holding: Callable[[], frozenset[str]],
        *,
        is_running: bool,
    ) -> None:
        self.folder = folder
        self._shard = shard
        self._owners = UrlOwners(ring.owner)
        self._counted = counted
        self._holding = holding
        self._is_running = is_running
        self._exchange = exchange
        self._received = exchange.received(shard)

    def counted(self) -> Lengths:
        """Return how much of each file of links and texts was shipped."""
        return self._counted

    def probations(self) -> HeldProbations:
        """Return which pages are left out because they were fetched on probation."""
        return HeldProbations() if self._is_running else self._settled_probations

    @cached_property
    def _settled_probations(self) -> HeldProbations:
        return HeldProbations(self._holding())

    def is_running(self) -> bool:
        """Return True if the crawl had not ended at the checkpoint."""
        return self._is_running

    def is_ours(self, url: str) -> bool:
        """Return True if the ring gives a URL to this shard."""
        return self._owners.of(url) == self._shard

    def said_elsewhere(self) -> Iterator[PageFacts]:
        """Yield what pages of other shards say of ours."""
        self._received = self._exchange.received(self._shard)
        for one in self._received:
            yield PageFacts(
                url=one.url,
                outcome=one.outcome,
                detail=one.detail,
                at=one.at,
                robots=one.robots,
                on_probation=one.on_probation,
                links=one.links,
            )

    def noted(self, manifest: Manifest) -> Manifest:
        """Return a manifest with how much of that was read."""
        read = self._received
        return replace(manifest, received=dict(read.position), received_bytes=read.bytes)

    def has_more_said(self, manifest: Manifest, share: float) -> bool:
        """Return True if much more than a full build has read is said elsewhere by now."""
        position = manifest.received if isinstance(manifest.received, dict) else {}
        known = manifest.received_bytes if isinstance(manifest.received_bytes, int) else 0
        return self._exchange.received(self._shard, position).bytes_left > share * known


def _text_of(links: str) -> str:
    """Return the name of the texts that belong to a links file."""
    name = ArchiveName.parse(links)
    return name.sibling("text").file_name if name is not None else ""
