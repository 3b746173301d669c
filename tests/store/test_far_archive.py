"""A machine that takes over and leaves the archive in the store: everything reads it from there."""

from pathlib import Path

import pytest

import gossamer
from gossamer.store import CrawlFolder
from gossamer.testing import FakeWeb
from tests.e2e.crawler import say, wait_until
from tests.store.machines import SHIP_S, Machine, Trial, pause, trial

pytestmark = pytest.mark.slow


def closed_pages(store: Path) -> int:
    """How many HTML pages are in archive files that the store has as a whole."""
    rows = [place.read_text() for place in store.glob("archive/*.cdxj") if place.is_file()]
    return sum(text.count('"text/html"') for text in rows)


def taken_over(going: Trial) -> Machine:
    """Let a machine die with its disk, and another finish the crawl without the old archive."""
    first, second = going.machine("a"), going.machine("b", "--no-local-archive")
    first.start()
    store = Path(going.place.url.removeprefix("file://"))
    assert wait_until(lambda: closed_pages(store) > 50, first.process)
    assert wait_until(
        lambda: any(map(Path.is_file, store.glob("archive/pages*.gz"))), first.process
    )
    pause(SHIP_S)
    going.losses += first.lose()
    ended = second.run("--take-over").expect(0)
    assert ended.last_json["finished"] is True
    return second


def test_what_is_in_the_store_only_is_read_from_there_by_all_commands(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1921, hosts=8, pages_per_host=60)) as going:
        machine = taken_over(going)
        folder = CrawlFolder(machine.folder)
        far = [name.file_name for name in folder.archive_names() if folder.is_far(name.file_name)]
        assert far
        assert not any((folder.archive / name).exists() for name in far)
        whole = Machine("whole", tmp_path / "whole", (), going.place.variables)
        say("restore", going.place.url, "--into", str(whole.folder)).expect(0)
        assert not (whole.folder / "far").exists()
        going.judge(whole)

        say("check", str(machine.folder)).expect(0)
        mine, theirs = gossamer.open(machine.folder), gossamer.open(whole.folder)
        pages = {page.url: page for page in mine.pages()}
        assert pages.keys() == {page.url for page in theirs.pages()}
        in_store = [one for one in pages.values() if one.location.file in far]
        assert len(in_store) > 20
        for page in in_store[:10]:
            other = theirs.page(page.url)
            assert other is not None
            assert (page.body(), page.text()) == (other.body(), other.text())
        for what in ("graph", "index"):
            for place in (machine.folder, whole.folder):
                say("build", str(place), what).expect(0)
        links = [one.links(in_store[-1].url) for one in (mine, theirs)]
        assert links[0] == links[1]
        exported = [tmp_path / "mine.csv", tmp_path / "theirs.csv"]
        for place, to in zip((machine.folder, whole.folder), exported, strict=True):
            say("export", str(place), "pages", "--format", "csv", "--to", str(to)).expect(0)
        rows = [sorted(to.read_text().splitlines()) for to in exported]
        assert rows[0] == rows[1]
        assert machine.run().expect(0).last_json["finished"] is True
