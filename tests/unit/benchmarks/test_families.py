"""Families: honest ones have an end and the pages that they say, traps have none."""

from collections import Counter

import pytest
from laboratory.families import (
    FOLDER_TRAPS,
    HELD_OUT,
    HONEST_FAMILIES,
    TRAP_FAMILIES,
    Family,
    FamilyWeb,
    Spot,
    domain_of,
    host_of,
    links_of,
    reachable,
    spot,
    tally,
)
from laboratory.families.simulated import SimulatedCrawl

from gossamer.config import TrapsConfig
from gossamer.testing import LoggedRequest, Request

pytestmark = pytest.mark.slow

SMALL = 0.03
ALL = FamilyWeb(honest=tuple(HONEST_FAMILIES), traps=TRAP_FAMILIES, scale=SMALL, port=8080)
ENOUGH = 400


def body_of(web: FamilyWeb, where: Spot) -> str:
    return web.respond(Request("GET", where.target, where.host, b"")).body.decode()


@pytest.mark.parametrize("name", HONEST_FAMILIES)
def test_an_honest_family_has_the_pages_that_it_says(name: str) -> None:
    family = HONEST_FAMILIES[name](SMALL)
    assert len(reachable(family)) == family.pages


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST_FAMILIES)
def test_an_honest_family_of_full_size_has_the_pages_that_it_says(name: str) -> None:
    family = HONEST_FAMILIES[name](1.0)
    assert len(reachable(family)) == family.pages


@pytest.mark.parametrize("name", [name for name in HONEST_FAMILIES if name != "franchises"])
def test_pages_of_an_honest_family_differ(name: str) -> None:
    family = HONEST_FAMILIES[name](SMALL)
    bodies = [family.answer(*where) for where in reachable(family)]
    assert len(set(bodies)) == len(bodies)


def test_franchises_share_a_front_page_and_an_imprint_and_nothing_else() -> None:
    family = HONEST_FAMILIES["franchises"](1.0)
    bodies = Counter(family.answer(*where) for where in reachable(family))
    assert sorted(Counter(bodies.values()).items()) == [(1, family.pages - 40), (20, 2)]
    hosts = {where.host for where in reachable(family)}
    assert len({domain_of(host) for host in hosts}) == 20


@pytest.mark.slow
def test_blogs_are_hosts_of_one_domain_with_six_pages_each() -> None:
    found = reachable(HONEST_FAMILIES["blogs"](1.0))
    hosts = Counter(where.host for where in found)
    assert set(hosts.values()) == {6}
    assert len(hosts) == 300
    assert {domain_of(host) for host in hosts} == {"penmanship.test"}


@pytest.mark.parametrize("family", ALL.trap_families, ids=lambda family: family.name)
def test_a_trap_has_no_end(family: Family) -> None:
    assert len(reachable(family, ENOUGH)) == ENOUGH


def test_half_of_the_honest_families_and_of_the_traps_at_least_are_held_out() -> None:
    assert len(HELD_OUT & set(HONEST_FAMILIES)) >= len(HONEST_FAMILIES) // 2
    assert len(HELD_OUT & set(TRAP_FAMILIES)) >= len(TRAP_FAMILIES) // 2
    assert set(HONEST_FAMILIES) | set(TRAP_FAMILIES) >= HELD_OUT


def test_no_two_families_share_a_domain_or_an_address() -> None:
    families = (*ALL.honest_families, *ALL.trap_families)
    domains = [{domain_of(host_of(door)) for door in family.doors} for family in families]
    assert sum(map(len, domains)) == len(set.union(*domains))
    addresses = [ALL.address_of(host_of(family.doors[0])) for family in families]
    assert len(set(addresses)) == len(families)
    assert set(addresses) <= ALL.listen_on


def test_the_hub_links_the_doors_of_all_families() -> None:
    page = body_of(ALL, Spot("www.lanternhub.test", "/"))
    families = (*ALL.honest_families, *ALL.trap_families)
    for door in (door for family in families for door in family.doors):
        host = host_of(door)
        assert f'href="http://{host}:8080/{door[2:].partition("/")[2]}"' in page


def test_every_page_of_a_trap_is_told_from_honest_ones() -> None:
    assert not any(ALL.trap_of(*where) for where in ALL.expected)
    for family in ALL.trap_families:
        assert {ALL.trap_of(*where) for where in reachable(family, 50)} == {family.name}


def test_traps_in_folders_are_linked_from_every_page_of_the_honest_site() -> None:
    web = FamilyWeb(honest=("wiki",), folders=tuple(FOLDER_TRAPS), scale=SMALL, has_hub=False)
    for where in web.expected:
        body = body_of(web, where)
        assert all(f'href="http:{family.doors[0]}"' in body for family in web.folder_traps)
        assert not web.trap_of(*where)
    for family in web.folder_traps:
        inside = reachable(family, 30) - web.expected
        assert {web.trap_of(*where) for where in inside} == {family.name}


def test_a_page_is_the_same_whoever_asks_and_whatever_the_order_of_its_parameters() -> None:
    again = FamilyWeb(honest=ALL.honest, traps=ALL.traps, scale=SMALL, port=8080)
    for where in sorted(ALL.expected)[::50]:
        assert body_of(ALL, where) == body_of(again, where)
    assert spot("a.test", "/x?b=1&a=2") == spot("a.test", "/x?a=2&b=1")


def test_a_sitemap_of_the_endless_ones_is_named_in_robots_with_its_port() -> None:
    host = "www.stock-photos.test"
    robots = body_of(ALL, Spot(host, "/robots.txt"))
    assert f"Sitemap: http://{host}:8080/sitemap.xml" in robots
    index = body_of(ALL, Spot(host, "/sitemap.xml"))
    assert f"<loc>http://{host}:8080/sitemaps/index-" in index


def test_a_maze_that_borrows_links_pages_that_are_honest() -> None:
    (family,) = (family for family in ALL.trap_families if family.name == "borrowing_maze")
    page = family.answer("www.borrowing-maze.test", "/")
    assert page is not None
    outside = [where for where in links_of(page, "") if not family.owns(where.host)]
    assert outside
    assert set(outside) & ALL.expected


def logged(url: str, status: int = 200) -> LoggedRequest:
    host, _, rest = url.partition("/")
    return LoggedRequest(
        at=0.0,
        host=host,
        method="GET",
        target="/" + rest,
        status=status,
        user_agent="",
        connection_id=1,
        open_connections_of_host=1,
    )


def trap_of(host: str, _target: str) -> str:
    return "maze" if host.endswith("maze.test") else ""


def test_a_log_is_split_at_the_last_honest_page_that_was_not_sent_before() -> None:
    log = [
        logged("a.test/robots.txt", 404),
        logged("a.test/"),
        logged("www.maze.test/robots.txt", 404),
        logged("www.maze.test/1"),
        logged("a.test/x?b=1&a=2"),
        logged("x.maze.test/2"),
        logged("y.maze.test/robots.txt", 404),
        logged("a.test/"),
        logged("a.test/gone", 404),
    ]
    seen = tally(log, trap_of)
    assert seen.fetched == {Spot("a.test", "/"), Spot("a.test", "/x?a=2&b=1")}
    assert seen.requests_before == 5
    assert seen.before == {"maze": 2}
    assert seen.share_before == 0.4
    assert seen.after == {"maze.test": 1}
    assert seen.after_by_trap == {"maze": 1}
    assert seen.by_trap == {"maze": 4}


def test_pages_that_are_not_expected_do_not_count() -> None:
    log = [logged("a.test/"), logged("x.maze.test/2"), logged("a.test/extra")]
    seen = tally(log, trap_of, {Spot("a.test", "/")})
    assert seen.fetched == {Spot("a.test", "/")}
    assert seen.after == {"maze.test": 1}


def test_a_crawl_without_sockets_fetches_what_is_honest_and_ends_after_the_allowance() -> None:
    web = FamilyWeb(honest=("commits", "agency"), traps=("word_maze", "many_domains"), scale=0.02)
    crawled = SimulatedCrawl(web, TrapsConfig(allowance=60)).run(most=3000)
    seen = tally(crawled.requests, web.trap_of, web.expected)
    assert seen.fetched == web.expected
    assert len(crawled.steps) < 3000
    assert crawled.traps.held
    assert {step.way for step in crawled.steps} <= {"robots", "free", "share", "open"}
