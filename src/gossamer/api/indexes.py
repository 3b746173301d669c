"""Indexes that are built: of files of others, and shard by shard of a crawl's store."""

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.model import BuildProgress
from gossamer.search import (
    IndexFacts,
    IndexOptions,
    Published,
    StoredIndexes,
    build_foreign,
    published_places,
)

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
    on_progress: BuildProgress | None = None,
) -> list[ShardIndexFacts]:
    """Build the index of each shard of a crawl's store, or of some, and publish them there.

    What was built on this machine before is brought up to date. Other machines can build other
    shards at the same time; `open_search(url)` then asks all of them as one.
    """
    from gossamer.api.mirrors import cache_room

    known = StoredIndexes(url, cache_room(), options or IndexOptions(), on_progress or _silent)
    nonce = secrets.token_hex(NONCE_BYTES)
    wanted = known.ring.numbers if shards is None else shards
    return [
        ShardIndexFacts(shard=one.shard, index=one.facts, published=one.published)
        for one in known.build(wanted, nonce)
    ]


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
