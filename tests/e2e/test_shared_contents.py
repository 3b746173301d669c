"""One content on many hosts, in several shards: stored once, and every copy can be read.

The judge is the archive, read by warcio and FastWARC.
"""

import gzip
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.testing import (
    FakeServer,
    LoggedRequest,
    ScriptedWeb,
    serve_in_thread,
    smallest_gap,
)
from tests.e2e.archive import Archive, read_archive
from tests.e2e.crawler import Crawler, finish, flags_for, wait_until, write_knobs
from tests.e2e.shards import is_alive, shards_of, slay

HOSTS = 10
PAGES = 12
DELAY_S = 0.04


def copied_web() -> ScriptedWeb:
    """Return a web of hosts that have the same pages, and each one of its own."""
    web = ScriptedWeb()
    for number in range(HOSTS):
        host = web.host(f"h{number}.copy{number}.test")
        host.page("/", title=f"Host {number}", links=[*(f"/c{n}" for n in range(PAGES)), "/own"])
        host.page("/own", text=f"what only host {number} says")
        for n in range(PAGES):
            host.page(f"/c{n}", title=f"Chapter {n}", text=f"what chapter {n} says. " * 40)
    return web


def seeds_of(web: ScriptedWeb) -> tuple[str, ...]:
    return tuple(web.host(f"h{n}.copy{n}.test").url() for n in range(HOSTS))


def bodies(archive: Archive) -> Counter[bytes]:
    """Return how often each body is stored in full."""
    return Counter(record.payload for record in archive.pages)


def assert_no_dangling(archive: Archive) -> None:
    """Every revisit names a record of the archive that has its payload."""
    stored = {record.id: record for record in archive.of_kind("response")}
    for copy in archive.revisits:
        original = stored[copy.headers["warc-refers-to"]]
        assert original.url == copy.headers["warc-refers-to-target-uri"]
        digest = "warc-payload-digest"
        assert original.headers[digest] == copy.headers[digest]


def wanted(web: ScriptedWeb) -> set[str]:
    """Return every URL that a complete crawl stores."""
    hosts = [web.host(f"h{n}.copy{n}.test") for n in range(HOSTS)]
    paths = ["/", "/own", *(f"/c{n}" for n in range(PAGES))]
    return {host.url(path) for host in hosts for path in paths}


@contextmanager
def served(
    folder: Path, *flags: str, wait_s: float = 60.0
) -> Iterator[tuple[FakeServer[ScriptedWeb], Crawler]]:
    """Serve a web of copies, and give the crawler of it. The wait is long: machines are busy."""
    web = copied_web()
    with serve_in_thread(web) as server:
        knobs = write_knobs(folder / "knobs.toml", {"dedupe": {"wait_s": wait_s}})
        words = ("--config", str(knobs), "--no-sitemaps", *flags)
        yield server, Crawler(folder / "crawl", seeds_of(web), flags_for(server.resolve, *words))


def kill_and_finish(folder: Path, seed: int, kills: int) -> tuple[Archive, list[LoggedRequest]]:
    """Kill shards, or all processes, at random moments; go on with another number of shards."""
    dice = random.Random(seed)
    with served(folder, "--delay", str(DELAY_S), "--concurrency", "8", wait_s=0.1) as (
        server,
        crawler,
    ):
        process = crawler.start("--shards", "2")
        whole = len(wanted(server.web))
        for number, request in enumerate(sorted(dice.sample(range(4, int(whole * 0.9)), kills))):
            assert wait_until(lambda goal=request: len(server.requests) >= goal, process)
            time.sleep(dice.uniform(0.0, 0.05))
            victims = dice.sample(found, 1) if (found := shards_of(process.pid)) else []
            if number % 3 == 2:
                victims = [process.pid, *found]
            slay(victims)
            assert wait_until(lambda dead=tuple(victims[1:]): not any(map(is_alive, dead)))
            if number % 3 == 2:
                process.communicate()
                process = crawler.start("--shards", str(dice.choice([1, 2, 3])))
        assert finish(process).expect(0).last_json["finished"]
        archive = read_archive(crawler.folder)
        assert archive.page_urls == dict.fromkeys(wanted(server.web), 1)
        assert_no_dangling(archive)
        crawler.say("check").expect(0)
        visits = list(server.requests)
        assert smallest_gap(visits) >= 0.95 * DELAY_S
        return archive, visits


@pytest.mark.parametrize("shards", [2, 4])
def test_a_content_of_ten_hosts_is_stored_once_whatever_the_number_of_shards(
    tmp_path: Path, shards: int
) -> None:
    with served(tmp_path, "--delay", "0", "--shards", str(shards)) as (_, crawler):
        assert crawler.run().expect(0).last_json["finished"]
    archive = read_archive(crawler.folder)
    assert archive.page_count == HOSTS * (PAGES + 2)
    assert bodies(archive).most_common(1)[0][1] == 1
    assert len(archive.revisits) == (HOSTS - 1) * PAGES
    assert_no_dangling(archive)
    files = {record.id: record.file for record in archive.pages}
    abroad = [r for r in archive.revisits if r.file != files[r.headers["warc-refers-to"]]]
    assert abroad, "no copy refers to another shard's archive"
    for copy in abroad[:3]:
        chapter = copy.url.rpartition("/c")[2]
        assert f"what chapter {chapter} says" in crawler.say("show", copy.url, "--text").out
        assert crawler.why(copy.url)["copy_of"] == copy.headers["warc-refers-to-target-uri"]
    crawler.say("check").expect(0)


def test_after_a_re_split_copies_still_refer_to_what_was_stored_before(tmp_path: Path) -> None:
    with served(tmp_path, "--delay", "0") as (_, crawler):
        for shards, pages in ((2, 40), (3, 70), (1, 100), (4, 1000)):
            crawler.run("--shards", str(shards), "--max-pages", str(pages)).expect(0)
    archive = read_archive(crawler.folder)
    assert archive.page_count == HOSTS * (PAGES + 2)
    assert bodies(archive).most_common(1)[0][1] == 1
    assert_no_dangling(archive)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [511])
def test_whichever_shard_is_killed_when_no_revisit_points_to_nothing(
    tmp_path: Path, seed: int
) -> None:
    archive, _ = kill_and_finish(tmp_path, seed, kills=6)
    assert archive.revisits


def test_a_copy_in_another_coding_is_stored_once_for_each_coding(tmp_path: Path) -> None:
    web, body = ScriptedWeb(), b"<title>t</title><p>" + b"the same words " * 60
    packed = gzip.compress(body, mtime=0)
    for number in range(6):
        host = web.host(f"h{number}.copy{number}.test").page("/", links=["/same"])
        coding = (("content-encoding", "gzip"),) if number % 2 else ()
        host.file("/same", packed if number % 2 else body, "text/html", *coding)
    with serve_in_thread(web) as server:
        seeds = tuple(web.host(f"h{n}.copy{n}.test").url() for n in range(6))
        words = ("--delay", "0", "--shards", "1", "--no-sitemaps")
        crawler = Crawler(tmp_path / "crawl", seeds, flags_for(server.resolve, *words))
        crawler.run().expect(0)
    archive = read_archive(crawler.folder)
    stored = [record for record in archive.pages if record.url.endswith("/same")]
    assert len({record.headers["warc-payload-digest"] for record in stored}) == len(stored) == 2
    assert len([record for record in archive.revisits if record.url.endswith("/same")]) == 4
    assert_no_dangling(archive)
