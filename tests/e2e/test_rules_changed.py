"""Filters hold for what is queued: rules that are given on resume, or by a filter of the user."""

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import gossamer
from gossamer import ConfigError, Crawl, Link, url_filter
from gossamer.config import Config, FetchConfig, FilterConfig, LimitsConfig, PolitenessConfig
from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, flags_for, kill, wait_until, write_knobs

HOSTS = ("a.test", "b.test", "c.test", "d.test")
EACH = 30
"""Pages of each kind on each host."""
ALL = ("--max-pages", "100000")


@dataclass(frozen=True)
class Sites:
    """Hosts whose start pages link all their pages: wanted ones, and some that are soon not."""

    crawler: Crawler
    server: FakeServer[ScriptedWeb]

    def asked(self, path: str) -> list[str]:
        """Return what the server was asked for under a path, of all hosts, in order."""
        return [
            f"{visit.host}{visit.target}"
            for visit in self.server.requests
            if visit.target.startswith(path)
        ]

    def url(self, path: str, host: str = "a.test") -> str:
        return self.server.web.host(host).url(path)

    def expect_all_wanted_once(self) -> None:
        found = read_archive(self.crawler.folder).page_urls
        assert set(found.values()) == {1}
        wanted = [url for url in found if "/good/" in url]
        assert len(wanted) == EACH * len(HOSTS)


@contextmanager
def sites(place: Path, *flags: str) -> Iterator[Sites]:
    web = ScriptedWeb()
    for name in HOSTS:
        host = web.host(name)
        links = [link for n in range(EACH) for link in (f"/bad/{n}", f"/good/{n}")]
        host.page("/", links=[*links, *(web.host(other).url("/") for other in HOSTS)])
        for link in links:
            host.page(link, text=f"{name} {link}", links=["/bad/0", "/bad/7"])
    with serve_in_thread(web) as server:
        seeds = (server.web.host("a.test").url("/"),)
        words = flags_for(server.resolve, "--delay", "0.02", "--no-sitemaps", *flags)
        yield Sites(Crawler(place / "crawl", seeds, words), server)


@pytest.mark.parametrize("shards", ["1", "2"])
def test_what_is_blocked_on_resume_is_not_asked_for_though_it_is_queued_also_after_kills(
    tmp_path: Path, shards: str
) -> None:
    with sites(tmp_path, "--shards", shards) as web:
        with web.crawler.running() as process:
            assert wait_until(lambda: len(web.asked("/bad/")) >= 12, process)
            kill(process)
        before = web.asked("/bad/")
        assert before
        blocking = web.crawler.with_flags("--block", "http://*/bad/*")
        for wanted in (20, 40):
            with blocking.running() as process:
                assert wait_until(lambda n=wanted: len(web.asked("/good/")) >= n, process)
                kill(process)
        ended = blocking.run().expect(0)
        assert web.asked("/bad/") == before
        web.expect_all_wanted_once()
        told = ended.last_json
        stored = sum("/bad/" in url for url in read_archive(web.crawler.folder).page_urls)
        assert told["refused"] == {"blocked": EACH * len(HOSTS) - stored}
        assert told["queued"] == 0
        assert told["known_urls"] == (2 * EACH + 1) * len(HOSTS)
        refused = next(n for n in range(EACH) if f"a.test/bad/{n}" not in before)
        why = web.crawler.why(web.url(f"/bad/{refused}"))
        assert (why["state"], why["reason"]) == ("refused", "blocked")
        assert why["detail"] == "http://*/bad/*"
        assert "http://*/bad/*" in why["explanation"]


@pytest.mark.parametrize("shards", ["1", "2"])
def test_what_is_blocked_while_the_crawl_runs_is_not_asked_for_any_more_also_after_a_kill(
    tmp_path: Path, shards: str
) -> None:
    with sites(tmp_path, "--shards", shards, "--delay", "0.2") as web:  # `set` takes its time, too
        with web.crawler.running() as process:
            assert wait_until(lambda: len(web.asked("/bad/")) >= 12, process)
            said = web.crawler.say("set", "filter.block+=http://*/bad/*", "--json").expect(0)
            before = web.asked("/bad/")
            assert said.last_json == {
                "changes": ['filter.block: [] -> ["http://*/bad/*"]'],
                "running": True,
                "at_next_start": [],
            }
            so_far = len(web.asked("/good/"))
            assert wait_until(lambda: len(web.asked("/good/")) >= so_far + 12, process)
            assert len(web.asked("/bad/")) - len(before) <= len(HOSTS)  # under way, one a host
            before = web.asked("/bad/")
            kill(process)
        told = web.crawler.run("--delay", "0.02").expect(0).last_json
        assert web.asked("/bad/") == before
        web.expect_all_wanted_once()
        stored = sum("/bad/" in url for url in read_archive(web.crawler.folder).page_urls)
        assert told["refused"] == {"blocked": EACH * len(HOSTS) - stored}
        assert told["queued"] == 0


def test_settings_of_a_stopped_crawl_are_changed_for_its_next_start(tmp_path: Path) -> None:
    with sites(tmp_path) as web:
        web.crawler.run("--max-pages", "6").expect(0)
        said = web.crawler.say("set", "filter.max_depth=0", "filter.block=x.test", "--json")
        assert said.expect(0).last_json == {
            "changes": [
                'filter.block: [] -> ["x.test"]',
                "filter.max_depth: not set -> 0",
            ],
            "running": False,
            "at_next_start": [],
        }
        waiting = web.crawler.why(web.url(f"/good/{EACH - 1}"))
        assert waiting["state"] in {"queued", "leased"}
        assert waiting["filter"]["reason"] == "too_deep"
        assert "not fetched when its turn comes (too_deep: deeper than 0)" in waiting["explanation"]
        before = len(web.server.requests)
        told = web.crawler.run(*ALL).expect(0).last_json
        assert told["refused"]["too_deep"] > EACH
        assert len(web.server.requests) == before
        assert "nothing has changed" in web.crawler.say("set", "filter.max_depth=0").expect(0).out
        words = ("filter.max_depth=", "filter.block-=x.test", "filter.block+=y.test")
        said = web.crawler.say("set", *words).expect(0)
        assert "filter.max_depth: 0 -> not set" in said.out
        assert 'filter.block: ["x.test"] -> ["y.test"]' in said.out
        assert "The next start obeys" in said.out


@pytest.mark.parametrize("is_running", [True, False])
@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("filter.block", "expected KEY=VALUE such as filter.block=*.example.org"),
        ("filter.blok=x", "did you mean filter.block?"),
        ("filter.max_depth=deep", "filter.max_depth: expected"),
        ("filter.max_depth+=1", "is for lists"),
        ("filter.scope=world", "filter.scope: expected"),
        ("filter.block-=nobody.test", "is not in that list"),
        ("filter.block=[a-z]+", "filter.block: expected a host"),
        ("filter.blocklist=/no/such/file", "cannot read /no/such/file"),
        ("filter.user_filters=nothing:here", "cannot import 'nothing:here'"),
        ("fetch.auth=x", "`set` cannot change it"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_and_nothing_changes(
    stopped_and_running: tuple[Crawler, Crawler], word: str, complaint: str, *, is_running: bool
) -> None:
    crawler = stopped_and_running[is_running]
    before = (crawler.folder / "crawl.toml").read_text()
    ended = crawler.say("set", word)
    assert ended.code == 2
    assert complaint in ended.err
    assert (crawler.folder / "crawl.toml").read_text() == before


@pytest.fixture(scope="module")
def stopped_and_running(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Crawler, Crawler]]:
    web = ScriptedWeb()
    web.host("a.test").page("/", text="one page")
    web.host("slow.test").fault("/", "drip")
    with serve_in_thread(web) as server:
        words = flags_for(server.resolve, "--no-sitemaps", "--shards", "1")
        stopped, running = (
            Crawler(
                tmp_path_factory.mktemp(name) / "crawl", (server.web.host(host).url("/"),), words
            )
            for name, host in (("stopped", "a.test"), ("running", "slow.test"))
        )
        stopped.run().expect(0)
        with running.running() as process:
            assert wait_until(lambda: server.requests_to("slow.test"), process)
            yield stopped, running


def test_a_program_changes_settings_too(tmp_path: Path) -> None:
    with sites(tmp_path) as web:
        web.crawler.run("--max-pages", "6").expect(0)
        crawl = gossamer.open(web.crawler.folder)
        told = crawl.set({"filter.block": ["http://*/bad/*"], "filter.max_depth": None})
        assert told.changes == ['filter.block: [] -> ["http://*/bad/*"]']
        assert not told.running
        assert crawl.config().filter.block == ("http://*/bad/*",)
        with pytest.raises(ConfigError, match=r"filter\.max_depth"):
            crawl.set({"filter.max_depth": "deep"})


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--block", "http://*/bad/*"), "blocked"),
        (("--max-depth", "0"), "too_deep"),
        (("--scope", "host"), "off_scope"),
    ],
    ids=lambda given: given if isinstance(given, str) else given[0],
)
def test_every_rule_that_is_given_on_resume_holds_for_what_is_queued(
    tmp_path: Path, flags: tuple[str, str], reason: str
) -> None:
    with sites(tmp_path) as web:
        web.crawler.run("--max-pages", "6").expect(0)
        before = len(web.server.requests)
        told = web.crawler.run(*ALL, *flags).expect(0).last_json
        later = [visit for visit in web.server.requests[before:] if visit.target != "/robots.txt"]
        assert told["refused"][reason] > 0
        assert told["queued"] == 0
        match reason:
            case "blocked":
                paths = {visit.target.split("/")[1] for visit in later}
                assert "good" in paths
                assert "bad" not in paths
            case "too_deep":
                assert later == []
            case _:
                assert {visit.host for visit in later} == {"a.test"}


def test_what_an_allow_list_does_not_name_is_not_asked_for_though_it_is_queued(
    tmp_path: Path,
) -> None:
    with sites(tmp_path) as web:
        web.crawler.run("--max-pages", "6").expect(0)
        before = len(web.server.requests)
        words = " ".join(web.crawler.flags).replace("--allow *.test", "--allow http://*/good/*")
        only = Crawler(web.crawler.folder, (), (*words.split(), *ALL))
        told = only.run().expect(0).last_json
        later = [visit for visit in web.server.requests[before:] if visit.target != "/robots.txt"]
        assert {visit.target.split("/")[1] for visit in later} == {"good"}
        assert told["refused"]["not_allowed"] > 0


def test_a_line_that_is_added_to_the_blocklist_holds_on_resume(tmp_path: Path) -> None:
    listed = tmp_path / "blocked.txt"
    listed.write_text("nothing.test\n")
    knobs = write_knobs(tmp_path / "own.toml", {"filter": {"blocklist": str(listed)}})
    with sites(tmp_path, "--config", str(knobs)) as web:
        web.crawler.run("--max-pages", "6").expect(0)
        before = web.asked("/bad/")
        listed.write_text("nothing.test\nhttp://*/bad/*\n")
        told = web.crawler.run(*ALL).expect(0).last_json
        assert web.asked("/bad/") == before
        assert told["refused"]["blocked"] >= EACH
        web.expect_all_wanted_once()


def test_a_seed_that_is_blocked_on_resume_is_not_asked_for_and_comes_back_with_a_retry(
    tmp_path: Path,
) -> None:
    with sites(tmp_path) as web:
        seed = web.url("/good/0", "d.test")
        web.crawler.run("--max-pages", "1").expect(0)
        web.crawler.say("add", seed).expect(0)
        told = web.crawler.run(*ALL, "--block", "d.test").expect(0).last_json
        assert not [visit for visit in web.server.requests if visit.host == "d.test"]
        why = web.crawler.why(seed)
        assert (why["state"], why["reason"], why["detail"]) == ("refused", "blocked", "d.test")
        refused = told["refused"]["blocked"]
        assert web.crawler.run(*ALL).expect(0).last_json["refused"]["blocked"] == refused
        lifted = web.crawler.with_flags("--block", "nothing.test")
        assert lifted.run(*ALL).expect(0).last_json["refused"] == {"blocked": refused - 1}
        assert web.crawler.why(seed)["state"] == "archived"


def test_what_was_refused_in_the_queue_is_queued_again_by_its_reason(tmp_path: Path) -> None:
    with sites(tmp_path) as web:
        web.crawler.run("--max-pages", "60").expect(0)  # the start page of each host among them
        web.crawler.run(*ALL, "--block", "http://*/bad/*").expect(0)
        before = len(web.asked("/bad/"))
        assert before < EACH * len(HOSTS)
        lifted = web.crawler.with_flags("--block", "nothing.test")
        lifted.run(*ALL).expect(0)
        assert len(web.asked("/bad/")) == before
        lifted.say("retry", "--reason", "blocked").expect(0)
        assert lifted.run(*ALL).expect(0).last_json["refused"] == {}
        assert len(web.asked("/bad/")) == EACH * len(HOSTS)


def test_urls_of_a_host_that_is_down_are_refused_without_another_probe(tmp_path: Path) -> None:
    with sites(tmp_path) as web, socket.socket() as nobody:
        nobody.bind(("127.0.9.77", 0))  # and does not listen
        port = nobody.getsockname()[1]
        away = tuple(f"http://away.test:{port}/bad/{n}" for n in range(5))
        flags = (*web.crawler.flags, "--resolve", "away.test:127.0.9.77")
        crawler = Crawler(web.crawler.folder, (*web.crawler.seeds, *away), flags)
        with crawler.running() as process:
            assert wait_until(lambda: web.server.requests, process)
            assert wait_until(lambda: crawler.status()["parked"], process)
            kill(process)
        told = crawler.run("--block", "http://*/bad/*").expect(0).last_json
        assert (told["queued"], told["parked"], told["parked_hosts"]) == (0, 0, 0)
        whys = [crawler.why(url) for url in away]
        assert {(why["state"], why["reason"]) for why in whys} == {("refused", "blocked")}


def api_config(web: Sites, **limits: int) -> Config:
    return Config(
        shards=1,
        politeness=PolitenessConfig(delay_s=0.0),
        fetch=FetchConfig(resolve=web.server.resolve, allow_net=("127.0.0.0/8",)),
        filter=FilterConfig(scope="any", allow=("*.test",)),
        limits=LimitsConfig(**limits),
    )


def test_a_filter_of_the_users_own_is_asked_about_what_is_queued_once_a_start(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    @url_filter
    def no_bad(link: Link) -> str | None:
        asked.append(link.target.text)
        return "bad" if "/bad/" in link.target.text else None

    @url_filter
    def needs_the_text(link: Link) -> str | None:
        return None if link.text.startswith(("/", "http")) else "without a text"

    with sites(tmp_path) as web:
        seeds, folder = web.crawler.seeds, tmp_path / "crawl"
        first = Crawl(folder, seeds, api_config(web, max_pages=6), filters=[])
        assert first.run().status.pages == 6
        before = web.asked("/bad/")
        ending = Crawl(folder, (), api_config(web), filters=[no_bad, needs_the_text]).run()
        assert web.asked("/bad/") == before
        assert ending.status.queued == 0
        assert set(ending.status.refused) == {"no_sitemap", "user"}
        assert max(asked.count(url) for url in asked) == 1
        web.expect_all_wanted_once()


def test_a_filter_that_raises_is_named_and_counted_even_if_nothing_else_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_rules.py").write_text("def broken(link):\n    raise LookupError('my bug')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    knobs = write_knobs(tmp_path / "own.toml", {"filter": {"user_filters": ["my_rules:broken"]}})
    with sites(tmp_path, "--config", str(knobs)) as web:
        ended = web.crawler.run(is_fresh=True).expect(1)
        told = ended.last_json
        assert told["refused"] == {"filter_failed": 1}
        assert told["user_errors"]["filter broken"]["count"] == 1
        said = "broken failed: LookupError: my bug"
        assert told["refused_seeds"] == {web.url("/"): f"filter_failed: {said}"}
        why = web.crawler.ask("why", web.url("/")).expect(0).out
        assert said in why
        shown = web.crawler.ask("status").expect(0).out
        assert "filter broken" in shown
        again = web.crawler.run(is_fresh=True).expect(1).last_json
        assert again["refused"] == {"filter_failed": 1}
        (tmp_path / "my_rules.py").write_text("def broken(link):\n    return None\n")
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        mended = web.crawler.run(is_fresh=True).expect(0).last_json
        assert mended["refused"] == {}
        assert mended["pages"] == (2 * EACH + 1) * len(HOSTS)
