"""The Python API: one front door, typed answers, also inside a running event loop."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

import gossamer
from gossamer.api.options import KNOBS, CrawlOptions, with_options
from gossamer.cli.flags import FLAGS, WATCH_FLAGS
from gossamer.config import Config
from gossamer.model import SITEMAP_TYPES
from gossamer.testing import FakeServer, FakeWeb, ScriptedWeb, serve_in_process, serve_in_thread

PAGES = 30
SLOW_S = 0.05


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer[FakeWeb]]:
    place = tmp_path_factory.mktemp("api-web")
    with serve_in_process(FakeWeb(seed=5, hosts=4, pages_per_host=20), place / "log") as server:
        yield server


def options(server: FakeServer[FakeWeb], pages: int = PAGES) -> CrawlOptions:
    return CrawlOptions(
        max_pages=pages,
        scope="any",
        delay=0.0,
        resolve=server.resolve,
        allow_net=("127.0.0.0/8",),
        shards=1,
    )


@pytest.fixture(scope="module")
def crawl(
    web: FakeServer[FakeWeb], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[gossamer.OpenCrawl]:
    folder = tmp_path_factory.mktemp("api") / "mycrawl"
    ending = gossamer.run(web.web.seeds, str(folder), **options(web))
    assert (ending.reason, ending.exit_code) == ("max_pages", 0)
    with gossamer.open(str(folder)) as opened:
        yield opened


def test_status_and_why_are_structs(crawl: gossamer.OpenCrawl, web: FakeServer[FakeWeb]) -> None:
    status = crawl.status()
    assert status.pages >= PAGES
    assert not status.running
    why = crawl.why(web.web.seeds[0])
    assert (why.state, why.depth) == ("archived", 0)
    assert why.page is not None
    assert gossamer.as_json(why)["explanation"] == why.explanation
    assert gossamer.status(str(crawl.folder)) == status


def test_every_stored_page_is_given_with_text_and_body(crawl: gossamer.OpenCrawl) -> None:
    found = list(crawl.pages())
    assert len(found) == crawl.status().pages
    sitemaps = [one.url for one in crawl.records() if one.media_type in SITEMAP_TYPES]
    assert len(sitemaps) == crawl.status().sitemaps > 0
    assert not set(sitemaps) & {page.url for page in found}
    assert all(crawl.page(url) is not None for url in sitemaps)
    assert all(200 <= page.status < 300 for page in found)
    html = [page for page in found if page.media_type == "text/html"]
    assert all(page.fetched_at > 1e9 for page in found)
    assert all(page.title and page.text() for page in html if not page.is_revisit)
    for page in html:
        again = crawl.page(page.url)
        assert again is not None
        assert again.text() == page.text()
        assert again.body() == page.body()
        assert b"<html" in page.body().lower()
        assert len(page.raw()) > 0
    assert crawl.page("http://nobody.test/") is None


def test_records_tell_what_became_of_each_url(crawl: gossamer.OpenCrawl) -> None:
    outcomes = {record.outcome for record in crawl.records()}
    assert {"seed", "fetched"} <= outcomes


def test_graph_and_index_are_built_when_they_are_first_asked(
    crawl: gossamer.OpenCrawl, web: FakeServer[FakeWeb]
) -> None:
    links = crawl.links(web.web.seeds[0])
    assert links is not None
    assert links.outgoing is not None
    assert links.outgoing.total == len(links.outgoing.urls) > 0
    assert crawl.links("http://nobody.test/") is None
    assert len(crawl.rank(top=3).pages) == 3
    page = next(page for page in crawl.pages() if page.title and not page.is_revisit)
    answer = crawl.search(page.title, per_page=5)
    assert page.url in [hit.url for hit in answer.hits]
    assert crawl.indexed_pages() == answer.total or answer.total > 0
    assert crawl.build_graph().did == "nothing"
    assert crawl.build_index().did == "nothing"


def test_an_open_crawl_takes_up_what_is_built_meanwhile(crawl: gossamer.OpenCrawl) -> None:
    before = crawl.graph()
    assert crawl.graph() is before
    gossamer.open(crawl.folder).build_graph(gossamer.GraphOptions(is_full=True))
    assert crawl.graph() is not before


def test_seeds_are_added_to_a_crawl_that_does_not_run(
    crawl: gossamer.OpenCrawl, web: FakeServer[FakeWeb]
) -> None:
    added = crawl.add([gossamer.Seed(url=web.web.seeds[0]), "http://elsewhere.test:1/"])
    assert added.refused.keys() == {"http://elsewhere.test:1/"}
    with pytest.raises(gossamer.ConfigError, match="not a valid URL"):
        crawl.add("nonsense")


def test_a_folder_without_a_crawl_is_refused(tmp_path: Path) -> None:
    with pytest.raises(gossamer.ConfigError, match="not a crawl folder"):
        gossamer.open(tmp_path)


def test_a_crawl_that_could_not_be_opened_can_be_run_again_in_the_same_program(
    tmp_path: Path, web: FakeServer[FakeWeb]
) -> None:
    """A notebook keeps the exception, and with it every object on the way to it."""
    folder = tmp_path / "crawl"
    gossamer.run(web.web.seeds, folder, **options(web, pages=3))
    archive = folder / "archive"
    (archive / "pages-00-0099-00000.warc.gz").write_bytes(b"of nobody")
    (archive / "lost+found").write_bytes(b"in the way")
    with pytest.raises(gossamer.CannotGoOn, match="repair") as kept:
        gossamer.run((), folder, max_pages=6)
    (archive / "lost+found").unlink()
    assert gossamer.run((), folder, max_pages=6).status.pages == 6
    assert kept.value is not None


async def test_a_blocking_run_inside_a_loop_is_refused_before_anything_is_touched(
    tmp_path: Path,
) -> None:
    with pytest.raises(gossamer.ConfigError, match=r"await gossamer\.run_async"):
        gossamer.run("http://a.test/", tmp_path / "new")
    with pytest.raises(gossamer.ConfigError, match=r"await crawl\.run_async"):
        gossamer.Crawl(tmp_path / "new", ["http://a.test/"]).run()
    assert not (tmp_path / "new").exists()


async def test_a_crawl_runs_inside_a_loop_which_goes_on_meanwhile(
    web: FakeServer[FakeWeb], tmp_path: Path
) -> None:
    ticks: list[int] = []
    told: list[gossamer.Status] = []

    async def tick() -> None:
        while True:
            ticks.append(1)
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    crawling = gossamer.run_async(
        web.web.seeds, tmp_path / "c", on_progress=told.append, **options(web, 10)
    )
    ending = await crawling
    ticking.cancel()
    assert ending.status.pages >= 10
    assert len(ticks) > 1
    assert gossamer.open(tmp_path / "c").status().pages == ending.status.pages


async def test_several_shards_inside_a_loop_are_refused_before_anything_is_touched(
    tmp_path: Path,
) -> None:
    with pytest.raises(gossamer.ConfigError, match="shards=1"):
        await gossamer.run_async("http://a.test/", tmp_path / "new", shards=2)
    assert not (tmp_path / "new").exists()


async def test_cancelling_the_task_stops_the_crawl_cleanly(tmp_path: Path) -> None:
    with serve_in_thread(ScriptedWeb()) as server:
        host = server.web.host("slow.test")
        host.page("/", links=[f"/{n}" for n in range(200)])
        for n in range(200):
            host.page(f"/{n}")
        crawling = asyncio.create_task(
            gossamer.run_async(
                host.url("/"),
                tmp_path / "c",
                delay=SLOW_S,
                resolve=server.resolve,
                allow_net=("127.0.9.0/24",),
            )
        )
        while not (tmp_path / "c" / "control.sock").exists():
            assert not crawling.done()
            await asyncio.sleep(0.01)
        crawling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await crawling
    status = gossamer.open(tmp_path / "c").status()
    assert not status.running
    assert status.queued > 0


def test_options_are_the_flags_of_the_command_line() -> None:
    flags = {flag.parameter: flag.knob for flag in (*FLAGS, *WATCH_FLAGS)}
    assert dict(KNOBS) == flags
    assert get_type_hints(CrawlOptions).keys() | {"rate"} == flags.keys()
    with pytest.raises(gossamer.ConfigError, match="unknown option 'speed'"):
        with_options(Config(), {"speed": 1})


def test_importing_gossamer_loads_no_engine() -> None:
    program = (
        "import sys, gossamer; gossamer.GossamerError; "
        "print([name for name in sys.modules if name.startswith('gossamer.') "
        "and name not in ('gossamer.errors', 'gossamer.lazy')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


def test_a_crawl_on_the_command_line_loads_neither_graph_nor_search_nor_web(tmp_path: Path) -> None:
    words = ["crawl", "http://127.0.0.1:9/", "--into", str(tmp_path / "c"), "--shards", "1"]
    words += ["--allow-net", "127.0.0.0/8", "--max-time", "2"]
    program = (
        "import sys; from gossamer.cli.main import exit_code; "
        f"code = exit_code({words!r}); "
        "print([name for name in ('graph', 'search', 'web') if f'gossamer.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"[]"


def test_every_public_name_can_be_had() -> None:
    for name in gossamer.__all__:
        assert getattr(gossamer, name) is not None
    with pytest.raises(AttributeError):
        _ = gossamer.nonsense  # type: ignore[attr-defined]
