"""Another number of shards between two runs: everything moves, nothing is lost or stored twice.

The judges are the server's log and the archive, read by warcio and FastWARC.
"""

import json
import random
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing import FakeWeb, ServerProcess, serve_in_process
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, finish, flags_for, say, wait_until
from tests.e2e.judge import page_hits, settled
from tests.e2e.shards import BLOCKED, is_alive, judge_of, shards_of, slay

WEB = FakeWeb(seed=421, hosts=16, pages_per_host=10)
CONCURRENCY = 6


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with serve_in_process(WEB, tmp_path / "log.tsv") as serving:
        yield serving


def crawler_of(server: ServerProcess, folder: Path, *flags: str) -> Crawler:
    words = ("--delay", "0", "--concurrency", str(CONCURRENCY), *BLOCKED, *flags)
    words = flags_for(server.resolve, *words)
    return Crawler(folder, server.web.seeds, words)


@dataclass
class Resplit:
    """A stopped crawl that is given another number of shards, and killed while it obeys."""

    crawler: Crawler
    dice: random.Random
    patience_s: float = 0.4
    kills: int = 0

    def charter(self) -> dict[str, Any]:
        """Return what the folder says of its shards."""
        path = self.crawler.folder / "state" / "shards.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return {"phase": "settled", **found}

    def is_under_way(self) -> bool:
        return bool(self.charter()["phase"] != "settled")

    def kill_inside(self, shards: int) -> str:
        """Begin, or go on with, a re-split; kill it at a random moment; return where it was."""
        process = self.crawler.start("--shards", str(shards), "--max-pages", "1")
        wait_until(lambda: self.is_under_way() and shards_of(process.pid), process)
        time.sleep(self.dice.uniform(0.0, self.patience_s))
        child = shards_of(process.pid)
        victims = [process.pid, *child]
        self.dice.shuffle(victims)
        slay(victims)
        process.communicate()
        self.kills += 1
        assert wait_until(lambda: not any(map(is_alive, child)))
        return str(self.charter()["phase"])


@pytest.mark.slow
def test_killed_inside_every_re_split_nothing_is_lost_and_the_books_balance(
    server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl")
    pages = 30
    crawler.run("--shards", "1", "--max-pages", str(pages)).expect(0)
    split = Resplit(crawler, random.Random(421))
    for shards in (2, 3, 1):
        asked, before = len(server.requests()), crawler.status()
        for _ in range(4):
            if split.kill_inside(shards) == "settled":
                break
        assert len(page_hits(server.requests()[asked:])) <= split.kills * CONCURRENCY
        # With the limit reached already, this run does nothing but finish the re-split.
        crawler.run("--shards", str(shards), "--max-pages", "1").expect(0)
        now = crawler.status()
        assert now["shards"] == shards
        assert now["pages"] + now["sitemaps"] == read_archive(crawler.folder).page_urls.total()
        assert settled(now) + now["queued"] == now["known_urls"]
        assert now["known_urls"] >= before["known_urls"]
        assert_found(crawler, split.dice)
        pages += 30
        crawler.run("--max-pages", str(pages)).expect(0)
    assert crawler.run("--shards", "2", "--max-pages", "99999").expect(0).last_json["finished"]
    judge_of(server.web).assert_complete(read_archive(crawler.folder))
    again = sum(times - 1 for times in page_hits(server.requests()).values())
    assert again <= split.kills * CONCURRENCY


def assert_found(crawler: Crawler, dice: random.Random) -> None:
    """`why` finds what is stored, wherever it lies now."""
    stored = sorted(read_archive(crawler.folder).page_urls)
    for url in dice.sample(stored, 3):
        assert crawler.why(url)["state"] == "archived", url
        assert crawler.say("show", url).expect(0).out


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [(1, 3, 2), (3, 2, 1)])
def test_a_crawl_goes_on_with_another_number_of_shards_and_asks_for_nothing_again(
    numbers: tuple[int, ...], server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl")
    known = 0
    for number, shards in enumerate(numbers, start=1):
        limit = str(30 * number)
        ended = crawler.run("--shards", str(shards), "--max-pages", limit).expect(0)
        assert (ended.last_json["shards"], ended.last_json["pages"]) == (shards, 30 * number)
        status = crawler.status()
        assert settled(status) + status["queued"] == status["known_urls"] >= known
        known = status["known_urls"]
    assert crawler.run("--max-pages", "99999").expect(0).last_json["finished"] is True
    assert max(page_hits(server.requests()).values()) == 1
    judge_of(server.web).assert_complete(read_archive(crawler.folder))
    left = sorted(path.name for path in (crawler.folder / "state").iterdir() if path.is_dir())
    assert left == [f"{shard:02d}" for shard in range(numbers[-1])]


@pytest.mark.slow
def test_a_state_is_built_from_the_archives_of_several_shards(
    server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl")
    process = crawler.start("--shards", "3", "--delay", "0.02")
    wait_until(lambda: len(server.requests()) >= 60, process)
    process.send_signal(signal.SIGTERM)
    finish(process).expect(3)
    was = crawler.status()
    shutil.rmtree(crawler.folder / "state")
    crawler.ask("build", "state").expect(0)
    now = crawler.status()
    assert (now["pages"], now["sitemaps"]) == (was["pages"], was["sitemaps"])
    assert now["pages"] + now["sitemaps"] == read_archive(crawler.folder).page_urls.total()
    assert settled(now) + now["queued"] == now["known_urls"]
    ended = crawler.run("--shards", "2").expect(0)
    assert (ended.last_json["finished"], ended.last_json["shards"]) == (True, 2)
    judge_of(server.web).assert_complete(read_archive(crawler.folder))
    assert max(page_hits(server.requests()).values()) == 1


def test_an_interrupted_re_split_is_explained_to_who_asks_and_finished_by_the_next_run(
    server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl")
    crawler.run("--shards", "2", "--max-pages", "20").expect(0)
    split = Resplit(crawler, random.Random(422), patience_s=0.0)
    assert split.kill_inside(3) == "copying"
    for words in (("status",), ("why", server.web.url(0, "/"))):
        refusal = say(words[0], str(crawler.folder), *words[1:]).expect(4)
        assert refusal.err.strip().count("\n") == 0
        assert "crawl" in refusal.err
    ended = crawler.run("--shards", "1", "--max-pages", "99999").expect(0)
    assert (ended.last_json["finished"], ended.last_json["shards"]) == (True, 1)
    judge_of(server.web).assert_complete(read_archive(crawler.folder))
    assert max(page_hits(server.requests()).values()) == 1
