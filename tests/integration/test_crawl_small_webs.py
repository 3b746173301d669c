"""Crawls of small webs, each written for one promise: links, filters, seeds, exit codes."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing import (
    CannedResponse,
    FakeServer,
    ScriptedWeb,
    html_response,
    serve_in_thread,
)
from tests.e2e.archive import read_archive
from tests.e2e.crawler import (
    GOSSAMER,
    Crawler,
    finish,
    flags_for,
    only_json,
    say,
    spawn,
    wait_until,
)
from tests.e2e.judge import settled


@pytest.fixture
def web() -> Iterator[FakeServer[ScriptedWeb]]:
    with serve_in_thread(ScriptedWeb()) as server:
        yield server


def crawl(server: FakeServer[ScriptedWeb], folder: Path, seed: str, *flags: str) -> Crawler:
    words = flags_for(server.resolve, "--delay", "0", *flags)
    return Crawler(folder / "crawl", (seed,) if seed else (), words)


def asked(server: FakeServer[ScriptedWeb]) -> set[str]:
    """Return the targets that were asked for, without robots.txt and sitemap.xml."""
    return {v.target for v in server.requests} - {"/robots.txt", "/sitemap.xml"}


def test_links_are_found_wherever_they_are(web: FakeServer[ScriptedWeb], tmp_path: Path) -> None:
    host = web.web.host("a.test")
    page = (
        '<html><head><link rel="alternate" type="application/rss+xml" href="/feed">'
        '<meta http-equiv="refresh" content="9; url=/refreshed"></head><body>'
        '<a href="/one">1</a><map><area href="/area"></map><iframe src="/frame"></iframe>'
        '<a href="/old">old</a><a href="/paper">pdf</a><img src="/picture.png">'
        '<form action="/post"><input></form><a rel="nofollow" href="/unfollowed">no</a>'
    )
    host.on("/", html_response(page, headers=(("Link", '</header>; rel="next"'),)))
    feed = '<rss version="2.0"><channel><item><link>/from-feed</link></item></channel></rss>'
    host.file("/feed", feed.replace("/from", host.url("/from")).encode(), "application/rss+xml")
    host.redirect("/old", to="/new")
    host.robots(f"User-agent: *\nDisallow:\nSitemap: {host.url('/map.xml')}\n")
    loc = f"<url><loc>{host.url('/from-map')}</loc></url>"
    host.file("/map.xml", f"<urlset>{loc}</urlset>".encode(), "application/xml")
    for path in ("/one", "/area", "/frame", "/refreshed", "/header", "/new", "/paper"):
        host.page(path)
    for path in ("/from-feed", "/from-map", "/picture.png", "/post", "/unfollowed"):
        host.page(path, text=path)
    crawler = crawl(web, tmp_path, host.url())
    crawler.run().expect(0)
    followed = {"/", "/one", "/area", "/frame", "/refreshed", "/header", "/old", "/new", "/paper"}
    followed |= {"/feed", "/from-feed", "/map.xml", "/from-map"}
    assert asked(web) == followed
    found = crawler.why(host.url("/from-map"))
    assert (found["via"], found["kind"]) == (host.url("/map.xml"), "sitemap")
    assert crawler.why(host.url("/unfollowed"))["reason"] == "nofollow"
    assert crawler.why(host.url("/new"))["via"] == host.url("/old")


def test_without_sitemaps_none_is_asked_for(web: FakeServer[ScriptedWeb], tmp_path: Path) -> None:
    host = web.web.host("a.test").page("/")
    host.robots(f"Sitemap: {host.url('/map.xml')}\n")
    crawl(web, tmp_path, host.url(), "--no-sitemaps").run().expect(0)
    assert {v.target for v in web.requests} == {"/robots.txt", "/"}


def test_embedded_files_are_fetched_only_when_asked_for(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test").on("/", '<img src="/i"><script src="/s"></script>')
    host.page("/i").page("/s", text="another")
    crawl(web, tmp_path / "1", host.url()).run().expect(0)
    assert asked(web) == {"/"}
    crawl(web, tmp_path / "2", host.url(), "--embeds").run().expect(0)
    assert asked(web) == {"/", "/i", "/s"}


def test_seeds_of_a_file_keep_their_labels(web: FakeServer[ScriptedWeb], tmp_path: Path) -> None:
    one = web.web.host("a.test").page("/")
    two = web.web.host("b.test").page("/x")
    file = tmp_path / "seeds.txt"
    file.write_text(f"# where to start\n\n{one.url()} news from Kiel\n{two.url('/x')}\n")
    crawler = crawl(web, tmp_path, "", "--seeds", str(file))
    crawler.run().expect(0)
    archive = read_archive(crawler.folder)
    assert {one.url(), two.url("/x")} <= set(archive.page_urls)
    labels = {r["url"]: r["label"] for r in archive.metadata() if r.get("label")}
    assert labels == dict.fromkeys([one.url(), one.url("/sitemap.xml")], "news from Kiel")


def test_a_filter_names_what_it_refused_and_who_linked_it(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    away = web.web.host("away.example")
    links = ["/b", "/skip/me", "/setup.exe", away.url("/x"), "mailto:a@b.test", "/" + "x" * 3000]
    host.page("/", links=links).page("/b")
    crawler = crawl(web, tmp_path, host.url(), "--block", "*/skip/*")
    status = crawler.run().expect(0).last_json
    assert asked(web) == {"/", "/b"}
    reasons = {"/skip/me": "blocked", "/setup.exe": "extension", "/" + "x" * 3000: "too_long"}
    for path, reason in reasons.items():
        found = crawler.why(host.url(path))
        assert (found["state"], found["reason"], found["via"]) == ("refused", reason, host.url())
        assert status["refused"][reason] >= 1
    off = crawler.why(away.url("/x"))
    assert (off["state"], off["reason"], off["via"]) == ("refused", "not_allowed", host.url())
    assert not web.requests_to("away.example", with_robots=True)


def test_depth_is_limited_and_why_says_so(web: FakeServer[ScriptedWeb], tmp_path: Path) -> None:
    host = web.web.host("a.test").page("/", links=["/1"]).page("/1", links=["/2"])
    host.page("/2", links=["/3"]).page("/3")
    crawler = crawl(web, tmp_path, host.url(), "--max-depth", "2")
    crawler.run().expect(0)
    assert asked(web) == {"/", "/1", "/2"}
    found = crawler.why(host.url("/3"))
    assert (found["state"], found["reason"], found["via"]) == (
        "refused",
        "too_deep",
        host.url("/2"),
    )


def test_a_duplicate_is_a_revisit_and_its_links_are_followed(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test").page("/", links=["/x/", "/y/"])
    for folder in ("/x/", "/y/"):
        host.on(folder, '<title>same</title><a href="next">on</a>').page(f"{folder}next")
    crawler = crawl(web, tmp_path, host.url())
    crawler.run().expect(0)
    assert asked(web) == {"/", "/x/", "/y/", "/x/next", "/y/next"}
    archive = read_archive(crawler.folder)
    assert {r.url for r in archive.revisits} & {host.url("/x/"), host.url("/y/")}
    assert set(archive.page_urls.values()) == {1}


@pytest.mark.slow
def test_a_running_crawl_answers_questions_and_takes_seeds(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", links=[f"/p{n}" for n in range(100)], text="the home page")
    for n in range(100):
        host.page(f"/p{n}")
    late = web.web.host("late.test").page("/", text="a latecomer")
    crawler = crawl(web, tmp_path, host.url(), "--delay", "0.5")
    with crawler.running() as process:
        wait_until(lambda: len(asked(web)) >= 3, process)
        wait_until(lambda: crawler.status()["pages"] >= 2, process)
        status = crawler.status()
        assert status["running"] is True
        assert status["finished"] is False
        assert status["queued"] > 50
        assert status["known_urls"] >= 101
        last = crawler.why(host.url("/p99"))
        assert last["state"] in {"queued", "leased"}
        assert (last["via"], last["depth"]) == (host.url(), 1)
        assert crawler.why(host.url())["state"] == "archived"
        assert "the home page" in crawler.ask("show", host.url()).expect(0).out
        added = only_json(crawler.ask("add", late.url(), "--json").expect(0))
        assert added["added"] == 1
        wait_until(lambda: "late.test" in {v.host for v in web.requests}, process)
        wait_until(lambda: crawler.why(late.url())["state"] == "archived", process)
        assert crawler.say("add", "not a url").code == 2
        process.send_signal(signal.SIGTERM)
        finish(process).expect(3)
    stopped = crawler.status()
    assert stopped["running"] is False
    assert crawler.why(host.url("/p99"))["state"] in {"queued", "leased"}
    assert late.url() in read_archive(crawler.folder).page_urls
    assert settled(stopped) + stopped["queued"] == stopped["known_urls"]


def test_a_seed_added_to_a_stopped_crawl_is_taken_up_by_the_next_run(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    one = web.web.host("a.test").page("/")
    two = web.web.host("b.test").page("/", text="two")
    crawler = crawl(web, tmp_path, one.url())
    crawler.run().expect(0)
    crawler.ask("add", two.url()).expect(0)
    bare = [GOSSAMER, "crawl", "--into", str(crawler.folder), "--json"]
    assert finish(spawn(bare)).expect(0).last_json["finished"] is True
    assert {one.url(), two.url()} == set(read_archive(crawler.folder).page_urls)


def test_a_later_run_changes_the_settings_and_says_so(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test").page("/", links=["/1"]).page("/1", links=["/2"]).page("/2")
    crawler = crawl(web, tmp_path, host.url(), "--max-pages", "1")
    crawler.run().expect(0)
    told = crawler.run("--max-pages", "2").expect(0).err
    assert "max_pages" in told
    bare = [GOSSAMER, "crawl", "--into", str(crawler.folder), "--json"]
    assert finish(spawn(bare)).expect(0).last_json["pages"] == 2


def test_when_no_seed_can_be_fetched_the_exit_code_is_1(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test").robots("User-agent: *\nDisallow: /no\n")
    for number, seed in enumerate((host.url("/missing"), host.url("/no"))):
        ended = crawl(web, tmp_path / str(number), seed).run().expect(1)
        assert ended.last_json["finished"] is True
        assert ended.last_json["pages"] == 0


def test_a_private_address_is_not_asked_unless_allowed(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test").page("/")
    words = ("--resolve", f"a.test:{web.resolve['a.test']}", "--delay", "0")
    crawler = Crawler(tmp_path / "crawl", (host.url(),), words)
    crawler.run().expect(1)
    assert not web.requests
    found = crawler.why(host.url())
    assert (found["state"], found["reason"]) == ("refused", "private_address")


@pytest.mark.parametrize(
    "words",
    [
        ("crawl",),
        ("crawl", "http://a.test/"),
        ("crawl", "--into", "DIR"),
        ("crawl", "not a url", "--into", "DIR"),
        ("crawl", "http://a.test/", "--into", "DIR", "--scope", "galaxy"),
        ("crawl", "http://a.test/", "--into", "DIR", "--concurrency", "0"),
        ("crawl", "http://a.test/", "--into", "DIR", "--delay", "-1"),
        ("crawl", "http://a.test/", "--into", "DIR", "--max-pages", "many"),
        ("crawl", "http://a.test/", "--into", "DIR", "--no-such-flag"),
        ("crawl", "http://a.test/", "--into", "DIR", "--config", "missing.toml"),
        ("crawl", "http://a.test/", "--into", "DIR", "--seeds", "missing.txt"),
        ("crawl", "http://a.test/", "--into", "DIR", "--resolve", "nonsense"),
        ("crawl", "http://a.test/", "--into", "DIR", "--allow-net", "nonsense"),
        ("crawl", "http://a.test/", "--into", "DIR", "--header", "nonsense"),
        ("status", "DIR"),
        ("why", "DIR", "http://a.test/"),
        ("show", "DIR", "http://a.test/"),
        ("add", "DIR", "http://a.test/"),
        ("no-such-verb",),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(words: tuple[str, ...], tmp_path: Path) -> None:
    folder = str(tmp_path / "crawl")
    words = tuple(folder if word == "DIR" else word for word in words)
    ended = say(*words).expect(2)
    assert ended.err.strip()
    assert "\n" not in ended.err.strip(), ended.err
    assert not ended.out.strip()
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    "text", ["[store]\nno_such_knob = 1\n", "[store]\nfile_bytes = 'many'\n", "not toml at all"]
)
def test_a_wrong_settings_file_is_one_line_and_exit_2(text: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    words = ("crawl", "http://a.test/", "--into", "crawl", "--config", "wrong.toml")
    ended = finish(spawn([GOSSAMER, *words], cwd=tmp_path)).expect(2)
    assert "\n" not in ended.err.strip(), ended.err
    assert not (tmp_path / "crawl").exists()


def test_a_page_in_pieces_and_one_with_an_odd_answer_are_stored_as_sent(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test").page("/", links=["/chunked", "/gzip"])
    body = b"<p>piece by piece " + b"and on " * 4000
    kind = (("Content-Type", "text/html"),)
    host.on("/chunked", CannedResponse(headers=kind, body=body, chunked=True))
    host.on("/gzip", CannedResponse(headers=kind, body=body + b"!", gzip=True))
    crawler = crawl(web, tmp_path, host.url())
    crawler.run().expect(0)
    stored = {record.url: record.payload for record in read_archive(crawler.folder).pages}
    assert stored[host.url("/chunked")] == body
    assert stored[host.url("/gzip")] == body + b"!"
