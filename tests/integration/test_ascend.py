"""--ascend: the folders above a seed are tried, on every way by which seeds come in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer import Crawl
from gossamer.config import Config, FetchConfig, FilterConfig, FrontierConfig, PolitenessConfig
from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for, wait_until

ABOVE = {"/a/b/page.html", "/a/b/", "/a/", "/"}


@pytest.fixture
def web() -> Iterator[FakeServer[ScriptedWeb]]:
    with serve_in_thread(ScriptedWeb()) as server:
        for name in ("a.test", "b.test"):
            for path in ABOVE:
                server.web.host(name).page(path, text=f"{name} {path}")
        yield server


def crawler(web: FakeServer[ScriptedWeb], folder: Path, *seeds: str, scope: str = "any") -> Crawler:
    words = flags_for(web.resolve, "--delay", "0", "--no-sitemaps", "--ascend", "--scope", scope)
    return Crawler(folder / "crawl", seeds, words)


def asked(web: FakeServer[ScriptedWeb], host: str = "a.test") -> list[str]:
    return sorted(visit.target for visit in web.requests_to(host))


def seed_of(web: FakeServer[ScriptedWeb], host: str = "a.test") -> str:
    return web.web.host(host).url("/a/b/page.html?x=1/2")


@pytest.mark.parametrize("shards", ["1", "2"])
def test_the_folders_above_a_seed_are_tried_once_also_by_a_later_start(
    web: FakeServer[ScriptedWeb], tmp_path: Path, shards: str
) -> None:
    crawl = crawler(web, tmp_path, seed_of(web)).with_flags("--shards", shards)
    assert crawl.run().expect(0).last_json["pages"] == 4
    crawl.run().expect(0)
    assert asked(web) == sorted({*ABOVE, "/a/b/page.html?x=1/2"} - {"/a/b/page.html"})
    why = crawl.why(web.web.host("a.test").url("/a/"))
    assert (why["kind"], why["depth"], why["via"]) == ("parent", 0, seed_of(web))


def test_they_stay_in_the_scope_and_what_is_outside_is_counted_once(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawl = crawler(web, tmp_path, seed_of(web), scope="prefix")
    for _ in range(2):
        told = crawl.run().expect(0).last_json
        assert told["refused"] == {"off_scope": 2}
    assert asked(web) == ["/a/b/", "/a/b/page.html?x=1/2"]


def test_blocked_folders_are_not_tried(web: FakeServer[ScriptedWeb], tmp_path: Path) -> None:
    crawl = crawler(web, tmp_path, seed_of(web)).with_flags("--block", "http://*/a/")
    assert crawl.run().expect(0).last_json["refused"] == {"blocked": 1}
    assert asked(web) == ["/", "/a/b/", "/a/b/page.html?x=1/2"]


def test_seeds_of_a_file_and_seeds_that_are_added_ascend_running_or_not(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"{seed_of(web)} news\n")
    crawl = crawler(web, tmp_path).with_flags("--seeds", str(seeds))
    crawl.run().expect(0)
    assert len(asked(web)) == 4
    crawl.say("add", seed_of(web, "b.test")).expect(0)
    crawl.run().expect(0)
    assert len(asked(web, "b.test")) == 4
    for path in ("/x/", "/x/y.html"):
        web.web.host("a.test").page(path, text=f"a {path}")
    slow = web.web.host("c.test", "127.0.9.3").fault("/", "drip")
    with crawl.with_flags("--resolve", "c.test:127.0.9.3").running(slow.url("/")) as process:
        assert wait_until(lambda: web.requests_to("c.test"), process)
        crawl.say("add", web.web.host("a.test").url("/x/y.html")).expect(0)
        assert wait_until(lambda: "/x/" in asked(web), process)


def test_a_crawl_that_did_not_ascend_does_so_when_it_is_asked_to(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    config = Config(
        shards=1,
        politeness=PolitenessConfig(delay_s=0.0),
        fetch=FetchConfig(resolve=web.resolve, allow_net=("127.0.0.0/8",)),
        filter=FilterConfig(scope="host"),
    )
    assert Crawl(tmp_path / "crawl", [seed_of(web)], config).run().status.pages == 1
    ascending = Config(
        shards=1,
        seeds=(seed_of(web),),
        politeness=config.politeness,
        fetch=config.fetch,
        filter=config.filter,
        frontier=FrontierConfig(ascend=True),
    )
    assert Crawl(tmp_path / "crawl", [], ascending).run().status.pages == 4
