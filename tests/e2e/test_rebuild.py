"""The archive is the source of truth: a lost state is built again from it."""

import shutil
import signal
from pathlib import Path

import pytest

from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, finish, flags_for, wait_until
from tests.e2e.judge import Judge, page_hits, settled


def listing(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file of a folder with its size and content."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(f.relative_to(folder)): (f.stat().st_size, f.read_bytes()) for f in files}


def assert_turned_away(crawler: Crawler) -> None:
    """A crawl with an archive and no state says what to do, and touches nothing."""
    untouched = listing(crawler.folder / "archive")
    refusal = crawler.run().expect(4)
    assert "build" in refusal.err
    assert refusal.err.strip().count("\n") == 0
    assert listing(crawler.folder / "archive") == untouched


@pytest.mark.slow
@pytest.mark.parametrize("seed", [201])
def test_a_crawl_goes_on_after_its_state_was_built_from_the_archive(
    seed: int, tmp_path: Path
) -> None:
    web = FakeWeb(seed=seed, hosts=8, pages_per_host=25)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--concurrency", "4")
        whole = Crawler(tmp_path / "whole", server.web.seeds, flags)
        whole.run().expect(0)
        expected = read_archive(whole.folder)
        before = len(server.requests())

        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        process = crawler.start()
        wait_until(lambda: len(server.requests()) >= before + 120, process)
        process.send_signal(signal.SIGTERM)
        finish(process).expect(3)
        known = crawler.status()["known_urls"]
        stopped_at = len(server.requests())
        shutil.rmtree(crawler.folder / "state")

        assert_turned_away(crawler)
        assert len(server.requests()) == stopped_at

        crawler.ask("build", "state").expect(0)
        rebuilt = crawler.status()
        assert rebuilt["known_urls"] == known
        assert settled(rebuilt) + rebuilt["queued"] == known
        assert len(server.requests()) == stopped_at

        ended = crawler.run().expect(0)
        assert ended.last_json["finished"] is True
        visits = server.requests()[before:]
        archive = read_archive(crawler.folder)
    Judge(server.web).assert_complete(archive)
    assert set(archive.page_urls) == set(expected.page_urls)
    assert max(page_hits(visits).values()) == 1


def test_a_state_is_built_from_the_archive_of_a_finished_crawl(tmp_path: Path) -> None:
    web = FakeWeb(seed=203, hosts=3, pages_per_host=6)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0")
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        crawler.run().expect(0)
        was = crawler.status()
        asked = len(server.requests())
        shutil.rmtree(crawler.folder / "state")
        crawler.ask("build", "state").expect(0)
        now = crawler.status()
        for name in (
            "pages",
            "html_pages",
            "sitemaps",
            "known_urls",
            "queued",
            "hosts",
            "failed",
            "finished",
        ):
            assert now[name] == was[name], name
        crawler.run().expect(0)
        assert not [v for v in server.requests()[asked:] if not v.target.startswith("/robots")]


def test_a_folder_without_a_crawl_is_not_built(tmp_path: Path) -> None:
    crawler = Crawler(tmp_path / "nothing", (), ())
    refusal = crawler.ask("build", "state").expect(2)
    assert refusal.err.strip().count("\n") == 0
    assert not crawler.folder.exists()
