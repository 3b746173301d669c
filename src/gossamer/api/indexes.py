"""Indexes that are built: of files of others, and shard by shard of a crawl's store."""

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gossamer.api.arguments import let_pass
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.model import BuildProgress
from gossamer.search import (
    IndexFacts,
    IndexOptions,
    Published,
    StoredIndexes,
    build_foreign,
    follow_stored,
    published_places,
)

if TYPE_CHECKING:
    from gossamer.ranks import RankFile

    RanksOfShard = Callable[[int], RankFile | None]

NONCE_BYTES = 6


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
) -> list[ShardIndexFacts]:
    """Build the index of each shard of a crawl's store, or of some, and publish them there.

    What was built on this machine before is brought up to date. Other machines can build other
    shards at the same time; `open_search(url)` then asks all of them as one. With `follow` that is
    done again and again until the crawl has ended; on a machine of its cluster, unless told
    otherwise, for the shards that run there at the time.
    """
    from gossamer.api.mirrors import cache_room

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
        built = follow_stored(look, choose, nonce, let_pass, find_ranks)
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
    from gossamer.api.mirrors import cache_room
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
        return published_places(url)
    except (CannotGoOn, ConfigError):
        return []


def _silent(_step: object) -> None:
    """Tell nothing."""
