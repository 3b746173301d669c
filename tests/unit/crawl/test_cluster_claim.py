"""A crawl by a cluster has two shards at least, and its charter survives a store that goes away."""

from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.crawl.cluster_claim import CoordinatorOffer, claim_cluster
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.store import Chain


def offer_of(folder: Path, shards: int, usual_shards: int = 4) -> CoordinatorOffer:
    return CoordinatorOffer(
        url=f"file://{folder}",
        address="127.0.0.1:1",
        fingerprint="",
        lease_s=0.1,
        shards=shards,
        usual_shards=usual_shards,
    )


def test_one_shard_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--shards 1: a crawl by a cluster needs two"):
        claim_cluster(offer_of(tmp_path, 1), SystemClock())
    assert not list(tmp_path.rglob("*")), "nothing was written"


def test_a_crawl_that_has_one_shard_is_refused_with_the_line_that_splits_it(
    tmp_path: Path,
) -> None:
    claim_cluster(offer_of(tmp_path, 0, usual_shards=1), SystemClock()).end()
    with pytest.raises(ConfigError, match=r"has one shard.*--shards 4 --max-time 1s"):
        claim_cluster(offer_of(tmp_path, 0), SystemClock())


class LosingAnswers:
    """A chain that takes what it is offered, and whose answer is lost."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def append(self, number: int, content: bytes) -> bool:
        self._chain.append(number, content)
        raise CannotGoOn("no answer")


def test_a_charter_that_was_taken_without_an_answer_is_not_mistaken_for_another_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claim_cluster(offer_of(tmp_path, 0), SystemClock())
    first = claim.issue()
    with monkeypatch.context() as patched:
        patched.setattr(claim.store, "charters", LosingAnswers(claim.store.charters))
        with pytest.raises(CannotGoOn, match="no answer"):
            claim.issue()
    claim.keep()
    assert claim.issue() == first + 2, "the number in between is nobody's"
    claim.end()


def test_a_store_that_was_away_is_gone_on_with(tmp_path: Path) -> None:
    store, away = tmp_path / "store", tmp_path / "away"
    store.mkdir()
    claim = claim_cluster(offer_of(store, 0), SystemClock())
    first = claim.issue()
    store.rename(away)
    for ask in (claim.issue, claim.keep):
        with pytest.raises(CannotGoOn):
            ask()
    away.rename(store)
    claim.keep()
    assert claim.issue() > first
    claim.end()
