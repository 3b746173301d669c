"""`gossamer drop`: out of queue, index, graph and tables; neither links nor a rebuild undo it."""

import gzip
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, Ended, finish, flags_for, only_json, say, wait_until

PATTERN = "*/secret/*"
WORD = "wombat"
OPEN, SECRET = 6, 8

DROP_IS_DUE = "since the index was built"


def web() -> ScriptedWeb:
    """Return a site with a secret part: some of it is linked from pages that come late."""
    made = ScriptedWeb()
    site = made.host("a.test")
    first = [f"/open/{n}" for n in range(OPEN)] + [f"/secret/{n}" for n in range(SECRET)]
    site.page("/", links=first, text="the front page")
    for n in range(OPEN):
        site.page(f"/open/{n}", links=[f"/secret/late{n}"], text=f"open {n} says platypus")
    for n in range(SECRET):
        site.page(f"/secret/{n}", links=["/open/0"], text=f"secret {n} says {WORD}")
    site.page("/open/copy", text=f"secret 0 says {WORD}")
    return made


def crawler_of(server: FakeServer[ScriptedWeb], folder: Path, *more: str) -> Crawler:
    flags = flags_for(server.resolve, "--no-sitemaps", "--shards", "1", *more)
    return Crawler(folder, (server.web.host("a.test").url(),), flags)


def secrets_asked(server: FakeServer[ScriptedWeb]) -> int:
    return sum(one.target.startswith("/secret/") for one in server.requests)


def words(folder: Path) -> list[str]:
    """Return everything that is found for the word, by whichever way."""
    crawl = gossamer.open(folder)
    crawl.build_index()
    crawl.build_graph()
    found = [hit.url for hit in crawl.search(WORD).hits]
    found += [row.url for row in crawl.table("pages").rows()]
    found += [u for row in crawl.table("links").rows() for u in (row.source, row.target)]
    found += [row.url for row in crawl.table("urls").rows()]
    with crawl.sql("select url from pages") as answer:
        found += [str(row[0]) for row in answer]
    graph = crawl.graph()
    found += [u for n in range(SECRET) for u in [f"http://a.test/secret/{n}"] if graph.links(u)]
    crawl.close()
    return [url for url in found if "/secret/" in url]


def hints(folder: Path) -> list[str]:
    """Return what the index as it is has to say of itself."""
    with gossamer.open_search(folder) as index:
        return [hint for hint in index.search("platypus").hints if "index" in hint]


def rules(folder: Path) -> list[str]:
    """Return what the archive says of rules, with nothing of ours to read it."""
    files = sorted((folder / "archive").glob("links-*.warc.gz"))
    text = b"".join(gzip.decompress(path.read_bytes()) for path in files).decode()
    return re.findall(r'\{"url":"","outcome":"rules".*?\}', text)


@pytest.mark.slow
def test_what_is_dropped_is_nowhere_and_stays_so_until_it_is_undone(tmp_path: Path) -> None:
    with serve_in_thread(web()) as server:
        crawler = crawler_of(server, tmp_path / "crawl", "--delay", "0")
        crawler.run("--max-pages", "12").expect(0)
        assert words(crawler.folder)
        before = crawler.status()
        trial = only_json(crawler.say("drop", PATTERN, "--dry-run", "--json").expect(0))
        assert trial["dry_run"] is True
        assert trial["urls"]["archived"] >= 1
        assert trial["urls"]["queued"] >= 1
        assert crawler.status()["queued"] == before["queued"]
        told = only_json(crawler.say("drop", PATTERN, "--json").expect(0))
        assert told["patterns"] == told["added"] == [PATTERN]
        assert told["unqueued"] == trial["urls"]["queued"]
        assert told["running"] is False
        after = crawler.status()
        assert after["queued"] == before["queued"] - told["unqueued"]
        assert after["pages"] == before["pages"] - trial["urls"]["archived"]
        assert tomllib.loads((crawler.folder / "crawl.toml").read_text())["filter"]["drop"] == [
            PATTERN
        ]
        assert [PATTERN in one for one in rules(crawler.folder)] == [True]
        assert [DROP_IS_DUE in one for one in hints(crawler.folder)] == [True]
        assert words(crawler.folder) == []
        assert hints(crawler.folder) == []
        asked = secrets_asked(server)
        crawler.run().expect(0)
        assert secrets_asked(server) == asked
        assert words(crawler.folder) == []
        stored = crawler.why(next(u for u in pages_of(crawler.folder) if "/secret/" in u))
        assert stored["filter"] == {"reason": "dropped", "detail": PATTERN}
        assert f"It is dropped ({PATTERN})" in stored["explanation"]
        late = crawler.why("http://a.test/secret/late0".replace("http://a.test", origin(server)))
        assert (late["state"], late["reason"]) == ("refused", "dropped")
        crawler.say("drop", PATTERN).expect(0)
        counted = totals(crawler)
        crawler.say("build", "state").expect(0)
        assert totals(crawler) == counted
        assert "/secret/" not in " ".join(known(crawler.folder))
        assert words(crawler.folder) == []
        crawler.run().expect(0)
        assert secrets_asked(server) == asked
        crawler.say("check").expect(0)
        undone = only_json(crawler.say("drop", "--undo", PATTERN, "--json").expect(0))
        assert undone["patterns"] == []
        assert words(crawler.folder)
        assert len(rules(crawler.folder)) == 2
        crawler.say("build", "state").expect(0)  # the one that was built left the pages out
        crawler.say("check").expect(0)


def totals(crawler: Crawler) -> tuple[object, ...]:
    """Return what status says of URLs that were fetched; what a drop refused is told beside."""
    told = crawler.status()
    refused = {reason: n for reason, n in told["refused"].items() if reason != "dropped"}
    return told["pages"], told["html_pages"], told["redirects"], told["failed"], refused


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_totals_leave_out_what_is_dropped_and_have_it_again(shards: str, tmp_path: Path) -> None:
    """Running and killed at once, and stopped; with other shards, and built anew."""
    with serve_in_thread(web()) as server:
        crawler = crawler_of(server, tmp_path / "crawl", "--shards", shards)
        with crawler.running("--delay", "2") as process:
            wait_until(lambda: len(server.requests) >= 4, process)
            crawler.say("drop", PATTERN).expect(0)
            process.kill()
            process.wait()
        crawler.run("--delay", "0").expect(0)
        few = counted_rows(crawler)
        assert totals(crawler)[:2] == few
        crawler.say("drop", "--undo", PATTERN).expect(0)
        crawler.say("retry", "--reason", "dropped").expect(0)
        crawler.run().expect(0)
        everything = counted_rows(crawler)
        assert totals(crawler)[:2] == everything
        assert everything[0] == 1 + OPEN + SECRET
        crawler.say("drop", PATTERN).expect(0)
        assert totals(crawler)[:2] == counted_rows(crawler) == few
        hosts = [row.pages for row in gossamer.open(crawler.folder).hosts()]
        assert hosts == [few[0]]
        crawler.run("--shards", "3").expect(0)
        assert totals(crawler)[:2] == few
        crawler.say("build", "state").expect(0)
        assert totals(crawler)[:2] == few


def counted_rows(crawler: Crawler) -> tuple[int, int]:
    """Return how many pages the table has, and how many of them are HTML."""
    rows = [*gossamer.open(crawler.folder).table("pages").rows()]
    return len(rows), sum(row.media_type == "text/html" for row in rows)


def origin(server: FakeServer[ScriptedWeb]) -> str:
    return server.web.host("a.test").url().rstrip("/")


def pages_of(folder: Path) -> list[str]:
    return [page.url for page in gossamer.open(folder).pages()]


def known(folder: Path) -> list[str]:
    """Return what the state knows of URLs."""
    return [row.url for row in gossamer.open(folder).urls(states=["archived", "queued"])]


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_running_crawl_drops_at_once(shards: str, tmp_path: Path) -> None:
    with serve_in_thread(web()) as server:
        crawler = crawler_of(server, tmp_path / "crawl", "--delay", "0.3", "--shards", shards)
        with crawler.running() as process:
            wait_until(lambda: len(server.requests) >= 3, process)
            told = only_json(crawler.say("drop", PATTERN, "--json").expect(0))
            assert told["running"] is True
            asked = secrets_asked(server)
            ended = finish(process).expect(0).last_json
        assert secrets_asked(server) <= asked + 1  # one may have been under way
        assert ended["reason"] == "finished"
        assert ended["refused"]["dropped"] >= OPEN
        assert len(rules(crawler.folder)) == int(shards)


@pytest.mark.slow
def test_a_pattern_that_only_crawl_toml_or_only_the_archive_has_holds(tmp_path: Path) -> None:
    """Killed after crawl.toml was written, or with a crawl.toml that was lost."""
    with serve_in_thread(web()) as server:
        crawler = crawler_of(server, tmp_path / "crawl", "--delay", "0")
        crawler.run("--max-pages", "5").expect(0)
        path = crawler.folder / "crawl.toml"
        plain = path.read_text()
        config = tomllib.loads(plain)
        assert not config["filter"].get("drop")
        assert not re.search("(?m)^drop", plain)
        path.write_text(re.sub("(?m)^#drop = ", f'drop = ["{PATTERN}"]  # ', plain))
        asked = secrets_asked(server)
        crawler.run().expect(0)
        assert secrets_asked(server) == asked
        assert [PATTERN in one for one in rules(crawler.folder)] == [True]
        path.write_text(plain)
        told = crawler.say("build", "state").expect(0)
        assert PATTERN in path.read_text(), told.err
        assert "/secret/" not in " ".join(known(crawler.folder))


def test_a_pattern_that_names_nothing_is_told_with_how_to_take_it_back(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with serve_in_thread(web()) as server:
        crawler_of(server, folder, "--delay", "0").run("--max-pages", "1").expect(0)
    nothing = "no known URL matches a.tset/*"
    assert nothing in say("drop", str(folder), "a.tset/*", "--dry-run").expect(0).out
    told = " ".join(say("drop", str(folder), "a.tset/*", PATTERN).expect(0).out.split())
    assert f"{nothing}: it is kept for URLs that come later" in told
    assert f"gossamer drop {folder} --undo 'a.tset/*'" in told.replace("\n", " ")
    again = only_json(say("drop", str(folder), "a.tset/*", PATTERN, "--json").expect(0))
    assert again["unmatched"] == ["a.tset/*"]
    # One that names a path, and no port, holds at any: the server's is one of its own.
    told = only_json(say("drop", str(folder), "a.test/open/*", "--dry-run", "--json").expect(0))
    assert told["unmatched"] == []
    assert sum(told["urls"].values()) == OPEN


def refused(ended: Ended) -> str:
    ended.expect(2)
    lines = ended.err.strip().splitlines()
    assert len(lines) == 1, ended.err
    return lines[0]


def test_what_cannot_be_meant_is_told_in_a_line(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with serve_in_thread(web()) as server:
        crawler_of(server, folder, "--delay", "0").run("--max-pages", "1").expect(0)
    assert "nothing to drop" in refused(say("drop", str(folder)))
    assert "expected a pattern without blanks" in refused(say("drop", str(folder), "a b"))
    assert "is not dropped" in refused(say("drop", str(folder), "--undo", "x.test"))
    assert "gossamer drop" in refused(say("set", str(folder), "filter.drop+=x.test"))
    assert "is not a crawl folder" in refused(say("drop", str(tmp_path / "none"), "x.test"))
    settings: dict[str, Any] = tomllib.loads((folder / "crawl.toml").read_text())
    assert not settings["filter"].get("drop")
