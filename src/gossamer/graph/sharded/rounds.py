"""Rounds: what all who build the graphs of a store's shards have agreed on, and what is done.

    G/graph/rounds/N              a chain: what round N reads, the same for all who take part
    G/graph/NNNNNN/parts/SSSS     what the graph of a shard is; made when its files are there
    G/graph/NNNNNN/files/...      those files, under names that nobody else uses
    G/graph/NNNNNN/whole          every shard has its graph: this round is asked from now on
    G/graph/NNNNNN/rank-K/...     PageRank by links of some kinds (`ranking`)
    G/graph/NNNNNN/claims/T-A     who does a piece of work, at the attempt A
    G/graph/NNNNNN/alive/W        a sign of life of who does (G: the layout of the charter)

What a round makes follows from what it reads alone. So claims only save work: two who do the same
make the same, and one of the two counts.
"""

import os
import secrets
from collections.abc import Callable
from typing import TypeVar

from msgspec import DecodeError, Struct, field, json

from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn
from gossamer.graph.bv import Coding
from gossamer.linux import boot_id
from gossamer.store import Chain, Lengths, Objects, ShippedFile

VERSION = 1
BEAT_S, SILENT_S = 5.0, 60.0
"""How often a worker says that it is there, and after what silence its work is done by others."""
MOST_ATTEMPTS = 1000
WAIT_S = 0.2
Kept = TypeVar("Kept", bound=Struct)
Wait = Callable[[float], None]


class GraphRound(Struct, frozen=True, kw_only=True):
    """What a round reads."""

    version: int = VERSION
    at: float
    batches: dict[int, int] = field(default_factory=dict)
    """How many batches of links of each shard."""
    covered: Lengths = field(default_factory=dict)
    """How much of each links file."""
    others: dict[str, list[int]] = field(default_factory=dict)
    """By links file: other shards whose own pages are in it, since the ring was another once."""
    dropped: str = ""
    """The digest of what is left out."""
    is_full: bool = False
    coding: Coding = Coding()


class ShardFacts(Struct, frozen=True, kw_only=True):
    """What was built of a shard."""

    shard: int
    nodes: int
    """URLs that the ring gives to the shard."""
    all_nodes: int
    """With those of other shards that they link to, or are linked from."""
    arcs: int
    pages: int
    records: int
    peak_bytes: int
    """The most memory that the process has used so far."""


class GraphPart(Struct, frozen=True, kw_only=True):
    """The graph of a shard, as it is in the store."""

    shard: int
    files: dict[str, ShippedFile]
    nodes: int
    """URLs that the ring gives to the shard."""
    arcs: int
    """Links out of them."""
    pages: int
    """Of them, those that were fetched."""
    all_nodes: int
    """With those of other shards that they link to, or are linked from."""
    all_arcs: int
    hostless: list[int]
    """Hashes of what belongs to no shard, such as mailto:; several shards may have the same."""
    records: int
    peak_bytes: int
    """The most memory that its builder has used."""

    def facts(self) -> ShardFacts:
        """Return what people want to know of it."""
        return ShardFacts(
            shard=self.shard,
            nodes=self.nodes,
            all_nodes=self.all_nodes,
            arcs=self.arcs,
            pages=self.pages,
            records=self.records,
            peak_bytes=self.peak_bytes,
        )


class WholeGraph(Struct, frozen=True, kw_only=True):
    """The graphs of all shards together."""

    at: float
    shards: list[int]
    nodes: int
    arcs: int
    pages: int


class Rounds:
    """The rounds of one crawl's store."""

    def __init__(self, objects: Objects, generation: int) -> None:
        self.objects = objects
        self._prefix = f"{generation:04d}/graph"
        self._chain = Chain(objects, f"{self._prefix}/rounds")

    def newest(self) -> tuple[int, GraphRound] | None:
        """Return the newest round and its number."""
        link = self._chain.newest()
        return None if link is None else (link.number, self._decoded(link.content, GraphRound))

    def begin(self, number: int, reads: GraphRound) -> bool:
        """Begin a round; return False if somebody else has begun it."""
        return self._chain.append(number, json.encode(reads))

    def newest_whole(self) -> tuple[int, WholeGraph] | None:
        """Return the newest round of which every shard has its graph."""
        for number in reversed(self._chain.numbers()):
            found = self.read(f"{self.prefix(number)}/whole", WholeGraph)
            if found is not None:
                return number, found
        return None

    def prefix(self, number: int) -> str:
        """Return below which name the objects of a round lie."""
        return f"{self._prefix}/{number:06d}"

    def part(self, number: int, shard: int) -> GraphPart | None:
        """Return the graph of a shard; None if it is not made yet."""
        return self.read(f"{self.prefix(number)}/parts/{shard:04d}", GraphPart)

    def read(self, name: str, kind: type[Kept]) -> Kept | None:
        """Return what an object says; None if there is none."""
        content = self.objects.read(name)
        return None if content is None else self._decoded(content, kind)

    def forget_before(self, number: int) -> None:
        """Delete what older rounds have made, but for the one before: somebody may be asking it."""
        kept = {self.prefix(one) for one in (number, number - 1)} | {f"{self._prefix}/rounds"}
        names = self.objects.names(f"{self._prefix}/")
        depth = self._prefix.count("/") + 2
        newer = self.prefix(number)
        self.objects.delete(
            [
                name
                for name in names
                if (top := "/".join(name.split("/")[:depth])) not in kept and top < newer
            ]
        )

    def _decoded(self, content: bytes, kind: type[Kept]) -> Kept:
        try:
            return json.decode(content, type=kind)
        except (DecodeError, UnicodeDecodeError) as error:
            raise CannotGoOn(f"{self.objects.url}/{self._prefix} is damaged: {error}") from error


class RoundWorker:
    """One of those who do the work of a round: it claims pieces, and shows that it is alive."""

    def __init__(self, objects: Objects, prefix: str) -> None:
        self._objects = objects
        self._prefix = prefix
        self._clock = SystemClock()
        self._beaten_at = -BEAT_S
        self.name = f"{boot_id() or 'unknown'}.{os.getpid()}.{secrets.token_hex(4)}"

    def beat(self) -> None:
        """Show that this worker is alive, unless it was shown a moment ago."""
        if self._clock.steady() - self._beaten_at >= BEAT_S:
            self._objects.put(f"{self._prefix}/alive/{self.name}", b"")
            self._beaten_at = self._clock.steady()

    def takes(self, task: str) -> bool:
        """Return True if a piece of work is ours: nobody who is alive has claimed it before."""
        self.beat()
        for attempt in range(1, MOST_ATTEMPTS):
            claim = f"{self._prefix}/claims/{task}-{attempt}"
            if self._objects.create(claim, self.name.encode()):
                return True
            owner = (self._objects.read(claim) or b"").decode(errors="replace")
            if owner == self.name:
                return True
            if self._is_alive(owner):
                return False
        return True

    def _is_alive(self, owner: str) -> bool:
        """Return True if a worker has shown itself; both moments are told by the store's clock."""
        boot, pid, _ = (*owner.rsplit(".", 2), "", "")[:3]
        if boot and boot == boot_id() and pid.isdecimal() and not _is_running(int(pid)):
            return False
        self._beaten_at = -BEAT_S
        self.beat()
        ours = self._objects.modified_at(f"{self._prefix}/alive/{self.name}")
        theirs = self._objects.modified_at(f"{self._prefix}/alive/{owner}")
        return ours is not None and theirs is not None and ours - theirs < SILENT_S


def _is_running(pid: int) -> bool:
    """Return True if a process of this machine is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
