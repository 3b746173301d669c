"""S5: a crawl that meets traps ends by itself, with all that is honest. The server's log judges."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from laboratory.snares import HONEST, SNARES, ServedSnares, SnareWeb, serve_snares

from gossamer.testing import LoggedRequest, ScriptedWeb, html_response, serve_in_thread
from tests.e2e.crawler import Crawler, Ended, flags_for, kill, wait_until, write_knobs

ALLOWANCE, PER_HOME = 60, 1600
"""Pages of a domain of traps; URLs of the seed's host with all of its folders."""
FREE_PAGES = 40
"""Pages of a trap that are fetched before it is suspected, and while its first block is queued."""
SHARE = 0.2


@dataclass(frozen=True)
class Caught:
    """A crawl of a web of snares, and what the server saw of it."""

    served: ServedSnares
    crawler: Crawler
    ended: Ended

    @property
    def in_snares(self) -> Counter[str]:
        """Requests by snare, those for robots.txt included."""
        return count_snares(self.served.web, self.served.server.requests)

    @property
    def honest(self) -> set[str]:
        """The honest pages that were had."""
        return {
            visit.target
            for visit in self.served.server.requests
            if visit.status == 200 and self._is_honest(visit)
        }

    def _is_honest(self, visit: LoggedRequest) -> bool:
        return not self.served.web.snare_of(visit.host, visit.target)

    def assert_endured(self, honest_pages: int) -> None:
        """Insist on what S5 asks for."""
        visits = self.served.server.requests
        said = self.ended.last_json
        assert said["finished"]
        assert said["held"] == self.crawler.status()["held"] > 0
        assert len(self.honest) == honest_pages
        last = max(number for number, visit in enumerate(visits, 1) if self._is_honest(visit))
        before = sum(count_snares(self.served.web, visits[:last]).values())
        assert before <= SHARE * last, self.in_snares


def count_snares(web: SnareWeb, visits: Sequence[LoggedRequest]) -> Counter[str]:
    found = Counter(web.snare_of(visit.host, visit.target) for visit in visits)
    del found[""]
    return found


@contextmanager
def serving(
    web: SnareWeb, place: Path, per_home: int = PER_HOME
) -> Iterator[tuple[ServedSnares, Crawler]]:
    with serve_snares(web) as served:
        knobs = {
            "fetch": {"nameservers": [served.nameserver]},
            "traps": {"allowance": ALLOWANCE},
            "filter": {"max_urls_per_host": per_home},
        }
        flags = flags_for({}, "--delay", "0", "--config", str(write_knobs(place / "k.toml", knobs)))
        yield served, Crawler(place / "crawl", served.web.seeds, flags)


def caught_by(web: SnareWeb, place: Path, per_home: int = PER_HOME) -> Iterator[Caught]:
    with serving(web, place, per_home) as (served, crawler):
        yield Caught(served, crawler, crawler.run().expect(0))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caught]:
    """Traps that are folders of the honest host, and a domain that makes up hosts."""
    yield from caught_by(SnareWeb(), tmp_path_factory.mktemp("folders"))


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caught]:
    """The same traps on hosts of their own."""
    web = SnareWeb(honest="worded", are_hosts=True)
    yield from caught_by(web, tmp_path_factory.mktemp("hosts"))


def test_traps_in_folders_of_an_honest_host_are_held_and_the_host_is_had(folders: Caught) -> None:
    folders.assert_endured(honest_pages=1000)


def test_traps_on_hosts_of_their_own_are_held_after_their_allowance(hosts: Caught) -> None:
    hosts.assert_endured(honest_pages=1000)


@pytest.mark.parametrize("kind", ["indexed", "index_chain", "chained"])
def test_an_honest_archive_beside_traps_is_had_whole(kind: str, tmp_path: Path) -> None:
    web = SnareWeb(honest_pages=100, archive=kind, archive_pages=1200)
    for caught in caught_by(web, tmp_path, per_home=2400):
        archive = [target for target in caught.honest if target.startswith("/archive/")]
        assert len(archive) >= 1200
        assert caught.ended.last_json["finished"]


def test_status_names_what_is_held_and_what_was_closed(folders: Caught) -> None:
    status = folders.crawler.status()
    closed = {note["unit"]: note["reason"] for note in status["traps"] if note["reason"]}
    on_probation = {note["unit"]: note["held"] for note in status["traps"] if not note["reason"]}
    assert set(closed.values()) == {"trap_same"}
    assert f"{HONEST}:{folders.served.web.port}/calendar/" in closed
    assert status["refused"]["trap_same"]
    assert "*.wild.test" in on_probation
    assert sum(on_probation.values()) == status["held"] > 0
    assert status["queued"] == 0


def test_why_names_the_unit_that_refuses_a_url(hosts: Caught) -> None:
    unit = next(note["unit"] for note in hosts.crawler.status()["traps"] if note["reason"])
    said = hosts.crawler.why(f"http://{unit}2999/01")
    assert said["reason"] == "trap_same"
    assert unit in said["detail"]
    assert "gossamer trust" in said["detail"]


def test_why_says_that_a_url_is_held_and_by_which_unit(hosts: Caught) -> None:
    host = "flat.snare-flat.test"
    fetched = {
        visit.target.removeprefix("/")
        for visit in hosts.served.server.requests
        if visit.host == host and visit.status == 200
    }
    linked = {name for tail in sorted(fetched) for name in SNARES["flat"](tail).links}
    waiting = sorted(linked - fetched)
    assert len(waiting) > 100
    for name in waiting[:3]:
        said = hosts.crawler.why(f"http://{host}:{hosts.served.web.port}/{name}")
        assert said["state"] == "held"
        assert host in said["detail"]
        assert "gossamer trust" in said["detail"]


def test_a_kill_in_the_middle_loses_no_honest_page_and_nothing_that_is_held(tmp_path: Path) -> None:
    with serving(SnareWeb(honest_pages=400), tmp_path) as (served, crawler):
        for visits in (60, 150, 250, 350, 700):
            process = crawler.start()
            wait_until(lambda enough=visits: len(served.server.requests) >= enough, process)
            kill(process)
        caught = Caught(served, crawler, crawler.run().expect(0))
        assert len(caught.honest) == 400
        assert caught.ended.last_json["finished"]
        assert caught.ended.last_json["held"] == crawler.status()["held"] > 0
        assert sum(caught.in_snares.values()) <= PER_HOME + 2 * ALLOWANCE


def test_gates_and_disguised_not_founds_are_labelled_and_not_followed(tmp_path: Path) -> None:
    web = ScriptedWeb()
    site = web.host("a.test")
    site.page("/", links=["/gate", "/lost", "/shut", "/fine"], text="Welcome.")
    site.page("/gate", title="Just a moment...", links=["/behind"])
    site.page("/lost", title="404 - Page not found", links=["/elsewhere"])
    site.page("/fine", title="Page 404 of 500", links=["/next"]).page("/next")
    site.on("/shut", html_response("<title>Are you a robot?</title>", status=403))
    with serve_in_thread(web) as server:
        flags = flags_for(server.resolve, "--delay", "0")
        crawler = Crawler(tmp_path / "crawl", (site.url("/"),), flags)
        crawler.run().expect(0)
        asked = {visit.target for visit in server.requests}
        assert asked.isdisjoint({"/behind", "/elsewhere"})
        assert "/next" in asked
        assert crawler.status()["labels"] == {"challenge": 1, "soft_not_found": 1}
        assert crawler.why(site.url("/gate"))["detail"] == "challenge"
        assert "(challenge)" in crawler.why(site.url("/shut"))["detail"]
