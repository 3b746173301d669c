"""Where a domain is to be, and which shard is there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cluster import (
    PlacedNode,
    RegionChoice,
    RegionRules,
    place_in_regions,
    read_region_rules,
    shard_near,
    share_shards,
)
from gossamer.errors import ConfigError

REGIONS = ("eu", "us", "ap-southeast-2")
counts = st.dictionaries(st.sampled_from(["eu", "us", "asia", ""]), st.integers(1, 64), min_size=1)


def chosen(rules: dict[str, str], host: str, labels: dict[str, str] | None = None) -> list[str]:
    choice = RegionRules(rules, labels or {}, REGIONS).choice(host)
    return [] if choice is None else list(choice.regions)


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("www.foo.de", ["eu"]),
        ("www.foo.jp", ["ap-southeast-2"]),
        ("foo.us", ["us"]),
        ("foo.com", []),
        ("foo.io", []),
        ("foo.br", []),
        ("10.0.0.1", []),
        ("localhost", []),
    ],
)
def test_countries_tell_where_a_domain_is_if_there_is_a_region_for_them(
    host: str, region: list[str]
) -> None:
    assert chosen({}, host) == region


def test_the_longest_rule_counts_and_a_seeds_label_before_it() -> None:
    rules = {"*.de": "us", "foo.de": "eu", "*.co.uk": "us", "*": "eu", "x.jp": "nowhere"}
    assert chosen(rules, "a.foo.de") == ["eu"]
    assert chosen(rules, "bar.de") == ["us"]
    assert chosen(rules, "www.bar.co.uk") == ["us"]
    assert chosen(rules, "foo.com") == ["eu"]
    assert chosen(rules, "x.jp") == ["eu"]
    assert chosen(rules, "foo.de", {"https://www.foo.de/a": "news,US"}) == ["us"]


def test_two_regions_of_a_continent_are_both_near() -> None:
    rules = RegionRules({}, {}, ("eu-west-1", "europe-north1", "us-east-1"))
    choice = rules.choice("foo.de")
    assert choice == RegionChoice(("eu-west-1", "europe-north1"), "the country domain .de")


@pytest.mark.parametrize(
    "pattern", ["www.example.com", "", "a b", "http://x.de/", "x.de:80", "*.*.de", "a@b.de"]
)
def test_a_rule_that_is_of_no_domain_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="regions"):
        read_region_rules({pattern: "eu"})


@pytest.mark.parametrize("region", ["EU", "", "a b", "-eu", "x" * 33])
def test_a_region_that_is_no_name_is_refused(region: str) -> None:
    with pytest.raises(ConfigError, match="expected the name of a region"):
        read_region_rules({"*.de": region})


@given(st.integers(4, 64), counts)
def test_regions_get_shards_by_their_cores(shards: int, cores: dict[str, int]) -> None:
    regions = share_shards(shards, (), cores)
    if set(cores) == {""}:
        assert regions == ()
        return
    assert len(regions) == shards
    assert set(regions) == set(cores)
    for name, count in cores.items():
        share = shards * count / sum(cores.values())
        assert max(1, int(share) - len(cores)) <= regions.count(name) <= max(1, share + 1)


@given(st.integers(4, 64), counts, counts)
def test_shards_keep_their_regions_but_for_one_that_had_none(
    shards: int, cores: dict[str, int], later: dict[str, int]
) -> None:
    before = share_shards(shards, (), cores)
    after = share_shards(shards, before, later)
    assert share_shards(shards, after, later) == after
    for old, new in zip(before, after, strict=False):
        assert old == new or new not in before


@given(st.integers(0, (1 << 24) - 1))
def test_a_point_goes_to_a_shard_that_is_near(point: int) -> None:
    regions = ("eu", "us", "eu", "")
    shard = shard_near(point, RegionChoice(("eu",), ""), regions)
    assert shard in {0, 2}
    assert shard_near(point, RegionChoice(("asia",), ""), regions) is None


def test_shards_are_on_machines_of_their_region_or_on_any_if_there_is_none() -> None:
    nodes = [PlacedNode("a", 2, "eu"), PlacedNode("b", 2, "us"), PlacedNode("c", 2, "us")]
    regions = {0: "eu", 1: "eu", 2: "us", 3: "us", 4: "asia"}
    placed = place_in_regions(range(5), nodes, {}, {}, regions)
    assert [placed[one] for one in (0, 1)] == ["a", "a"]
    assert sorted([placed[2], placed[3]]) == ["b", "c"]
    without = place_in_regions(range(5), nodes[1:], placed, {}, regions)
    assert set(without.values()) == {"b", "c"}
    assert [without[one] for one in (2, 3)] == [placed[2], placed[3]]
    assert place_in_regions(range(5), nodes, without, {}, regions)[0] == "a"
