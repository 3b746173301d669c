"""While graph and index are built the pages come up at once and say how far; JSON waits for it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer
from gossamer.graph import build_graph
from gossamer.model import BuildStep
from gossamer.store import Derived, builds_under_way, noting
from tests.unit.web.served import A, crawled, serving

pytestmark = pytest.mark.slow


@pytest.fixture
def building(tmp_path: Path) -> Iterator[Path]:
    """Give a crawl of which somebody builds the index, and is a way through."""
    folder = crawled(tmp_path)
    place = Derived(folder, "index", lambda _: False)
    with place.sole_builder():
        noting(place, lambda _: None)(BuildStep(doing="writing", count=7, unit="page"))
        yield folder


def test_a_build_says_how_far_it_is_and_nothing_once_it_has_ended(building: Path) -> None:
    assert builds_under_way(building) == {"index": BuildStep(doing="writing", count=7, unit="page")}
    assert gossamer.open(building).console.builds()["index"].count == 7


def test_who_looks_at_a_build_does_not_make_another_fail(tmp_path: Path) -> None:
    folder = crawled(tmp_path)
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            builds_under_way(folder)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(20):
            build_graph(folder)
    finally:
        stop.set()
        looking.join()
    assert builds_under_way(folder) == {}


def test_pages_say_how_far_the_index_is(building: Path) -> None:
    with serving(building, "--no-build") as server:
        front = server.get("/")
        assert "The index is being built: writing, 7 pages" in front.text
        assert front.headers["refresh"] == "2"
        answer = server.get("/search?q=spider")
        assert answer.status == 503
        assert "the index is being built: writing, 7 pages" in answer.text
        assert answer.headers["retry-after"] == "2"
        api = server.get("/api/search?q=spider")
        assert (api.status, api.json["error"]) == (503, "being_built")


@pytest.mark.slow
def test_a_server_comes_up_before_its_index_and_programs_wait_for_that(tmp_path: Path) -> None:
    folder = crawled(tmp_path)
    with serving(folder, is_waited_for=False) as server:
        assert server.get("/healthz").status == 200
        assert server.get("/").status == 200
        assert server.ask("/api/links", url=A).status == 200
        assert (folder / "index" / "manifest.json").exists()
        assert "being built" not in server.get("/").text
