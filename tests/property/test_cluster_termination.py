"""In any order of messages and deaths: never too many pages, and never an end too soon."""

from collections import deque
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.examples import examples

from gossamer.cluster import PageBudget, Termination

SHARDS = 2
"""Two are enough for every way to go wrong that three have, and more of them are met by chance."""
SHARD = st.integers(0, SHARDS - 1)


@dataclass
class Pages:
    """A shard as far as pages go: what it has stored for good, and what its process knows."""

    stored: int = 0
    allowed: int = 0
    in_hand: int = 0
    is_up: bool = False
    has_joined: bool = False
    up: deque[tuple[str, int]] = field(default_factory=deque)
    down: deque[tuple[str, int]] = field(default_factory=deque)


class PageBudgetMachine(RuleBasedStateMachine):
    """A supervisor with an allowance, shards that die at any moment, and lines between them."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = 4
        self.allowance = PageBudget(SHARDS, self.limit)
        self.shards = [Pages() for _ in range(SHARDS)]

    @rule(number=SHARD)
    def settle_in(self, number: int) -> None:
        """Let a shard start, join, want pages, and have them."""
        for _ in range(2):
            self.start_or_join(number)
            self.want(number, 5)
            self.hear_all(number)
            self.be_told(number)

    @rule(number=SHARD)
    def hear_all(self, number: int) -> None:
        while self.shards[number].up:
            self.hear_from(number)

    @rule(number=SHARD)
    def use_all(self, number: int) -> None:
        """Let a shard fetch and store whatever it may."""
        while self.shards[number].down and self.shards[number].has_joined:
            self.be_told(number)
        for _ in range(self.limit + 1):
            self.ask_for_a_page(number)
        while self.shards[number].in_hand:
            self.end_a_fetch(number, is_stored=True)

    @rule(number=SHARD)
    def start_or_join(self, number: int) -> None:
        shard = self.shards[number]
        if not shard.is_up:
            if not shard.up:  # the line of the dead one has been read to its end
                shard.is_up, shard.down = True, deque()
        elif not shard.has_joined:
            shard.has_joined, shard.allowed, shard.in_hand = True, shard.stored, 0
            shard.up.append(("joined", shard.stored))

    @rule(number=SHARD, pages=st.integers(1, 5))
    def want(self, number: int, pages: int) -> None:
        if self.shards[number].has_joined:
            self.shards[number].up.append(("want", pages))

    @rule(number=SHARD)
    def ask_for_a_page(self, number: int) -> None:
        shard = self.shards[number]
        if shard.has_joined and shard.stored + shard.in_hand < shard.allowed:
            shard.in_hand += 1

    @rule(number=SHARD, is_stored=st.booleans())
    def end_a_fetch(self, number: int, *, is_stored: bool) -> None:
        shard = self.shards[number]
        if shard.in_hand:
            shard.in_hand -= 1
            shard.stored += is_stored

    @rule(number=SHARD)
    def die(self, number: int) -> None:
        shard = self.shards[number]
        if shard.is_up:
            shard.is_up = shard.has_joined = False
            shard.in_hand, shard.down = 0, deque()
            shard.up.append(("died", 0))  # what it sent before is heard before

    @rule(number=SHARD)
    def hear_from(self, number: int) -> None:
        shard = self.shards[number]
        if not shard.up:
            return
        self._note(number, *shard.up.popleft())
        for to, pages in self.allowance.grants():
            if self.shards[to].is_up:
                self.shards[to].down.append(("grant", pages))
        if self.allowance.is_scarce:
            for other in self.shards:
                if other.is_up:
                    other.down.append(("recall", 0))

    def _note(self, number: int, word: str, pages: int) -> None:
        match word:
            case "joined":
                self.allowance.join(number, pages)
            case "want":
                self.allowance.want(number, pages)
            case "return":
                self.allowance.take_back(number, pages)
            case _:
                self.allowance.lost(number)

    @rule(number=SHARD)
    def be_told(self, number: int) -> None:
        shard = self.shards[number]
        if not shard.down or not shard.has_joined:
            return
        word, pages = shard.down.popleft()
        if word == "grant":
            shard.allowed += pages
        elif (unused := shard.allowed - shard.stored - shard.in_hand) > 0:
            shard.allowed -= unused
            shard.up.append(("return", unused))

    @invariant()
    def no_more_pages_than_the_limit_can_ever_be_stored(self) -> None:
        assert sum(max(shard.stored, 0) + shard.in_hand for shard in self.shards) <= self.limit

    def teardown(self) -> None:
        """Once all live and speak, whoever wants pages gets them: the limit is reached exactly."""
        for _ in range(30):
            for number, shard in enumerate(self.shards):
                self.start_or_join(number)
                self.end_a_fetch(number, is_stored=True)
                self.hear_all(number)
                while shard.down and shard.has_joined:
                    self.be_told(number)
                    self.ask_for_a_page(0)  # at once: a recall comes a while after a grant
            self.want(0, 3)
        assert sum(shard.stored for shard in self.shards) == self.limit


PageBudgetMachine.TestCase.settings = settings(
    max_examples=examples(200), stateful_step_count=30, deadline=None
)
TestPageBudget = PageBudgetMachine.TestCase


@dataclass
class Worker:
    """A shard as far as work goes. A letter is a number of tasks; what is durable outlives it."""

    queue: int = 0
    outbox: list[tuple[int, int]] = field(default_factory=list)
    """Letters without a receipt, as (number of the letter, receiver): durable."""
    taken: list[tuple[int, int]] = field(default_factory=list)
    """Letters taken in and not committed, as (sender, number)."""
    owed: list[tuple[int, int]] = field(default_factory=list)
    has_rows: bool = False
    """A receipt has come, and the row that it frees is not yet deleted."""
    commits: int = 0
    heard: deque[int] = field(default_factory=deque)
    """Rounds that it was asked and has not answered."""
    reports: deque[tuple[bool, int, int] | None] = field(default_factory=deque)
    """What it has told the supervisor; None is the end of the line."""

    @property
    def is_idle(self) -> bool:
        return not (self.queue or self.outbox or self.taken or self.owed or self.has_rows)


@dataclass
class Network:
    """Shards that send each other work, die, and tell a supervisor how they stand; chance rules."""

    dice: Random
    shards: list[Worker]
    letters: list[tuple[int, int, int]] = field(default_factory=list)
    """Under way, as (sender, number, receiver)."""
    receipts: list[tuple[int, int]] = field(default_factory=list)
    number: int = 0

    def __post_init__(self) -> None:
        self.consensus = Termination(len(self.shards))
        self.shards[0].queue = 1
        # In every run something else is slow: so each race is lost by either side at times.
        self.speeds = [self.dice.choice((1, 10, 100)) for _ in range(8)]

    def step(self, at: int) -> None:
        """Let something happen at a shard, or on the wires."""
        happen = (
            *(self.work, self.commit, self.sync, self.carry_a_letter, self.carry_a_receipt),
            *(self.report, self.answer, self.hear),
        )
        self.dice.choices(happen, self.speeds)[0](at)

    def work(self, at: int) -> None:
        shard = self.shards[at]
        if shard.queue:
            shard.queue -= 1
            shard.commits += 1
            if self.number < 40:
                to = (at + self.dice.randrange(1, len(self.shards))) % len(self.shards)
                self.number += 1
                shard.outbox.append((self.number, to))
                self.letters.append((at, self.number, to))

    def carry_a_letter(self, _: int) -> None:
        if self.letters:
            sender, letter, to = self.letters.pop(self.dice.randrange(len(self.letters)))
            self.shards[to].taken.append((sender, letter))

    def commit(self, at: int) -> None:
        shard = self.shards[at]
        if shard.taken or shard.has_rows:
            shard.queue += len(shard.taken)
            shard.owed, shard.taken, shard.has_rows = [*shard.owed, *shard.taken], [], False
            shard.commits += 1

    def sync(self, at: int) -> None:
        self.receipts += self.shards[at].owed
        self.shards[at].owed = []

    def carry_a_receipt(self, _: int) -> None:
        if self.receipts:
            sender, letter = self.receipts.pop(self.dice.randrange(len(self.receipts)))
            shard = self.shards[sender]
            shard.has_rows |= any(number == letter for number, _ in shard.outbox)
            shard.outbox = [kept for kept in shard.outbox if kept[0] != letter]

    def report(self, at: int) -> None:
        shard = self.shards[at]
        shard.reports.append((shard.is_idle, shard.commits, 0))

    def answer(self, at: int) -> None:
        shard = self.shards[at]
        if shard.heard:
            shard.reports.append((shard.is_idle, shard.commits, shard.heard.popleft()))

    def die(self, at: int) -> None:
        """What was not committed is gone; all letters without a receipt are sent again."""
        dead = self.shards[at]
        dead.reports.append(None)
        self.letters = [one for one in self.letters if at not in {one[0], one[2]}]
        self.receipts = [one for one in self.receipts if one[0] != at]
        self.shards[at] = Worker(
            queue=dead.queue, outbox=dead.outbox, reports=dead.reports, commits=1
        )
        for sender, shard in enumerate(self.shards):
            self.letters += [(sender, n, to) for n, to in shard.outbox if at in {sender, to}]

    def hear(self, at: int) -> None:
        shard = self.shards[at]
        if not shard.reports:
            return
        told = shard.reports.popleft()
        if told is None:
            self.consensus.lost(at)
        else:
            is_idle, commits, answers = told
            self.consensus.note(at, is_idle=is_idle, commits=commits, answers=answers)
        if self.consensus.should_ask:
            asked = self.consensus.ask()
            for one in self.shards:
                one.heard.append(asked)

    def catch_up(self) -> None:
        """Let everything happen that can, once."""
        for at, shard in enumerate(self.shards):
            for happens in (self.work, self.commit, self.sync, self.report):
                happens(at)
            while self.letters:
                self.carry_a_letter(at)
            while self.receipts:
                self.carry_a_receipt(at)
            while shard.heard:
                self.answer(at)
            while shard.reports:
                self.hear(at)

    @property
    def has_work(self) -> bool:
        return any(shard.queue or shard.outbox or shard.taken for shard in self.shards)


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 3), st.sampled_from([0.0, 0.02]))
def test_the_end_is_found_and_never_while_a_letter_or_a_task_is_anywhere(
    seed: int, shards: int, mortality: float
) -> None:
    network = Network(Random(seed), [Worker() for _ in range(shards)])
    for _ in range(1500):
        at = network.dice.randrange(shards)
        if network.dice.random() < mortality:
            network.die(at)
        network.step(at)
        if network.consensus.is_reached:
            assert not network.has_work
            return
    for _ in range(1000):
        network.catch_up()
        if network.consensus.is_reached:
            break
    assert network.consensus.is_reached
    assert not network.has_work
