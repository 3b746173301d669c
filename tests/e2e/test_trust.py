"""What is held stays held until `gossamer trust` lets it go: stopped, running, after a kill."""

import os
import shutil
import signal
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import gossamer
from gossamer.testing import (
    CannedResponse,
    FakeServer,
    ScriptedHost,
    ScriptedWeb,
    serve_in_thread,
)
from tests.e2e.archive import read_archive
from tests.e2e.crawler import (
    Crawler,
    Ended,
    finish,
    flags_for,
    kill,
    only_json,
    wait_until,
    write_knobs,
)

WORDS, HUB = 400, 4
ALLOWANCE = 24
NEVER_S = 600.0
WAITED_S = 4.0
MOST_WHILE_WAITING = 0.3
"""Of one core. What waits takes .01; who looks again and again without a pause takes all of it."""


@dataclass(frozen=True)
class Dictionary:
    """A hub, and a dictionary whose words link each other: as suspect as a maze, but finite."""

    crawler: Crawler
    hub: ScriptedHost
    words: ScriptedHost
    server: FakeServer[ScriptedWeb]

    @property
    def unit(self) -> str:
        """The part of the site that holds them."""
        return self.words.url("/w/").partition("://")[2]

    @property
    def asked(self) -> int:
        """How many words the server was asked for."""
        return sum(visit.target.startswith("/w/") for visit in self.server.requests)

    def trusted(self) -> tuple[str, ...]:
        """Return what crawl.toml trusts."""
        settings = tomllib.loads((self.crawler.folder / "crawl.toml").read_text())
        return tuple(settings["traps"].get("trust", ()))

    def expect_all_once(self) -> None:
        found = read_archive(self.crawler.folder).page_urls
        assert set(found.values()) == {1}
        assert sum("/w/" in url for url in found) == WORDS


def name_of(number: int) -> str:
    return "".join(f"{'bcdfghklmn'[int(digit)]}a" for digit in f"{number:03}")


@contextmanager
def dictionary(
    place: Path, shards: str = "1", late_s: float = 0.0, allowance: int = ALLOWANCE
) -> Iterator[Dictionary]:
    """Serve it; something else waits for an answer as long as `late_s` says."""
    web = ScriptedWeb()
    hub, words = web.host("hub.test"), web.host("words.test")
    for number in range(WORDS):
        others = (number * 7 + 3) % WORDS, (number * 31 + 11) % WORDS, (number + 1) % WORDS
        text = " ".join(f"{name_of(number)}{step}" for step in range(12))
        words.page(f"/w/{name_of(number)}", links=[f"/w/{name_of(n)}" for n in others], text=text)
    with serve_in_thread(web) as server:
        hub.page("/", links=["/one", "/two", "/late", words.url(f"/w/{name_of(0)}")])
        hub.page("/one", text="One.").page("/two", text="Two.")
        hub.on("/late", CannedResponse(body=b"late", wait_s=late_s))
        knobs = write_knobs(place / "k.toml", {"traps": {"allowance": allowance}})
        flags = flags_for(server.resolve, "--delay", "0", "--no-sitemaps", "--shards", shards)
        crawler = Crawler(place / "crawl", (hub.url(),), (*flags, "--config", str(knobs)))
        yield Dictionary(crawler, hub, words, server)


def cpu_s(pid: int) -> float:
    """Return the CPU that a process has used."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Dictionary, Ended]]:
    """A crawl that has ended, and holds URLs; not to be changed."""
    with dictionary(tmp_path_factory.mktemp("finished")) as site:
        yield site, site.crawler.run().expect(0)


def copy_of(site: Dictionary, place: Path) -> Dictionary:
    """Return the same crawl in a folder of its own."""
    folder = Path(shutil.copytree(site.crawler.folder, place / "crawl"))
    return replace(site, crawler=replace(site.crawler, folder=folder))


def held_word(site: Dictionary) -> str:
    words = (site.words.url(f"/w/{name_of(number)}") for number in range(WORDS))
    return next(word for word in words if site.crawler.why(word)["state"] == "held")


def test_pages_on_probation_are_searched_once_what_is_held_was_let_go(
    finished: tuple[Dictionary, Ended], tmp_path: Path
) -> None:
    site = copy_of(finished[0], tmp_path)
    records = read_archive(site.crawler.folder).metadata()
    assert sum(record.get("on_probation") == site.unit for record in records) == ALLOWANCE
    crawl = gossamer.open(site.crawler.folder)
    assert crawl.build_index().left_out == {"probation": ALLOWANCE}
    crawl.trust([f"{site.unit}*"])
    site.crawler.run().expect(0)
    site.expect_all_once()
    facts = crawl.build_index()
    assert (facts.pages, facts.left_out) == (WORDS + HUB, {})


def test_what_is_held_is_listed_with_the_reason_and_the_remedy(
    finished: tuple[Dictionary, Ended],
) -> None:
    site, ended = finished
    status = ended.last_json
    assert (status["finished"], status["queued"], status["reason"]) == (True, 0, "finished")
    assert status["held"] == status["known_urls"] - status["pages"] > 0
    assert "trap_endless" not in status["refused"]
    (note,) = status["traps"]
    assert (note["unit"], note["held"]) == (site.unit, status["held"])
    assert (note["waits_for"], note["pattern"]) == ("allowance", f"{site.unit}*")
    command = f"`gossamer trust {site.crawler.folder} '{site.unit}*'`"
    for told in (ended.err, site.crawler.say("status").expect(0).out):
        assert f"nothing is left to fetch but {status['held']} URLs that are held.\n" in told
        assert f"held: {status['held']} URLs of 1 part of a site\n" in told
        assert "its allowance is spent" in told
        assert f"If it is honest, {command} lets it go on." in told


def test_why_says_what_a_held_url_waits_for_and_what_to_do(
    finished: tuple[Dictionary, Ended],
) -> None:
    site, _ = finished
    why = site.crawler.why(held_word(site))
    assert (why["reason"], why["filter"]) == ("trial", None)
    told = why["explanation"]
    assert told.startswith(f"Known and held: {site.unit} is on probation: ")
    assert f"words.test ({ALLOWANCE} pages on probation, traps.allowance) is spent" in told
    assert f"gossamer trust DIR '{site.unit}*' lets it go on" in told


def test_what_is_blocked_is_not_fetched_though_it_was_held_and_is_trusted(
    finished: tuple[Dictionary, Ended], tmp_path: Path
) -> None:
    site = copy_of(finished[0], tmp_path)
    before, held = site.asked, site.crawler.status()["held"]
    site.crawler.say("set", "filter.block=words.test").expect(0)
    assert site.crawler.why(word := held_word(site))["filter"]["reason"] == "blocked"
    site.crawler.say("trust", f"{site.unit}*").expect(0)
    flags = site.crawler.flags[: site.crawler.flags.index("--config")]  # it would take its place
    told = replace(site.crawler, flags=flags).run().expect(0).last_json
    assert site.asked == before
    assert (told["held"], told["queued"]) == (0, 0)
    assert told["refused"]["blocked"] == held
    assert (why := site.crawler.why(word))["state"] == "refused"
    assert why["detail"] == "words.test"


def test_a_part_of_what_is_held_is_let_go_by_a_narrow_pattern(
    finished: tuple[Dictionary, Ended], tmp_path: Path
) -> None:
    site, ended = finished
    before, one = ended.last_json, held_word(site)
    crawler = copy_of(site, tmp_path).crawler
    told = only_json(crawler.say("trust", one, "--json").expect(0))
    assert told == {"patterns": [one], "released": 1, "units": {site.unit: 1}, "running": False}
    assert crawler.status()["held"] == before["held"] - 1
    assert crawler.why(one)["state"] == "queued"
    after = crawler.run().expect(0).last_json
    assert crawler.why(one)["state"] == "archived"
    assert (after["pages"], after["finished"]) == (before["pages"] + 1, True)


def test_a_pattern_that_matches_nothing_is_told_with_what_is_held(
    finished: tuple[Dictionary, Ended], tmp_path: Path
) -> None:
    site = copy_of(finished[0], tmp_path)
    held = finished[1].last_json["held"]
    told = site.crawler.say("trust", "word.test").expect(0).out.splitlines()
    assert (
        told[0] == "nothing that is held matches word.test; it is kept in [traps] trust for later"
    )
    assert f"held: {held} URLs of 1 part of a site" in told
    assert f"`gossamer trust {site.crawler.folder} '{site.unit}*'`" in told[-1]
    assert site.trusted() == ("word.test",)
    assert site.crawler.status()["held"] == held


@pytest.mark.parametrize("pattern", ["two words", "", "words.test:80", "w!.test*"])
def test_a_pattern_that_cannot_be_read_is_refused_and_nothing_is_written(
    pattern: str, finished: tuple[Dictionary, Ended]
) -> None:
    crawler = finished[0].crawler
    before = (crawler.folder / "crawl.toml").read_bytes()
    ended = crawler.say("trust", "good.test", pattern).expect(2)
    assert ended.err.count("\n") == 1
    assert repr(pattern) in ended.err
    assert (crawler.folder / "crawl.toml").read_bytes() == before


def held_by(crawler: Crawler) -> int:
    """Return how many URLs a crawl holds; 0 until it can be asked."""
    is_there = (crawler.folder / "control.sock").exists()
    return int(crawler.status()["held"]) if is_there else 0


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_stopped_crawl_goes_on_with_what_is_trusted(shards: str, tmp_path: Path) -> None:
    with dictionary(tmp_path, shards) as site:
        crawler = site.crawler
        held = crawler.run().expect(0).last_json["held"]
        assert held
        assert site.asked < WORDS / 2
        told = crawler.say("trust", f"{site.unit}*").expect(0).out
        assert told == (
            f"let go: {held} URLs of 1 part of a site\n  {held} {site.unit}\n"
            f"`gossamer crawl --into {crawler.folder}` fetches them\n"
        )
        assert site.trusted() == (f"{site.unit}*",)
        status = crawler.status()
        assert (status["held"], status["queued"], status["finished"]) == (0, held, False)
        word = site.words.url(f"/w/{name_of(0)}")
        states = {crawler.why(word.replace(name_of(0), name_of(n)))["state"] for n in range(100)}
        assert states <= {"archived", "queued", "unknown"}

        ended = crawler.run().expect(0)
        assert (ended.last_json["held"], ended.last_json["finished"]) == (0, True)
        assert "Finished: nothing is left to fetch.\n" in ended.err
        assert "crawl.toml changed" not in ended.err
        site.expect_all_once()
        assert site.trusted() == (f"{site.unit}*",)


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_running_crawl_goes_on_at_once_with_what_is_trusted(shards: str, tmp_path: Path) -> None:
    with dictionary(tmp_path, shards, late_s=NEVER_S) as site:
        crawler = site.crawler.with_flags("--max-time", "500")
        with crawler.running() as process:
            wait_until(lambda: held_by(crawler) > 0, process)
            (note,) = crawler.status()["traps"]
            assert note["waits_for"] in {"share", "allowance"}
            told = gossamer.open(crawler.folder).trust(site.unit)
            assert (told.running, told.patterns) == (True, [f"{site.unit}*"])
            assert told.units == {site.unit: told.released}
            assert told.released > 0
            wait_until(lambda: crawler.status()["pages"] == WORDS + HUB - 1, process)
            status = crawler.status()
            assert (status["held"], status["traps"]) == (0, [])
            assert site.trusted() == (f"{site.unit}*",)
            process.send_signal(signal.SIGTERM)
            finish(process)
        site.expect_all_once()


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_kill_does_not_forget_what_is_trusted(shards: str, tmp_path: Path) -> None:
    with dictionary(tmp_path, shards, late_s=NEVER_S) as site:
        crawler = site.crawler.with_flags("--max-time", "500")
        process = crawler.start()
        wait_until(lambda: held_by(crawler) > 0, process)
        assert only_json(crawler.say("trust", site.unit, "--json").expect(0))["running"]
        kill(process)
        process = crawler.start()
        wait_until(lambda: site.asked > WORDS // 2, process)
        kill(process)
        site.hub.on("/late", CannedResponse(body=b"late"))
        status = crawler.run().expect(0).last_json
        assert (status["pages"], status["held"]) == (WORDS + HUB, 0)
        site.expect_all_once()


@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_server_that_is_down_is_waited_for_without_effort_and_not_for_ever(
    shards: str, tmp_path: Path
) -> None:
    with dictionary(tmp_path, shards, allowance=WORDS) as site:
        knobs = {"traps": {"allowance": WORDS}, "outage": {"wait_at_end_s": WAITED_S + 4.0}}
        config = write_knobs(tmp_path / "patience.toml", knobs)
        crawler = site.crawler.with_flags("--delay", "0.05", "--config", str(config))
        process = crawler.start(is_fresh=True)
        assert wait_until(lambda: site.asked > ALLOWANCE, process)
    assert wait_until(lambda: crawler.status()["parked_hosts"], process)
    used, began = cpu_s(process.pid), time.monotonic()
    time.sleep(WAITED_S)
    share = (cpu_s(process.pid) - used) / (time.monotonic() - began)
    assert share < MOST_WHILE_WAITING
    status = finish(process).expect(0).last_json
    assert (status["finished"], status["reason"]) == (False, "parked")
    assert status["held"] > 0
