"""Where the indexes of a crawl's store are: published below its generation, one for each shard.

G/index/SSSS/       as `publish` writes it
G/index/at/NAME     which shards a machine offers, and where: written again and again
"""

from msgspec import DecodeError, Struct, json

from gossamer.clock import Clock
from gossamer.errors import ConfigError
from gossamer.search.published.seal import SEAL
from gossamer.store import CrawlStore, Objects

OFFERINGS = "index/at"


def place_of_shard(url: str, generation: int, shard: int) -> str:
    """Return where the index of a shard of a crawl's store is published."""
    return f"{url.rstrip('/')}/{_name(generation, shard)}"


BEAT_S, COUNTS_S = 5.0, 30.0
"""How often a machine says that it offers shards, and for how long that counts."""


class Offering(Struct, frozen=True, kw_only=True):
    """Which shards a machine offers."""

    address: str
    """http://HOST:PORT"""
    shards: list[int]


def published_places(url: str, clock: Clock) -> list[str]:
    """Return where the indexes of all shards of a crawl's store are; [] if there is none yet.

    Shards that a machine offers are asked there, the others as they are published.
    """
    objects = Objects(url)
    found = CrawlStore(objects).charter()
    if found is None or not found[1].generation:
        return []
    generation, shards = found[1].layout, range(found[1].shards)
    offered = {n: one for one in _offerings(objects, generation, clock.wall()) for n in one.shards}
    if not offered and not any(
        objects.exists(f"{_name(generation, one)}/{SEAL}") for one in shards
    ):
        return []
    by_address: dict[str, list[str]] = {}
    for number in shards:
        if number in offered:
            by_address.setdefault(offered[number].address, []).append(f"{number:04d}")
    return [
        *(f"{address}#{','.join(names)}" for address, names in by_address.items()),
        *(place_of_shard(url, generation, one) for one in shards if one not in offered),
    ]


def offer_shards(objects: Objects, name: str, offering: Offering) -> None:
    """Say in a crawl's store which shards a machine offers."""
    found = CrawlStore(objects).charter()
    if found is None:
        raise ConfigError(f"{objects.url} has no crawl")
    objects.put(f"{found[1].layout:04d}/{OFFERINGS}/{name}", json.encode(offering))


def _offerings(objects: Objects, generation: int, now: float) -> list[Offering]:
    """Return what machines have said lately, the last last."""
    found: list[tuple[float, Offering]] = []
    for name in objects.names(f"{generation:04d}/{OFFERINGS}/"):
        at, content = objects.modified_at(name), objects.read(name)
        if at is None or content is None or now - at > COUNTS_S:
            continue
        try:
            found.append((at, json.decode(content, type=Offering)))
        except DecodeError:  # of a later version
            continue
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def _name(generation: int, shard: int) -> str:
    return f"{generation:04d}/index/{shard:04d}"
