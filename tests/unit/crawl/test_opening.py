"""Opening a crawl: what is damaged is refused before any shard has begun."""

from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.config import SeenConfig
from gossamer.crawl.opening import expect_state_of_archive, lock_folder
from gossamer.errors import CannotGoOn, CorruptFile, TakenOver
from gossamer.seen import UrlSeen
from gossamer.store import CrawlFolder, State


def make_state(folder: CrawlFolder, shard: int) -> Path:
    """Make a shard's state with a run of known URLs; return its file."""
    path = folder.state(shard)
    state = State.open(path)
    seen = UrlSeen.open(path / "seen", SeenConfig(run_keys=10), [])
    seen.add(list(range(1, 30)))
    state.write(seen.rows_to_commit())
    work = seen.due()
    assert work is not None
    work.do()
    state.write(seen.install(work))
    seen.close()
    state.close()
    (file,) = (path / "seen").glob("run-*")
    return file


def test_damaged_known_urls_of_one_shard_are_refused_before_another_begins(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)
    make_state(folder, 0)
    run = make_state(folder, 1)
    expect_state_of_archive(folder, 2)
    data = run.read_bytes()
    run.write_bytes(data[:-8])
    with pytest.raises(CorruptFile, match=run.name):
        expect_state_of_archive(folder, 2)
    run.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(CorruptFile, match=run.name):
        expect_state_of_archive(folder, 2)


def test_a_folder_that_was_made_for_what_is_refused_is_removed_again(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path / "new")
    with pytest.raises(CannotGoOn), lock_folder(folder, SystemClock()):
        raise CannotGoOn("runs elsewhere")
    assert not folder.root.exists()
    folder.archive.mkdir(parents=True)
    with pytest.raises(CannotGoOn), lock_folder(folder, SystemClock()):
        raise CannotGoOn("the disk is full")
    assert folder.lock_path.exists(), "it was there before"


def test_a_crawl_that_another_machine_took_over_says_so_in_its_folder(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)
    with pytest.raises(TakenOver), lock_folder(folder, SystemClock()):
        raise TakenOver("the crawl was taken over by b; it goes on there")
    assert folder.taken_over_path.read_text() == "the crawl was taken over by b; it goes on there\n"
