"""Functions of the user's own that do not work: told, counted and shown, never fatal."""

import sys
from asyncio import CancelledError
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer import Crawl, Document, Extraction, Link, Tools, processor, url_filter
from gossamer.config import Config, FetchConfig, FilterConfig, PolitenessConfig
from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for, say, write_knobs

MINE = """
def worth(url, anchor, depth):
    return nothing_of_this_name

def picky(link):
    if link.target.text.endswith("/3"):
        raise RuntimeError("my bug")

class Odd(Exception):
    def __str__(self):
        raise ValueError

def odd(url, anchor, depth):
    raise Odd

def leave(url, anchor, depth):
    raise SystemExit(7)

number = 7
"""
LEAVING = "import sys\nsys.exit(7)\n"
SCORE = "my_own_code:worth"


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer[ScriptedWeb]]:
    (tmp_path / "my_own_code.py").write_text(MINE)
    (tmp_path / "my_leaving_code.py").write_text(LEAVING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    with serve_in_thread(ScriptedWeb()) as server:
        host = server.web.host("a.test")
        host.page("/", links=[f"/{n}" for n in range(9)])
        for n in range(9):
            host.page(f"/{n}", text=f"page {n}")
        yield server
    sys.modules.pop("my_own_code", None)


def crawler(web: FakeServer[ScriptedWeb], folder: Path, *flags: str) -> Crawler:
    words = flags_for(web.resolve, "--delay", "0", *flags)
    return Crawler(folder / "crawl", (web.web.host("a.test").url(),), words)


@pytest.mark.parametrize("shards", [1, 2])
def test_a_score_that_raises_is_counted_and_shown_and_every_page_is_had(
    web: FakeServer[ScriptedWeb], tmp_path: Path, shards: int
) -> None:
    crawl = crawler(web, tmp_path, "--score", SCORE, "--shards", str(shards))
    ended = crawl.run("--verbose", is_fresh=True).expect(0)
    assert ended.last_json["pages"] == 10
    told = crawl.status()["user_errors"]
    assert list(told) == [f"score {SCORE}"]
    assert told[f"score {SCORE}"]["count"] >= 9
    assert "nothing_of_this_name" in told[f"score {SCORE}"]["error"]
    assert ended.last_json["user_errors"] == told
    assert ended.err.count("score.failed") == 1
    shown = crawl.ask("status").expect(0).out
    assert "your own functions failed" in shown
    assert f"score {SCORE}" in shown
    assert "NameError" in shown


@pytest.mark.parametrize("shards", [1, 2])
def test_a_score_that_wants_to_end_the_program_ends_nothing(
    web: FakeServer[ScriptedWeb], tmp_path: Path, shards: int
) -> None:
    name = "my_own_code:leave"
    crawl = crawler(web, tmp_path, "--score", name, "--shards", str(shards))
    ended = crawl.run(is_fresh=True).expect(0)
    assert ended.last_json["pages"] == 10
    told = ended.last_json["user_errors"][f"score {name}"]
    assert told["count"] >= 9
    assert told["error"] == "SystemExit: 7"
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("error", [SystemExit(7), CancelledError(), GeneratorExit()])
def test_filters_and_processors_that_want_to_end_the_program_end_nothing(
    web: FakeServer[ScriptedWeb], tmp_path: Path, error: BaseException
) -> None:
    @url_filter
    def leaving(link: Link) -> str | None:
        if link.target.text.endswith("/3"):
            raise error
        return None

    @processor("text/html", name="gone")
    def gone(_document: Document, _tools: Tools) -> Extraction:
        raise error

    config = Config(
        shards=1,
        politeness=PolitenessConfig(delay_s=0.0),
        fetch=FetchConfig(resolve=web.resolve, allow_net=("127.0.0.0/8",)),
        filter=FilterConfig(scope="any", allow=("*.test",)),
    )
    seeds = [web.web.host("a.test").url()]
    ending = Crawl(tmp_path / "crawl", seeds, config, filters=[leaving], processors=[gone]).run()
    assert (ending.exit_code, ending.status.pages) == (0, 9)
    counts = {name: told.count for name, told in ending.status.user_errors.items()}
    assert counts == {"filter leaving": 1, "processor gone": 9}


def test_an_exception_that_cannot_even_be_printed_is_told_by_its_name(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawl = crawler(web, tmp_path, "--score", "my_own_code:odd", "--shards", "1")
    told = crawl.run(is_fresh=True).expect(0).last_json["user_errors"]
    assert told["score my_own_code:odd"]["error"].startswith("Odd: (")


def test_a_filter_that_raises_is_counted_as_well(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    knobs = write_knobs(
        tmp_path / "knobs.toml", {"filter": {"user_filters": ["my_own_code:picky"]}}
    )
    crawl = crawler(web, tmp_path, "--config", str(knobs), "--shards", "1")
    ended = crawl.run(is_fresh=True).expect(0)
    assert ended.last_json["pages"] == 9
    assert ended.last_json["user_errors"] == {
        "filter picky": {"count": 1, "error": "RuntimeError: my bug"}
    }


def refused(crawl: Crawler, *flags: str) -> str:
    """Start a crawl in this process; return the one line with which it was refused."""
    ended = say(*crawl.command(*flags)[1:]).expect(2)
    assert ended.err.count("\n") == 1
    return ended.err


@pytest.mark.parametrize(
    "score", ["my_own_code:no_such_function", "no_such_module:worth", "my_own_code:number", "what"]
)
def test_a_score_that_does_not_exist_is_refused_before_anything_is_written(
    web: FakeServer[ScriptedWeb], tmp_path: Path, score: str
) -> None:
    crawl = crawler(web, tmp_path, "--shards", "2", "--score", score)
    assert refused(crawl).startswith("gossamer: --score: ")
    assert not crawl.folder.exists()


def test_a_score_whose_module_leaves_when_it_is_imported_is_refused_in_one_line(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawl = crawler(web, tmp_path, "--score", "my_leaving_code:worth")
    assert "(SystemExit: 7)" in refused(crawl)
    assert not crawl.folder.exists()


def test_a_filter_whose_module_leaves_when_it_is_imported_is_refused_in_one_line(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    name = "my_leaving_code:picky"
    knobs = write_knobs(tmp_path / "knobs.toml", {"filter": {"user_filters": [name]}})
    crawl = crawler(web, tmp_path, "--config", str(knobs))
    assert refused(crawl).endswith(f"cannot import '{name}': SystemExit: 7\n")
    assert not crawl.folder.exists()


def test_a_score_that_does_not_exist_leaves_a_crawl_as_it_was(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawl = crawler(web, tmp_path, "--shards", "1")
    crawl.run().expect(0)
    before = (crawl.folder / "crawl.toml").read_bytes()
    refused(crawl, "--score", "my_own_code:wrth")
    assert (crawl.folder / "crawl.toml").read_bytes() == before
    crawl.run().expect(0)


def test_a_filter_that_does_not_exist_is_refused_before_anything_is_written(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    knobs = write_knobs(
        tmp_path / "knobs.toml", {"filter": {"user_filters": ["my_own_code:no_such_function"]}}
    )
    crawl = crawler(web, tmp_path, "--config", str(knobs))
    assert "user filter" in refused(crawl)
    assert not crawl.folder.exists()
