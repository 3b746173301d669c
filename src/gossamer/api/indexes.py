"""Indexes that are built: of files of others, and shard by shard of a crawl's store."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import xxhash
from msgspec import Struct
from msgspec.structs import replace

from gossamer.api.arguments import let_pass
from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn, ConfigError, GossamerError
from gossamer.model import BuildProgress
from gossamer.search import (
    BEAT_S,
    IndexFacts,
    IndexOptions,
    Offering,
    Published,
    ShardGroup,
    StoredIndexes,
    build_foreign,
    follow_stored,
    offer_shards,
    published_places,
)
from gossamer.store import Objects

if TYPE_CHECKING:
    from gossamer.ranks import RankFile

    RanksOfShard = Callable[[int], RankFile | None]

NONCE_BYTES = 6
CLOSE_S = 2.0


def index_files(
    files: Sequence[Path | str],
    into: Path | str,
    options: IndexOptions | None = None,
    *,
    on_progress: BuildProgress | None = None,
    on_bad: Callable[[str], None] | None = None,
) -> IndexFacts:
    """Index WET, WARC or JSONL files that were not crawled here; the index is INTO/index.

    `on_bad` is told what cannot be read. A page replaces an older one with the same URL.
    """
    return build_foreign([str(one) for one in files], Path(into), options, on_progress, on_bad)


class ShardIndexFacts(Struct, frozen=True, kw_only=True):
    """What was done about the index of one shard of a crawl's store."""

    shard: int
    index: IndexFacts
    published: Published


def build_store_index(
    url: str,
    options: IndexOptions | None = None,
    *,
    shards: Sequence[int] | None = None,
    follow: bool = False,
    on_progress: BuildProgress | None = None,
    on_built: "Callable[[ShardIndexFacts], None] | None" = None,
    on_wait: "Callable[[str], None] | None" = None,
) -> list[ShardIndexFacts]:
    """Build the index of each shard of a crawl's store, or of some, and publish them there.

    What was built on this machine before is brought up to date. Other machines can build other
    shards at the same time; `open_search(url)` then asks all of them as one. With `follow` that is
    done again and again until the crawl has ended; on a machine of its cluster, unless told
    otherwise, for the shards that run there at the time. `on_wait` is told what is waited for
    meanwhile: the first checkpoint, or a store that is away.
    """
    from gossamer.api.caching import cache_room

    room, nonce = cache_room(), secrets.token_hex(NONCE_BYTES)

    def look() -> StoredIndexes:
        return StoredIndexes(url, room, options or IndexOptions(), on_progress or _silent)

    def choose(known: StoredIndexes) -> Sequence[int]:
        node = _node_of(known.fingerprint) if shards is None and follow else None
        ours = known.ring.numbers if shards is None else shards
        return ours if node is None else known.shards_of(node)

    def find_ranks() -> "RanksOfShard | None":
        if not (options or IndexOptions()).ranks:
            return None
        is_all = shards is None and not follow
        return _ranks_of(url, on_progress or _silent, is_built=is_all)

    if follow:
        built = follow_stored(look, choose, nonce, let_pass, find_ranks, on_wait or _silent)
    else:
        known = look()
        built = known.build(choose(known), nonce, ranks=find_ranks())
    newest: dict[int, ShardIndexFacts] = {}
    for one in built:
        facts = ShardIndexFacts(shard=one.shard, index=one.facts, published=one.published)
        newest[one.shard] = facts
        if on_built is not None:
            on_built(facts)
    return list(newest.values())


def _ranks_of(url: str, tell: BuildProgress, *, is_built: bool) -> "RanksOfShard | None":
    """Return the ranks of a store's pages: those that its shards have, or of a graph of everything.

    That is built here, if it is due and may be; None if there are no ranks then.
    """
    from gossamer.api.storedgraph import ranks_of_shards

    if (found := ranks_of_shards(url)) is not None or not is_built:
        return found
    from gossamer.api.caching import cache_room
    from gossamer.api.ranks import are_ranks_due, build_ranks
    from gossamer.ranks import crawl_ranks
    from gossamer.store import Mirror

    mirror = Mirror(url, cache_room())
    try:
        root = mirror.whole()
        if are_ranks_due(root):
            build_ranks(root, tell)
        whole = crawl_ranks(root)
        return None if whole is None else lambda _shard: whole
    finally:
        mirror.close()


def _node_of(fingerprint: str) -> str | None:
    """Return what this machine is called in the cluster that a crawl runs on; None outside."""
    if not fingerprint:
        return None
    from gossamer.cluster import home_of_cluster

    home = home_of_cluster(fingerprint)
    return home.membership().name if home is not None else None


def store_indexes(url: str) -> list[str]:
    """Return where the indexes of the shards of a crawl's store are; [] if none was published.

    Of those that are there some may be missing: whoever asks them is told so.
    """
    try:
        return published_places(url, SystemClock())
    except (CannotGoOn, ConfigError):
        return []


class StoreShards:
    """The indexes that this machine has of the shards of a crawl's store, offered to others.

    In a cluster those of shards that run here, or did last. It looks for what is new, and says in
    the store what it offers, in a thread, until it is closed.
    """

    def __init__(self, url: str) -> None:
        """Take the store; nothing is told to anybody yet."""
        self._url = url
        self._objects = Objects(url)
        self._folders: dict[int, Path] = {}
        self._offering = Offering(address="", shards=[])
        self._ended = Event()
        self._thread = Thread(target=self._run, name="gossamer-offering", daemon=True)
        self._group = ShardGroup(lambda: self._folders)
        self.most_request_bytes = self._group.most_request_bytes
        """Larger requests are not worth reading."""

    def offer(self, address: str) -> None:
        """Say that the shards are offered at http://HOST:PORT, as others reach it; go on so."""
        self._offering = replace(self._offering, address=address.rstrip("/"))
        self._renew()
        self._thread.start()

    def answer(self, shard: str, name: str, body: bytes) -> bytes:
        """Return the answer to a request; "" as shard and name: which shards there are."""
        return self._group.answer(shard, name, body)

    def close(self) -> None:
        """Offer nothing any more."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_S)
            with suppress(GossamerError):
                self._tell(replace(self._offering, shards=[]))

    def _tell(self, offering: Offering) -> None:
        name = xxhash.xxh3_64_hexdigest(offering.address.encode())
        offer_shards(self._objects, name, offering)

    def _run(self) -> None:
        while not self._ended.wait(BEAT_S):
            with suppress(GossamerError):  # the store is away: nobody finds us meanwhile
                self._renew()

    def _renew(self) -> None:
        from gossamer.api.caching import cache_room

        known = StoredIndexes(self._url, cache_room(), IndexOptions(), _silent)
        node = _node_of(known.fingerprint)
        ours = known.ring.numbers if node is None else known.shards_of(node)
        self._folders = known.folders(ours)
        self._offering = replace(self._offering, shards=sorted(self._folders))
        self._tell(self._offering)


def _silent(_step: object) -> None:
    """Tell nothing."""
