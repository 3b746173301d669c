"""Content seen, over all shards of a crawl: which page had it first, and is it safe to refer to?

    x + fingerprint    at the owner of the fingerprint: the first page, of any shard (`dedupe`)
    X + fingerprint    at the shard that stored a page: news that the owner has not acknowledged

A fingerprint belongs to the shard in whose range its first bits fall. Whoever has got a body asks
the owner and reads the page meanwhile. The owner names a page only when the shard that stored it
has reported it as durable, so that no revisit record points to nothing, whoever is killed when.
Nobody had it: the asker is told so, and stores it. Somebody is about to store it: that shard is
asked to hurry, and the answer waits for its report. Without an answer in time the page is stored
in full. Nothing but the rows has to survive: a claim that is lost costs a full copy.

Nothing here writes or connects: rows go out with each commit, messages over the `ContentWire`.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct, msgpack
from msgspec.structs import replace

from gossamer.cluster import ContentMail, ContentNews, Ring
from gossamer.dedupe import ContentSeen
from gossamer.model import CopyOf, Row

NEWS = b"X"
"""Prefix of a row: fingerprint → news that its owner has not acknowledged."""
LATE_S = 0.02
"""An engine loop that is so late is busy, and so are those of the other shards: they get longer."""
LATER = 4
"""Times that delay are waited then: there are two loops on the way of an answer, and a sync."""
LONGEST = 5
"""Times `wait_s` are waited at most."""
_LAST_CHANCE_S = 0.002
"""An answer that came while the loop was busy is read before the page gives up on it."""
MOST_CLAIMS = 20_000
"""Claims that the owner keeps; the oldest go first."""
MOST_NEWS = 100
"""News in one message: a datagram has a limit."""
MOST_UNCOMMITTED = 1000
"""Rows that wait for the next commit: beyond it, they are a reason for one."""

MOST_SILENCES = 8
"""Pages that wait for one shard in vain before no other waits for it: until it is heard again."""

Answer: TypeAlias = CopyOf | None


class PendingContent(NamedTuple):
    """A question about a content that is not yet answered."""

    future: "asyncio.Future[Answer]"
    on_silence: Callable[[], None]
    """Is called if no answer comes in time."""


ContentAnswer: TypeAlias = CopyOf | PendingContent | None

_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(ContentNews).decode


async def answer_in_time(asked: ContentAnswer, wait_s: float) -> Answer:
    """Return the answer to a question about a content; None, "store it", if none comes in time.

    In time means in `wait_s` while the loop keeps up: on a machine that is busy with parsing an
    answer takes as long as a round of two loops.
    """
    if not isinstance(asked, PendingContent):
        return asked
    if not asked.future.done():
        loop = asyncio.get_running_loop()
        due, last = loop.time() + wait_s, loop.time() + LONGEST * wait_s
        loop.call_at(due, _look, loop, asked, due, last)
    return await asked.future


def _look(
    loop: asyncio.AbstractEventLoop, waiting: PendingContent, due: float, last: float
) -> None:
    """Let a page that waits give up, unless the loop is late: then it waits on."""
    now = loop.time()
    if waiting.future.done():
        return
    if now - due > LATE_S and now < last:
        due = min(now + LATER * (now - due), last)
        loop.call_at(due, _look, loop, waiting, due, last)
    else:
        loop.call_later(_LAST_CHANCE_S, _give_up, waiting)


def _give_up(waiting: PendingContent) -> None:
    if not waiting.future.done():
        waiting.on_silence()
        waiting.future.set_result(None)


def _resolve(waiting: "asyncio.Future[Answer]", answer: Answer) -> None:
    if not waiting.done():
        waiting.set_result(answer)


def news_rows(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[int, ContentNews]]:
    """Give the news in rows with the prefix `NEWS`, by fingerprint."""
    for key, value in rows:
        yield int.from_bytes(key[len(NEWS) :], "big"), _decode(value)


def news_row(fingerprint: int, news: ContentNews | None) -> Row:
    """Return the row that keeps news; the one that deletes it, for None."""
    key = NEWS + fingerprint.to_bytes(8, "big")
    return key, None if news is None else _encode(news)


class _Kept(Struct, frozen=True):
    """News that the owner has not acknowledged."""

    news: ContentNews
    commit: int | None = None
    """The commit that has it; None before."""
    is_durable: bool = False


class _Commit(NamedTuple):
    """What one commit covers."""

    number: int
    ours: list[int]
    """Contents that our own pages had first, or have no longer."""
    taken: list[tuple[int, int]]
    """Senders of news, and the fingerprints."""


@dataclass(slots=True)
class _Owned:
    """What the owner of fingerprints knows besides the rows. Lost with the process."""

    claims: dict[int, int] = field(default_factory=dict)
    """Shards that are about to store a content."""
    waiting: dict[int, list[int]] = field(default_factory=dict)
    """Shards, ours too, that wait for what another one is about to store."""
    fresh: dict[int, int | None] = field(default_factory=dict)
    """Contents of our own pages that are not durable, and the commits that have them."""


class ContentWire(Protocol):
    """The way to the other shards."""

    def open(
        self, take: Callable[[int, ContentMail], None], on_started: Callable[[int], None]
    ) -> None:
        """Receive from now on; be told of shards that were started."""

    def send(self, to: int, mail: ContentMail) -> None:
        """Send something, which may be lost with its receiver."""

    def poll(self) -> None:
        """Take what has come."""

    def close(self) -> None:
        """Receive and send no more."""


class SharedContents:
    """The first page of each content, asked for and kept with the other shards of a crawl."""

    def __init__(
        self,
        *,
        ring: Ring,
        shard: int,
        seen: ContentSeen,
        rows: Iterable[tuple[bytes, bytes]],
        wire: ContentWire,
        on_wanted: Callable[[], None],
    ) -> None:
        """Keep contents; `rows` are the news that earlier starts left. All before is durable.

        `on_wanted` is called when `wants_sync` has become true.
        """
        self._ring = ring
        self._shard = shard
        self._seen = seen
        self._wire = wire
        self._on_wanted = on_wanted
        self._news = {key: _Kept(news, 0, is_durable=True) for key, news in news_rows(rows)}
        self._changed: dict[int, ContentNews | None] = {}
        self._owned = _Owned()
        self._held: set[int] = set()
        """Contents that a page of ours is about to store, or has asked about."""
        self._granted: set[int] = set()
        """Those of them that a page of ours was told to store: a second grant is the same one."""
        self._asked: dict[int, list[asyncio.Future[Answer]]] = {}
        """Pages of ours that wait for an answer, or for another page of ours."""
        self._silences: dict[int, int] = {}
        """Owners that were not heard, and how many pages have waited for them since."""
        self._wanted: set[int] = set()
        """Contents that others wait for: they are to be durable soon."""
        self._uncommitted = _Commit(0, [], [])
        self._commits: deque[_Commit] = deque()
        self._outgoing: dict[int, ContentMail] = {}

    def open(self) -> None:
        """Take what others say from now on."""
        self._wire.open(self.take, self.greet)

    def close(self) -> None:
        """Take nothing more."""
        self._wire.close()

    # For our own pages

    def poll(self) -> None:
        """Let what others have sent come in: the loop may be busy with pages for long."""
        self._wire.poll()

    def first_copy(self, fingerprint: int | None) -> CopyOf | None:
        """Return the page that had this content first, as far as this shard knows.

        It is a page of our own, or durable in another shard.
        """
        if fingerprint is None:
            return None
        kept = self._news.get(fingerprint)
        if kept is not None:
            return kept.news.original
        return self._seen.first_copy(fingerprint)

    def ask(self, fingerprint: int | None) -> ContentAnswer:
        """Return the page that had this content first, or a promise of it: see `answer_in_time`.

        None means that the asker stores it; whether it does or not, it must `release` the content.
        """
        self.poll()
        if fingerprint is None or (first := self.first_copy(fingerprint)) is not None:
            return None if fingerprint is None else first
        owner = self._ring.owner_of(fingerprint)
        if self._silences.get(owner, 0) >= MOST_SILENCES:
            return None
        waiting = self._asked.setdefault(fingerprint, [])
        if fingerprint not in self._held:
            self._held.add(fingerprint)
            if owner != self._shard:
                self._mail(owner).asked.append(fingerprint)
            elif self._take_claim(self._shard, fingerprint):
                self._granted.add(fingerprint)
                return None
            self._flush()
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        waiting.append(future)
        return PendingContent(future, partial(self._note_silence, owner))

    def _note_silence(self, owner: int) -> None:
        """Note that a page has waited for an owner in vain."""
        if owner != self._shard:
            self._silences[owner] = self._silences.get(owner, 0) + 1

    def release(self, fingerprint: int | None) -> None:
        """Be told that the turn of a page is over that was to store a content."""
        if fingerprint is None or fingerprint not in self._held:
            return
        waiting = [one for one in self._asked.pop(fingerprint, ()) if not one.done()]
        first = self.first_copy(fingerprint)
        if first is None and waiting:
            self._asked[fingerprint] = waiting[1:]
            _resolve(waiting[0], None)
            return
        self._held.discard(fingerprint)
        self._granted.discard(fingerprint)
        for one in waiting:
            _resolve(one, first)
        if first is None:
            self._give_up(fingerprint)
            self._flush()

    def remember(self, fingerprint: int, original: CopyOf) -> None:
        """Make a page of ours the first of its content, as of the next commit."""
        if self._ring.owner_of(fingerprint) != self._shard:
            self._tell(fingerprint, ContentNews(original.url, original))
        else:
            self._seen.remember(fingerprint, original)
            self._owned.claims.pop(fingerprint, None)
            self._owned.fresh[fingerprint] = None
            self._uncommitted.ours.append(fingerprint)
        if fingerprint in self._wanted or fingerprint in self._owned.waiting:
            self._want(fingerprint)

    def forget(self, fingerprint: int, url: str) -> None:
        """Drop a content whose first page changed or went; not if another page was first."""
        self._seen.forget(fingerprint, url)
        if self._ring.owner_of(fingerprint) == self._shard:
            self._owned.fresh.pop(fingerprint, None)
            return
        kept = self._news.get(fingerprint)
        if kept is None or kept.news.url == url:
            self._tell(fingerprint, ContentNews(url, None))

    def _tell(self, fingerprint: int, news: ContentNews) -> None:
        self._news[fingerprint] = _Kept(news)
        self._changed[fingerprint] = news
        self._uncommitted.ours.append(fingerprint)

    def _give_up(self, fingerprint: int) -> None:
        """Let others store a content that no page of ours will."""
        self._wanted.discard(fingerprint)
        owner = self._ring.owner_of(fingerprint)
        if owner != self._shard:
            self._mail(owner).released.append(fingerprint)
        else:
            self._pass_on(fingerprint, self._shard)

    def _answered(self, fingerprint: int, answer: Answer) -> None:
        """Let pages of ours have the owner's answer: all, or the one that is to store it.

        A question that was asked again, of an owner that said it had started, is answered twice.
        """
        if answer is None and fingerprint in self._granted:
            return
        waiting = [one for one in self._asked.pop(fingerprint, ()) if not one.done()]
        if answer is not None:
            self._held.discard(fingerprint)
            self._granted.discard(fingerprint)
            for one in waiting:
                _resolve(one, answer)
        elif waiting:
            self._granted.add(fingerprint)
            self._asked[fingerprint] = waiting[1:]
            _resolve(waiting[0], None)
        elif fingerprint not in self._held and self.first_copy(fingerprint) is None:
            self._give_up(fingerprint)  # the page waited no longer, and was not stored

    # As the owner of fingerprints

    def _take_claim(self, sender: int, fingerprint: int) -> bool:
        """Return True if a shard may store a content; else let it wait for the one that does."""
        owned = self._owned
        claimant = self._shard if fingerprint in owned.fresh else owned.claims.get(fingerprint)
        if claimant is None or (claimant == sender and fingerprint not in owned.fresh):
            owned.claims[fingerprint] = sender
            while len(owned.claims) > MOST_CLAIMS:
                oldest = next(iter(owned.claims))
                del owned.claims[oldest]
                owned.waiting.pop(oldest, None)
            return True
        owned.waiting.setdefault(fingerprint, []).append(sender)
        self._hasten(fingerprint, claimant)
        return False

    def _hasten(self, fingerprint: int, claimant: int) -> None:
        """Let what a shard is about to store be durable soon."""
        if claimant != self._shard:
            self._mail(claimant).wanted.append(fingerprint)
        else:
            self._take_wanted(fingerprint)

    def _take_question(self, sender: int, fingerprint: int) -> None:
        first = self._seen.first_copy(fingerprint)
        if first is not None and fingerprint not in self._owned.fresh:
            self._mail(sender).answers.append((fingerprint, first))
        elif self._take_claim(sender, fingerprint):
            self._mail(sender).answers.append((fingerprint, None))

    def _pass_on(self, fingerprint: int, claimant: int) -> None:
        """Let the next shard that waits store a content: a claimant will not."""
        owned = self._owned
        if owned.claims.get(fingerprint) != claimant:
            return
        del owned.claims[fingerprint]
        waiting = owned.waiting.pop(fingerprint, [])
        if not waiting:
            return
        owned.claims[fingerprint] = waiting[0]
        self._answer(waiting[0], fingerprint, None)
        if len(waiting) > 1:
            owned.waiting[fingerprint] = waiting[1:]
            self._hasten(fingerprint, waiting[0])

    def _answer(self, asker: int, fingerprint: int, answer: Answer) -> None:
        if asker != self._shard:
            self._mail(asker).answers.append((fingerprint, answer))
        else:
            self._answered(fingerprint, answer)

    def _answer_waiting(self, fingerprint: int) -> None:
        """Let all who wait for a content have its first page, which is durable by now."""
        if fingerprint in self._owned.waiting and fingerprint not in self._owned.fresh:
            first = self._seen.first_copy(fingerprint)
            for asker in self._owned.waiting.pop(fingerprint) if first is not None else ():
                self._answer(asker, fingerprint, first)

    def _take_news(self, sender: int, fingerprint: int, news: ContentNews) -> None:
        first = self._seen.first_copy(fingerprint)
        if self._ring.owner_of(fingerprint) != self._shard:  # since a split: it is passed on
            if fingerprint not in self._news:
                self._tell(fingerprint, news)
        elif news.original is None:
            self._seen.forget(fingerprint, news.url)
        elif first is None or first.url == news.url:
            self._seen.remember(fingerprint, news.original)
        if self._owned.claims.get(fingerprint) == sender:
            del self._owned.claims[fingerprint]
        self._uncommitted.taken.append((sender, fingerprint))
        self._answer_waiting(fingerprint)

    def greet(self, sender: int) -> None:
        """Be told that a shard was started: what it was about to store before is not.

        Nor has it what it was told before, unless it has acknowledged that.
        """
        theirs = [one for one, shard in self._owned.claims.items() if shard == sender]
        for fingerprint in theirs:
            self._pass_on(fingerprint, sender)
        owner_of = self._ring.owner_of
        for fingerprint, kept in self._news.items():
            if kept.is_durable and owner_of(fingerprint) == sender:
                self._mail(sender).news.append((fingerprint, kept.news))
        for fingerprint in self._held:
            if fingerprint in self._asked and owner_of(fingerprint) == sender:
                self._mail(sender).asked.append(fingerprint)
        self._flush()

    # Mail

    def take(self, sender: int, mail: ContentMail) -> None:
        """Take what another shard says."""
        self._silences.pop(sender, None)
        for fingerprint in mail.receipts:
            self._take_receipt(fingerprint)
        for fingerprint, news in mail.news:
            self._take_news(sender, fingerprint, news)
        for fingerprint in mail.released:
            self._pass_on(fingerprint, sender)
        for fingerprint in mail.asked:
            self._take_question(sender, fingerprint)
        for fingerprint, answer in mail.answers:
            self._answered(fingerprint, answer)
        for fingerprint in mail.wanted:
            self._take_wanted(fingerprint)
        self._flush()

    def _take_receipt(self, fingerprint: int) -> None:
        kept = self._news.get(fingerprint)
        if kept is not None and kept.is_durable:
            del self._news[fingerprint]
            self._changed[fingerprint] = None

    def _take_wanted(self, fingerprint: int) -> None:
        """Make a content durable soon: others wait for it."""
        kept = self._news.get(fingerprint)
        if fingerprint in self._owned.fresh or (kept is not None and not kept.is_durable):
            self._want(fingerprint)
        elif fingerprint in self._held:
            self._wanted.add(fingerprint)
        elif kept is None:
            self._give_up(fingerprint)

    def _want(self, fingerprint: int) -> None:
        self._wanted.add(fingerprint)
        self._on_wanted()

    @property
    def wants_sync(self) -> bool:
        """Return True if others wait for a page of ours that is recorded and not durable."""
        return any(one not in self._held for one in self._wanted)

    def _mail(self, to: int) -> ContentMail:
        """Return the message to a shard that leaves with the next `_flush`."""
        mail = self._outgoing.get(to)
        if mail is not None and len(mail.news) >= MOST_NEWS:
            self._wire.send(to, self._outgoing.pop(to))
        return self._outgoing.setdefault(to, ContentMail())

    def _flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, {}
        for to, mail in outgoing.items():
            self._wire.send(to, mail)

    # Commits

    @property
    def has_many_uncommitted(self) -> bool:
        """Return True if so much waits for a commit that it is a reason for one."""
        return self._seen.uncommitted + len(self._changed) >= MOST_UNCOMMITTED

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that changed since the last call."""
        changed, self._changed = self._changed, {}
        return [*self._seen.rows_to_commit(), *(news_row(*one) for one in changed.items())]

    def committed(self, commits: int) -> None:
        """Be told that the rows are written, by the commit of this number."""
        done, self._uncommitted = self._uncommitted, _Commit(0, [], [])
        for fingerprint in done.ours:
            if (kept := self._news.get(fingerprint)) is not None:
                self._news[fingerprint] = replace(kept, commit=commits)
            elif fingerprint in self._owned.fresh:
                self._owned.fresh[fingerprint] = commits
        if done.ours or done.taken:
            self._commits.append(_Commit(commits, done.ours, done.taken))

    def durable(self, commits: int) -> None:
        """Be told how many commits a sync has covered: what they hold may be referred to."""
        while self._commits and self._commits[0].number <= commits:
            done = self._commits.popleft()
            for fingerprint in done.ours:
                self._make_durable(fingerprint, commits)
            for sender, fingerprint in done.taken:
                self._mail(sender).receipts.append(fingerprint)
        self._flush()

    def _make_durable(self, fingerprint: int, commits: int) -> None:
        kept, fresh = self._news.get(fingerprint), self._owned.fresh
        if kept is not None:
            if kept.is_durable or kept.commit is None or kept.commit > commits:
                return  # a later version, of a later commit
            self._news[fingerprint] = replace(kept, is_durable=True)
            owner = self._ring.owner_of(fingerprint)
            self._mail(owner).news.append((fingerprint, kept.news))
        elif fingerprint in fresh:
            commit = fresh[fingerprint]
            if commit is None or commit > commits:
                return
            del fresh[fingerprint]
            self._answer_waiting(fingerprint)
        self._wanted.discard(fingerprint)
