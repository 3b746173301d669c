"""Damage on the disk: what a crawl has is never taken for less than it is, and nothing is cut."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.store import BadRecord, scan_records
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, flags_for, kill, only_json, wait_until
from tests.e2e.judge import Judge

LOG_BLOCK_BYTES = 32 * 1024
"""RocksDB's log is a sequence of such blocks. In the last one a length that was flipped cannot be
told from a record that was not written to its end."""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Crawler, Judge]]:
    """A crawl that was killed half way, with its web still served, and who knows that web."""
    folder = tmp_path_factory.mktemp("killed")
    web = FakeWeb(seed=211, hosts=6, pages_per_host=30)
    with serve_in_process(web, folder / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--concurrency", "4", "--shards", "1")
        crawler = Crawler(folder / "crawl", server.web.seeds, flags)
        process = crawler.start()
        wait_until(lambda: len(server.requests()) >= 120, process)
        assert kill(process)
        yield crawler, Judge(server.web)


def copy_of(crawler: Crawler, folder: Path) -> Crawler:
    """Return a crawler of a copy of the folder."""
    shutil.copytree(crawler.folder, folder, ignore=shutil.ignore_patterns("*.sock"))
    return Crawler(folder, crawler.seeds, crawler.flags)


def log_of(crawler: Crawler) -> Path:
    """Return the newest log of the state."""
    logs = (crawler.folder / "state" / "00").glob("*.log")
    return max(logs, key=lambda path: path.name)


def listing(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_flipped_bit_in_the_middle_of_the_log_is_refused_and_the_archive_is_not_touched(
    killed: tuple[Crawler, Judge], tmp_path: Path
) -> None:
    crawler = copy_of(killed[0], tmp_path / "crawl")
    log, archive = log_of(crawler), listing(crawler.folder / "archive")
    whole = log.read_bytes()
    assert len(whole) > 2 * LOG_BLOCK_BYTES
    dice = random.Random(17)
    for _ in range(10):
        damaged = bytearray(whole)
        damaged[dice.randrange(len(whole) - LOG_BLOCK_BYTES)] ^= 1 << dice.randrange(8)
        log.write_bytes(damaged)
        refusal = crawler.run().expect(4)
        assert f"gossamer build {crawler.folder} state" in refusal.err
        assert refusal.err.strip().count("\n") == 0
        assert crawler.say("status").expect(4).err.strip().count("\n") == 0
        assert listing(crawler.folder / "archive") == archive
        assert log.read_bytes() == bytes(damaged)


@pytest.mark.parametrize("is_there", [True, False])
def test_an_empty_or_missing_log_is_not_taken_for_a_new_crawl(
    killed: tuple[Crawler, Judge], tmp_path: Path, *, is_there: bool
) -> None:
    crawler = copy_of(killed[0], tmp_path / "crawl")
    archive = listing(crawler.folder / "archive")
    for log in (crawler.folder / "state" / "00").glob("*.log"):
        log.unlink()
        if is_there:
            log.touch()
    assert f"gossamer build {crawler.folder} state" in crawler.run().expect(4).err
    assert listing(crawler.folder / "archive") == archive


def whole_pages(folder: Path) -> set[str]:
    """Return the pages whose records are whole: the last of a crawl that was killed may be torn."""
    found: set[str] = set()
    for path in (folder / "archive").glob("pages-*.gz"):
        for record in scan_records(path, 0, path.stat().st_size):
            if isinstance(record, BadRecord):
                continue
            if record.headers["warc-type"] in {"response", "revisit"}:
                found.add(record.headers["warc-target-uri"])
    return found


def test_the_remedy_for_a_damaged_log_keeps_every_stored_page(
    killed: tuple[Crawler, Judge], tmp_path: Path
) -> None:
    crawler = copy_of(killed[0], tmp_path / "crawl")
    log = log_of(crawler)
    damaged = bytearray(log.read_bytes())
    damaged[len(damaged) // 3] ^= 4
    log.write_bytes(damaged)
    crawler.run().expect(4)
    stored = whole_pages(crawler.folder)
    crawler.ask("build", "state").expect(0)
    assert whole_pages(crawler.folder) == stored
    assert crawler.run().expect(0).last_json["finished"] is True
    assert stored <= set(read_archive(crawler.folder).page_urls)


def test_a_log_that_ends_anywhere_is_refused_or_the_crawl_is_finished_from_there(
    killed: tuple[Crawler, Judge], tmp_path: Path
) -> None:
    half_done, judge = killed
    size = log_of(half_done).stat().st_size
    dice = random.Random(18)
    for n in range(4):
        crawler = copy_of(half_done, tmp_path / str(n))
        log = log_of(crawler)
        log.write_bytes(log.read_bytes()[: dice.randrange(size // 2, size)])
        ended = crawler.run()
        if ended.code == 4:  # rows are missing that were durable
            assert "the state is older than the archive" in ended.err
            crawler.ask("build", "state").expect(0)
            ended = crawler.run()
        assert ended.expect(0).last_json["finished"] is True
        archive = read_archive(crawler.folder)
        judge.assert_complete(archive)


def test_a_file_that_was_never_committed_is_kept_in_lost_and_found_and_told(
    killed: tuple[Crawler, Judge], tmp_path: Path
) -> None:
    crawler = copy_of(killed[0], tmp_path / "crawl")
    archive = crawler.folder / "archive"
    begun = archive / "pages-00-0099-00000.warc.gz"
    begun.write_bytes(next(archive.glob("pages-*.gz")).read_bytes()[:5000])
    content = begun.read_bytes()
    told = crawler.status()["lost_found"]
    ended = crawler.run().expect(0)
    assert (archive / "lost+found" / begun.name).read_bytes() == content
    assert not begun.exists()
    assert ended.last_json["lost_found"] == crawler.status()["lost_found"] == told + 1
    assert "never committed moved to lost+found" in crawler.say("status").expect(0).out
    killed[1].assert_complete(read_archive(crawler.folder))


def test_an_archive_file_that_lost_its_end_before_it_was_durable_is_fetched_again_and_told(
    killed: tuple[Crawler, Judge], tmp_path: Path
) -> None:
    whole = copy_of(killed[0], tmp_path / "whole")
    wanted = whole.run().expect(0).last_json
    for kind in ("pages", "text", "links"):
        crawler = copy_of(killed[0], tmp_path / kind)
        archive = crawler.folder / "archive"
        path = next(archive.glob(f"{kind}-*.gz"))
        before = {one.name: one.read_bytes() for one in archive.glob("*.gz")}
        os.truncate(path, path.stat().st_size * 2 // 3)
        ended = crawler.run()
        if ended.code == 4:  # it was durable
            assert f"{path} is cut" in ended.err
            continue
        ended.expect(0)
        assert "archive.lost" in ended.err
        assert path.name in ended.err
        assert ended.last_json["pages"] == wanted["pages"]
        killed[1].assert_complete(read_archive(crawler.folder))
        for name, content in before.items():  # whatever was cut off lies in lost+found
            kept = (archive / name).read_bytes()
            tail = archive / "lost+found" / f"{name}.from-{len(kept)}"
            left = path.name != name and len(content) > len(kept)
            assert not left or kept + tail.read_bytes() == content


def test_without_ends_files_an_older_state_costs_no_stored_byte(
    killed: tuple[Crawler, Judge], tmp_path: Path
) -> None:
    crawler = copy_of(killed[0], tmp_path / "crawl")
    shutil.copytree(crawler.folder / "state", tmp_path / "old")
    crawler.run("--max-pages", "170").expect(0)
    archive = crawler.folder / "archive"
    before = {path.name: path.read_bytes() for path in archive.glob("*.gz")}
    shutil.rmtree(crawler.folder / "state")
    (tmp_path / "old").rename(crawler.folder / "state")
    (archive / "ends-00").unlink()
    ended = crawler.run("--max-pages", "1000").expect(0)
    assert "archive.moved" in ended.err
    killed[1].assert_complete(read_archive(crawler.folder))
    for name, content in before.items():
        there = archive / name
        assert (there if there.exists() else archive / "lost+found" / name).read_bytes() == content


@pytest.mark.slow
def test_nothing_reads_lost_and_found(killed: tuple[Crawler, Judge], tmp_path: Path) -> None:
    crawler = copy_of(killed[0], tmp_path / "crawl")
    crawler.run().expect(0)
    archive = crawler.folder / "archive"
    answers = {}
    for name in ("before", "after"):
        crawler.ask("build", "state").expect(0)
        graph = only_json(crawler.ask("build", "graph", "--json").expect(0))
        index = only_json(crawler.ask("build", "index", "--json").expect(0))
        answers[name] = (crawler.status()["pages"], graph["pages"], index["pages"])
        lost = archive / "lost+found"
        lost.mkdir(exist_ok=True)
        for path in archive.glob("*-00-*.gz"):
            (lost / path.name.replace("-00-", "-00-0")).write_bytes(path.read_bytes())
            (lost / path.name).write_bytes(path.read_bytes()[:-100])
        shutil.rmtree(crawler.folder / "graph")
        shutil.rmtree(crawler.folder / "index")
    assert answers["before"] == answers["after"]
    assert (lost / next(archive.glob("links-*.gz")).name).exists()
