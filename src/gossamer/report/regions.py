"""In which region a URL is crawled, and what says so."""

from typing import NamedTuple

from gossamer.cluster import RegionRules, ShardRegions
from gossamer.config import Config
from gossamer.model import Url

BY_HASH = "none: its domain is where the hash of it puts it"


class RegionFacts(NamedTuple):
    """Where a URL is crawled; nothing of a crawl without regions."""

    region: str = ""
    rule: str = ""
    """In words."""


def region_facts(url: Url, shard: int, regions: ShardRegions, config: Config) -> RegionFacts:
    """Return the region of a URL that a shard has, and the rule by which it is there."""
    if not any(regions) or shard >= len(regions):
        return RegionFacts()
    choice = RegionRules(config.regions, config.seed_labels, regions).choice(url.host)
    region = regions[shard]
    if choice is None:
        return RegionFacts(region, BY_HASH)
    if region in choice.regions:
        return RegionFacts(region, choice.rule)
    wanted = " or ".join(choice.regions)
    rule = f"{choice.rule}, which is for {wanted}; but its domain was begun before that was known"
    return RegionFacts(region, rule)
