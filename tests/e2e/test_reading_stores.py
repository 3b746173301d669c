"""Questions to a crawl by the URL of its store: its folder is gone, and each answer is the same."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer
from gossamer.testing import FakeWeb, ServerProcess, serve_in_process
from tests.e2e.crawler import (
    Crawler,
    Ended,
    finish,
    flags_for,
    only_json,
    say,
    wait_until,
    write_knobs,
)
from tests.s3 import BUCKET

WEB = FakeWeb(seed=919, hosts=5, pages_per_host=16)
OFTEN = {"store": {"ship_s": 0.2, "lease_s": 2.0, "file_bytes": 60_000}}
"""Several archive files, some of them closed and shipped as a whole."""
DIFFER = ("seconds", "pages_per_s", "store", "archive_bytes", "lost_found")
"""In the status of a store: it is that of a moment before the last file was closed."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with serve_in_process(WEB, tmp_path / "log.tsv") as serving:
        yield serving


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=["file", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a store: a folder, or a bucket on loopback."""
    if request.param == "file":
        return f"file://{tmp_path}/store"
    request.getfixturevalue("s3")
    return f"s3://{BUCKET}/{tmp_path.name}"


def crawler_of(server: ServerProcess, tmp_path: Path, url: str, *flags: str) -> Crawler:
    knobs = write_knobs(tmp_path / "knobs.toml", OFTEN)
    words = flags_for(server.resolve, "--store", url, "--config", str(knobs), *flags)
    return Crawler(tmp_path / "crawl", server.web.seeds, words)


def stored_page(server: ServerProcess, folder: Path) -> str:
    """Return a page that is in the archive, and linked."""
    pages = (page.url for page in gossamer.open(folder).pages())
    return next(url for url in pages if url not in server.web.seeds)


def questions(page: str, word: str) -> dict[str, tuple[str, ...]]:
    """Return commands, each to be asked of the folder and of the store."""
    return {
        "why": ("why", "@", page, "--json"),
        "show": ("show", "@", page),
        "show raw": ("show", "@", page, "--raw"),
        "show facts": ("show", "@", page, "--json"),
        "show nothing": ("show", "@", "http://nowhere.test/"),
        "search": ("search", "@", word, "--urls"),
        "links": ("links", "@", page, "--json"),
        "rank": ("rank", "@", "--json"),
        "list": ("list", "@", "urls"),
        "copies": ("copies", "@", "--json"),
        "list pages": ("list", "@", "pages"),
        "list links": ("list", "@", "links"),
        "list hosts": ("list", "@", "hosts"),
        "check-links": ("check-links", "@", "--json"),
        "report": ("report", "@"),
        "changes": ("changes", "@"),
        "sql": ("sql", "@", "select count(*), count(distinct url) from pages"),
    }


def asked(words: tuple[str, ...], place: str) -> Ended:
    return say(*(place if word == "@" else word for word in words))


def same(ended: Ended, place: str) -> tuple[int, str]:
    """Return what a command said, but for where it looked."""
    lines = [line for line in ended.out.splitlines() if place not in line]
    return ended.code, "\n".join(lines)


@pytest.mark.slow
def test_each_command_answers_from_the_store_as_it_did_from_the_folder(
    server: ServerProcess, tmp_path: Path, url: str, cache: Path
) -> None:
    crawler = crawler_of(server, tmp_path, url, "--shards", "2")
    finish(crawler.start(is_fresh=True)).expect(0)
    page = stored_page(server, crawler.folder)
    text = say("show", str(crawler.folder), page, "--text").expect(0).out
    asks = questions(page, max(text.split(), key=len))
    before = {name: crawled(words, crawler) for name, words in asks.items()}
    assert before["search"][1]
    status = crawler.status()
    shutil.rmtree(crawler.folder)
    unbuilt = say("search", url, "words", "--no-build")
    assert f"{url} has no index: `gossamer build {url} index` makes one" in unbuilt.err
    with pytest.raises(gossamer.ConfigError, match=f"`gossamer build {url} index` makes one"):
        gossamer.open_search(url)
    for name, words in asks.items():
        assert same(asked(words, url), str(cache)) == before[name], name
    told = only_json(say("status", url, "--json").expect(0))
    assert told["store"]["has_ended"]
    assert not told["store"]["is_running"]
    assert {k: v for k, v in told.items() if k not in DIFFER} == {
        k: v for k, v in status.items() if k not in DIFFER
    }
    assert only_json(say("check", url, "--json").expect(0))["ok"]
    assert "Last run by" in say("status", url).expect(0).out
    say("export", url, "pages", "--to", str(tmp_path / "out")).expect(0)


def crawled(words: tuple[str, ...], crawler: Crawler) -> tuple[int, str]:
    return same(asked(words, str(crawler.folder)), str(crawler.folder))


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_a_crawl_that_runs_is_asked_by_the_url_of_its_store(
    server: ServerProcess, tmp_path: Path, url: str
) -> None:
    crawler = crawler_of(server, tmp_path, url, "--shards", "1", "--delay", "0.2")
    process = crawler.start(is_fresh=True)
    try:
        wait_until(lambda: pages_in(url) >= 5, process)
        told = only_json(say("status", url, "--json").expect(0))
        assert told["store"]["is_running"]
        assert told["running"]
        first = only_json(say("check", url, "--json").expect(0))
        assert first["ok"]
        wait_until(lambda: pages_in(url) >= 20, process)
        assert only_json(say("check", url, "--json").expect(0))["ok"]
        pages = [one.url for one in gossamer.open(url).pages()]
        assert len(pages) >= 20
        assert say("show", url, pages[-1]).expect(0).out
    finally:
        process.kill()
        process.communicate()


def pages_in(url: str) -> int:
    ended = say("status", url, "--json")
    return int(only_json(ended)["pages"]) if ended.code == 0 else 0


@pytest.mark.slow
def test_showing_a_page_fetches_little_more_than_it_and_the_next_question_only_news(
    server: ServerProcess, tmp_path: Path, cache: Path
) -> None:
    url = f"file://{tmp_path}/store"
    crawler = crawler_of(server, tmp_path, url, "--shards", "1")
    finish(crawler.start(is_fresh=True)).expect(0)
    page = stored_page(server, crawler.folder)
    content = say("show", str(crawler.folder), page).expect(0).out
    shutil.rmtree(crawler.folder)
    assert say("show", url, page).expect(0).out == content
    assert not list(cache.glob("*/crawl/archive/*.warc.gz"))
    whole = sum(one.stat().st_size for one in (tmp_path / "store" / "archive").rglob("*.gz*"))
    held = sum(one.stat().st_blocks * 512 for one in cache.glob("*/peek/archive/*.warc.gz"))
    assert held < whole
    say("why", url, page, "--json").expect(0)
    facts = say("show", url, page, "--json").expect(0).out
    shutil.rmtree(tmp_path / "store" / "archive")  # what was read is here: it is not fetched again
    assert say("why", url, page, "--json").expect(0).out
    assert say("show", url, page, "--json").expect(0).out == facts


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_the_url_of_a_store_is_enough_to_go_on_and_is_no_seed_of_a_link_check(
    server: ServerProcess, tmp_path: Path, url: str
) -> None:
    crawler = crawler_of(server, tmp_path, url, "--shards", "1", "--max-pages", "5")
    finish(crawler.start(is_fresh=True)).expect(0)
    links = crawler.say("check-links", "--json")
    shutil.rmtree(crawler.folder)
    ended = say("check-links", url, "--json")
    assert (ended.code, only_json(ended)["pages"]) == (links.code, only_json(links)["pages"])
    assert "only read" in say("check-links", url, "--external").expect(2).err
    other = Crawler(tmp_path / "other", (), ("--store", url, "--max-pages", "8"))
    finish(other.start(is_fresh=True)).expect(0)
    assert other.status()["pages"] >= 8
    assert gossamer.open(other.folder).config().filter.allow == ("*.test",)


def test_a_moment_before_the_first_checkpoint_leaves_no_folder(
    server: ServerProcess, tmp_path: Path
) -> None:
    url = f"file://{tmp_path}/store"
    crawler = crawler_of(server, tmp_path, url, "--shards", "1", "--max-pages", "1")
    finish(crawler.start(is_fresh=True)).expect(0)
    ended = say("restore", url, "--into", str(tmp_path / "copy"), "--at", "1999-01-01").expect(4)
    assert "the oldest is of" in ended.err
    assert not (tmp_path / "copy").exists()


def test_a_store_is_not_changed_by_what_changes_a_crawl(
    server: ServerProcess, tmp_path: Path
) -> None:
    url = f"file://{tmp_path}/store"
    crawler = crawler_of(server, tmp_path, url, "--shards", "1", "--max-pages", "1")
    finish(crawler.start(is_fresh=True)).expect(0)
    for words in (
        ("add", url, "http://x.test/"),
        ("retry", url),
        ("set", url, "filter.max_depth=3"),
        ("build", url, "state"),
        ("pause", url),
        ("stop", url),
        ("watch", url),
        ("crawl", "http://x.test/", "--into", url),
    ):
        ended = say(*words).expect(2)
        assert len(ended.err.splitlines()) == 1, ended.err
        assert "--into DIR --store" in ended.err
    with pytest.raises(gossamer.ConfigError, match="only read"):
        gossamer.open(url).retry()


def test_a_place_without_a_crawl_is_refused_in_one_line(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "empty").mkdir()
    ended = say("status", f"file://{tmp_path}/empty").expect(2)
    assert "has no crawl" in ended.err
    assert say("why", f"file://{tmp_path}/empty", "http://x.test/").expect(2).err
    new = ("crawl", "--into", str(tmp_path / "c"), "--store")
    assert "empty yet; give a URL" in say(*new, f"file://{tmp_path}/empty").expect(2).err
    assert "nothing is there" in say(*new, f"file://{tmp_path}/not-there").expect(4).err
    assert "nothing is there; check its spelling" in (
        say("status", f"file://{tmp_path}/not-there").expect(4).err
    )
    assert not list(cache.glob("*/*"))


def read(url: str) -> None:
    with gossamer.open(url) as crawl:
        assert list(crawl.hosts())


@pytest.mark.slow
def test_caches_stay_within_their_limit(
    server: ServerProcess, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = [f"file://{tmp_path}/store-{number}" for number in range(2)]
    for number, url in enumerate(urls):
        (tmp_path / str(number)).mkdir()
        crawler = crawler_of(
            server, tmp_path / str(number), url, "--shards", "1", "--max-pages", "20"
        )
        finish(crawler.start(is_fresh=True)).expect(0)
    read(urls[0])
    assert len(list(cache.iterdir())) == 1
    size = sum(one.stat().st_blocks * 512 for one in cache.rglob("*") if one.is_file())
    monkeypatch.setenv("GOSSAMER_CACHE_BYTES", str(size * 21 // 20))
    with gossamer.open(urls[0]) as reading:
        assert list(reading.urls())
        read(urls[1])
        assert len(list(cache.iterdir())) == 2  # one that is read is not removed
    read(urls[1])
    assert len(list(cache.iterdir())) == 1
    monkeypatch.setenv("GOSSAMER_CACHE_BYTES", "1000")
    refused = say("list", urls[0], "hosts").expect(4)
    assert len(refused.err.splitlines()) == 1
    assert "gossamer restore" in refused.err
    assert "GOSSAMER_CACHE_BYTES" in refused.err
    assert not gossamer.open(urls[0]).status().running
