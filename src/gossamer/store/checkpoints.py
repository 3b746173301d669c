"""What a crawl keeps in an object store, so that any machine can go on with it.

    charter/N                         the crawl's own chain: who runs it, and where its shards are
    alive                             rewritten by whoever runs it, again and again
    G/SSSS/manifest/N                 a shard's chain in generation G: its checkpoints
    G/SSSS/files/...                  files of the state; its logs packed, in stretches
    archive/NAME                      archive files that are closed
    archive/NAME/START-...            stretches of those that are open

A checkpoint is what the newest manifest names; what it does not name does not exist. Objects are
made before the manifest that names them, under names that nobody else uses.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain as joined
from typing import TypeVar

from msgspec import DecodeError, Struct, field, json
from msgspec.structs import replace

from gossamer.errors import CannotGoOn
from gossamer.model import Counters, Standing
from gossamer.store.chain import Chain, ChainLink
from gossamer.store.objects import Objects

Kept = TypeVar("Kept", "CrawlCharter", "ShardManifest")
MANIFEST_VERSION = 3
"""Of manifests: the second have logs, the third other digests; all else is as in the first."""
WITH_SPLITS = 4
"""The version of charters that name chains of their own, or a split under way."""
WITH_REGIONS = 5
"""The version of charters whose shards have regions: older ones do not know moved domains."""
VERSION = WITH_REGIONS
ALIVE = "alive"
CHARTER = "charter"

MOST_AT_ONCE = 64
"""Chains that are read at the same time."""
MOST_READINGS = 500


class ShippedFile(Struct, frozen=True, array_like=True):
    """One object that is a file, or a stretch of one."""

    name: str
    """Of the object; "" of a small file, which is here."""
    size: int
    digest: str = ""
    content: bytes = b""


class SplitIntent(Struct, frozen=True, kw_only=True):
    """A split of one shard that is wanted: until the charter says it is done, nothing has changed.

    What comes of the shard has chains of another generation: the number of the charter that said
    this first. So both count at once, when the charter names them.
    """

    shard: int
    child: int
    """The number of the shard that there will be besides."""
    generation: int
    ranges: tuple[tuple[int, int], ...]
    """Of the ring that there will be."""


class CrawlCharter(Struct, frozen=True, kw_only=True):
    """The crawl as a whole: one object of its chain."""

    version: int = 1
    crawl: str
    """Names the crawl, wherever it runs."""
    lineage: str
    """Names the folder that it runs in: drawn when that was restored, or first given a store."""
    owner: str
    """The machine and the process, for people."""
    place: str = ""
    """Names the folder that it runs in, on its machine, until that is booted again."""
    address: str = ""
    """Where the coordinator of a crawl on several machines is heard; "" of one on one machine."""
    fingerprint: str = ""
    """Of the certificate by which the machines of its cluster know one another."""
    lease_s: float
    epoch: int
    """The number of the charter by which its owner claimed the crawl."""
    generation: int = 0
    """Which set of shards counts; 0 before all of them were shipped once."""
    shards: int = 0
    ranges: tuple[tuple[int, int], ...] = ()
    """The first point of each range of the ring and its shard; empty for equal parts in order."""
    regions: tuple[str, ...] = ()
    """The region of each shard, by number; "" of one without. Empty if the crawl has none."""
    chains: dict[int, int] = field(default_factory=dict)
    """By shard: the generation of its chain, if it was split or made by a split since."""
    ringed_at: int = 0
    """The number of the charter since which this ring counts, if a split made it: shards with an
    older epoch know the ring before."""
    root: dict[str, ShippedFile] = field(default_factory=dict)
    """Files of the whole crawl that are newer than what its first shard has shipped: how the ring
    is shared out since a split."""
    split: SplitIntent | None = None
    """What is under way."""
    has_waited: bool = False
    """No owner before this one can still be asking for pages: its lease has ended, or it had."""
    has_ended: bool = False
    """Nothing runs any more, and everything is shipped."""
    nonce: str
    at: float

    def generation_of(self, shard: int) -> int:
        """Return the generation of a shard's chain."""
        return self.chains.get(shard, self.generation)

    def versioned(self) -> "CrawlCharter":
        """Return this charter with the version that what it says needs."""
        if any(self.regions):
            return replace(self, version=WITH_REGIONS)
        return replace(self, version=WITH_SPLITS if self.chains or self.split is not None else 1)

    def region_of(self, shard: int) -> str:
        """Return the region of a shard; that of its parent while it is made by a split."""
        if self.split is not None and shard == self.split.child:
            shard = self.split.shard
        return self.regions[shard] if shard < len(self.regions) else ""

    @property
    def layout(self) -> int:
        """Return what names this ring: what is made by shard of another one does not count."""
        return max((self.generation, *self.chains.values()))


class _Versioned(Struct, frozen=True):
    """What every object of a chain says first."""

    version: int


class AliveNote(Struct, frozen=True, kw_only=True):
    """Says that whoever holds a charter runs."""

    charter: int
    beats: int
    owner: str = ""


class ManifestSource(Struct, frozen=True, kw_only=True):
    """The last checkpoint of a shard that was split."""

    shard: int
    generation: int
    number: int


class ShardManifest(Struct, frozen=True, kw_only=True):
    """A checkpoint of one shard."""

    version: int = 1
    crawl: str
    shard: int
    epoch: int
    """The number of the charter by which its owner was told to claim the shard."""
    lineage: str
    nonce: str
    at: float
    sequence: int
    """How many rows its state was written: more means later, in one folder."""
    starts: int = 0
    """The epoch of the state that shipped it, or that its claim is for: none is used twice."""
    place: str = ""
    """Names the folder, on its machine until that is booted again, of a shard of a cluster."""
    node: str = ""
    """The machine of a cluster that has it."""
    waits: bool = False
    """The owner of a shard of a cluster may not ask yet: one before it may still do."""
    has_ended: bool = False
    split_into: int = 0
    """The shard goes on in chains of this generation, as two: nothing comes after this here."""
    source: ManifestSource | None = None
    """What is named here is all that a shard had which was split: the owner drops half of it, and
    ships that, before anything of it counts."""
    files: dict[str, ShippedFile] = field(default_factory=dict)
    """The files of the state, by their names in its folder."""
    logs: dict[str, list[ShippedFile]] = field(default_factory=dict)
    """Its logs, by name: what each object has, unpacked by zstd, comes after the one before."""
    root: dict[str, ShippedFile] = field(default_factory=dict)
    """Files of the whole crawl, by their names below its folder; the first shard ships them."""
    archive: dict[str, list[ShippedFile]] = field(default_factory=dict)
    """By archive file: the objects that it consists of, in order."""
    counters: Counters = field(default_factory=Counters)
    standing: Standing | None = None

    def state_objects(self) -> Iterator[ShippedFile]:
        """Yield what the state consists of, also what is small and inside."""
        yield from (*self.files.values(), *joined.from_iterable(self.logs.values()))

    def objects(self) -> Iterator[ShippedFile]:
        """Yield everything that is named."""
        yield from (*self.state_objects(), *self.root.values())
        yield from joined.from_iterable(self.archive.values())


class CrawlStore:
    """The object store of a crawl."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.charters = Chain(objects, CHARTER)

    def shard_chain(self, generation: int, shard: int) -> Chain:
        """Return the chain of a shard's manifests."""
        return Chain(self.objects, f"{shard_prefix(generation, shard)}/manifest")

    def charter(self) -> tuple[int, CrawlCharter] | None:
        """Return the newest charter and its number; None if no crawl was ever kept here."""
        link = self.charters.newest()
        return None if link is None else (link.number, _decoded(self.objects, link, CrawlCharter))

    def manifest(self, generation: int, shard: int) -> tuple[int, ShardManifest] | None:
        """Return the newest manifest of a shard and its number; None if it was never shipped."""
        link = self.shard_chain(generation, shard).newest()
        return None if link is None else (link.number, _decoded(self.objects, link, ShardManifest))

    def newest_of(self, charter: CrawlCharter, shard: int) -> tuple[int, ShardManifest] | None:
        """Return the newest manifest of a shard of a charter and its number."""
        return self.manifest(charter.generation_of(shard), shard)

    def chains_of(self, charter: CrawlCharter) -> list[Chain]:
        """Return the chains of all shards of a charter, in order."""
        return [self.shard_chain(charter.generation_of(n), n) for n in range(charter.shards)]

    def consistent_point(self) -> tuple[int, CrawlCharter, list[ShardManifest]] | None:
        """Return the charter with its number, and one manifest of every shard, of one moment.

        A charter that names other chains meanwhile makes us begin again: by then the shards of
        the older one have said goodbye to what others rely on. None if no crawl was kept here.
        """
        found = self.charter()
        while found is not None:
            number, charter = found
            manifests = self.consistent_manifests(charter) if charter.generation else []
            found = self.charter()
            if found is not None and found[1].layout == charter.layout:
                return number, charter, manifests
        return None

    def manifest_of(self, chain: Chain, number: int) -> ShardManifest:
        """Return the manifest of a number, which is there."""
        content = chain.read(number)
        if content is None:
            raise CannotGoOn(f"{self.objects.url}/{chain.name(number)} is missing")
        return _decoded(self.objects, ChainLink(number, content), ShardManifest)

    def consistent_manifests(self, charter: CrawlCharter) -> list[ShardManifest]:
        """Return one manifest of every shard, as they were all at one moment.

        What one shard relies on another had shipped before. So the newest of all at one moment fit
        together; and so it was between two readings that found the same. Both are made of all
        chains at once: with many shards one after the other would never find that.
        """
        chains = self.chains_of(charter)
        before: list[int] = []
        with ThreadPoolExecutor(min(max(1, len(chains)), MOST_AT_ONCE)) as pool:
            for _ in range(MOST_READINGS):
                newest = [max(found, default=0) for found in pool.map(Chain.numbers, chains)]
                if 0 in newest:
                    raise CannotGoOn(f"{self.objects.url} is damaged: a shard has no manifest")
                if newest == before:
                    contents = pool.map(Chain.read, chains, newest)
                    links = [ChainLink(n, c) for n, c in zip(newest, contents, strict=True) if c]
                    if len(links) == len(chains):  # none was swept meanwhile
                        return [_decoded(self.objects, link, ShardManifest) for link in links]
                before = newest
        raise CannotGoOn(
            f"{self.objects.url}: checkpoints come faster than they can be read; try again, from "
            "closer to the store"
        )

    def alive(self) -> AliveNote | None:
        """Return the sign of life that is there, if there is one."""
        content = self.objects.read(ALIVE)
        return None if content is None else json.decode(content, type=AliveNote)


def shard_prefix(generation: int, shard: int) -> str:
    """Return below which name the objects of a shard lie."""
    return f"{generation:04d}/{shard:04d}"


def _decoded(objects: Objects, link: ChainLink, kind: type[Kept]) -> Kept:
    """Return what an object of a chain says; refuse what this version cannot read."""
    try:
        found = json.decode(link.content, type=_Versioned)
        if found.version <= VERSION:
            return json.decode(link.content, type=kind)
    except (DecodeError, UnicodeDecodeError) as error:
        raise CannotGoOn(f"{objects.url} is damaged: object {link.number}: {error}") from error
    raise CannotGoOn(
        f"{objects.url} was written by a later version of Gossamer (format {found.version}, and "
        f"this one reads {VERSION}); use that version"
    )
