"""Names that do not exist: looked up once per host, recorded together, and nothing is lost."""

import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gossamer
from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, finish, flags_for, write_knobs
from tests.integration.nameserver import NameServer, naming

ONE = 2300
"""URLs of one host: more than end in one step."""
MANY = 60


def dead_urls() -> list[str]:
    one = [f"http://dead.test/page-{number}" for number in range(ONE)]
    return one + [f"http://d{number}.gone{number}.test/" for number in range(MANY)]


@contextmanager
def crawler_of_dead_names(folder: Path, *flags: str) -> Iterator[tuple[Crawler, NameServer]]:
    """Give a crawler of a page that links to names that do not exist.

    Links, not seeds: failed seeds are asked for again at every start.
    """
    web = ScriptedWeb()
    hub = web.host("hub.test").page("/", links=dead_urls())
    with serve_in_thread(web) as server, naming(lambda _name, _before: None) as names:
        knobs = write_knobs(folder / "knobs.toml", {"fetch": {"nameservers": [names.address]}})
        words = ("--delay", "0", "--no-sitemaps", "--config", str(knobs), *flags)
        crawler = Crawler(folder / "crawl", (hub.url(),), flags_for(server.resolve, *words))
        yield crawler, names


def failures_in(folder: Path) -> Counter[str]:
    """Return how often the archive says of each URL that it failed."""
    records = gossamer.open(folder).records()
    return Counter(record.url for record in records if record.outcome == "failed")


@pytest.mark.parametrize("shards", ["1", "2"])
def test_every_url_of_a_name_that_does_not_exist_ends_with_its_reason(
    tmp_path: Path, shards: str
) -> None:
    with crawler_of_dead_names(tmp_path, "--shards", shards) as (crawler, names):
        told = crawler.run().expect(0).last_json
        assert told["failed"] == {"dns_no_such_host": ONE + MANY}
        assert (told["queued"], told["finished"]) == (0, True)
        assert Counter(names.asked).most_common(1)[0][1] == 1, "a name was looked up twice"
    assert failures_in(crawler.folder) == dict.fromkeys(dead_urls(), 1)
    for url in (dead_urls()[0], dead_urls()[ONE - 1], dead_urls()[-1]):
        why = crawler.why(url)
        assert (why["state"], why["reason"]) == ("failed", "dns_no_such_host")
    details = {crawler.why(url)["detail"] for url in dead_urls()[:ONE:500]}
    assert any("for another URL of its host" in detail for detail in details)
    crawler.say("check").expect(0)


def test_a_state_that_is_built_again_knows_the_failures_that_were_recorded_together(
    tmp_path: Path,
) -> None:
    with crawler_of_dead_names(tmp_path, "--shards", "1") as (crawler, _):
        crawler.run().expect(0)
        before = crawler.status()
        detail = crawler.why(dead_urls()[7])["detail"]
        shutil.rmtree(crawler.folder / "state")
        crawler.ask("build", "state").expect(0)
        after = crawler.status()
    for name in ("failed", "known_urls", "queued", "pages"):
        assert after[name] == before[name], name
    assert crawler.why(dead_urls()[7])["detail"] == detail


@pytest.mark.slow
@pytest.mark.parametrize("seed", [521])
def test_killed_at_any_moment_no_failure_is_lost_or_recorded_twice(
    tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    with crawler_of_dead_names(tmp_path, "--shards", "1") as (crawler, _):
        for _ in range(4):
            process = crawler.start()
            time.sleep(dice.uniform(0.1, 1.5))
            process.kill()
            process.communicate()
        finish(crawler.start()).expect(0)
        status = crawler.status()
        assert status["failed"] == {"dns_no_such_host": ONE + MANY}
        assert (status["queued"], status["known_urls"]) == (0, ONE + MANY + 1)
    assert failures_in(crawler.folder) == dict.fromkeys(dead_urls(), 1)
    crawler.say("check").expect(0)
