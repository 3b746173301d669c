"""Pages made of a few words, and shards of them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.manifest import Manifest, index_folder, shard_folders, write_manifest
from gossamer.search.messages import Bonus
from gossamer.search.page import Prepared
from gossamer.search.shard import VERSION, LocalShard, ShardWriter
from gossamer.urls import fingerprint_of


def prepared(
    url: str,
    *,
    language: str = "en",
    at: int = 1,
    fields: Mapping[str, str] | None = None,
    **more: str,
) -> Prepared:
    """Return a page that has these words in its fields."""
    fields = {**(fields or {}), **more}
    host = url.split("/")[2]
    return Prepared(
        url=url,
        key=fingerprint_of(url),
        host=fingerprint_of(f"http://{host}/"),
        sketch=0,
        at=at,
        language=language,
        media_type="text/html",
        sites=(host, host.partition(".")[2]),
        types=("text/html", "html"),
        title=fields.get("title", ""),
        text=fields.get("main", ""),
        words=tuple(fields.get(name, "") for name in TEXT_FIELDS),
    )


def write_shard(path: Path, pages: Iterable[Prepared]) -> Path:
    """Write pages into a shard, which may be there; return its folder."""
    writer = ShardWriter(path, heap_bytes=15_000_000)
    for page in pages:
        writer.add(page)
    writer.close()
    return path


def shard_of(path: Path, pages: Iterable[Prepared]) -> LocalShard:
    """Return a new shard with some pages."""
    return LocalShard(write_shard(path, pages))


def split(pages: Sequence[Prepared], shards: int) -> list[list[Prepared]]:
    """Share pages out by their URLs."""
    return [[page for page in pages if page.key % shards == n] for n in range(shards)]


def crawl_with_index(
    root: Path, pages: Sequence[Prepared], shards: int = 2, high_share: float = 0.0
) -> Path:
    """Make the index of a crawl's folder; with tiers, every second page is in the high one."""
    manifest = Manifest(version=VERSION, shards=shards, high_share=high_share, pages=len(pages))
    index = index_folder(root)
    tiers = [("high", pages[::2]), ("low", pages[1::2])] if high_share else [("high", pages)]
    for tier, some in tiers:
        for path, part in zip(
            shard_folders(index, manifest, tier),  # type: ignore[arg-type]  # one of two
            split(some, shards),
            strict=True,
        ):
            write_shard(path, part)
    write_manifest(index, manifest)
    return root


def bonuses(*rows: tuple[str, ...]) -> list[Bonus]:
    """Return rows of terms that are worth 1 each, in the main text or the title."""
    return [Bonus((row,), 1.0) for row in rows]
