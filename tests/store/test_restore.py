"""What a store has becomes a folder again, also while the crawl runs, and goes on to its end."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gossamer.testing import FakeWeb
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Ended, say, wait_until
from tests.e2e.shards import judge_of
from tests.store.extent import only_in_full, times
from tests.store.machines import Machine, Trial, pause, trial

pytestmark = pytest.mark.slow


def restore(going: Trial, name: str, *more: str) -> Machine:
    """Make a folder of what the store has now, on a machine that has no store."""
    machine = going.machine(name, has_store=False)
    say("restore", going.place.url, "--into", str(machine.folder), *more).expect(0)
    return machine


def go_on(going: Trial, machine: Machine, *more: str) -> Ended:
    """Let a restored crawl go on to its end; it must have everything once."""
    ended = machine.run(*more).expect(0)
    assert ended.last_json["finished"] is True
    judge_of(going.server.web).assert_complete(read_archive(machine.folder))
    say("check", str(machine.folder)).expect(0)
    return ended


def urls_of(folder: Path) -> list[str]:
    return sorted(say("list", str(folder), "urls").expect(0).out.splitlines())


@only_in_full
def test_folders_restored_from_a_running_crawl_of_four_shards_have_lost_nothing(
    tmp_path: Path,
) -> None:
    web = FakeWeb(seed=1931, hosts=6, pages_per_host=8 + times(20))
    with trial(tmp_path, web, shards=4) as going:
        owner = going.machine("a")
        process = owner.start()
        going.wait_for(30, owner)
        restored = []
        for number in range(times(20)):
            going.wait_for(going.dice.randint(1, 15), owner)
            restored.append(restore(going, f"copy-{number}"))
        assert wait_until(lambda: process.poll() is not None)
        owner.finish().expect(0)
        going.judge(owner)
        for machine in restored:
            go_on(going, machine, "--shards", "4")


@only_in_full
def test_a_restored_folder_says_what_its_archive_says_and_may_be_split_anew(
    tmp_path: Path,
) -> None:
    with trial(tmp_path, FakeWeb(seed=1932, hosts=6, pages_per_host=9), shards=2) as going:
        owner = going.machine("a")
        owner.run("--max-pages", "60").expect(0)
        split, whole = restore(going, "b", "--shards", "3"), restore(going, "c")
        assert urls_of(split.folder) == urls_of(whole.folder) == urls_of(owner.folder)
        say("check", str(whole.folder)).expect(0)
        say("build", str(whole.folder), "state").expect(0)
        assert urls_of(whole.folder) == urls_of(owner.folder)
        for machine, shards in ((split, "3"), (whole, "2")):
            go_on(going, machine, "--max-pages", "100000", "--shards", shards)


def test_the_end_of_a_run_is_a_moment_that_can_be_restored(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1935, hosts=4, pages_per_host=9)) as going:
        owner = going.machine("a")
        owner.run("--max-pages", "15").expect(0)
        end = datetime.now(UTC) + timedelta(seconds=1)
        pause(1.5)
        owner.run("--max-pages", "30").expect(0)
        earlier = restore(going, "b", "--at", end.isoformat(timespec="seconds"))
        assert read_archive(earlier.folder).page_count == 15


@only_in_full
def test_a_folder_of_an_earlier_moment_is_a_crawl_of_its_own(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1933, hosts=6, pages_per_host=9), shards=2) as going:
        owner = going.machine("a")
        owner.run("--max-pages", "30").expect(0)
        pause(2.0)
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        pause(2.0)
        owner.run("--max-pages", "100000").expect(0)
        going.judge(owner)
        earlier = restore(going, "b", "--at", moment)
        assert 0 < read_archive(earlier.folder).page_count < 100
        refused = going.machine("c")
        refused.folder = earlier.folder
        refused.run("--take-over").expect(4)
        go_on(going, earlier, "--max-pages", "100000")


@only_in_full
def test_a_crawl_that_does_not_run_is_brought_into_a_store_by_hand(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1934, hosts=6, pages_per_host=9)) as going:
        alone = going.machine("a", has_store=False)
        alone.run("--max-pages", "40").expect(0)
        say("checkpoint", str(alone.folder), "--to", going.place.url).expect(0)
        other = going.machine("b")
        other.run("--max-pages", "100000").expect(0)
        going.judge(other)
