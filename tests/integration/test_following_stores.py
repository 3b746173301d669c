"""`build URL index --follow` of a store that is not there, or where a crawl has only begun."""

import threading
from pathlib import Path

import pytest
from msgspec import json

import gossamer
from gossamer.errors import CannotGoOn
from gossamer.store import CrawlCharter, CrawlStore, Objects
from tests.e2e.crawler import say

BEGUN = CrawlCharter(
    crawl="0123456789abcdef",
    lineage="one",
    owner="alpha",
    lease_s=2.0,
    epoch=1,
    nonce="first",
    at=1.0,
)


def test_a_store_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/nowhere"
    ended = say("build", url, "index", "--follow").expect(4)
    assert ended.err.startswith(f"gossamer: {url} is no folder")


def test_a_store_without_a_crawl_is_told_at_once(tmp_path: Path) -> None:
    ended = say("build", f"file://{tmp_path}", "index", "--follow").expect(2)
    assert "has no crawl" in ended.err


def test_a_first_checkpoint_is_waited_for_and_that_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CrawlStore(Objects(f"file://{tmp_path}"))
    assert store.charters.append(1, json.encode(BEGUN))
    has_waited, told = threading.Event(), list[str]()

    def give_up(_seconds: float) -> None:
        if has_waited.is_set():
            raise KeyboardInterrupt
        has_waited.set()

    monkeypatch.setattr("gossamer.api.indexes.let_pass", give_up)
    with pytest.raises(KeyboardInterrupt):
        gossamer.build_store_index(f"file://{tmp_path}", follow=True, on_wait=told.append)
    assert len(told) == 1
    assert "has no checkpoint yet" in told[0]
    with pytest.raises(CannotGoOn, match="has no checkpoint yet"):
        gossamer.build_store_index(f"file://{tmp_path}")
