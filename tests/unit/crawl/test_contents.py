"""Contents over several shards: the owner names only what is durable, and nobody waits for ever."""

import asyncio
from random import Random

import pytest

from gossamer.cluster import ContentMail, ContentNews, Ring
from gossamer.crawl.contents import (
    MOST_SILENCES,
    ContentAnswer,
    PendingContent,
    SharedContents,
    answer_in_time,
    news_row,
)
from gossamer.dedupe import ContentSeen
from gossamer.model import CopyOf

SHARDS = 3
OWNED_BY_0, OWNED_BY_1, OWNED_BY_2 = (1 << 60, 6 << 60, 11 << 60)
WAIT_S = 0.02


def page(name: str) -> CopyOf:
    return CopyOf(f"http://{name}.test/", f"<urn:{name}>", "sha1:X", 1.0)


class NetWire:
    """The way of one member to the others."""

    def __init__(self, net: "Net", shard: int) -> None:
        self._net, self._shard = net, shard

    def open(self, *_more: object) -> None:
        pass

    def send(self, to: int, mail: ContentMail) -> None:
        self._net.send(self._shard, to, mail)

    def poll(self) -> None:
        pass

    def close(self) -> None:
        pass


class Member:
    """One shard: its contents, its rows, and what a power loss would leave of them."""

    def __init__(self, net: "Net", shard: int) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.durable_rows: dict[bytes, bytes] = {}
        self.durable_pages: set[str] = set()
        self.pages: set[str] = set()
        self.stored: set[str] = set()
        self.commits = 0
        self.net, self.shard = net, shard
        self.contents = self._open()

    def _open(self) -> SharedContents:
        return SharedContents(
            ring=Ring.even(SHARDS),
            shard=self.shard,
            seen=ContentSeen(self.rows.get),
            rows=[(key, value) for key, value in self.rows.items() if key[:1] == b"X"],
            wire=NetWire(self.net, self.shard),
            on_wanted=lambda: None,
        )

    def store(self, fingerprint: int, name: str) -> None:
        """Record a page in full, as the ledger does."""
        self.contents.remember(fingerprint, page(name))
        self.stored.add(page(name).record_id)
        self.contents.release(fingerprint)

    def commit(self) -> None:
        for key, value in self.contents.rows_to_commit():
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = value
        self.pages |= self.stored
        self.commits += 1
        self.contents.committed(self.commits)

    def sync(self) -> None:
        self.durable_rows, self.durable_pages = dict(self.rows), set(self.pages)
        self.contents.durable(self.commits)

    def kill(self, *, power_loss: bool = False) -> None:
        """Die and start again: what is not committed is gone; with power, what is not durable."""
        if power_loss:
            self.rows, self.pages = dict(self.durable_rows), set(self.durable_pages)
        self.durable_rows, self.durable_pages = dict(self.rows), set(self.pages)
        self.stored = set(self.pages)
        self.commits = 0
        self.contents = self._open()
        for other in self.net.members:
            if other is not self:
                self.net.drop(self, other)
                other.contents.greet(self.shard)
                self.contents.greet(other.shard)


class Net:
    """Members that talk; what they say arrives in order, when the test says so."""

    def __init__(self) -> None:
        self.on_the_way: list[tuple[int, int, ContentMail]] = []
        self.is_cut = False
        self.members: list[Member] = []
        self.members = [Member(self, shard) for shard in range(SHARDS)]

    def send(self, sender: int, to: int, mail: ContentMail) -> None:
        if not self.is_cut:
            self.on_the_way.append((sender, to, mail))

    def drop(self, one: Member, other: Member) -> None:
        """Lose what is on the way between two members."""
        both = {one.shard, other.shard}
        self.on_the_way = [m for m in self.on_the_way if set(m[:2]) != both]

    async def deliver(self) -> None:
        """Let everything arrive that is on the way, and what is answered to it."""
        for _ in range(12):
            await asyncio.sleep(0)
            came, self.on_the_way = self.on_the_way, []
            for sender, to, mail in came:
                self.members[to].contents.take(sender, mail)


def is_answered(asked: ContentAnswer) -> bool:
    return not isinstance(asked, PendingContent) or asked.future.done()


async def said(asked: ContentAnswer) -> CopyOf | None:
    return await answer_in_time(asked, WAIT_S)


async def test_the_first_page_of_a_content_is_told_to_store_it_and_the_next_to_refer_to_it() -> (
    None
):
    net = Net()
    one, two, owner = net.members
    asked = one.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert await said(asked) is None
    one.store(OWNED_BY_2, "first")
    one.commit()
    one.sync()
    await net.deliver()
    asked = two.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert await said(asked) == page("first")
    assert owner.contents.ask(OWNED_BY_2) == page("first")


@pytest.mark.parametrize("fingerprint", [OWNED_BY_0, OWNED_BY_1, OWNED_BY_2])
async def test_a_page_that_is_not_durable_is_not_named_and_its_shard_is_asked_to_hurry(
    fingerprint: int,
) -> None:
    net = Net()
    one, two = net.members[:2]
    first = one.contents.ask(fingerprint)
    await net.deliver()
    assert await said(first) is None
    asked = two.contents.ask(fingerprint)
    await net.deliver()
    assert isinstance(asked, PendingContent)
    assert not one.contents.wants_sync, "its page is still being read"
    one.store(fingerprint, "first")
    assert one.contents.wants_sync
    one.commit()
    await net.deliver()
    assert not asked.future.done(), "a power loss would take it"
    one.sync()
    assert not one.contents.wants_sync
    await net.deliver()
    assert await said(asked) == page("first")


async def test_without_an_answer_in_time_a_page_is_stored_in_full() -> None:
    net = Net()
    one, two, _ = net.members
    net.is_cut = True
    assert await said(one.contents.ask(OWNED_BY_2)) is None
    one.store(OWNED_BY_2, "first")
    one.commit()
    one.sync()
    net.is_cut = False
    one.contents.greet(2)
    await net.deliver()
    asked = two.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert await said(asked) == page("first"), "the owner was told when it could be reached"


async def test_a_shard_that_is_silent_is_waited_for_some_times_only_until_it_is_heard() -> None:
    net = Net()
    one, _, owner = net.members
    net.is_cut = True
    for number in range(MOST_SILENCES):
        asked = one.contents.ask(OWNED_BY_2 + number)
        assert isinstance(asked, PendingContent)
        assert await said(asked) is None
    assert one.contents.ask(OWNED_BY_2 + MOST_SILENCES) is None
    net.is_cut = False
    one.contents.take(owner.shard, ContentMail())
    assert isinstance(one.contents.ask(OWNED_BY_2 + MOST_SILENCES), PendingContent)


async def test_two_pages_of_one_shard_with_one_content_do_not_both_store_it() -> None:
    net = Net()
    one = net.members[0]
    asked = [one.contents.ask(OWNED_BY_2) for _ in range(3)]
    await net.deliver()
    assert await said(asked[0]) is None
    one.store(OWNED_BY_2, "first")
    assert [await said(later) for later in asked[1:]] == [page("first")] * 2


async def test_an_owner_that_is_asked_again_when_it_says_that_it_started_lets_one_page_store() -> (
    None
):
    net = Net()
    one, owner = net.members[0], net.members[2]
    asked = [one.contents.ask(OWNED_BY_2) for _ in range(3)]
    one.contents.greet(owner.shard)  # its word comes while the first question is on the way
    await net.deliver()
    assert [is_answered(each) for each in asked] == [True, False, False]
    assert await said(asked[0]) is None
    one.store(OWNED_BY_2, "first")
    assert [await said(later) for later in asked[1:]] == [page("first")] * 2
    assert one.contents.ask(OWNED_BY_2) == page("first")


async def test_a_content_that_was_granted_and_not_stored_is_granted_again() -> None:
    net = Net()
    one = net.members[0]
    for _ in range(2):
        asked = one.contents.ask(OWNED_BY_2)
        await net.deliver()
        assert is_answered(asked)
        one.contents.release(OWNED_BY_2)
        await net.deliver()


async def test_a_page_that_refers_to_another_does_not_let_a_third_store_the_content() -> None:
    net = Net()
    one, two = net.members[:2]
    two.contents.remember(OWNED_BY_2, page("first"))
    two.commit()
    two.sync()
    await net.deliver()
    early = one.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert await said(early) == page("first")
    late = one.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert await said(late) == page("first")


@pytest.mark.parametrize("fingerprint", [OWNED_BY_0, OWNED_BY_2])
async def test_a_page_that_is_not_stored_after_all_leaves_its_content_to_the_next(
    fingerprint: int,
) -> None:
    net = Net()
    one, two, three = net.members
    first = one.contents.ask(fingerprint)
    await net.deliver()
    assert await said(first) is None
    others = {two: two.contents.ask(fingerprint), three: three.contents.ask(fingerprint)}
    await net.deliver()
    one.contents.release(fingerprint)
    await net.deliver()
    [next_one] = [member for member, asked in others.items() if is_answered(asked)]
    assert await said(others.pop(next_one)) is None
    next_one.store(fingerprint, "second")
    next_one.commit()
    next_one.sync()
    await net.deliver()
    [last] = others.values()
    assert await said(last) == page("second")


async def test_a_shard_that_is_started_again_has_no_claims() -> None:
    net = Net()
    one, two = net.members[:2]
    first = one.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert await said(first) is None
    one.kill()
    asked = two.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert isinstance(asked, PendingContent)
    assert asked.future.done()
    assert await said(asked) is None


async def test_news_are_kept_until_the_owner_has_them_for_good() -> None:
    net = Net()
    one, two, owner = net.members
    one.contents.remember(OWNED_BY_2, page("first"))
    one.commit()
    one.sync()
    await net.deliver()
    owner.commit()
    owner.kill(power_loss=True)
    await net.deliver()
    asked = two.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert await said(asked) == page("first"), "they were sent again"
    owner.commit()
    owner.sync()
    await net.deliver()
    one.commit()
    assert one.rows == {}
    assert owner.rows != {}


async def test_a_page_that_changed_is_forgotten_by_the_owner() -> None:
    net = Net()
    one, two, _ = net.members
    one.contents.remember(OWNED_BY_2, page("first"))
    one.commit()
    one.sync()
    await net.deliver()
    one.contents.forget(OWNED_BY_2, page("other").url)
    one.commit()
    one.sync()
    await net.deliver()
    asked = two.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert await said(asked) == page("first"), "another page was first"
    one.contents.forget(OWNED_BY_2, page("first").url)
    one.commit()
    one.sync()
    await net.deliver()
    asked = two.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert await said(asked) is None


async def test_news_of_an_earlier_start_are_sent_to_whoever_owns_them_now() -> None:
    net = Net()
    one, two = net.members[:2]
    key, value = news_row(OWNED_BY_2, ContentNews(page("first").url, page("first")))
    assert value is not None
    one.rows[key] = value
    one.kill()
    await net.deliver()
    asked = two.contents.ask(OWNED_BY_2)
    await net.deliver()
    assert await said(asked) == page("first")


async def test_many_rows_of_others_are_a_reason_for_a_commit() -> None:
    net = Net()
    one, _, owner = net.members
    for number in range(1000):
        one.contents.remember(OWNED_BY_2 + number, page(f"p{number}"))
    one.commit()
    one.sync()
    assert not owner.contents.has_many_uncommitted
    await net.deliver()
    assert owner.contents.has_many_uncommitted
    owner.commit()
    assert not owner.contents.has_many_uncommitted


class Ordeal:
    """Pages that come to shards which are killed here and there."""

    def __init__(self, seed: int) -> None:
        self.dice, self.net = Random(seed), Net()
        self.prints = [self.dice.getrandbits(64) for _ in range(6)]
        self.revisits: list[tuple[Member, str]] = []
        """The shards that stored one, and the records that they refer to."""
        self.pages = 0

    async def maybe_deliver(self) -> None:
        if self.dice.random() < 0.7:
            await self.net.deliver()

    async def take_page(self, member: Member) -> None:
        fingerprint = self.dice.choice(self.prints)
        asked = member.contents.ask(fingerprint)
        await self.maybe_deliver()
        original = await said(asked)
        self.pages += 1
        if original is not None:
            self.revisits.append((member, original.record_id))
        elif self.dice.random() < 0.9:
            member.store(fingerprint, f"p{self.pages}")
        else:
            member.contents.release(fingerprint)

    def kill(self, member: Member, *, power_loss: bool) -> None:
        """Kill a shard; what it has of its own goes in the order in which it was written."""
        own = [r for r in self.revisits if r[0] is member and r[1] in member.stored]
        self.revisits = [r for r in self.revisits if r not in own]
        member.kill(power_loss=power_loss)

    async def step(self) -> None:
        member = self.dice.choice(self.net.members)
        match self.dice.choice(["page", "page", "page", "commit", "sync", "kill", "power"]):
            case "page":
                await self.take_page(member)
            case "commit":
                member.commit()
            case "sync":
                member.commit()
                member.sync()
            case "kill":
                self.kill(member, power_loss=False)
            case _:
                for each in self.net.members:
                    self.kill(each, power_loss=True)
        await self.maybe_deliver()


@pytest.mark.parametrize("seed", range(25))
async def test_whoever_is_killed_when_no_revisit_points_to_nothing(seed: int) -> None:
    trial = Ordeal(seed)
    for _ in range(60):
        await trial.step()
        stored = {one for each in trial.net.members for one in each.stored}
        assert all(original in stored for _, original in trial.revisits)
