"""Machines that a search asks: killed, hung, away at the start, back again. Real processes."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from gossamer import open_search
from gossamer.cli.main import exit_code
from gossamer.search import SearchOptions, open_searcher
from gossamer.search.manifest import index_folder
from gossamer.web.engine import Engine
from tests.unit.search.made import crawl_with_index, prepared, write_shard
from tests.unit.web.served import PATIENCE_S, Served, serving

PAGES = [
    prepared(
        f"http://{'ab'[n % 2]}{n}.test/", title="red fox", main=" ".join(["red fox"] * (n + 1))
    )
    for n in range(20)
]

NOBODY = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return two folders, each with the index of half of the pages."""
    root = tmp_path_factory.mktemp("nodes")
    return [crawl_with_index(root / str(n), PAGES[n::2], shards=2) for n in range(2)]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def node(folder: Path, port: int = 0) -> Iterator[Served]:
    """Offer an index as a machine of its own, which may be killed at any time."""
    words = [sys.executable, "-m", "gossamer", "serve", folder, "--shard", "--no-build", "--json"]
    words += ["--port", str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            first = json.loads(process.stdout.readline())
            yield Served(first["address"].rstrip("/"), folder, process)
        finally:
            process.kill()


def searched(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict[str, Any], str]:
    """Return what `gossamer search --json` prints, and what it says aside."""
    capsys.readouterr()
    assert exit_code(["search", *words, "red fox", "--json"]) == 0
    said = capsys.readouterr()
    found: dict[str, Any] = json.loads(said.out)
    return found, said.err


def until(is_so: Callable[[], bool]) -> None:
    for _ in range(int(PATIENCE_S * 10)):
        if is_so():
            return
        Event().wait(0.1)
    pytest.fail("it never was so")


def places_of(answer: dict[str, Any]) -> set[str]:
    return {one["place"] for one in answer["missing"]}


def test_a_search_asks_those_machines_that_are_there_and_names_the_others(
    halves: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        one, two = (stack.enter_context(node(folder)) for folder in halves)
        both = f"{one.address},{two.address}"
        whole, aside = searched(capsys, both)
        assert (whole["total"], whole["is_partial"], whole["missing"], aside) == (20, False, [], "")
        mixed, _ = searched(capsys, f"{halves[0]},{two.address}", "--no-build")
        assert [hit["url"] for hit in mixed["hits"]] == [hit["url"] for hit in whole["hits"]]
        two.process.send_signal(signal.SIGKILL)
        two.process.wait()
        part, aside = searched(capsys, both)
        assert (part["total"], part["is_partial"]) == (10, True)
        assert places_of(part) == {two.address}
        why = f"{two.address} does not answer: Connection refused"
        assert aside == f"gossamer: some of the index is missing: {why}\n"
        one.process.send_signal(signal.SIGSTOP)
        assert exit_code(["search", both, "red fox"]) == 4
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{one.address} does not answer: timed out" in line
        assert f"{two.address} does not answer: Connection refused" in line
        one.process.send_signal(signal.SIGCONT)
        until(lambda: searched(capsys, both)[0]["total"] == 10)


def test_a_server_of_several_machines_goes_on_while_they_come_and_go(halves: list[Path]) -> None:
    ports = [free_port() for _ in halves]
    addresses = [f"http://127.0.0.1:{port}" for port in ports]
    with ExitStack() as stack:
        one = stack.enter_context(node(halves[0], ports[0]))
        broker = stack.enter_context(serving(*addresses))

        def answer() -> dict[str, Any]:
            return broker.ask("/api/search", q="red fox").json

        assert answer()["total"] == 10
        assert places_of(answer()) == {addresses[1]}, "it is away at the start"
        page = broker.ask("/search", q="red fox").text
        assert "not all of the index answered" in page
        assert addresses[1].removeprefix("http://") in page
        two = stack.enter_context(node(halves[1], ports[1]))
        until(lambda: answer()["total"] == 20)
        assert not answer()["is_partial"]
        assert "20 pages" in broker.get("/").text
        two.process.send_signal(signal.SIGSTOP)
        hung = answer()
        assert (hung["total"], hung["is_partial"], places_of(hung)) == (10, True, {addresses[1]})
        assert {one["shard"] for one in hung["missing"]} == {"00", "01"}
        assert answer()["took_ms"] < hung["took_ms"], "it is not waited for again"
        two.process.send_signal(signal.SIGCONT)
        until(lambda: answer()["total"] == 20)
        for machine in (one, two):
            machine.process.send_signal(signal.SIGKILL)
            machine.process.wait()
        until(lambda: broker.ask("/api/search", q="red fox").status == 503)
        said = broker.ask("/api/search", q="red fox").json["detail"]
        assert all(address in said for address in addresses)
        stack.enter_context(node(halves[0], ports[0]))
        stack.enter_context(node(halves[1], ports[1]))
        until(lambda: broker.ask("/api/search", q="red fox").json.get("total") == 20)


def test_a_server_of_several_places_searches_and_says_what_it_does_not_have(
    halves: list[Path],
) -> None:
    with node(halves[0]) as one, serving(one.address, str(halves[1]), "--no-build") as broker:
        assert broker.ask("/api/search", q="red fox").json["total"] == 20
        assert broker.get("/links").status == 404
        assert broker.ask("/api/why", url="http://a0.test/").json["error"] == "no_crawl"
        assert "gossamer_index_missing_shards 0" in broker.get("/metrics").text


def test_a_server_tells_nobody_where_its_folders_lie(halves: list[Path]) -> None:
    served = Engine(open_search(NOBODY, *halves))
    assert served.name == "127.0.0.1:1, 0, 1"
    said = served.without_paths(f"{halves[1]}/index/00 is damaged; {NOBODY} is away")
    assert said == f"1/index/00 is damaged; {NOBODY} is away"
    assert Engine(halves[0]).without_paths(str(halves[0].resolve() / "index")) == "0/index"


def test_a_server_without_any_of_its_machines_does_not_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    addresses = [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
    assert exit_code(["serve", ",".join(addresses), "--port", "0"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert all(address in line for address in addresses)


def test_two_machines_answer_as_one_index_does(halves: list[Path], tmp_path: Path) -> None:
    whole = open_searcher(crawl_with_index(tmp_path / "whole", PAGES, shards=1))
    with ExitStack() as stack:
        nodes = [stack.enter_context(node(folder)) for folder in halves]
        both = open_searcher([one.address for one in nodes])
        options = SearchOptions(per_page=20, is_exact=True, facets=True)
        for query in ("red fox", '"fox red"', "red -hen", "site:a2.test fox", "rde fox", "zebra"):
            one, two = whole.search(query, options), both.search(query, options)
            assert [hit.url for hit in one.hits] == [hit.url for hit in two.hits]
            assert [hit.score for hit in one.hits] == pytest.approx(
                [hit.score for hit in two.hits], rel=1e-3
            )
            assert (one.total, one.facets, one.suggestion) == (
                two.total,
                two.facets,
                two.suggestion,
            )
        both.close()


def test_commits_and_new_builds_of_a_machine_are_taken_up_by_themselves(tmp_path: Path) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", PAGES[:10], shards=2)
    with node(crawl) as one:
        searcher = open_searcher(one.address)
        assert searcher.search("red fox").total == 10
        write_shard(index_folder(crawl) / "00", PAGES[10:12])
        until(lambda: searcher.search("red fox").total == 12)
        index_folder(crawl).rename(tmp_path / "old")
        crawl_with_index(crawl, PAGES, shards=3)
        until(lambda: searcher.search("red fox").total == 20)
        searcher.close()


def test_a_searcher_in_python_asks_a_machine(halves: list[Path]) -> None:
    with node(halves[0]) as one:
        searcher = open_searcher(one.address)
        assert searcher.search("red fox").total == 10
        searcher.close()
