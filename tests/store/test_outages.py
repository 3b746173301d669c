"""A store that is away, that is no safe store, or whose credentials are wrong."""

import signal
from pathlib import Path

import pytest

from gossamer.testing import FakeWeb
from tests.e2e.crawler import only_json, say, wait_until
from tests.e2e.judge import repeated
from tests.store.extent import only_in_full
from tests.store.machines import LEASE_S, SHIP_S, Trial, pause, trial
from tests.store.places import S3Place, without_conditions

pytestmark = pytest.mark.slow
SMALL = {"hosts": 6, "pages_per_host": 9}
QUIET_S = 2.0
"""For so long nothing is asked for, if the lease is over."""


def is_quiet(going: Trial) -> bool:
    """Return True if nothing was asked for during a while."""
    before = going.served()
    pause(QUIET_S)
    return going.served() == before


@only_in_full
@pytest.mark.parametrize("store", ["folder", "s3"])
def test_while_the_store_is_away_nothing_is_asked_for_and_then_all_goes_on(
    store: str, tmp_path: Path
) -> None:
    with trial(tmp_path, FakeWeb(seed=1921, **SMALL), is_s3=store == "s3", shards=2) as going:
        owner = going.machine("a")
        process = owner.start()
        going.wait_for(40, owner)
        going.place.go_away()
        pause(LEASE_S)
        assert wait_until(lambda: is_quiet(going), process)
        going.place.come_back()
        owner.finish().expect(0)
        assert repeated(going.server.requests()) == 0
        going.judge(owner)


@only_in_full
@pytest.mark.parametrize("store", ["folder", "s3"])
def test_a_stop_while_the_store_is_away_says_so_and_the_same_command_goes_on(
    store: str, tmp_path: Path
) -> None:
    with trial(tmp_path, FakeWeb(seed=1922, **SMALL), is_s3=store == "s3") as going:
        owner = going.machine("a")
        process = owner.start()
        going.wait_for(40, owner)
        going.place.go_away()
        pause(SHIP_S)
        process.send_signal(signal.SIGTERM)
        ended = owner.finish().expect(4)
        assert "again here" in ended.err
        going.place.come_back()
        owner.run().expect(0)
        assert repeated(going.server.requests()) == 0
        going.judge(owner)


def test_who_stops_a_crawl_whose_store_is_away_is_told(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1925, hosts=6, pages_per_host=300)) as going:
        owner = going.machine("a")
        owner.start()
        going.wait_for(10, owner)
        going.place.go_away()
        stopped = say("stop", str(owner.folder)).expect(4)
        assert f"stopped, but {going.place.url} could not be reached" in stopped.err
        assert f"`gossamer crawl --into {owner.folder}` goes on with it and ships it" in stopped.err
        owner.finish().expect(4)
        going.place.come_back()
        owner.start()
        going.wait_for(10, owner)
        told = only_json(say("stop", str(owner.folder), "--json").expect(0))
        assert told["unshipped_to"] == ""
        owner.finish().expect(3)


def test_a_store_that_replaces_instead_of_refusing_is_refused(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1923, **SMALL)) as going:
        going.place = S3Place(str(tmp_path), without_conditions)
        refused = going.machine("a").run().expect(4)
        (line,) = [line for line in refused.err.splitlines() if going.place.url in line]
        assert "replaces" in line
        assert going.served() == 0


def test_credentials_that_are_missing_are_told_in_one_line(tmp_path: Path) -> None:
    with trial(tmp_path, FakeWeb(seed=1924, **SMALL), is_s3=True) as going:
        machine = going.machine("a")
        del machine.variables["AWS_SECRET_ACCESS_KEY"]
        refused = machine.run().expect(4)
        assert "AWS_SECRET_ACCESS_KEY" in refused.err
        assert "Traceback" not in refused.err
        assert going.served() == 0
