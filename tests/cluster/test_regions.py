"""Machines in two regions: each domain is crawled by one shard where its rule says, whoever dies.

`make test-cluster` kills twenty machines, and crawls a second time; otherwise two are killed.
"""

import json
from collections import defaultdict
from pathlib import Path

import pytest

import gossamer
from gossamer.testing import FakeWeb
from tests.cluster.extent import IS_FULL
from tests.cluster.machines import LEASE_S, ClusterTrial, cluster_trial, gossamer_says, wait_for
from tests.e2e.archive import read_archive
from tests.e2e.crawler import say

pytestmark = pytest.mark.slow
only_in_full = pytest.mark.skipif(not IS_FULL, reason="played by make test-cluster")

REGIONS = ("eu", "us")
NODES, SHARDS = (3, 4) if IS_FULL else (2, 2)
KILLS = 20 if IS_FULL else 2
STORED = {"response", "revisit"}


def rules_of(web: FakeWeb) -> dict[str, str]:
    """Return rules by which every other domain is near to each region."""
    domains = sorted({domain_of(host) for host in web.addresses})
    return {domain: REGIONS[n % 2] for n, domain in enumerate(domains)}


def domain_of(host: str) -> str:
    return host.partition(".")[2]


def host_of(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition(":")[0]


def shards_by_region(going: ClusterTrial) -> dict[str, list[int]]:
    """Return the shards of each region, as `cluster status` tells; nothing if the crawl ended."""
    home = str(going.nodes[0].home)
    told: dict[str, list[int]] = {}

    def has_told() -> bool:
        nonlocal told
        crawls = gossamer_says("cluster", "status", "--home", home, "--json", variables={})
        told = next((crawl["regions"] for crawl in crawls["crawls"]), {})
        return bool(told) or going.coordinators[-1].poll() is not None

    assert wait_for(has_told)
    return told


def who_stored(folder: Path) -> dict[str, set[int]]:
    """Return by domain the shards that have stored pages of it."""
    stored: dict[str, set[int]] = defaultdict(set)
    for record in read_archive(folder).records:
        if record.kind in STORED and record.file.startswith("pages-"):
            stored[domain_of(host_of(record.url))].add(int(record.file.split("-")[1]))
    return stored


def expect_near(stored: dict[str, set[int]], by_region: dict[str, list[int]], web: FakeWeb) -> None:
    """Insist that one shard of its region has stored all of each domain."""
    rules = rules_of(web)
    assert set(stored) == set(rules)
    for domain, shards in stored.items():
        assert len(shards) == 1, (domain, shards)
        assert shards <= set(by_region[rules[domain]]), (domain, shards, by_region)


def expect_told(folder: Path, stored: dict[str, set[int]], web: FakeWeb) -> None:
    """Insist that `why` says where a URL was crawled, and by which rule."""
    rules = rules_of(web)
    by_domain = {domain_of(host_of(page.url)): page.url for page in gossamer.open(folder).pages()}
    for domain, url in sorted(by_domain.items())[:2]:
        told = json.loads(say("why", str(folder), url, "--json").expect(0).out)
        assert told["state"] == "archived", told
        assert {told["shard"]} == stored[domain]
        assert told["region"] == rules[domain]
        assert told["region_rule"] == f'the rule "{domain}" = "{rules[domain]}"'


def test_domains_stay_with_one_shard_of_their_region_while_machines_die(tmp_path: Path) -> None:
    web = FakeWeb(seed=2101, hosts=16, pages_per_host=60 if IS_FULL else 6)
    with cluster_trial(
        tmp_path, web, nodes=NODES, shards=SHARDS, regions=REGIONS, rules=rules_of(web)
    ) as going:
        going.crawl()
        by_region = shards_by_region(going)
        assert sorted(by_region) == sorted(REGIONS)
        assert sorted(n for some in by_region.values() for n in some) == list(range(SHARDS))
        played = 0
        for kill in range(KILLS):
            if not going.wait_for(going.dice.randint(5, 25)):
                break
            node = going.nodes[1 + kill % (NODES - 1)]
            node.lose()
            going.losses += 1
            going.note(node.name, "lost at", going.served())
            wait_for(lambda: going.coordinators[-1].poll() is not None, LEASE_S / 2)
            node.start()
            played += 1
        assert played == KILLS or not IS_FULL, going.story
        going.finish().expect(0)
        going.judge()
        (restored,) = tmp_path.glob("restored-*")
        stored = who_stored(restored)
        expect_near(stored, by_region, web)
        expect_told(restored, stored, web)


@only_in_full
def test_a_second_crawl_gives_every_domain_to_the_same_shard(tmp_path: Path) -> None:
    web = FakeWeb(seed=2102, hosts=24, pages_per_host=4)
    found = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        with cluster_trial(
            folder, web, nodes=2, shards=SHARDS, regions=REGIONS, rules=rules_of(web)
        ) as going:
            going.crawl()
            by_region = shards_by_region(going)
            going.finish().expect(0)
            going.crawl()  # goes on: nothing is left to do
            going.finish().expect(0)
            going.judge()
        (restored,) = folder.glob("restored-*")
        found.append(who_stored(restored))
        expect_near(found[-1], by_region, web)
    assert found[0] == found[1]


def test_a_region_that_is_no_name_is_refused(tmp_path: Path) -> None:
    home = ("--home", str(tmp_path / "home"))
    said = say("cluster", "up", "--region", "Europe West", *home).expect(2)
    assert "--region: expected the name of a region" in said.err
    knobs = tmp_path / "crawl.toml"
    knobs.write_text('[regions]\n"www.example.com" = "eu"\n')
    into = ("--into", str(tmp_path / "crawl"))
    said = say("crawl", "http://localhost:1/", "--config", str(knobs), *into).expect(2)
    assert 'write "example.com"' in said.err
