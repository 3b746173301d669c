"""T15 to T17, P1 to P9, P15: whatever a robots.txt is, no page is asked for that it may forbid."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.fetch import parse_robots
from gossamer.testing import CannedResponse, ScriptedHost, ScriptedWeb, html_response
from tests.integration.threats import Done, crawl, serving

FORBID = "User-agent: *\nDisallow: /no\n"
FILLER = "# a line that says nothing to anybody, again and again and again\n"
HTML = "<!doctype html><html><head><title>Home</title></head><body>Not a robots.txt</body></html>"


def filled(size: int) -> str:
    """Return so many bytes of comments."""
    return (FILLER * (size // len(FILLER) + 1))[: size - 1] + "\n"


def raw(body: bytes, kind: str = "text/plain") -> CannedResponse:
    return CannedResponse(headers=(("Content-Type", kind),), body=body)


READ = {
    "plain": raw(FORBID.encode()),
    "late-rule": raw((filled(499_000) + FORBID).encode()),
    "too-late-rule": raw((FORBID + filled(600_000) + "Disallow: /yes\n").encode()),
    "bom": raw(b"\xef\xbb\xbf" + FORBID.encode()),
    "carriage-returns": raw(FORBID.replace("\n", "\r").encode()),
    "binary-before": raw(bytes(range(1, 9)) * 99 + b"\n" + FORBID.encode()),
    "lies-about-type": raw(FORBID.encode(), "text/html; charset=utf-16"),
    "shouting": raw(b"USER-AGENT: GoSSaMeR/99\nDISALLOW: /no\n\nUser-agent: *\nDisallow: /yes\n"),
    "two-groups": raw(
        b"User-agent: gossamer\nDisallow: /n\nUser-agent: other\nDisallow: /\n\n"
        b"User-agent: gossamer\nAllow: /none\nDisallow: /no\n"
    ),
    "longest-wins": raw(
        b"User-agent: *\nDisallow: /\nAllow: /y\nAllow: /$\nAllow: /n\nDisallow: /no\n"
    ),
}
"""Files that say, in all kinds of ways, that /no is forbidden and /yes is not."""
NOTHING_FORBIDDEN = {
    "missing": html_response("nothing here", status=404),
    "gone": html_response("gone", status=410),
    "denied": html_response("denied", status=403),
    "login": html_response("who are you?", status=401),
    "teapot": html_response("short and stout", status=418),
    "html": html_response(HTML),
    "empty": raw(b""),
    "zeros": raw(bytes(10_000)),
}
"""RFC 9309 2.3.1.3: the server has none, or one without rules."""
UNREACHABLE = {
    "broken": html_response("oops", status=500),
    "bad-gateway": html_response("oops", status=502),
    "busy": html_response("later", status=503),
    "too-many": html_response("slower", status=429),
}
"""RFC 9309 2.3.1.4: forbidden until it can be read."""
FREE = (*NOTHING_FORBIDDEN, "endless", "to-file", "round", "six-hops")
CRAWLED = (*READ, *FREE, "five-hops")
UNREACHABLE_FAULTS = (
    "silent",
    "drop",
    "length-too-long",
    "reset-mid-body",
    "bad-chunk",
    "not-gzip",
)


def site(web: ScriptedWeb, name: str) -> ScriptedHost:
    """Make a host with a page that is always allowed, one that may be, and one that is not."""
    host = web.host(f"{name}.test").page("/", links=["/no", "/yes"], text=name)
    return host.page("/no", text=f"{name} no").page("/yes", text=f"{name} yes")


@dataclass(frozen=True)
class Obeyed:
    done: Done
    web: ScriptedWeb

    def asked(self, name: str) -> set[str]:
        """Return the paths of a host that were asked for, robots.txt left out."""
        return {visit.target for visit in self.done.server.requests_to(f"{name}.test")}

    def fate(self, name: str, path: str) -> tuple[str, str]:
        return self.done.fate(self.web.host(f"{name}.test").url(path))


def chain(web: ScriptedWeb, name: str, hops: int) -> None:
    """Send a robots.txt through so many redirects, each to another host, to one that forbids."""
    hosts = [site(web, name), *(web.host(f"{name}-{n}.test") for n in range(1, hops + 1))]
    for here, there in pairwise(hosts):
        here.redirect("/robots.txt", to=there.url("/robots.txt"), status=301)
    hosts[-1].robots(FORBID)


@pytest.fixture(scope="module")
def obeyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Obeyed]:
    web = ScriptedWeb()
    for table in (READ, NOTHING_FORBIDDEN, UNREACHABLE):
        for name, answer in table.items():
            site(web, name).on("/robots.txt", answer)
    for name in UNREACHABLE_FAULTS:
        site(web, name).fault("/robots.txt", name)
    site(web, "endless").fault("/robots.txt", "endless-body")
    chain(web, "five-hops", 5)
    chain(web, "six-hops", 6)
    site(web, "to-private").redirect("/robots.txt", to="http://127.0.0.1:$PORT/robots.txt")
    site(web, "to-file").redirect("/robots.txt", to="file:///etc/passwd")
    site(web, "round").redirect("/robots.txt", to="/robots.txt")
    slow = site(web, "patient").robots("User-agent: *\nCrawl-delay: 86400\n")
    seeds = [host.url() for host in web._hosts.values() if "-hops-" not in host.name]
    assert slow.url() in seeds
    knobs = {"fetch": {"first_byte_s": 2.0}, "politeness": {"throttle_s": 60.0}}
    with serving(web) as server:
        seeds = [seed.replace("$PORT", str(server.port)) for seed in seeds]

        def until() -> bool:
            """Tell whether every host that may be crawled was, and the silent one was given up."""
            crawled = {visit.host for visit in server.requests if visit.target == "/yes"}
            silent = [visit.at for visit in server.requests_to("silent.test", with_robots=True)]
            is_late = bool(silent) and time.time() - silent[0] > 4.0
            return is_late and {f"{name}.test" for name in CRAWLED} <= crawled

        folder = tmp_path_factory.mktemp("robots") / "c"
        yield Obeyed(crawl(server, folder, *seeds, knobs=knobs, until=until), web)


@pytest.mark.parametrize("name", READ)
def test_a_robots_txt_is_read_however_it_is_written(name: str, obeyed: Obeyed) -> None:
    assert obeyed.asked(name) == {"/", "/yes"}
    assert obeyed.fate(name, "/no") == ("refused", "robots_disallowed")


@pytest.mark.parametrize("name", FREE)
def test_a_host_without_rules_forbids_nothing(name: str, obeyed: Obeyed) -> None:
    assert obeyed.asked(name) == {"/", "/yes", "/no"}


@pytest.mark.parametrize("name", [*UNREACHABLE, *UNREACHABLE_FAULTS, "to-private"])
def test_while_robots_txt_cannot_be_read_no_page_is_asked_for(name: str, obeyed: Obeyed) -> None:
    assert obeyed.asked(name) == set()
    told = obeyed.done.why(obeyed.web.host(f"{name}.test").url())
    assert told["state"] == "leased"
    assert told["next_reason"] in {"robots_unreachable", "retry_after", "throttled"}
    assert told["next_at"] > 0
    assert not obeyed.done.server.requests_to("127.0.0.1", with_robots=True)


def test_a_robots_txt_five_hosts_away_holds_for_the_host_that_was_asked(obeyed: Obeyed) -> None:
    assert obeyed.asked("five-hops") == {"/", "/yes"}
    assert obeyed.fate("five-hops", "/no") == ("refused", "robots_disallowed")
    robots = [v.host for v in obeyed.done.server.requests if v.target == "/robots.txt"]
    assert robots.count("five-hops-5.test") == 1


def test_a_long_crawl_delay_slows_a_host_and_does_not_drop_it(obeyed: Obeyed) -> None:
    assert obeyed.asked("patient") <= {"/"}
    told = obeyed.done.why(obeyed.web.host("patient.test").url())
    assert (told["state"], told["next_reason"]) == ("leased", "crawl_delay")
    assert told["robots"]["crawl_delay_s"] == 86400
    assert told["next_at"] - time.time() > 80_000


def test_a_robots_txt_of_any_size_costs_one_request(obeyed: Obeyed) -> None:
    for name in (*READ, *NOTHING_FORBIDDEN, "endless"):
        visits = obeyed.done.server.requests_to(f"{name}.test", with_robots=True)
        assert [v.target for v in visits].count("/robots.txt") == 1


def test_a_host_whose_robots_txt_stays_away_is_given_up_after_a_time(tmp_path: Path) -> None:
    web = ScriptedWeb()
    gone, back = site(web, "gone"), site(web, "back")
    gone.on("/robots.txt", html_response("oops", status=500))
    oops = html_response("oops", status=500)
    back.on("/robots.txt", CannedResponse(body=FORBID.encode(), before=(oops, oops)))
    with serving(web) as server:
        knobs = {"outage": {"give_up_s": 20.0}}
        done = crawl(server, tmp_path / "c", gone.url(), back.url(), knobs=knobs)
        seen = Obeyed(done, web)
        assert done.ending.is_finished
        assert seen.asked("gone") == set()
        assert len(server.requests_to("gone.test", with_robots=True)) == 3
        told = done.why(gone.url())
        assert (told["state"], told["reason"]) == ("refused", "robots_unreachable")
        assert told["detail"] == "host never answered, 1 probe"
        assert seen.asked("back") == {"/", "/yes"}


def test_patterns_made_to_be_slow_are_matched_at_once() -> None:
    hostile = ["/" + "*a" * 1000 + "$", "/" + "*a*b" * 500 + "$", "/" + "a*" * 1000 + "b$"]
    lines = "\n".join(f"Disallow: {pattern}" for pattern in hostile * 300)
    rules = parse_robots(f"User-agent: *\n{lines}\n".encode(), "gossamer")
    began = time.process_time()
    for target in ("/" + "a" * 2000, "/" + "ab" * 1000, "/" + "a" * 1999 + "c"):
        assert rules.verdict(target).allowed in {True, False}
    assert time.process_time() - began < 1.0


def test_a_dead_port_does_not_hold_up_the_other_pages_of_its_host(tmp_path: Path) -> None:
    web = ScriptedWeb()
    pages = [f"/{number}" for number in range(40)]
    host = web.host("a.test")
    for path in pages:
        host.page(path, text=path)
    with serving(web) as server:
        dead = [f"http://a.test:{server.port - 1}/{number}" for number in range(20)]
        host.page("/", links=[*pages[:20], *dead, *pages[20:]])
        done = crawl(server, tmp_path / "c", host.url(), knobs={"limits": {"max_time_s": 2.0}})
        asked = {visit.target for visit in server.requests_to("a.test")}
        assert done.fate(dead[0])[1] in {"", "connect_failed"}
        assert asked == {"/", *pages}
