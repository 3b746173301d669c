"""`drop --purge` and `prune`: what goes is nowhere, nothing else is lost, killed or not."""

import gzip
import random
import shutil
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer
from gossamer import LoggedQuery, QueryLog
from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.archive import read_archive
from tests.e2e.crawler import GOSSAMER, Crawler, finish, flags_for, kill, only_json, spawn

TOKEN = b"xylophonequartz"
SHARED = b"<title>shared</title><p>kept because a marmoset says it elsewhere</p>"
PATTERN = "*/secret/*"
KILLS = 4


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawler]:
    """Give a crawl whose secret part has the originals of copies that stay, all built."""
    made = ScriptedWeb()
    site = made.host("a.test")
    site.page("/", links=[f"/secret/{n}" for n in range(4)] + ["/secret/shared", "/later"])
    for n in range(4):
        site.page(f"/secret/{n}", text=f"{TOKEN.decode()} number {n}")
    site.page("/later", links=["/twin1", "/twin2", "/open"], text="later")
    site.page("/open", text="the open page speaks of a platypus", links=["/secret/1"])
    for path in ("/secret/shared", "/twin1", "/twin2"):
        site.file(path, SHARED, "text/html")
    with serve_in_thread(made) as server:
        folder = tmp_path_factory.mktemp("purged") / "crawl"
        flags = flags_for(server.resolve, "--no-sitemaps", "--shards", "1", "--delay", "0")
        crawler = Crawler(folder, (site.url(),), flags)
        crawler.run().expect(0)
        crawl = gossamer.open(folder)
        crawl.build_graph()
        crawl.build_index()
        crawl.tables().build()
        crawl.close()
        yield crawler


def copy_of(crawler: Crawler, to: Path) -> Crawler:
    shutil.copytree(crawler.folder, to)
    return Crawler(to, crawler.seeds, crawler.flags)


def places_of(token: bytes, folder: Path) -> list[str]:
    """Return the files of a folder that have some bytes, packed or not."""
    found = []
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            try:
                data += gzip.decompress(data)
            except (OSError, EOFError, zlib.error):
                data += zlib.decompressobj(31).decompress(data)
        if token in data:
            found.append(str(path.relative_to(folder)))
    return found


def expect_purged(crawler: Crawler) -> None:
    """Insist that the secret part is nowhere, and all else is whole."""
    assert places_of(TOKEN, crawler.folder) == []
    archive = read_archive(crawler.folder)
    assert not [record.url for record in archive.records if "/secret/" in record.url]
    stored = {record.id for record in archive.of_kind("response")}
    revisits = archive.revisits
    assert {one.headers["warc-refers-to"] for one in revisits} <= stored
    pages = {record.url.rpartition("test")[2].partition("/")[2] for record in archive.pages}
    assert {"", "later", "open"} <= pages
    assert len(pages & {"twin1", "twin2"}) == 1
    assert len(revisits) == 1
    crawler.say("check").expect(0)
    for name in ("twin1", "twin2"):
        shown = crawler.say("show", f"{crawler.seeds[0]}{name}").expect(0)
        assert SHARED.decode() in shown.out
        assert "marmoset" in crawler.say("show", f"{crawler.seeds[0]}{name}", "--text").out
    crawl = gossamer.open(crawler.folder)
    assert len(crawl.search("marmoset").hits) >= 1
    assert not crawl.search(TOKEN.decode()).hits
    assert [row.url for row in crawl.table("pages").rows() if "/secret/" in row.url] == []
    asked = [one.url for one in crawl.receipt(crawler.seeds[0]).requests]
    assert f"{crawler.seeds[0]}twin1" in asked
    assert not [url for url in asked if "/secret/" in url]
    crawl.close()


@pytest.mark.slow
def test_what_is_purged_is_nowhere_and_its_copies_have_its_content(
    crawled: Crawler, tmp_path: Path
) -> None:
    crawler = copy_of(crawled, tmp_path / "crawl")
    aside = crawler.folder / "archive" / "lost+found"
    aside.mkdir(exist_ok=True)
    for path in (crawler.folder / "archive").glob("*-00-*.gz"):  # as a repair sets files aside
        shutil.copy(path, aside / path.name)
    log, url = QueryLog(crawler.folder), f"{crawler.seeds[0]}secret/1"
    for n, query in enumerate(("marmoset", f"links to {url}", "-(site:a.test/secret/1)", "open")):
        log.append(LoggedQuery(at=float(n), query=query, total=1, took_ms=1.0))
    asked = crawler.folder / "linkcheck" / "archive"
    asked.mkdir(parents=True)
    (asked / "pages-00-0001-00000.warc.gz").write_bytes(TOKEN)
    assert len(places_of(TOKEN, crawler.folder)) >= 5
    told = only_json(crawler.say("drop", PATTERN, "--purge", "--json").expect(0))
    assert told["pages"] == 5
    assert told["heirs"] == 1
    assert set(told["removed"]) == {"graph", "index", "tables", "linkcheck"}
    assert told["queries"] == 2
    assert [one.query for one in log.report().frequent] == ["marmoset", "open"]
    assert [one for one in places_of(b"secret/", crawler.folder) if one.startswith("queries")] == []
    expect_purged(crawler)
    again = only_json(crawler.say("drop", "--purge", "--json").expect(0))
    assert (again["files"], again["set_aside"]) == ([], [])
    older = crawler.folder / "set-aside-20260101-000000-beef"
    older.mkdir()
    told_of = crawler.say("drop", "--purge").expect(0)
    assert f"rm -r {older}" in told_of.out
    older.rmdir()
    crawler.run().expect(0)
    expect_purged(crawler)
    crawler.say("build", "state").expect(0)
    expect_purged(crawler)


@pytest.mark.slow
def test_a_purge_that_is_killed_is_finished_by_whoever_comes_next(
    crawled: Crawler, tmp_path: Path
) -> None:
    rng = random.Random(7)
    whole = places_of(TOKEN, crawled.folder)
    for number in range(KILLS):
        crawler = copy_of(crawled, tmp_path / f"{number}")
        process = spawn([GOSSAMER, "drop", str(crawler.folder), PATTERN, "--purge", "--json"])
        if number % 2:
            while not (crawler.folder / "purge.json").exists() and process.poll() is None:
                time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.5 if number % 2 else 2.5))
        kill(process)
        if (crawler.folder / "purge.json").exists():
            told = crawler.say("status")
            assert told.code == 4
            assert "build" in told.err
            if number % 4 == 1:
                crawler.run().expect(0)
                assert places_of(TOKEN, crawler.folder) == []
        else:
            assert len(places_of(TOKEN, crawler.folder)) in {0, len(whole), len(whole) - 1}
        finish(spawn([GOSSAMER, "drop", str(crawler.folder), PATTERN, "--purge"])).expect(0)
        expect_purged(crawler)


def test_a_purge_beside_a_running_crawl_is_refused_and_so_is_what_cannot_be_meant(
    tmp_path: Path,
) -> None:
    made = ScriptedWeb()
    site = made.host("a.test").page("/", links=["/slow"])
    with serve_in_thread(made) as server:
        flags = flags_for(server.resolve, "--no-sitemaps", "--shards", "1", "--delay", "30")
        crawler = Crawler(tmp_path / "crawl", (site.url(),), flags)
        with crawler.running() as process:
            while not crawler.folder.joinpath("control.sock").exists():
                assert process.poll() is None
                time.sleep(0.01)
            refused = crawler.say("drop", "x.test", "--purge").expect(4)
            assert "gossamer stop" in refused.err
            crawler.say("stop").expect(0)
            finish(process)
        assert "nothing to purge" in crawler.say("drop", "--purge").expect(2).err
        assert "at least 1" in crawler.say("prune", "--keep", "0").expect(2).err
        assert "--before" in crawler.say("prune", "--before", "soon").expect(2).err
