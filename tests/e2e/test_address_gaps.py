"""The gap per IP address over all shards, kills included, as the server saw it."""

from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
from laboratory.addresses import PROBE, address_gaps, asked, probing, sharing_web, too_short

from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, finish, flags_for, wait_until, write_knobs
from tests.e2e.shards import shards_of, slay

HOSTS = 20
GAP_S = 0.25
EARLY = 0.95


def crawler_of(
    server: FakeServer[ScriptedWeb], folder: Path, shards: int, delay_s: float
) -> Crawler:
    """Return a crawler of all hosts, which have no robots.txt to be asked for."""
    names = [name for name in server.web.addresses if name != PROBE]
    knobs = {"politeness": {"address_delay_s": GAP_S}, "robots": {"own_hosts": names}}
    file = write_knobs(folder / "knobs.toml", knobs)
    words = ("--config", str(file), "--no-sitemaps", "--shards", str(shards))
    flags = flags_for(server.resolve, *words, "--delay", str(delay_s))
    return Crawler(folder / "crawl", tuple(server.web.host(n).url() for n in names), flags)


@pytest.mark.slow
@pytest.mark.parametrize(("shards", "addresses"), [(1, 1), (2, 1), (8, 2), (2, 4)])
def test_no_two_shards_ask_an_address_within_its_gap_whoever_is_killed(
    shards: int, addresses: int, tmp_path: Path
) -> None:
    with serve_in_thread(sharing_web(HOSTS, 0, addresses)) as server, probing(server):
        crawler = crawler_of(server, tmp_path, shards, delay_s=0.3)
        with crawler.running() as process:
            assert wait_until(lambda: len(asked(server)) >= HOSTS // 4, process)
            process.kill()
        with crawler.running() as process:
            if shards > 1:
                assert wait_until(lambda: len(asked(server)) >= HOSTS // 2, process)
                slay(shards_of(process.pid)[:1])
            finish(process).expect(0)
        gaps = address_gaps(server)
        assert {v.host for v in asked(server)} == {*server.web.addresses} - {PROBE}
    assert len(gaps) >= HOSTS - addresses
    assert too_short(gaps, EARLY * GAP_S) == []


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2])
def test_a_crawl_that_is_held_up_by_an_address_says_so(shards: int, tmp_path: Path) -> None:
    with serve_in_thread(sharing_web(2 * HOSTS, 0, 1)) as server:
        crawler = crawler_of(server, tmp_path, shards, delay_s=0.3)
        with crawler.running() as process:
            assert wait_until(lambda: asked(server), process)
            assert wait_until(
                lambda: crawler.status().get("address_waits", {}).get("127.0.9.1", 0) > 3, process
            )
            told = (crawler.why(url)["explanation"] for _ in range(99) for url in crawler.seeds)
            assert any("IP address 127.0.9.1, for which" in words for words in told)


@pytest.mark.slow
def test_a_host_with_an_address_of_its_own_waits_no_longer_for_having_more_shards(
    tmp_path: Path,
) -> None:
    with serve_in_thread(sharing_web(8, 4, 8)) as server:
        crawler_of(server, tmp_path, 8, delay_s=0.5).run().expect(0)
        visits = asked(server)
    moments = ([v.at for v in visits if v.host == host] for host in {v.host for v in visits})
    # With the gap of an address times the shards it would be two seconds.
    assert median(b - a for of_host in moments for a, b in pairwise(of_host)) < 1.5
