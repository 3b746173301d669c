"""Near-duplicates of a whole crawl: labelled once, whatever dies, with any number of shards.

A scripted web of five domains has texts that others repeat: word for word in other markup, with a
few words changed, and changed under another title. What a page is to which is known beforehand.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for, kill, wait_until, write_knobs
from tests.unit.dedupe.prose import changed, prose

TEXTS = 14
DOMAINS = ("origin.test", "mirror.test", "press.test", "blog.test", "other.test")
SMALL = {"store": {"file_bytes": 60_000, "commit_pages": 4}}


def planted() -> ScriptedWeb:
    web = ScriptedWeb()
    origin, mirror, press, blog, other = (web.host(name) for name in DOMAINS)
    for host in (mirror, press, blog, other):
        host.page("/", links=[f"/{n}" for n in range(TEXTS)])
    elsewhere = [host.url() for host in (mirror, press, blog, other)]
    origin.page("/", links=[*(f"/{n}" for n in range(TEXTS)), *elsewhere])
    for n in range(TEXTS):
        words = prose(1000 + n, 1500)
        title = f"Report {n}"
        origin.page(f"/{n}", text=" ".join(words), title=title)
        mirror.on(f"/{n}", f"<title>{title}</title><h2>{title}</h2><div>{' '.join(words)}</div>")
        press.page(f"/{n}", text=" ".join(changed(words, 2, n)), title=title)
        blog.page(f"/{n}", text=" ".join(changed(words, 3, n)), title=f"My notes {n}")
        other.page(f"/{n}", text=" ".join(prose(5000 + n, 1500)), title=title)
    return web


@pytest.fixture
def server() -> Iterator[FakeServer[ScriptedWeb]]:
    with serve_in_thread(planted()) as serving:
        yield serving


def crawler_of(server: FakeServer[ScriptedWeb], folder: Path, *flags: str) -> Crawler:
    knobs = write_knobs(folder.with_suffix(".toml"), SMALL)
    words = flags_for(server.resolve, "--delay", "0", "--concurrency", "6", "--no-sitemaps")
    seed = server.web.host("origin.test").url()
    return Crawler(folder, (seed,), (*words, "--config", str(knobs), *flags))


def labels(crawler: Crawler) -> dict[str, tuple[str, str]]:
    """Return what `copies` says of each page: its level, and its original.

    A page that meets a near copy first and its twin later is a copy of either: which of the two
    levels it has depends on the order of arrival. How alike two texts are depends on the seed of
    the crawl, so these differ by a few words in a thousand.
    """
    found: dict[str, Any] = crawler.say("copies", "--json").expect(0).last_json
    return {
        path_of(one["url"]): (
            one["level"].replace("duplicate", "exact"),
            path_of(cluster["original"]),
        )
        for cluster in found["clusters"]
        for one in cluster["members"]
    }


def path_of(url: str) -> str:
    return (
        url.partition("//")[2].replace(".test", "").partition(":")[0] + "/" + url.rpartition("/")[2]
    )


def check(crawler: Crawler) -> None:
    """Insist on the labels that were planted; which of the copies came first is left open."""
    found = labels(crawler)
    for n in range(TEXTS):
        same = [f"{host}/{n}" for host in ("origin", "mirror", "press")]
        (original,) = [page for page in same if found.get(page, ("similar",))[0] == "similar"]
        for page in set(same) - {original}:
            assert found[page] == ("exact", original), (page, found)
        blog = f"blog/{n}"
        attached = found.get(blog) or found[original]
        assert attached[0] == "similar", found
        assert attached[1] in {original, blog}
        assert f"other/{n}" not in found
    status = crawler.status()["copies"]
    assert sum(status.values()) == len(found)


@pytest.mark.parametrize("shards", [1, 2])
def test_planted_copies_are_labelled(
    server: FakeServer[ScriptedWeb], tmp_path: Path, shards: int
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", str(shards))
    assert crawler.run().expect(0).last_json["finished"] is True
    check(crawler)
    url = server.web.host("press.test").url("/3")
    near = crawler.why(url)["near"] or crawler.why(server.web.host("origin.test").url("/3"))["near"]
    assert near["level"] in {"duplicate", "exact"}
    assert near["original"].endswith("/3"), "a name, also when another shard has it"
    assert 39 <= near["bins"] <= 64


@pytest.mark.parametrize("shards", [1, 2])
def test_labels_made_again_from_the_archive_are_the_same(
    server: FakeServer[ScriptedWeb], tmp_path: Path, shards: int
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", str(shards))
    crawler.run().expect(0)
    before = labels(crawler)
    for _ in range(2):
        told = crawler.ask("build", "near", "--json").expect(0).last_json
        assert told["pages"] == 5 * (TEXTS + 1)
        assert labels(crawler) == before
        counts = {name: count for name, count in told.items() if name != "pages"}
        assert counts == crawler.status()["copies"]


@pytest.mark.parametrize("shards", [1, 2])
def test_a_limited_crawl_has_judged_all_that_it_has(
    server: FakeServer[ScriptedWeb], tmp_path: Path, shards: int
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", str(shards), "--max-pages", "60")
    told = crawler.run().expect(0).last_json["copies"]
    assert told == crawler.status()["copies"]
    before = labels(crawler)
    crawler.ask("build", "near").expect(0)
    assert labels(crawler) == before
    crawler.with_flags("--max-pages", "1000").run().expect(0)
    check(crawler)


def test_a_crawl_that_was_made_without_is_labelled_when_it_goes_on_with(
    server: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", "1")
    knobs = tmp_path / "crawl.toml"
    write_knobs(knobs, {**SMALL, "dedupe": {"near": False}})
    crawler.run().expect(0)
    assert labels(crawler) == {}
    write_knobs(knobs, SMALL)
    crawler.run().expect(0)
    check(crawler)


def test_sketches_that_are_lost_are_made_again(
    server: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", "1", "--max-pages", "40")
    crawler.run().expect(0)
    (crawler.folder / "state" / "near.seed").unlink()
    shutil.rmtree(crawler.folder / "state" / "00" / "near")
    crawler.with_flags("--max-pages", "1000").run().expect(0)
    check(crawler)


def test_other_numbers_of_shards_keep_the_labels(
    server: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--max-pages", "50")
    for shards in ("2", "3", "1"):
        limit = str(40 + 10 * int(shards))
        crawler.with_flags("--shards", shards, "--max-pages", limit).run().expect(0)
    crawler.with_flags("--shards", "2", "--max-pages", "1000").run().expect(0)
    check(crawler)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2])
def test_killed_again_and_again_no_page_is_left_unjudged(
    server: FakeServer[ScriptedWeb], tmp_path: Path, shards: int
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", str(shards))
    killed = 0
    for request in range(8, 70, 9):
        process = crawler.start()
        wait_until(lambda goal=request: len(server.requests) >= goal, process)
        killed += kill(process)
    assert killed >= 4
    assert crawler.run().expect(0).last_json["finished"] is True
    check(crawler)
