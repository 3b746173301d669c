"""`[schedule]`: outside of its hours nothing is asked, and everybody says until when."""

import time
from pathlib import Path

import pytest

from gossamer.testing import FakeWeb, ServerProcess, serve_in_process
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, finish, flags_for, only_json, wait_until, write_knobs
from tests.e2e.judge import Judge

WEB = FakeWeb(seed=17, hosts=3, pages_per_host=6)
ZONE = "Asia/Kathmandu"
ZONE_S = 5.75 * 3600
"""Ahead of UTC, all year."""
LOOK_S = 1.5


def hours_around(now: float, *, is_open: bool) -> str:
    """Return hours of that zone that hold the present, for hours to come, or are far from it."""
    hour = int((now + ZONE_S) // 3600 % 24) + (0 if is_open else 12)
    return f"{(hour - 2) % 24:02}:00-{(hour + 4) % 24:02}:00"


def asked(server: ServerProcess) -> int:
    return len(server.requests())


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_nothing_is_asked_outside_of_the_hours_and_set_changes_them(
    shards: str, tmp_path: Path
) -> None:
    closed = hours_around(time.time(), is_open=False)
    knobs = {"schedule": {"hours": [closed], "time_zone": ZONE}}
    file = write_knobs(tmp_path / "knobs.toml", knobs)
    with serve_in_process(WEB, tmp_path / "log.tsv") as server:
        words = flags_for(server.resolve, "--delay", "0.05", "--shards", shards)
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, words)
        process = crawler.start("--config", str(file))
        wait_until(
            lambda: (
                (crawler.folder / "control.sock").exists()
                and crawler.status()["paused"] == "schedule"
            ),
            process,
        )
        time.sleep(LOOK_S)
        assert asked(server) == 0
        status = crawler.status()
        assert status["time_zone"] == ZONE
        begin = int(closed[:2]) * 3600
        assert (status["opens_at"] + ZONE_S) % 86_400 == begin
        assert time.time() < status["opens_at"] < time.time() + 86_400
        told = f"[schedule] allows no request before {time.strftime('%a', _there(status))}"
        shown = " ".join(crawler.say("status").expect(0).out.split())
        assert told in shown
        assert f"({ZONE})" in shown
        why = crawler.why(server.web.seeds[0])
        assert why["opens_at"] == status["opens_at"]
        assert f"Now {told}" in why["explanation"]
        wrong = crawler.say("set", "schedule.hours=9-5").expect(2)
        assert "schedule.hours: expected hours such as" in wrong.err
        wrong = crawler.say("set", "schedule.time_zone=Nepal").expect(2)
        assert "schedule.time_zone: expected a time zone" in wrong.err
        now_open = hours_around(time.time(), is_open=True)
        crawler.say("set", f"schedule.hours={now_open}").expect(0)
        ended = finish(process).expect(0)
        assert ended.last_json["finished"]
        assert ended.last_json["paused"] == ""
        assert ended.last_json.get("opens_at") is None
        assert told in " ".join(ended.err.split())
        Judge(server.web).assert_complete(read_archive(crawler.folder))


def _there(status: dict[str, float]) -> time.struct_time:
    return time.gmtime(status["opens_at"] + ZONE_S)


def test_hours_that_end_while_it_crawls_stop_it_from_asking(tmp_path: Path) -> None:
    with serve_in_process(FakeWeb(seed=18, hosts=2, pages_per_host=40), tmp_path / "log") as server:
        words = flags_for(server.resolve, "--delay", "0.05", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, words)
        with crawler.running() as process:
            wait_until(lambda: asked(server) >= 10, process)
            closed = hours_around(time.time(), is_open=False)
            settings = (f"schedule.hours={closed}", f"schedule.time_zone={ZONE}")
            facts = only_json(crawler.say("set", *settings, "--json").expect(0))
            assert facts["at_next_start"] == []
            wait_until(lambda: not crawler.status()["in_flight"], process)
            before = asked(server)
            time.sleep(LOOK_S)
            assert asked(server) == before
            assert crawler.status()["paused"] == "schedule"
            crawler.say("set", "schedule.hours=").expect(0)
            wait_until(lambda: asked(server) > before, process)


def test_hours_that_are_none_are_refused_before_anything_begins(tmp_path: Path) -> None:
    file = write_knobs(tmp_path / "knobs.toml", {"schedule": {"hours": ["22 to 6"]}})
    crawler = Crawler(tmp_path / "crawl", ("http://a.test/",), ("--config", str(file)))
    told = crawler.run().expect(2).err
    assert told.count("\n") == 1
    assert "schedule.hours: expected hours such as" in told
    assert "'22 to 6'" in told
