"""Where the indexes of a crawl's store are published: one for each shard, below its generation."""

from gossamer.search.published.seal import SEAL
from gossamer.store import CrawlStore, Objects


def place_of_shard(url: str, generation: int, shard: int) -> str:
    """Return where the index of a shard of a crawl's store is published."""
    return f"{url.rstrip('/')}/{_name(generation, shard)}"


def published_places(url: str) -> list[str]:
    """Return where the indexes of all shards of a crawl's store are; [] if there is none yet."""
    objects = Objects(url)
    found = CrawlStore(objects).charter()
    if found is None or not found[1].generation:
        return []
    charter = found[1]
    shards = range(charter.shards)
    if not any(objects.exists(f"{_name(charter.generation, one)}/{SEAL}") for one in shards):
        return []
    return [place_of_shard(url, charter.generation, one) for one in shards]


def _name(generation: int, shard: int) -> str:
    return f"{generation:04d}/index/{shard:04d}"
