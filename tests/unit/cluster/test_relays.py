"""A crawl that a cluster runs is steered by the URL of its store."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import json
from tests.e2e.crawler import say

import gossamer
from gossamer.api.relays import live_status
from gossamer.cluster import (
    ClusterHome,
    Connection,
    ControlQuestion,
    ControlReply,
    address_of,
    bound_socket,
    found_cluster,
    listen,
    server_context,
)
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.model import Counters, Standing
from gossamer.report import status_of
from gossamer.store import CrawlCharter, CrawlStore, Objects

STATUS = {
    "pages": 1, "html_pages": 1, "sitemaps": 0, "queued": 0, "in_flight": 0, "hosts": 1,
    "known_urls": 1, "refused": {}, "labels": {}, "failed": {}, "finished": False, "running": True,
}  # fmt: skip

ADDED = {"added": 1, "refused": {}, "queued_again": {}, "already_stored": [], "already_queued": []}


ANSWERS: dict[str, dict[str, object]] = {
    "status": STATUS,
    "settings": {"settings": '[filter]\ndrop = ["old.test"]\n'},
    "drop": {"removed": 3},
}


def write_charter(url: str, address: str, *, has_ended: bool = False) -> None:
    store = CrawlStore(Objects(url, is_made=True))
    charter = CrawlCharter(
        crawl="c", lineage="l", owner="o", address=address, lease_s=1.0, epoch=1, nonce="n", at=0.0,
        has_ended=has_ended, generation=1, shards=2,
    )  # fmt: skip
    assert store.charters.append(1, json.encode(charter))


@pytest.fixture
def coordinator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Give the questions that a coordinator was asked, which answers them all."""
    home, heard = ClusterHome(tmp_path / "home"), []
    end = bound_socket("127.0.0.1")
    found_cluster(home, "one", "127.0.0.1:1")
    monkeypatch.setenv("GOSSAMER_CLUSTER", str(home.root))
    write_charter(f"file://{tmp_path}/store", address_of(end))
    is_up, is_over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: Connection[ControlQuestion] = Connection(reader, writer, ControlQuestion)
        asked = await connection.receive()
        if asked is not None:
            heard.append(asked.question)
            said = ANSWERS.get(str(asked.question.get("ask")), ADDED)
            connection.send(ControlReply(0, said))
            await connection.flush()
        connection.close()

    async def run() -> None:
        server = await listen(end, server_context(home.root), serve)
        is_up.set()
        await is_over.wait()
        server.close()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    is_up.wait()
    yield heard
    loop.call_soon_threadsafe(is_over.set)
    thread.join()
    loop.close()


def test_pause_and_add_reach_the_coordinator(coordinator: list[object], tmp_path: Path) -> None:
    with gossamer.open(f"file://{tmp_path}/store") as crawl:
        state = crawl.pause()
        assert (state.paused, state.was_paused, state.running) == (True, False, True)
        assert crawl.add("http://x.test/").added == 1
        folder = crawl.steered_folder
        assert folder.exists()
    assert not folder.exists()
    assert {"ask": "pause", "is_paused": True} in coordinator
    assert {"ask": "add", "seeds": [["http://x.test/", ""]]} in coordinator


def test_what_is_dropped_is_known_from_the_coordinator(
    coordinator: list[object], tmp_path: Path
) -> None:
    with gossamer.open(f"file://{tmp_path}/store") as crawl:
        told = crawl.drop(undo="old.test")
    assert (told.undone, told.patterns, told.unqueued, told.running) == (["old.test"], [], 3, True)
    assert {"ask": "drop", "patterns": [], "undo": ["old.test"]} in coordinator


def test_a_store_that_no_cluster_runs_is_only_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CLUSTER", str(tmp_path / "none"))
    for name, address, has_ended in (("a", "", False), ("b", "127.0.0.1:1", True)):
        write_charter(f"file://{tmp_path}/{name}", address, has_ended=has_ended)
        with pytest.raises(ConfigError, match="only read"):
            gossamer.open(f"file://{tmp_path}/{name}").pause()


def test_a_coordinator_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ClusterHome(tmp_path / "home")
    found_cluster(home, "one", "127.0.0.1:1")
    monkeypatch.setenv("GOSSAMER_CLUSTER", str(home.root))
    write_charter(f"file://{tmp_path}/store", "127.0.0.1:1")
    with pytest.raises(CannotGoOn, match=r"not heard at 127\.0\.0\.1:1"):
        gossamer.open(f"file://{tmp_path}/store").stop()


def test_the_status_of_a_crawl_that_ends_while_it_is_asked_for_is_what_was_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CLUSTER", str(tmp_path / "none"))
    standing = Standing(queued=0, hosts=0, known_urls=0, is_running=True)
    shipped = status_of(Counters(), standing)
    for name, address, has_ended in (("a", "", False), ("b", "127.0.0.1:1", True)):
        write_charter(f"file://{tmp_path}/{name}", address, has_ended=has_ended)
        assert live_status(f"file://{tmp_path}/{name}", shipped) is shipped


def test_what_steers_a_store_without_a_crawl_says_so(tmp_path: Path) -> None:
    for url, said in (
        (f"file://{tmp_path}", "has no crawl"),
        (f"file://{tmp_path}/x", "no folder"),
    ):
        told = say("cluster", "split", url).expect(2)
        assert said in told.err
        assert told.err.count("\n") == 1
