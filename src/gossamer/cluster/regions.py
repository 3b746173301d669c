"""Regions: near which machines is a host, as far as its name tells, and which shards are there?

A region is a name that machines have: `eu`, `us-east-1`. Each shard of a crawl has one, and is on
machines of it if there are any. A domain that has none by what is known of it stays with the shard
that the ring gives it to.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from xxhash import xxh3_64_intdigest

from gossamer.errors import ConfigError
from gossamer.urls import host_name, registrable_domain, whatwg

ShardRegions: TypeAlias = tuple[str, ...]
"""The region of each shard, by number; "" of one without. Empty if the crawl has no regions."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")
_ANY = "*"
DOMAINS_KEPT = 65_536

_NAMES_OF_CONTINENTS = {
    "africa": "africa af",
    "asia": "asia as ap apac",
    "europe": "europe eu",
    "middle-east": "me mideast middleeast",
    "north-america": "us na ca northamerica america",
    "oceania": "oceania oc au australia",
    "south-america": "sa southamerica latam",
}
"""What the first part of a region's name may be, as clouds call them too: `eu-west-1`."""

_COUNTRIES = {
    "africa": (
        "ao bf bi bj bw cd cg ci cm cv dj dz eg er et gh gm gn gw ke km lr ls lr ma mg mr mu mw mz "
        "na ne ng rw sc sd sl sn so ss sz td tn tz ug za zm zw"
    ),
    "asia": (
        "af am asia az bd bn bt cn ge hk id in jp kg kh kp kr kz lk mm mn mo mv my np ph pk sg th "
        "tj tm tw uz vn"
    ),
    "europe": (
        "ad al at ax ba be bg by ch cy cz de dk ee es eu fi fo fr gi gr hr hu ie is it je li lt lu "
        "lv mc md mk mt nl no pl pt ro rs ru se si sk sm su tr ua uk va wien berlin paris london"
    ),
    "middle-east": "ae bh il iq ir jo kw lb om ps qa sa sy ye",
    "north-america": "bm ca cr cu do edu gl gov gt hn ht jm mil mx ni pa pm pr sv us",
    "oceania": "au fj nc nz pf pg sb vu",
    "south-america": "ar bo br cl ec fk gf gy pe py sr uy ve",
}
"""Domains of countries by continent; those that are sold as words (io, ai, tv, co) tell nothing."""

_CONTINENT_OF = {
    country: continent for continent, some in _COUNTRIES.items() for country in some.split()
}
_CONTINENT_OF_NAME = {
    name: continent for continent, some in _NAMES_OF_CONTINENTS.items() for name in some.split()
}


class RegionChoice(NamedTuple):
    """In which regions a domain is to be, any of them, and why."""

    regions: tuple[str, ...]
    rule: str
    """In words."""


class RegionRules:
    """What says in which region a domain is to be. The first that says anything counts.

    The label of a seed; the longest of the crawl's rules; the table of countries.
    """

    def __init__(
        self, rules: Mapping[str, str], labels: Mapping[str, str], regions: Iterable[str]
    ) -> None:
        """Go by rules, and by the labels of seeds, by URL, among the regions that there are.

        A rule of a region that no shard is in says nothing.
        """
        self._regions = frozenset(regions) - {""}
        self._rules = {
            name: (region, pattern)
            for name, (region, pattern) in read_region_rules(rules).items()
            if region in self._regions
        }
        self._labels = _labelled_domains(labels, self._regions)
        self._by_continent: dict[str, tuple[str, ...]] = {}
        for region in sorted(self._regions):
            if continent := _CONTINENT_OF_NAME.get(re.split(r"[-0-9]", region)[0]):
                have = self._by_continent.get(continent, ())
                self._by_continent[continent] = (*have, region)
        self.choice = lru_cache(maxsize=DOMAINS_KEPT)(self._choice)

    def _choice(self, host: str) -> RegionChoice | None:
        """Return where a host's domain is to be; None if nothing tells."""
        domain = registrable_domain(host).rstrip(".")
        if (region := self._labels.get(domain)) is not None:
            return RegionChoice((region,), f"the label {region} of a seed")
        labels = domain.split(".")
        for number in range(len(labels) + 1):
            name = ".".join(labels[number:]) or _ANY
            if (found := self._rules.get(name)) is not None:
                return RegionChoice((found[0],), f'the rule "{found[1]}" = "{found[0]}"')
        return self._by_country(labels[-1])

    def choice_of_seed(self, labels: str) -> RegionChoice | None:
        """Return where a seed is to be by its labels; None if none of them is a region."""
        region = _region_in(labels, self._regions)
        return None if region is None else RegionChoice((region,), f"the label {region} of a seed")

    def _by_country(self, top: str) -> RegionChoice | None:
        if top in self._regions and top in _CONTINENT_OF:
            return RegionChoice((top,), f"the country domain .{top}")
        near = self._by_continent.get(_CONTINENT_OF.get(top, ""), ())
        return RegionChoice(near, f"the country domain .{top}") if near else None


def read_region_rules(rules: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return region and pattern by what a rule is of: a domain, what domains end with, or `*`."""
    found: dict[str, tuple[str, str]] = {}
    for pattern, region in rules.items():
        if complaint := region_complaint(region):
            raise ConfigError(f'regions."{pattern}": {complaint}')
        name = _ANY if pattern.strip() == _ANY else _name_in(pattern)
        found[name] = (region, pattern)
    return found


def region_complaint(text: str) -> str:
    """Return what is wrong with the name of a region; "" if nothing is."""
    if _NAME.fullmatch(text):
        return ""
    return (
        "expected the name of a region of at most 32 small letters, digits and hyphens, such as eu "
        f"or us-east-1; found {text!r}"
    )


def _name_in(pattern: str) -> str:
    """Return what a rule is of; raise if that is no domain, or the part of one."""
    said = pattern.strip().removeprefix("*").removeprefix(".")
    href = whatwg(f"http://{said}/") if said and host_name(said) == said.lower() else None
    name = href[len("http://") : -1].rstrip(".") if href is not None else ""
    if not name or (any(mark in name for mark in "*/?@:") and not name.startswith("[")):
        raise ConfigError(
            f'regions."{pattern}": expected a domain ("example.com"), what domains end with '
            '("*.de"), or "*" for all others'
        )
    if (domain := registrable_domain(name)) != name:
        raise ConfigError(
            f'regions."{pattern}": all hosts of a domain are in one region; write "{domain}"'
        )
    return name


def _labelled_domains(labels: Mapping[str, str], regions: frozenset[str]) -> dict[str, str]:
    """Return the regions that seeds are labelled with, by domain; the first one counts."""
    found: dict[str, str] = {}
    for url, text in labels.items():
        region = _region_in(text, regions)
        href = whatwg(url) if region is not None else None
        if region is not None and href is not None:
            authority = href.partition("://")[2].partition("/")[0].rpartition("@")[2]
            found.setdefault(registrable_domain(host_name(authority)).rstrip("."), region)
    return found


def _region_in(labels: str, regions: frozenset[str]) -> str | None:
    """Return the first of some labels that is a region."""
    names = (name.strip().lower() for name in labels.split(","))
    return next((name for name in names if name in regions), None)


def shard_near(point: int, choice: RegionChoice, regions: ShardRegions) -> int | None:
    """Return the shard that is to have a point of the ring; None if none is in these regions.

    Each shard draws with the point, so that points are spread over those that are near.
    """
    near = [shard for shard, region in enumerate(regions) if region in choice.regions]
    return max(near, key=lambda one: xxh3_64_intdigest(f"{point}:{one}".encode()), default=None)


def share_shards(shards: int, current: ShardRegions, cores: Mapping[str, int]) -> ShardRegions:
    """Return the region of each shard; nothing if machines have none.

    `cores` is by region what its machines have, "" those without a region. Shards stay in the
    region that they have; one that has no shard yet gets some of those that have the most.
    """
    if not any(name for name in cores) and not any(current):
        return ()
    known = {name: count for name, count in cores.items() if count > 0}
    if not known:
        return current
    wanted = _shares(shards, known)
    have = list(current[:shards]) + [None] * (shards - len(current))
    counts = {name: sum(one == name for one in have) for name in {*known, *current}}
    for name in sorted(known, key=lambda one: (-wanted[one], one)):
        is_new = counts[name] == 0
        while counts[name] < wanted[name]:
            if None in have:
                number = have.index(None)
            elif is_new and (number := _spare(have, counts, wanted)) >= 0:
                counts[have[number] or ""] -= 1
            else:
                break
            have[number] = name
            counts[name] += 1
    return tuple(one if one is not None else "" for one in have)


def _spare(have: Sequence[str | None], counts: Mapping[str, int], wanted: Mapping[str, int]) -> int:
    """Return the last shard of the region that has most above its share; -1 if none has."""
    over = {name: counts[name] - wanted.get(name, 0) for name in counts if counts[name] > 1}
    most = max(over, key=lambda name: (over[name], name), default=None)
    if most is None or over[most] <= 0:
        return -1
    return max(number for number, name in enumerate(have) if name == most)


def shards_by_region(regions: ShardRegions) -> dict[str, list[int]]:
    """Return which shards are in which region, by name."""
    by_name: dict[str, list[int]] = {name: [] for name in sorted(set(regions))}
    for shard, name in enumerate(regions):
        by_name[name].append(shard)
    return by_name


def _shares(shards: int, cores: Mapping[str, int]) -> dict[str, int]:
    """Return how many shards each region gets, by its cores; at least one if there are enough."""
    total = sum(cores.values())
    shares = {name: shards * count / total for name, count in cores.items()}
    found = {name: max(1, int(share)) for name, share in shares.items()}
    while (sum_now := sum(found.values())) != shards:
        if sum_now < shards:
            name = max(found, key=lambda one: (shares[one] - found[one], one))
            found[name] += 1
        else:
            several = [one for one in found if found[one] > 1] or list(found)
            name = max(several, key=lambda one: (found[one] - shares[one], found[one], one))
            found[name] -= 1
    return found
