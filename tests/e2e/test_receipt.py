"""`gossamer receipt`: what it says was asked of a host is what that host's own log says."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing import (
    FakeWeb,
    LoggedRequest,
    ScriptedWeb,
    serve_in_process,
    serve_in_thread,
)
from tests.e2e.crawler import Crawler, finish, flags_for, kill, say, wait_until, write_knobs


def receipt(crawler: Crawler, host: str, *words: str) -> dict[str, Any]:
    return crawler.say("receipt", host, "--json", *words).expect(0).last_json


def logged(requests: list[LoggedRequest], host: str) -> list[LoggedRequest]:
    return [one for one in requests if one.host.partition(":")[0] == host]


def targets(found: dict[str, Any], *ends: str) -> list[str]:
    return [
        "/" + one["url"].split("/", 3)[3]
        for one in found["requests"]
        if one["end"] in (ends or ("answered", "failed", "cut_off"))
    ]


def test_a_receipt_is_the_servers_own_log_with_what_allowed_each_request(tmp_path: Path) -> None:
    web = ScriptedWeb()
    robots = "User-agent: *\nDisallow: /private\nAllow: /\n"
    a = web.host("a.test").robots(robots)
    a.page("/b", text="hello").redirect("/old", to="/b").fault("/broken", "drop")
    b = web.host("b.test").page("/", text="no robots.txt here")
    with serve_in_thread(web) as server:
        a.page("/", links=["/b", "/old", "/gone", "/broken", "/private", b.url("/")])
        knobs = write_knobs(tmp_path / "knobs.toml", {"fetch": {"retries": 1}})
        flags = flags_for(server.resolve, "--delay", "0.05", "--config", str(knobs))
        crawler = Crawler(tmp_path / "crawl", (a.url("/"),), flags)
        crawler.run().expect(0)
        theirs = list(server.requests)
    found, asked = receipt(crawler, "a.test"), logged(theirs, "a.test")
    assert targets(found) == [one.target for one in asked]
    assert found["sent"] == len(asked)
    assert found["robots_requests"] == sum(one.path == "/robots.txt" for one in asked) == 1
    assert targets(found).count("/broken") > 1  # retries are requests
    rows = [one for one in found["requests"] if one["end"] != "not_sent"]
    statuses = {one.target: one.status for one in asked if one.target != "/broken"}
    assert {"/" + one["url"].split("/", 3)[3]: one["status"] for one in rows if one["status"]} == (
        statuses
    )
    assert {one["allowed_by"] for one in rows} == {"robots.txt itself", "line 3: Allow: /"}
    starts = [one["at"] for one in rows]
    assert starts == sorted(starts)
    assert rows[0]["gap_s"] is None
    assert found["least_gap_s"] >= 0.05 * 0.99
    assert found["least_gap_s"] == min(one["gap_s"] for one in rows[1:])
    other = receipt(crawler, "http://b.test/anything")
    assert targets(other) == [one.target for one in logged(theirs, "b.test")]
    assert other["requests"][-1]["allowed_by"].startswith("there is no robots.txt")


def test_a_receipt_is_read_by_people_and_says_if_there_is_nothing(tmp_path: Path) -> None:
    web = ScriptedWeb()
    www = web.host("www.a.test").page("/", links=["/b?x=[bold]1"]).page("/b", text="hello")
    with serve_in_thread(web) as server:
        flags = flags_for(server.resolve, "--delay", "0")
        crawler = Crawler(tmp_path / "crawl", (www.url("/"),), flags)
        crawler.run().expect(0)
    text = crawler.say("receipt", "www.a.test").expect(0).out
    assert "requests to www.a.test, 1 of them for robots.txt" in text
    assert "user agent: gossamer/" in text
    assert "gap between the beginnings of two: at least" in text
    last = text.splitlines()[-1]
    assert www.url("/b") in last
    assert "[there is no robots.txt" in last
    whole = receipt(crawler, "www.a.test")
    some = receipt(crawler, "www.a.test", "--since", "1h")
    assert some["requests"] == whole["requests"]
    none = crawler.say("receipt", "www.a.test", "--since", "2100-01-01").expect(1)
    assert none.err.count("\n") == 1
    near = crawler.say("receipt", "a.test").expect(1)
    assert near.out == ""
    assert near.err == ("gossamer: no request to a.test is recorded; requests went to www.a.test\n")
    assert crawler.say("receipt", "a.test", "--json").expect(1).last_json["requests"] == []
    assert crawler.say("receipt", "a b").expect(2).err.count("\n") == 1
    assert say("receipt", str(tmp_path / "nowhere"), "a.test").expect(2).err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_after_kills_every_request_is_in_the_receipt_or_told_as_unsure(
    shards: str, tmp_path: Path
) -> None:
    web = FakeWeb(seed=2317, hosts=5, pages_per_host=12)
    dice = random.Random(23)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--concurrency", "4", "--shards", shards)
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        for _ in range(4):
            goal = len(server.requests()) + dice.randrange(5, 18)
            process = crawler.start()
            wait_until(lambda goal=goal: len(server.requests()) >= goal, process)
            kill(process)
        process = crawler.start()
        finish(process).expect(0)
        theirs = server.requests()
    hosts = {one.host.partition(":")[0] for one in theirs}
    for host in sorted(hosts):
        found = receipt(crawler, host)
        asked = Counter(one.target for one in logged(theirs, host))
        told = Counter(targets(found))
        assert not told - asked, f"{host}: told and never asked: {told - asked}"
        unsure = Counter(targets(found, "unsure"))
        missing = asked - told - unsure
        missing.pop("/robots.txt", None)
        assert not missing, f"{host}: asked and not told: {missing}"
        is_covered = bool(unsure) or not (asked - told)["/robots.txt"]
        assert is_covered, f"{host}: robots.txt was asked for and not told"
