"""Robots: RFC 9309, rule by rule, and the public table of verdicts."""

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gossamer.fetch import RobotsVerdict, parse_robots

VECTORS = Path(__file__).parents[4] / "shared" / "vectors" / "robots"
TABLE = VECTORS / "google_robotstxt_cases.json"


def allowed(robots: str, target: str, agent: str = "gossamer") -> bool:
    return parse_robots(robots.encode(), agent).verdict(target).allowed


@pytest.mark.skipif(not TABLE.exists(), reason="the robots verdicts of ../shared are not here")
def test_every_verdict_of_the_public_table_that_is_not_somebodys_extension() -> None:
    ran = 0
    for row in json.loads(TABLE.read_text()):
        if row["google_specific"]:
            continue
        parts = urlsplit(row["url"])
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        verdict = parse_robots(row["robots"].encode(), row["agent"]).verdict(target)
        assert verdict.allowed == row["allowed"], row["id"]
        ran += 1
    assert ran == 72


def test_the_deciding_line_is_named() -> None:
    rules = parse_robots(b"# hello\nUser-agent: *\nDisallow: /a # no\nAllow: /a/b\n", "gossamer")
    assert rules.verdict("/a/x") == RobotsVerdict(False, "Disallow: /a # no", 3)  # noqa: FBT003 - the verdict comes first
    assert rules.verdict("/a/b") == RobotsVerdict(True, "Allow: /a/b", 4)  # noqa: FBT003 - the verdict comes first
    assert rules.verdict("/c") == RobotsVerdict(allowed=True)


def test_groups_for_us_are_merged_and_displace_those_for_all() -> None:
    robots = "User-agent: *\nDisallow: /\n\nUser-agent: GOSSAMER/2\nDisallow: /a\n\n"
    robots += "user-agent: other\nuser-agent: gossamer\ndisallow: /b\n"
    assert allowed(robots, "/c")
    assert not allowed(robots, "/a")
    assert not allowed(robots, "/b")
    assert not allowed(robots, "/c", "third")


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n"])
def test_every_line_ending_and_a_byte_order_mark_are_understood(newline: str) -> None:
    robots = "\ufeff" + newline.join(["User-agent: *", "Disallow: /a"])
    assert not allowed(robots, "/a")
    assert allowed(robots, "/b")


@pytest.mark.parametrize(
    ("pattern", "target", "matches"),
    [
        ("/a*b", "/axxb/c", True),
        ("/a*b$", "/axxb/c", False),
        ("/a*b$", "/axbxb", True),
        ("/a$", "/a", True),
        ("/a$", "/ab", False),
        ("*.gif$", "/x/y.gif", True),
        ("/*", "/", True),
        ("/a*$", "/abc", True),
        ("/ab*ba$", "/aba", False),
        ("/a$b", "/a$b", True),
        ("/a*$*b", "/a$b", True),
        ("/**a**b", "/xaxb", True),
        ("/%e3%83%84", "/%E3%83%84", True),
        ("/ツ", "/%E3%83%84", True),
    ],
)
def test_patterns_match_as_written(pattern: str, target: str, matches: bool) -> None:  # noqa: FBT001 - pytest passes parameters so
    assert allowed(f"User-agent: *\nDisallow: {pattern}\n", target) is not matches


def test_robots_txt_itself_is_always_allowed() -> None:
    assert allowed("User-agent: *\nDisallow: /\n", "/robots.txt")


def test_other_records_do_not_end_a_list_of_agents() -> None:
    robots = "User-agent: gossamer\nCrawl-delay: 2.5\nUser-agent: *\nDisallow: /\n"
    rules = parse_robots(robots.encode(), "gossamer")
    assert not rules.verdict("/").allowed
    assert rules.crawl_delay_s == 2.5


def test_crawl_delay_and_sitemaps_are_read() -> None:
    robots = "Sitemap: http://a.test/s.xml\nUser-agent: *\nCrawl-delay: 10\nCrawl-delay: x\n"
    rules = parse_robots((robots + "SITEMAP: /t.xml").encode(), "gossamer")
    assert rules.crawl_delay_s == 10.0
    assert rules.sitemaps == ("http://a.test/s.xml", "/t.xml")


@pytest.mark.parametrize("delay", ["-1", "nan", "inf", "", "1,5"])
def test_a_senseless_delay_is_none(delay: str) -> None:
    robots = f"User-agent: *\nCrawl-delay: {delay}\nDisallow:"
    assert parse_robots(robots.encode(), "gossamer").crawl_delay_s is None


def test_html_and_rubbish_allow_everything() -> None:
    for body in (b"<html><body>Disallow: everything</body>", b"\x00\xff" * 1000, b":::\n#\n"):
        assert parse_robots(body, "gossamer").verdict("/x").allowed


def cpu_s(do: Callable[[], object]) -> float:
    begun = time.process_time()
    do()
    return time.process_time() - begun


@pytest.mark.parametrize("tail", ["$", "b$", "b", "*c*d"])
def test_patterns_full_of_stars_cost_next_to_nothing(tail: str) -> None:
    lines = [
        f"Disallow: /{'*a' * (100 + n % 100)}{tail}{n if tail == 'b' else ''}" for n in range(1000)
    ]
    rules = parse_robots("\n".join(["User-agent: *", *lines]).encode(), "gossamer")
    targets = ["/" + "a" * (1999 - n) for n in range(3)]

    def look() -> None:
        for line in lines:
            for _ in range(line.count("*")):
                targets[0].find("b")

    plain_s = min(cpu_s(look) for _ in targets)
    assert min(cpu_s(partial(rules.verdict, target)) for target in targets) < 5 * plain_s
