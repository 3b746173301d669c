"""What an existing crawl needs before a cluster runs it is known from its charter."""

from pathlib import Path

import pytest
from msgspec import json

from gossamer.crawl.joining import make_ready
from gossamer.store import CrawlCharter, CrawlFolder, CrawlStore, Objects


def kept(root: Path, *, shards: int, address: str = "") -> str:
    """Return the URL of a store with a crawl that has ended."""
    url = f"file://{root}/store"
    charter = CrawlCharter(
        crawl="c", lineage="l", owner="o", address=address, lease_s=1.0, epoch=1, nonce="n", at=0.0,
        has_ended=True, generation=1, shards=shards,
    )  # fmt: skip
    assert CrawlStore(Objects(url, is_made=True)).charters.append(1, json.encode(charter))
    return url


def wanted_of(root: Path, url: str, wanted: int) -> int:
    said: list[str] = []
    shards = make_ready(CrawlFolder(root), url, wanted, 4, said.append, is_forced=False)
    assert not said
    return shards


@pytest.mark.parametrize("wanted", [0, 1, 8])
def test_a_new_crawl_gets_what_was_asked_for(tmp_path: Path, wanted: int) -> None:
    assert wanted_of(tmp_path, f"file://{tmp_path}/new", wanted) == wanted


@pytest.mark.parametrize("shards", [2, 16])
def test_a_crawl_that_a_cluster_had_keeps_its_shards(tmp_path: Path, shards: int) -> None:
    url = kept(tmp_path, shards=shards, address="127.0.0.1:1")
    assert wanted_of(tmp_path, url, 0) == 0
    assert wanted_of(tmp_path, url, 8) == 8, "which is refused when it is claimed"


def test_a_crawl_with_enough_shards_is_not_split(tmp_path: Path) -> None:
    url = kept(tmp_path, shards=6)
    assert wanted_of(tmp_path, url, 0) == 0
    assert wanted_of(tmp_path, url, 6) == 0
