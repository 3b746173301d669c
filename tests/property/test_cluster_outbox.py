"""Whoever dies, and however the ring is cut: a committed link reaches its owner, or is kept."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.examples import examples

from gossamer.cluster import OUTBOX, Mail, Outbox, Ring, outbox
from gossamer.config import UrlConfig
from gossamer.model import Task
from gossamer.urls import parse

NUMBERS = st.lists(st.integers(0, 30), max_size=6)


def task(number: int) -> Task:
    url = parse(f"http://d{number % 7}.test/{number}", UrlConfig())
    assert url is not None
    return Task(url=url)


class OutboxMachine(RuleBasedStateMachine):
    """A shard that posts, commits and dies; a wire that loses; receivers that give receipts.

    Five tasks of what waits are in memory at most.
    """

    def __init__(self) -> None:
        super().__init__()
        self.most, outbox.MOST_IN_MEMORY = outbox.MOST_IN_MEMORY, 5
        self.rows: dict[bytes, bytes] = {}
        self.epoch = 0
        self.wire: list[tuple[int, Mail]] = []
        self.receipts: list[tuple[int, int, int]] = []
        self.committed: set[int] = set()
        self.arrived: set[int] = set()
        self._start(Ring.even(2), 0)

    def _start(self, ring: Ring, shard: int) -> None:
        """Begin anew from the rows: a restart, or the heir after a re-split."""
        self.ring, self.shard = ring, shard
        self.epoch += 1
        self.posted: set[int] = set()
        self.wire.clear()
        self.outbox = Outbox(ring, shard, self.epoch, self.rows.get)
        ours = self.outbox.recover(list(self.rows.items()))
        assert all(ring.owner_of(one.url.key) == shard for one in ours)
        self.commit()  # as a shard does: what is its own by now is taken in by this commit
        self.arrived.update(one.url.key for one in ours)

    @rule(numbers=NUMBERS)
    def post(self, numbers: list[int]) -> None:
        tasks = [task(number) for number in numbers]
        foreign = [one for one in tasks if self.ring.owner_of(one.url.key) != self.shard]
        self.outbox.post(foreign)
        self.posted.update(one.url.key for one in foreign)

    @rule()
    def commit(self) -> None:
        for key, value in self.outbox.rows_to_commit():
            assert key.startswith(OUTBOX)
            if value is None:
                del self.rows[key]
            else:
                assert key not in self.rows
                self.rows[key] = value
        self.committed |= self.posted
        self.posted = set()
        self.wire += self.outbox.committed()

    @rule(number=st.integers(0, 30))
    def lose_one_of_two_letters(self, number: int) -> None:
        """Commit two letters, have one of them delivered twice, and die."""
        for one in (number, number + 31):
            self.post([one])
            self.commit()
        for to, mail in [*self.wire[:1], *self.wire[:1]]:
            self.arrived.update(one.url.key for one in mail.tasks)
            self.receipts.append((to, mail.epoch, mail.sequence))
        if self.receipts:
            self.outbox.receipt(*self.receipts.pop())
        self.commit()

    @precondition(lambda self: self.wire)
    @rule(data=st.data(), is_lost=st.booleans(), has_receipt=st.booleans())
    def deliver(self, data: st.DataObject, *, is_lost: bool, has_receipt: bool) -> None:
        to, mail = self.wire.pop(data.draw(st.integers(0, len(self.wire) - 1)))
        assert mail.tasks
        assert all(self.ring.owner_of(one.url.key) == to != self.shard for one in mail.tasks)
        if not is_lost:
            self.arrived.update(one.url.key for one in mail.tasks)
            if has_receipt:
                self.receipts.append((to, mail.epoch, mail.sequence))

    @rule(data=st.data())
    def hand_in_a_receipt(self, data: st.DataObject) -> None:
        if self.receipts:
            at = data.draw(st.integers(0, len(self.receipts) - 1))
            self.outbox.receipt(*self.receipts.pop(at))

    @rule(data=st.data())
    def connect_again(self, data: st.DataObject) -> None:
        to = data.draw(st.integers(0, self.ring.shards - 1))
        self.wire += [(to, mail) for mail in self.outbox.letters_to(to)]

    @rule()
    def die(self) -> None:
        self._start(self.ring, self.shard)

    @rule(data=st.data(), shards=st.integers(1, 4))
    def split_again(self, data: st.DataObject, shards: int) -> None:
        self._start(self.ring.resplit(shards), data.draw(st.integers(0, shards - 1)))

    @invariant()
    def every_committed_link_has_arrived_or_is_kept(self) -> None:
        probe = Outbox(Ring.even(1), 0, self.epoch + 1, self.rows.get)
        kept = {one.url.key for one in probe.recover(list(self.rows.items()))}
        assert self.committed <= self.arrived | kept

    @invariant()
    def nothing_leaves_before_its_commit(self) -> None:
        sent = {one.url.key for _, mail in self.wire for one in mail.tasks}
        assert sent <= self.committed

    def teardown(self) -> None:
        """With receipts for all letters nothing waits, and no row is left."""
        outbox.MOST_IN_MEMORY = 5
        self.commit()
        for to in range(self.ring.shards):
            for mail in list(self.outbox.letters_to(to)):
                self.arrived.update(one.url.key for one in mail.tasks)
                self.outbox.receipt(to, mail.epoch, mail.sequence)
        assert self.outbox.waiting == 0
        self.commit()
        assert not self.rows
        assert self.committed <= self.arrived
        assert not self.outbox.has_uncommitted
        outbox.MOST_IN_MEMORY = self.most


OutboxMachine.TestCase.settings = settings(
    max_examples=examples(60), stateful_step_count=30, deadline=None
)
TestOutbox = OutboxMachine.TestCase
