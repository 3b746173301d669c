"""The index of real crawls: beside them, killed at any moment, and of files of others."""

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from random import Random

from laboratory.archived import archive_urls

from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.crawler import Crawler, finish, flags_for, say, wait_until
from tests.e2e.nursery import Child
from tests.unit.search.pages_archive import index_urls

KILLS = 10


def assert_same(folder: Path) -> None:
    assert index_urls(folder) == sorted(archive_urls(folder))


def indexer_of(process: object) -> int | None:
    """Return the process that indexes beside a crawl."""
    pid = getattr(process, "pid", 0)
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if b"\0index\0" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
    return None


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except OSError:
        return True


def test_an_indexer_killed_at_ten_moments_has_in_the_end_just_what_the_archive_has(
    tmp_path: Path,
) -> None:
    chance = Random(6)
    web = FakeWeb(seed=611, hosts=8, pages_per_host=30)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0.05", "--shards", "2")
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        with crawler.running() as process:
            wait_until(lambda: len(server.requests()) >= 10, process)
            for _ in range(KILLS):
                words = ["build", str(crawler.folder), "index", "--follow"]
                indexer = Child([*words, "--shards", "2"])
                time.sleep(chance.uniform(0.01, 0.6))
                indexer.kill()
                indexer.communicate()
            finish(process).expect(0)
    say("build", str(crawler.folder), "index", "--json").expect(0)
    assert_same(crawler.folder)
    assert say("build", str(crawler.folder), "index", "--json").last_json["did"] == "nothing"


def test_pages_are_in_the_index_while_the_crawl_runs_and_all_of_them_when_it_has_ended(
    tmp_path: Path,
) -> None:
    web = FakeWeb(seed=612, hosts=6, pages_per_host=15)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0.1", "--shards", "2", "--index")
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        with crawler.running() as process:
            manifest = crawler.folder / "index" / "manifest.json"
            wait_until(manifest.exists, process)
            wait_until(lambda: len(index_urls(crawler.folder)) > 0, process)
            indexer = indexer_of(process)
            if indexer is not None:
                os.kill(indexer, signal.SIGKILL)
            ended = finish(process).expect(0)
    assert ended.last_json["finished"]
    assert_same(crawler.folder)
    assert not (crawler.folder / "index.new").exists()


def test_an_indexer_dies_with_its_crawl_and_nothing_is_lost(tmp_path: Path) -> None:
    web = FakeWeb(seed=613, hosts=6, pages_per_host=15)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0.2", "--shards", "1", "--index")
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        with crawler.running() as process:
            wait_until((crawler.folder / "index.lock").exists, process)
            indexer = indexer_of(process)
            assert indexer is not None
            process.kill()
            finish(process)
        for _ in range(1000):
            if has_ended(indexer):
                break
            time.sleep(0.02)
        assert has_ended(indexer)
        crawler.run("--delay", "0").expect(0)
    assert_same(crawler.folder)


def test_a_crawl_that_is_stopped_leaves_an_index_of_what_it_has(tmp_path: Path) -> None:
    web = FakeWeb(seed=614, hosts=6, pages_per_host=15)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0.2", "--shards", "1", "--index")
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        with crawler.running() as process:
            wait_until(lambda: len(server.requests()) >= 15, process)
            process.send_signal(signal.SIGINT)
            finish(process).expect(3)
    assert indexer_of(process) is None
    assert_same(crawler.folder)


def test_files_of_others_are_indexed_and_what_is_bad_is_told(tmp_path: Path) -> None:
    lines = [{"url": f"http://a.test/{n}", "text": f"page {n}", "title": "A"} for n in range(5)]
    path = tmp_path / "pages.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\x1b]0;nonsense\n")
    into = str(tmp_path / "ix")
    first = say("index", str(path), "--into", into, "--json", "--shards", "2").expect(1)
    assert (first.last_json["pages"], first.last_json["bad"]) == (5, 1)
    assert "pages.jsonl: at byte" in first.err
    assert "\x1b" not in first.err
    path.write_text(json.dumps({"url": "http://a.test/3", "text": "changed"}))
    again = say("index", str(path), "--into", into, "--json").expect(0)
    assert (again.last_json["pages"], again.last_json["added"]) == (5, 1)
    assert index_urls(Path(into)) == [line["url"] for line in lines]
    assert "no such file" in say("index", str(tmp_path / "no"), "--into", into).expect(2).err
