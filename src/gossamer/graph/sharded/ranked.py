"""What a ranking of a store's shards leaves there, and where.

.../rank-K/count/SSSS     how many URLs of a shard count, and how many of them link to others
.../rank-K/sweeps/N/SSSS  what sweep N has moved, and what its pages pass on to other shards
.../rank-K/parts/SSSS     how much rank a shard has in all, and its best pages
.../rank-K/scores/SSSS    the ranks of its nodes
.../rank-K/files/SSSS     the same scaled, as a file of ranks for crawls and indexes
.../rank-K/whole          all of that is there (K: the kinds of links that count)
"""

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from gossamer.graph.sharded.parts import StoredGraph
from gossamer.graph.sharded.rounds import Kept
from gossamer.store import ShippedFile

RankTell = Callable[[int, float], None]


class CountedShard(Struct, frozen=True, kw_only=True):
    """What the others have to know of a shard before the first sweep."""

    urls: int
    """Of those that count."""
    boundary: dict[int, int] = field(default_factory=dict)
    """By other shard: how many pages link to it."""


class RankedPart(Struct, frozen=True, kw_only=True):
    """The ranks of a shard, before they are scaled: all shards together have the sum of `total`."""

    total: float
    best: list[tuple[str, float]]
    """Pages that were fetched, the best first."""
    best_not_fetched: list[tuple[str, float]]
    peak_bytes: int
    """The most memory that its worker has used."""


class RankedParts(Struct, frozen=True, kw_only=True):
    """The ranks of all shards."""

    total: float
    urls: int
    sweeps: int
    error_below: float
    converged: bool
    files: dict[int, ShippedFile]
    """Of each shard its ranks, as `--ranks` takes them."""


class RankStore:
    """What a ranking of one round by links of some kinds leaves."""

    def __init__(self, graph: StoredGraph, kinds: int) -> None:
        self.graph = graph
        self.objects = graph.crawl.objects
        self.shards: Sequence[int] = graph.whole.shards
        self.prefix = f"{graph.crawl.rounds.prefix(graph.number)}/rank-{kinds}"

    def name(self, what: str, shard: int) -> str:
        """Return the name of what a shard has."""
        return f"{self.prefix}/{what}/{shard:04d}"

    def read(self, what: str, shard: int, kind: type[Kept]) -> Kept | None:
        """Return what a shard has left."""
        return self.graph.crawl.rounds.read(self.name(what, shard), kind)

    def whole(self) -> RankedParts | None:
        """Return the ranks of all shards, if they are there."""
        return self.graph.crawl.rounds.read(f"{self.prefix}/whole", RankedParts)

    def names(self, what: str) -> set[str]:
        """Return the names of what is there."""
        return set(self.objects.names(f"{self.prefix}/{what}/"))
