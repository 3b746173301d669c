"""`prune` of a crawl with a store: old editions are nowhere, the newest are everywhere.

Killed at any moment nothing else is lost, and whoever comes next finishes it.
"""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing import ScriptedHost, ScriptedWeb, serve_in_thread
from tests.e2e.archive import read_archive
from tests.e2e.crawler import GOSSAMER, Crawler, finish, flags_for, say, spawn
from tests.store.extent import parts
from tests.store.kept_copies import copy_of, files_with, kill_while, objects_with
from tests.store.machines import pause
from tests.store.places import FolderPlace

pytestmark = pytest.mark.slow
OLD, NEW = "xylophonequartz", "marimbafeldspar"
CHANGING = 4
KNOBS = """
[store]
ship_s = 0.3
lease_s = 2.0
file_bytes = 20000
commit_pages = 4
[watch]
rate_per_s = 50.0
prior_s = 0.05
replan_s = 0.05
"""
SECOND_S = 1.1
"""Editions are known to the second."""


def say_on(site: ScriptedHost, word: str) -> None:
    """Let the pages that change say something else."""
    for n in range(CHANGING):
        site.file(f"/news/{n}", f"<p>{word} number {n}".encode(), "text/html")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Crawler, FolderPlace]]:
    """Give a crawl with a store, some of whose pages have two editions."""
    made = ScriptedWeb()
    site = made.host("a.test")
    others = [f"/open/{n}" for n in range(12)]
    site.page("/", links=[*(f"/news/{n}" for n in range(CHANGING)), *others])
    for path in others:
        site.page(path, text=f"the open page {path} speaks of a platypus " * 30)
    say_on(site, OLD)
    folder = tmp_path_factory.mktemp("pruned")
    place = FolderPlace(folder / "store")
    with serve_in_thread(made) as server:
        knobs = folder / "knobs.toml"
        knobs.write_text(KNOBS)
        words = ("--no-sitemaps", "--shards", "2", "--delay", "0.01", "--config", str(knobs))
        flags = flags_for(server.resolve, *words, "--store", place.url)
        crawler = Crawler(folder / "crawl", (site.url(),), flags)
        crawler.run(is_fresh=True).expect(0)
        pause(SECOND_S)
        say_on(site, NEW)
        for n in range(CHANGING):
            while crawler.say("show", site.url(f"/news/{n}"), "--edition", "2").code:
                finish(spawn([GOSSAMER, "watch", str(crawler.folder), "--once"])).expect(0)
        yield crawler, place
    place.close()


def expect_pruned(crawler: Crawler, place: FolderPlace, at: Path) -> None:
    """Insist that old editions are nowhere, and that a restore has all else."""
    assert objects_with(OLD.encode(), place) == []
    restored = at / "restored"
    say("restore", place.url, "--into", str(restored), "--shards", "3").expect(0)
    for folder in (crawler.folder, restored):
        assert files_with(OLD.encode(), folder) == []
        archive = read_archive(folder)
        pages = {one.url.rpartition(".test")[2].partition("/")[2] for one in archive.pages}
        news = {f"news/{n}" for n in range(CHANGING)}
        assert pages == {"", *news, *(f"open/{n}" for n in range(12))}
        for name in news:
            assert NEW in say("show", str(folder), f"{crawler.seeds[0]}{name}").expect(0).out
        say("check", str(folder)).expect(0)
    shutil.rmtree(restored)


@pytest.mark.parametrize("numbers", parts(20, 5, small=2))
def test_what_is_pruned_is_not_in_the_store_either(
    numbers: range, kept: tuple[Crawler, FolderPlace], tmp_path: Path
) -> None:
    for number in numbers:
        crawler, place = copy_of(*kept, tmp_path / f"{number}")
        rng = random.Random(number)
        assert objects_with(OLD.encode(), place)
        kill_while(crawler, ["prune", "--keep", "1"], rng)
        if number % 3 == 0:
            crawler.run("--take-over").expect(0)  # a start finishes it, too
        crawler.say("prune", "--keep", "1").expect(0)
        expect_pruned(crawler, place, tmp_path / f"{number}")
        shutil.rmtree(tmp_path / f"{number}")
