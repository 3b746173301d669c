"""Pages that were fetched on probation are indexed once their part of a site holds no URLs."""

import fcntl
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.search.build import IndexOptions, build_index
from gossamer.store import CrawlFolder, State
from gossamer.store.archive import FileRow, file_row
from tests.unit.search.pages_archive import PagesArchive, Turn, index_urls, page
from tests.unit.traps.bench import TrapBench, suspect

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
KEPT = IndexOptions(news_share=1e9)
MAZE = "maze.test/"


@pytest.fixture
def archive(tmp_path: Path) -> PagesArchive:
    return PagesArchive(tmp_path / "crawl")


def write(archive: PagesArchive, *pages: Turn, holding: Sequence[str] = (), **of: object) -> None:
    """Append pages, and make a state with units on probation that hold a URL each."""
    archive.write(pages)
    bench = TrapBench([suspect(unit, **of) for unit in holding])
    for unit in holding:
        assert bench.admit(f"http://{unit}more", via=f"http://{unit}") == []
    bench.commit()
    folder = CrawlFolder(archive.root)
    sizes = {path.name: path.stat().st_size for path in folder.archive.glob("*.warc.gz")}
    rows = [file_row(name, FileRow(size, size)) for name, size in sizes.items()]
    shutil.rmtree(folder.state(0), ignore_errors=True)
    state = State.open(folder.state(0))
    state.write([*bench.rows.items(), *rows])
    state.close()


@contextmanager
def running(root: Path) -> Iterator[None]:
    """Hold the lock as a running crawl does."""
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_pages_on_probation_are_left_out_while_their_part_of_a_site_holds_urls(
    archive: PagesArchive,
) -> None:
    write(archive, page(A, "zebras"), page(B, "lions", on_probation=MAZE), holding=[MAZE])
    facts = build_index(archive.root, KEPT)
    assert (facts.pages, facts.left_out) == (1, {"probation": 1})
    assert build_index(archive.root, KEPT).did == "nothing"
    ended = page(D, "bears", on_probation="ended.test/")
    write(archive, page(C, "tigers", on_probation=MAZE), ended, holding=[MAZE])
    facts = build_index(archive.root, KEPT)
    assert (facts.did, facts.left_out) == ("news", {"probation": 2})
    assert index_urls(archive.root) == [A, D]


def test_pages_on_probation_are_indexed_when_their_part_of_a_site_holds_none_any_more(
    archive: PagesArchive,
) -> None:
    write(archive, page(A, "zebras"), page(B, "lions", on_probation=MAZE), holding=[MAZE])
    build_index(archive.root, KEPT)
    write(archive, page(C, "tigers"))
    facts = build_index(archive.root, KEPT)
    assert (facts.did, facts.left_out) == ("full", {})
    assert index_urls(archive.root) == [A, B, C]


def test_while_a_crawl_runs_they_are_left_out_and_looked_at_when_it_has_ended(
    archive: PagesArchive,
) -> None:
    write(archive, page(A, "zebras"), page(B, "lions", on_probation=MAZE))
    with running(archive.root):
        assert build_index(archive.root, KEPT).left_out == {"probation": 1}
        write(archive, page(C, "tigers", on_probation=MAZE), holding=[MAZE])
        assert build_index(archive.root, KEPT).left_out == {"probation": 2}
        assert index_urls(archive.root) == [A]
    facts = build_index(archive.root, KEPT)
    assert (facts.did, facts.left_out) == ("full", {"probation": 2})
    assert build_index(archive.root, KEPT).did == "nothing"
    write(archive)
    assert build_index(archive.root, KEPT).did == "nothing", "no run has added anything"


def test_domains_that_are_suspected_together_are_left_out_together(archive: PagesArchive) -> None:
    held, ended = (page(url, url, on_probation=f"at 127.0.0.{n}") for url, n in ((B, 7), (C, 8)))
    write(archive, page(A, "zebras"), held, ended, holding=[MAZE], shared="127.0.0.7")
    assert build_index(archive.root, KEPT).left_out == {"probation": 1}
    assert index_urls(archive.root) == [A, C]


def test_without_a_state_all_pages_are_indexed(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras"), page(B, "lions", on_probation=MAZE)])
    build_index(archive.root, KEPT)
    assert index_urls(archive.root) == [A, B]
