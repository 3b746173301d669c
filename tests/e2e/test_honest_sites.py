"""S20: honest sites that look like traps are fetched whole. The server's log judges."""

from pathlib import Path

import pytest
from laboratory.families import FamilyWeb, tally
from laboratory.snares import serve_snares

from tests.e2e.crawler import Crawler, flags_for, write_knobs

SCALES = {"dictionary": 0.15, "law": 0.35, "shop": 0.08, "blogs": 0.2, "franchises": 1.0}
SCALES |= {"weather": 0.05, "comic": 0.1}
ALLOWANCE = 400
"""More than the largest honest site has beside traps."""
BESIDE = ("commits", "wiki", "docs", "forum", "genealogy", "catalogue")


def lost_of(web: FamilyWeb, place: Path, allowance: int = ALLOWANCE) -> list[str]:
    """Crawl a web to its end; return the honest pages that the server never sent."""
    with serve_snares(web) as served:
        values: dict[str, dict[str, object]] = {"fetch": {"nameservers": [served.nameserver]}}
        if web.traps:
            values["traps"] = {"allowance": allowance}
        knobs = write_knobs(place / "k.toml", values)
        flags = flags_for({}, "--delay", "0", "--config", str(knobs))
        ended = Crawler(place / "crawl", served.web.seeds, flags).run().expect(0)
        seen = tally(served.server.requests, web.trap_of, web.expected)
    assert ended.last_json["finished"]
    return sorted(f"{page.host}{page.target}" for page in web.expected - seen.fetched)


@pytest.mark.parametrize("name", SCALES)
def test_an_honest_site_is_fetched_whole_as_the_seed(name: str, tmp_path: Path) -> None:
    web = FamilyWeb(honest=(name,), has_hub=False, scale=SCALES[name])
    assert lost_of(web, tmp_path) == []


def test_honest_sites_are_fetched_whole_from_a_hub(tmp_path: Path) -> None:
    web = FamilyWeb(honest=(*SCALES, *BESIDE), scale=0.05)
    assert lost_of(web, tmp_path) == []


def test_honest_sites_are_fetched_whole_from_a_hub_that_links_traps_too(tmp_path: Path) -> None:
    web = FamilyWeb(honest=(*SCALES, *BESIDE), traps=("paged_text", "word_maze"), scale=0.05)
    assert lost_of(web, tmp_path) == []


def test_domains_that_name_each_other_without_end_are_held_and_honest_sites_fetched_whole(
    tmp_path: Path,
) -> None:
    web = FamilyWeb(honest=("blogs", "franchises"), traps=("many_domains",), scale=0.05)
    assert lost_of(web, tmp_path, allowance=80) == []
