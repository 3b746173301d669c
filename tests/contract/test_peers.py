"""What every `Peers` does: those of a shard that is alone, and those of one among several."""

from pathlib import Path

import pytest

from gossamer.crawl.engine import RunState
from gossamer.crawl.peers import NoPeers
from gossamer.crawl.ports import Peers
from tests.unit.crawl.others import Two


@pytest.fixture(params=["none", "some"])
def peers(request: pytest.FixtureRequest, tmp_path: Path) -> Peers:
    return (
        NoPeers(None, wait_at_end_s=60.0, run=RunState())
        if request.param == "none"
        else Two(tmp_path).peers
    )


@pytest.fixture(params=["none", "some"])
def limited(request: pytest.FixtureRequest, tmp_path: Path) -> Peers:
    """Peers of a crawl that may store ten pages."""
    if request.param == "none":
        return NoPeers(10, wait_at_end_s=60.0, run=RunState())
    two = Two(tmp_path, is_limited=True)
    two.peers.grant(10)
    return two.peers


def test_at_first_nothing_waits_and_requests_are_allowed(peers: Peers) -> None:
    waits = (peers.is_blocked, peers.has_uncommitted, peers.owes_receipts)
    assert waits == (False, False, False)


def test_without_letters_a_commit_has_no_rows(peers: Peers) -> None:
    assert list(peers.rows_to_commit()) == []
    peers.committed()
    assert list(peers.rows_to_commit()) == []
    assert not peers.has_uncommitted


def test_being_told_of_a_sync_or_a_rest_changes_nothing_that_is_owed(peers: Peers) -> None:
    peers.rest()
    peers.durable(peers.commits)
    assert not peers.owes_receipts


def test_without_a_limit_there_are_always_pages_left(peers: Peers) -> None:
    assert peers.pages_left(10**9, 1) > 10**9


def test_pages_left_are_those_allowed_less_those_used(limited: Peers) -> None:
    assert [limited.pages_left(used, 1) for used in (0, 3, 10, 12)] == [10, 7, 0, -2]
