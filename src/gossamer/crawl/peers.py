"""The other shards of a crawl, as one shard's engine sees them: none, or some.

Nothing here waits or looks back at the engine. Letters and grants come in and are kept; what is to
be sent after a commit is sent then; that a report is due is only noted (`wants_report`). The
conversation with the supervisor is `shard_process`.
"""

import asyncio
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from gossamer.clock import CrawlTime
from gossamer.cluster import (
    Courier,
    Mail,
    Mailbox,
    OutageOrders,
    Outages,
    Outbox,
    ProbationOrders,
    ProbationShare,
    ReturnPages,
    ShardInHand,
    ShardOutages,
    ShardProbation,
    SupervisorLine,
    Uplink,
    WantPages,
)
from gossamer.crawl.contents import SharedContents
from gossamer.crawl.core import Core
from gossamer.crawl.engine import RunState
from gossamer.crawl.pipeline import accept
from gossamer.frontier import Frontier
from gossamer.model import Counters, Row

UNLIMITED = 1 << 60
IN_HAND_S = 0.05
"""Between two messages that say what is in hand."""
NAMED_S = 0.005
"""Until such a message is with the kernel."""


class NoStore:
    """The remote of a crawl that is kept on one machine only."""

    paused = ""
    may_ask = True
    is_fenced = False
    gives_receipts = False
    is_shipped = True

    async def settle(self) -> None:
        """Do nothing: what is here counts."""

    async def run(self) -> None:
        """Do nothing."""

    async def ship_soon(self) -> None:
        """Do nothing."""

    async def finish(self) -> None:
        """Do nothing."""


class NoPeers:
    """The peers of a crawl's only shard."""

    is_blocked = False
    has_uncommitted = False
    owes_receipts = False
    wants_sync = False
    commits = 0

    def __init__(self, max_pages: int | None, *, wait_at_end_s: float, run: RunState) -> None:
        """Be alone; the run ends when hosts that are down were waited for `wait_at_end_s`."""
        self.limit_pages(max_pages)
        self._outages = Outages(1, wait_at_end_s)
        self._probation = ProbationShare(1)
        self._run = run

    def limit_pages(self, max_pages: int | None) -> None:
        """Let the crawl end at another number of pages."""
        self._max_pages = UNLIMITED if max_pages is None else max_pages

    def pages_left(self, used: int, wanted: int) -> int:  # noqa: ARG002  # others may want them
        """Return how many pages may be asked for beyond those stored or under way."""
        return self._max_pages - used

    def may_leave(self) -> bool:
        """Return True: there is nobody who could send us anything."""
        return True

    def rest(self) -> None:
        """Do nothing: nobody wants to know."""

    def rows_to_commit(self) -> list[Row]:
        """Return nothing: no letters come."""
        return []

    def committed(self) -> None:
        """Do nothing: no letters go."""

    def durable(self, commits: int) -> None:
        """Do nothing: nobody waits for a receipt."""

    def outage_orders(self, told: ShardOutages, now: float) -> OutageOrders:
        """Return what follows for us from how we stand."""
        self._outages.note(0, told, now)
        self._outages.look(now)
        if self._outages.seconds_to_end(now) == 0.0:
            self._run.stop("parked")
        return self._outages.orders(0, now)

    def note_in_hand(self) -> None:
        """Do nothing: what is being read is marked on this disk."""

    async def note_alone(self, key: int) -> None:
        """Do nothing: the same."""

    def note_done(self, key: int) -> None:
        """Do nothing: the same."""

    def note_free(self, has_free: Callable[[], bool]) -> None:
        """Do nothing: nobody wants to know."""

    def probation_orders(self, told: ShardProbation, pages: int, now: float) -> ProbationOrders:
        """Return what we may do about what is on probation; so many pages are stored."""
        self._probation.note(0, told, now)
        return self._probation.orders(0, self._max_pages - pages)


class InHandNotes:
    """Tells the coordinator what is in hand: at once, but not too often."""

    def __init__(self, connection: SupervisorLine, in_flight: Mapping[int, object]) -> None:
        self._connection = connection
        self._in_flight = in_flight
        self._alone = 0
        self._told_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def changed(self) -> None:
        """Tell what is in hand now, at once if that was not just done."""
        loop = asyncio.get_running_loop()
        due = self._told_at + IN_HAND_S
        if loop.time() >= due:
            self.tell()
        elif self._timer is None:
            self._timer = loop.call_at(due, self.tell)

    def alone(self, key: int) -> None:
        """Tell at once that a page is about to be read alone; 0 that none is any more."""
        self._alone = key
        self.tell()

    def is_alone(self, key: int) -> bool:
        """Return True if a page was told to be read alone."""
        return key == self._alone

    def tell(self) -> None:
        """Tell it now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._told_at = asyncio.get_running_loop().time()
        self._connection.send(ShardInHand(list(self._in_flight), self._alone))


class OtherShards:
    """Shards in other processes: their letters, our letters to them, and the pages we may store."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        mailbox: Mailbox,
        couriers: Mapping[int, Courier],
        contents: SharedContents,
        connection: SupervisorLine,
        run: RunState,
        frontier: Frontier,
        time: CrawlTime,
        counters: Counters,
        is_limited: bool,
        acknowledges_at_commit: bool,
        reports_commits: bool,
    ) -> None:
        """Know the others; if the crawl's pages are limited, they are granted by the supervisor.

        Receipts leave at the commit, or wait for a sync; a report is due after every commit if
        the crawl ends at so many bytes.
        """
        self.outbox = outbox
        self.mailbox = mailbox
        self.couriers = couriers
        self.contents = contents
        self.wants_report = asyncio.Event()
        """Set when how we stand may have changed."""
        self._connection = connection
        self.in_hand = InHandNotes(connection, run.in_flight)
        self._is_far = isinstance(connection, Uplink)
        self._run = run
        self._frontier = frontier
        self._time = time
        self._counters = counters
        self._is_limited = is_limited
        self._allowed = counters.pages if is_limited else UNLIMITED
        self._acknowledges_at_commit = acknowledges_at_commit
        self._reports_commits = reports_commits
        self._has_asked = False
        self._is_dismissed = False
        self._orders = OutageOrders()
        self._probation = ProbationOrders()
        self.had_free = False
        """Whether anything waited that is free of suspicion, when that was last looked at."""

    @property
    def is_blocked(self) -> bool:
        """Return True if too much waits for other shards."""
        return self.outbox.is_full

    @property
    def has_uncommitted(self) -> bool:
        """Return True if a commit would write something for other shards, or from them."""
        has_mail = self.outbox.has_uncommitted or self.mailbox.has_uncommitted
        return has_mail or self.contents.has_many_uncommitted

    @property
    def owes_receipts(self) -> bool:
        """Return True if letters that were committed wait for a sync."""
        return self.mailbox.owes_receipts or self.outbox.moved.waits

    @property
    def wants_sync(self) -> bool:
        """Return True if pages of other shards wait until a page of ours is durable."""
        return self.contents.wants_sync

    @property
    def is_quiet(self) -> bool:
        """Return True if no letter waits for its receipt, ours or another shard's."""
        return self.outbox.is_empty and self.mailbox.is_empty

    @property
    def commits(self) -> int:
        """Return how many commits there were."""
        return self.mailbox.commits

    def pages_left(self, used: int, wanted: int) -> int:
        """Return how many pages are granted and not yet used; ask for more when they run out."""
        left = self._allowed - used
        if left < wanted and not self._has_asked and left < (need := self._need(wanted)):
            self._has_asked = True
            self._connection.send(WantPages(need))
        return left

    def _need(self, wanted: int) -> int:
        """Return how many pages could be used now: granted to us, others would wait for them."""
        waiting = self._frontier.queued - len(self._run.in_flight)
        moment = self._frontier.next_moment()
        is_ready = moment is None or moment <= self._time.now()
        return min(waiting, wanted if is_ready else 1)

    def grant(self, pages: int) -> None:
        """Be granted so many pages more."""
        self._allowed += pages
        self._has_asked = False

    def give_back(self) -> None:
        """Give back the pages that were granted and are not used."""
        unused = self._allowed - self._counters.pages - len(self._run.in_flight)
        if unused > 0:
            self._allowed -= unused
            self._connection.send(ReturnPages(unused))

    def meet(self) -> int:
        """Meet another supervisor: give up what is granted and not used, and all older orders.

        Return how many pages are stored or may be without being granted any more.
        """
        if self._is_limited:
            self._allowed = self._counters.pages + len(self._run.in_flight)
        self._has_asked = False
        self._orders, self._probation = OutageOrders(), ProbationOrders()
        return self._allowed if self._is_limited else self._counters.pages

    def dismiss(self) -> None:
        """Be told that nothing is left to do anywhere, or that the crawl is to end."""
        self._is_dismissed = True

    def order(self, orders: OutageOrders | ProbationOrders) -> None:
        """Be told what to do about hosts that are down, or about what is on probation."""
        if isinstance(orders, OutageOrders):
            self._orders = orders
        else:
            self._probation = orders

    def outage_orders(self, told: ShardOutages, now: float) -> OutageOrders:  # noqa: ARG002  # it goes with our reports
        """Return what the supervisor ordered last."""
        return self._orders

    def note_in_hand(self) -> None:
        """Tell what is in hand, if the machine may be lost with what is marked on its disk."""
        if self._is_far:
            self.in_hand.changed()

    async def note_alone(self, key: int) -> None:
        """Tell which page is about to be read alone; return when that is under way."""
        if self._is_far:
            self.in_hand.alone(key)
            await self._time.clock.sleep(NAMED_S)

    def note_done(self, key: int) -> None:
        """Tell that the page that was read alone is done with."""
        if self.in_hand.is_alone(key):
            self.in_hand.alone(0)

    def note_free(self, has_free: Callable[[], bool]) -> None:
        """Report at once when something begins or ceases to wait that is free of suspicion."""
        if has_free() is not self.had_free:
            self.had_free = not self.had_free
            self.wants_report.set()

    def probation_orders(
        self,
        told: ShardProbation,
        pages: int,  # noqa: ARG002  # they go with our reports
        now: float,  # noqa: ARG002  # the clock of the supervisor counts
    ) -> ProbationOrders:
        """Return what the supervisor ordered last; it may not know that something waits here."""
        return replace(self._probation, is_open=False) if told.is_waited else self._probation

    def may_leave(self) -> bool:
        """Return True if the supervisor has found that nothing is left to do anywhere."""
        return self._is_dismissed

    def rest(self) -> None:
        """Note that a report is due: nothing is under way."""
        self.wants_report.set()

    def rows_to_commit(self) -> list[Row]:
        """Return the marks of the letters that this commit takes in."""
        return self.mailbox.rows_to_commit()

    def committed(self) -> None:
        """Send what the commit made ours to send; acknowledge what it took in, if that will do."""
        for to, mail in self.outbox.committed():
            self.couriers[to].send(mail)
        self.mailbox.committed()
        self.outbox.moved.committed(self.mailbox.commits)
        self.contents.committed(self.mailbox.commits)
        if self._acknowledges_at_commit:
            self.durable(self.mailbox.commits)
        if self._reports_commits:
            self.wants_report.set()

    def durable(self, commits: int) -> None:
        """Give receipts for the letters that a sync has covered, and tell of the pages."""
        self.mailbox.durable(commits)
        self.contents.durable(commits)
        self.outbox.moved.durable(commits)
        for to, mail in self.outbox.released():
            self.couriers[to].send(mail)


def take_letter(mail: Mail, core: Core) -> None:
    """Take the tasks of a letter in; the next commit makes them ours."""
    if core.outbox is not None:
        core.outbox.moved.take(mail.given)
    core.copies.take(mail.parcels)
    core.traps.note_listed(mail.tasks)
    found = accept(mail.tasks, core.stations)
    core.take_tasks(found)
    core.release_held()
    core.counters.count_refused(found.refused)
