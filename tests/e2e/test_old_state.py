"""A state that is older than the archive is refused; an archive that was cut is not believed."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gossamer.store import CrawlFolder, read_ends, readable_records
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, flags_for, kill, wait_until
from tests.e2e.judge import Judge

OLDER = "the state is older than the archive; run `gossamer build {} state`"


@dataclass(frozen=True)
class Twice:
    """A crawl that was stopped twice: as it is, and its state at the first stop."""

    crawler: Crawler
    old_state: Path
    judge: Judge
    shards: int


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*.sock"))
    return to


@pytest.fixture(scope="module", params=[1, 2])
def twice(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Twice]:
    """A crawl by one shard, or by two, that is half done, with its web still served."""
    folder = tmp_path_factory.mktemp("twice")
    web = FakeWeb(seed=223, hosts=6, pages_per_host=12)
    with serve_in_process(web, folder / "log.tsv") as server:
        shards = str(request.param)
        flags = flags_for(server.resolve, "--delay", "0", "--concurrency", "4", "--shards", shards)
        crawler = Crawler(folder / "crawl", server.web.seeds, flags)
        crawler.run("--max-pages", "20").expect(0)
        old = copied(crawler.folder / "state", folder / "old")
        crawler.run("--max-pages", "45").expect(0)
        yield Twice(crawler, old, Judge(server.web), request.param)


def copy_of(crawler: Crawler, folder: Path) -> Crawler:
    """Return a crawler of a copy of the folder."""
    return Crawler(copied(crawler.folder, folder), crawler.seeds, crawler.flags)


def listing(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content, but for the lock with its pid."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def readable_urls(crawler: Crawler) -> set[str]:
    """Return the URLs of the page records that can be read, whatever lies between them."""
    files = (crawler.folder / "archive").glob("pages-*.gz")
    records = (record for path in files for record in readable_records(path))
    pages = (one for one in records if one.headers["warc-type"] in {"response", "revisit"})
    return {one.headers["warc-target-uri"] for one in pages}


def assert_refused(crawler: Crawler, words: str) -> None:
    """Insist that the crawl is refused in one line, and nothing touched."""
    before = listing(crawler.folder)
    refusal = crawler.run().expect(4)
    assert words in refusal.err
    assert refusal.err.strip().count("\n") == 0
    assert listing(crawler.folder) == before


def assert_finished(crawler: Crawler, judge: Judge) -> None:
    """Crawl to the end: every page is stored."""
    assert crawler.run("--max-pages", "1000").expect(0).last_json["finished"] is True
    judge.assert_complete(read_archive(crawler.folder))


def test_an_older_copy_of_the_state_is_refused_and_the_remedy_keeps_every_page(
    twice: Twice, tmp_path: Path
) -> None:
    crawler = copy_of(twice.crawler, tmp_path / "crawl")
    stored = set(read_archive(crawler.folder).page_urls)
    shutil.rmtree(crawler.folder / "state")
    copied(twice.old_state, crawler.folder / "state")
    assert_refused(crawler, OLDER.format(crawler.folder))
    before = listing(crawler.folder)
    assert OLDER.format(crawler.folder) in crawler.ask("add", "http://h0.test/").expect(4).err
    assert OLDER.format(crawler.folder) in crawler.ask("build", "near").expect(4).err
    assert listing(crawler.folder) == before
    crawler.ask("build", "state").expect(0)
    assert set(read_archive(crawler.folder).page_urls) == stored
    assert_finished(crawler, twice.judge)


def test_an_older_state_of_one_shard_is_refused(twice: Twice, tmp_path: Path) -> None:
    for shard in range(twice.shards):
        crawler = copy_of(twice.crawler, tmp_path / str(shard))
        state = crawler.folder / "state" / f"{shard:02d}"
        shutil.rmtree(state)
        copied(twice.old_state / f"{shard:02d}", state)
        assert_refused(crawler, OLDER.format(crawler.folder))


def test_another_number_of_shards_does_not_make_an_older_state_acceptable(
    twice: Twice, tmp_path: Path
) -> None:
    crawler = copy_of(twice.crawler, tmp_path / "crawl")
    shutil.rmtree(crawler.folder / "state")
    copied(twice.old_state, crawler.folder / "state")
    assert_refused(crawler.with_flags("--shards", "3"), OLDER.format(crawler.folder))


def test_a_log_that_lost_durable_rows_is_refused_wherever_it_is_cut(
    twice: Twice, tmp_path: Path
) -> None:
    crawler = copy_of(twice.crawler, tmp_path / "crawl")
    folder = CrawlFolder(crawler.folder)
    before = read_ends(folder)
    process = crawler.start("--max-pages", "1000", "--delay", "0.1")
    wait_until(lambda: len(read_ends(folder).lengths) >= len(before.lengths) + 3, process)
    assert kill(process)
    durable, dice = read_ends(folder), random.Random(19)
    for n in range(6):
        torn = copy_of(crawler, tmp_path / str(n))
        log = max((torn.folder / "state" / "00").glob("*.log"))
        whole = log.read_bytes()
        if n % 2:
            log.write_bytes(whole[: dice.randrange(len(whole) // 4, len(whole) - 1)])
        else:
            damaged = bytearray(whole)
            damaged[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
            log.write_bytes(damaged)
        stored, found = set(read_archive(torn.folder).page_urls), listing(torn.folder)
        ended = torn.run("--max-pages", "1000")
        if ended.code == 4:
            assert listing(torn.folder) == found
            assert f"gossamer build {torn.folder} state" in ended.err
        else:  # what was lost was not durable yet: its URLs are fetched again
            ended.expect(0)
            assert stored <= set(read_archive(torn.folder).page_urls)
            now = read_ends(CrawlFolder(torn.folder)).lengths
            assert all(now[name] >= length for name, length in durable.lengths.items())


@pytest.mark.parametrize("kind", ["pages", "text", "links"])
def test_an_archive_file_that_was_cut_or_is_missing_is_named_and_nothing_is_touched(
    twice: Twice, tmp_path: Path, kind: str
) -> None:
    crawler = copy_of(twice.crawler, tmp_path / "crawl")
    path = min((crawler.folder / "archive").glob(f"{kind}-*.gz"))
    whole = path.read_bytes()
    for end in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        assert_refused(crawler, f"{path} is cut: expected at least {len(whole)} bytes")
    path.unlink()
    assert_refused(crawler, f"{path} is missing")
    path.write_bytes(whole)
    assert_finished(crawler, twice.judge)


@pytest.mark.parametrize("kind", ["pages", "text", "links"])
@pytest.mark.parametrize("is_there", [True, False])
def test_the_remedy_for_a_cut_or_missing_file_keeps_all_other_pages_and_fetches_these_again(
    twice: Twice, tmp_path: Path, kind: str, *, is_there: bool
) -> None:
    if twice.shards > 1:
        pytest.skip("the archive is read in the same way, whoever wrote it")
    crawler = copy_of(twice.crawler, tmp_path / "crawl")
    path = min((crawler.folder / "archive").glob(f"{kind}-*.gz"))
    stored = set(read_archive(crawler.folder).page_urls)
    if is_there:
        os.truncate(path, path.stat().st_size // 2)
    else:
        path.unlink()
    left = {file.name: file.read_bytes() for file in path.parent.glob("*.gz")}
    crawler.run().expect(4)
    crawler.ask("build", "state").expect(0)
    assert {file.name: file.read_bytes() for file in path.parent.glob("*.gz")} == left
    ended = crawler.run("--max-pages", "1000").expect(0)
    assert ended.last_json["finished"] is True, ended
    assert stored <= readable_urls(crawler)
    for name, content in left.items():  # what was torn off a record's end is no part of the file
        found = (path.parent / name).read_bytes()
        assert content.startswith(found) if name == path.name else content == found, name


def test_ends_files_that_are_torn_or_missing_stop_nobody_and_are_made_anew(
    twice: Twice, tmp_path: Path
) -> None:
    harm: list[Callable[[Path], object]] = [Path.unlink, lambda path: path.write_bytes(bytes(9000))]
    for n, do in enumerate(harm):
        crawler = copy_of(twice.crawler, tmp_path / str(n))
        for path in (crawler.folder / "archive").glob("ends-*"):
            do(path)
        assert_finished(crawler, twice.judge)
        folder = CrawlFolder(crawler.folder)
        sizes = {p.name: p.stat().st_size for p in folder.archive.glob("*.gz")}
        assert read_ends(folder).lengths == sizes
