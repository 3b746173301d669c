"""Labels of seeds travel over shards, and kill -9 loses none of them."""

import random
from collections import Counter
from pathlib import Path

import pytest

import gossamer
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.crawler import Crawler, finish, flags_for, say, wait_until, write_knobs
from tests.e2e.shards import BLOCKED, is_alive, shards_of, slay

SMALL = {"store": {"file_bytes": 150_000, "commit_pages": 8}, "frontier": {"lease_urls": 4}}
NAMES = ("red", "green", "blue")


def labels_of_pages(folder: Path) -> dict[str, list[str]]:
    """Return the labels of every stored page."""
    crawl = gossamer.open(folder)
    pages = {page.url for page in crawl.pages()}
    found = {task.url: task.labels for task in crawl.tasks() if task.url in pages}
    return {url: [label for label in labels.split(",") if label] for url, labels in found.items()}


def counts(pages: dict[str, list[str]]) -> dict[str, int]:
    return dict(Counter(label for labels in pages.values() for label in labels))


@pytest.mark.slow
def test_every_page_has_labels_and_status_counts_them_after_kills_of_two_shards(
    tmp_path: Path,
) -> None:
    web = FakeWeb(seed=431, hosts=12, pages_per_host=20)
    dice = random.Random(431)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        knobs = write_knobs(tmp_path / "knobs.toml", SMALL)
        labelled = zip(server.web.seeds, NAMES * len(server.web.seeds), strict=False)
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("".join(f"{url} {label}, all\n" for url, label in labelled))
        words = ("--config", str(knobs), "--shards", "2", "--delay", "0.02", *BLOCKED)
        words = flags_for(server.resolve, "--seeds", str(seeds), *words)
        crawler = Crawler(tmp_path / "crawl", (), words)
        for number, request in enumerate(sorted(dice.sample(range(3, 180), 4))):
            process = crawler.start()
            wait_until(lambda request=request: len(server.requests()) >= request, process)
            shards = shards_of(process.pid)
            slay([process.pid, *shards] if number % 2 else shards[:1])
            if number % 2 == 0:
                wait_until(lambda request=request: len(server.requests()) >= request + 20, process)
                slay([process.pid, *shards_of(process.pid)])
            process.communicate()
            assert wait_until(lambda shards=shards: not any(map(is_alive, shards)))
        finish(crawler.start()).expect(0)
        status = crawler.status()
        pages = labels_of_pages(crawler.folder)
        assert len(pages) == status["pages"] > 100
        assert [url for url, labels in pages.items() if "all" not in labels] == []
        assert status["seed_labels"] == counts(pages)
        assert len(status["seed_labels"]) > 1
        say("build", str(crawler.folder), "state").expect(0)
        rebuilt = labels_of_pages(crawler.folder)
        assert all(set(pages[url]) <= set(rebuilt[url]) for url in pages)
        assert crawler.status()["seed_labels"] == counts(rebuilt)


def test_one_shard_and_three_agree_and_a_new_split_keeps_the_labels(tmp_path: Path) -> None:
    web = FakeWeb(seed=432, hosts=9, pages_per_host=6)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("".join(f"{url} topic\n" for url in server.web.seeds))
        words = flags_for(server.resolve, "--seeds", str(seeds), "--delay", "0", *BLOCKED)
        crawler = Crawler(tmp_path / "crawl", (), words)
        crawler.run("--shards", "3", "--max-pages", "20").expect(0)
        assert crawler.status()["seed_labels"] == {"topic": 20}
        crawler.run("--shards", "1", "--max-pages", "100000").expect(0)
        pages = labels_of_pages(crawler.folder)
        assert set(map(tuple, pages.values())) == {("topic",)}
        assert crawler.status()["seed_labels"] == {"topic": len(pages)}
