"""The other shards as the engine sees them: pages granted, letters sent after the commit."""

from pathlib import Path

import pytest
from tests.unit.crawl.others import Two, foreign_task

from gossamer.cluster import Mail, ReturnPages, WantPages
from gossamer.crawl.peers import UNLIMITED


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path)


def test_what_was_posted_is_sent_after_the_commit_and_not_before(two: Two) -> None:
    two.outbox.post([foreign_task()])
    assert two.peers.has_uncommitted
    assert two.courier.sent == []
    two.commit()
    assert [mail.tasks for mail in two.courier.sent] == [[foreign_task()]]
    assert not two.peers.has_uncommitted
    assert not two.peers.is_quiet, "there is no receipt yet"
    two.outbox.receipt(1, 1, 0)
    assert two.peers.is_quiet


def test_a_full_outbox_blocks_new_requests(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.cluster.outbox.MOST_WAITING", 2)
    two.outbox.post([foreign_task("1")])
    assert not two.peers.is_blocked
    two.outbox.post([foreign_task("2")])
    assert two.peers.is_blocked


def test_without_a_limit_nobody_is_asked_for_pages(two: Two) -> None:
    assert two.peers.pages_left(10, 5) == UNLIMITED - 10
    assert two.supervisor.sent == []


def test_with_a_limit_pages_are_asked_for_once_and_used_as_granted(tmp_path: Path) -> None:
    two = Two(tmp_path, is_limited=True)
    two.frontier.add([foreign_task(str(n)) for n in range(9)])
    assert two.peers.pages_left(0, 5) == 0
    assert two.peers.pages_left(0, 5) == 0
    assert two.supervisor.sent == [WantPages(5)], "it is not said twice"
    two.peers.grant(3)
    assert two.peers.pages_left(1, 2) == 2
    assert two.supervisor.sent == [WantPages(5)], "there are enough"
    assert two.peers.pages_left(2, 2) == 1
    assert two.supervisor.sent == [WantPages(5), WantPages(2)]


def test_pages_that_were_stored_before_are_not_granted_again(tmp_path: Path) -> None:
    two = Two(tmp_path, is_limited=True)
    two.peers.grant(4)
    two.counters.count_page(is_copy=False, is_html=True, is_seed=False, label="")
    two.peers.give_back()
    assert two.supervisor.sent == [ReturnPages(3)]
    assert two.peers.pages_left(1, 0) == 0
    two.peers.give_back()
    assert two.supervisor.sent == [ReturnPages(3)], "nothing is left to give back"


def test_no_pages_are_wanted_for_an_empty_queue(tmp_path: Path) -> None:
    two = Two(tmp_path, is_limited=True)
    assert two.peers.pages_left(0, 5) == 0
    assert two.supervisor.sent == []


def test_a_shard_leaves_when_it_is_dismissed(two: Two) -> None:
    assert not two.peers.may_leave()
    two.peers.dismiss()
    assert two.peers.may_leave()


def test_a_rest_and_a_commit_that_counts_want_a_report(tmp_path: Path) -> None:
    quiet, told = Two(tmp_path), Two(tmp_path, reports_commits=True)
    quiet.commit()
    assert not quiet.peers.wants_report.is_set()
    quiet.peers.rest()
    assert quiet.peers.wants_report.is_set()
    told.commit()
    assert told.peers.wants_report.is_set()


@pytest.mark.parametrize("at_commit", [False, True])
async def test_a_receipt_leaves_at_the_commit_or_after_the_sync(
    tmp_path: Path, *, at_commit: bool
) -> None:
    two = Two(tmp_path, acknowledges_at_commit=at_commit)
    async with two.received(Mail(1, 1, 0, [foreign_task()])):
        assert two.peers.has_uncommitted
        assert not two.peers.owes_receipts
        two.commit()
        assert two.peers.commits == 1
        assert two.peers.owes_receipts is not at_commit
        two.peers.durable(0)
        assert two.peers.owes_receipts is not at_commit, "the sync began before the commit"
        two.peers.durable(1)
        assert not two.peers.owes_receipts
