"""A small web, machines with disks, a network and a store, and what can go wrong among them."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.model.chains import (
    CHARTER,
    Charter,
    LatePut,
    Manifest,
    ModelStore,
    Original,
    ShardState,
    land,
)
from tests.model.coordinator import Coordinator
from tests.model.owner import Disk, Mail, Owner, Receipt
from tests.model.reader import RestoreReader, Verdict, judged
from tests.model.rules import GAP, NODES, Rules

URLS, HOSTS, SHARDS, MOST_CHAINS = 80, 7, 3, 9
SPAN = 64
CONTENTS = 24
FAULTS = 30
GIVEN = 0.5
"""Of the domains that are new to their home, in every other run."""
MOST_STEPS = 30_000
MOST_CLAIMS = 400
MOST_READERS = 2
FINE = Verdict(0, 0)


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended."""

    end: str
    final: Verdict = FINE
    restored: Verdict = FINE
    pages: int = 0
    short_gaps: int = 0
    over_limit: int = 0
    requests: int = 0
    claims: int = 0

    @property
    def is_bad(self) -> bool:
        is_short = bool(self.short_gaps or self.over_limit)
        return self.end != "finished" or self.final.is_bad or self.restored.is_bad or is_short


Web: TypeAlias = tuple[list[int], list[list[int]]]
"""The point of each URL's host, and the URLs that it links to."""


def _random_web(dice: random.Random) -> Web:
    hosts = [dice.randrange(SPAN) for _ in range(HOSTS)]
    points = [dice.choice(hosts) for _ in range(URLS)]
    return points, [[dice.randrange(URLS) for _ in range(dice.randrange(1, 4))] for _ in points]


class World:
    """One run. With a web of its own it is calm: nothing goes wrong but what is asked for."""

    def __init__(self, rules: Rules, seed: int, web: Web | None = None) -> None:
        is_calm = web is not None
        self.rules, self.dice, self.is_calm = rules, random.Random(seed), is_calm
        dice = self.dice
        self._gives_domains = not is_calm and bool(seed % 2)
        self._place_dice = random.Random(seed)
        self.span = SPAN
        self.points, self.links = web or _random_web(dice)
        self.contents = [url % SPAN for url, _ in enumerate(self.points)]
        """Of each page; who owns it is found as for hosts. Some pages have the same."""
        if not is_calm:
            self.contents = [dice.randrange(CONTENTS) * SPAN // CONTENTS for _ in self.points]
        self.reachable = {0}
        todo = [0]
        while todo:
            new = set(self.links[todo.pop()]) - self.reachable
            self.reachable |= new
            todo += new
        is_limited = not is_calm and dice.random() < 0.3
        self.limit = len(self.reachable) // 2 if is_limited else 1_000_000
        self.now = 0
        self.store = ModelStore()
        self.disks: dict[tuple[int, int], Disk] = {}
        self.backups: list[tuple[int, int, Disk]] = []
        self.mail: list[Mail | Receipt] = []
        self.late: list[LatePut] = []
        self.lucks: list[float] = []
        """What the next puts will have."""
        self.owners: list[Owner] = []
        self.coordinators: list[Coordinator] = []
        self.readers: list[RestoreReader] = []
        self.restored = FINE
        self.faults = 0 if is_calm else FAULTS
        self.short_gaps = self.requests = self.claims = 0
        self._asked_at: dict[int, int] = {}
        self._shards = SHARDS
        self._first_links()

    def _first_links(self) -> None:
        ranges = {k: (SPAN * k // SHARDS, SPAN * (k + 1) // SHARDS) for k in range(SHARDS)}
        for shard, (low, high) in ranges.items():
            state = ShardState(low, high)
            if low <= self.points[0] < high:
                state.seen.add(0)
                state.queue.append(0)
            self.store.create(shard, 1, Manifest(state))
        self.store.create(CHARTER, 1, Charter(ranges))
        self._stale_ranges = ranges

    # ---------------------------------------------------------------- what actors ask for

    def luck(self) -> float:
        """Return how lucky a put is."""
        if self.lucks:
            return self.lucks.pop(0)
        return 0.5 if self.is_calm or not self.faults else self.dice.random()

    def asked(self, point: int) -> None:
        """Note a request, as the server does."""
        self.requests += 1
        if self.now - self._asked_at.get(point, -GAP) < GAP:
            self.short_gaps += 1
        self._asked_at[point] = self.now

    def start(
        self, shard: int, node: int, epoch: int, leader: Coordinator, *, is_moved: bool
    ) -> Owner:
        """Start a shard's process; one that runs in the same folder is ended first."""
        for owner in self.owners:
            if owner.is_alive and (owner.node, owner.shard) == (node, shard):
                owner.die()
        self.owners.append(Owner(self, shard, node, epoch, leader, is_moved=is_moved))
        self.claims += 1
        return self.owners[-1]

    def _owner_of(self, content: int) -> Owner | None:
        """Return who is asked about a content: perhaps an owner that is one no longer."""
        found = [
            owner
            for owner in self.owners
            if owner.is_open and not owner.is_frozen
            if owner.state.low <= content < owner.state.high
            if owner.counts or not self.is_half(owner.shard)
        ]
        return self.dice.choice(found) if found else None

    def first_of(self, url: int) -> Original | None:
        """Return the first page of a page's content, if somebody says so in time."""
        owner = self._owner_of(self.contents[url])
        is_late = self.faults and self.dice.random() < 0.1
        return None if owner is None or is_late else owner.state.firsts.get(self.contents[url])

    def place_of_domain(self, home: int) -> int:
        """Return the shard to which a domain is given that is new to its home; -1 if to none."""
        others = [one for one in self.charter.ranges if one != home]
        is_given = self._gives_domains and others and self._place_dice.random() < GIVEN
        return self._place_dice.choice(others) if is_given else -1

    def give_away(self, first: Original) -> None:
        """Tell the owner of a content who had it first; that may be lost."""
        content = self.contents[first.url]
        owner = self._owner_of(content)
        if owner is not None and not (self.faults and self.dice.random() < 0.1):
            owner.learn(content, first)

    @property
    def charter(self) -> Charter:
        """Return the newest charter."""
        found = self.store.chains[CHARTER][self.store.newest(CHARTER)]
        assert isinstance(found, Charter)
        return found

    def new_chains(self) -> tuple[int, int] | None:
        """Return the chains of two halves, unless there are enough."""
        if self._shards + 2 > MOST_CHAINS:
            return None
        self._shards += 2
        return self._shards - 2, self._shards - 1

    def is_half(self, shard: int) -> bool:
        """Return True of a chain that a split under way is to have."""
        intent = self.charter.intent
        return intent is not None and shard in intent[2:]

    def newest_owner(self, shard: int) -> Owner | None:
        """Return the process that was started last for a shard, if it has begun."""
        found = [owner for owner in self.owners if owner.shard == shard and owner.is_open]
        return found[-1] if found else None

    def lead(self, *, is_forced: bool = False, node: int | None = None) -> Coordinator:
        """Start a coordinator."""
        where = self.dice.randrange(NODES) if node is None else node
        self.coordinators.append(Coordinator(self, where, is_forced=is_forced))
        return self.coordinators[-1]

    # ---------------------------------------------------------------- the network

    def shard_of(self, url: int, ranges: dict[int, tuple[int, int]]) -> int:
        """Return whose range a URL is in; of an old table, the answer may be out of date."""
        point = self.points[url]
        found = [s for s, (low, high) in ranges.items() if low <= point < high]
        return max(found)

    def deliver(self, number: int) -> None:
        """Deliver a letter or a receipt: perhaps twice, perhaps never, perhaps to an old owner."""
        letter = self.mail[number]
        if not self.faults or self.dice.random() > 0.15:
            self.mail.pop(number)
        if self.faults and self.dice.random() < 0.1:
            return
        if isinstance(letter, Mail):
            charter = self.store.chains[CHARTER][self.store.newest(CHARTER)]
            assert isinstance(charter, Charter)
            is_stale = self.dice.random() < 0.4
            shard = self.shard_of(letter.url, self._stale_ranges if is_stale else charter.ranges)
            shard = shard if letter.given_to < 0 else letter.given_to
            is_wary = self.rules.heirs_wait_for_the_charter
            while not (shard in charter.ranges and is_wary) and self.store.manifest(shard).heirs:
                shard = self.store.manifest(shard).heirs[0]  # the half that keeps the number
            found = [o for o in self.owners if o.shard == shard and o.is_open and not o.is_frozen]
            if self.rules.heirs_wait_for_the_charter:
                found = [owner for owner in found if owner.counts or not self.is_half(owner.shard)]
            if found:
                is_last = not self.faults or self.dice.random() < 0.7
                (found[-1] if is_last else self.dice.choice(found)).receive(letter)
            return
        for owner in self.owners:
            if owner.is_open and not owner.is_frozen and owner.shard == letter.sender:
                owner.receipted(letter)

    # ---------------------------------------------------------------- faults

    def _fault(self) -> None:
        self.faults -= 1
        live = [owner for owner in self.owners if owner.is_alive]
        leaders = [one for one in self.coordinators if one.is_alive]
        kinds: list[Callable[[], None]] = [self._second_coordinator, self._thaw]
        kinds += [self._back_up, self._put_back]
        if leaders:
            leader = self.dice.choice(leaders)
            kinds += [
                leader.die,
                lambda: self._stop(leader, "frozen"),
                lambda: self._stop(leader, "cut"),
            ]
        if live:
            owner = self.dice.choice(live)
            kinds += [
                owner.die,
                lambda: self._lose(owner.node),
                lambda: self._stop(owner, "frozen"),
            ]
            kinds += [lambda: self._stop(owner, "cut"), lambda: self._suspect(owner)]
            kinds += [lambda: self._split(owner), lambda: self._freeze_node(owner.node)]
            kinds += [lambda: self._end(owner), lambda: self._move(owner)]
        self.dice.choice(kinds)()

    def _second_coordinator(self) -> None:
        self.lead(is_forced=self.dice.random() < 0.6)

    def _thaw(self) -> None:
        for one in (*self.owners, *self.coordinators):
            one.is_frozen = one.is_cut = False

    def _stop(self, one: Owner | Coordinator, how: str) -> None:
        if how == "frozen":
            one.is_frozen = True
        else:
            one.is_cut = True

    def _end(self, owner: Owner) -> None:
        owner.is_stopping = owner.is_open and owner.counts and owner.checkpoint is None

    def _freeze_node(self, node: int) -> None:
        for one in (*self.owners, *self.coordinators):
            one.is_frozen = one.is_frozen or one.node == node

    def kill_node(self, node: int) -> None:
        """Kill all processes of a machine."""
        for one in (*self.owners, *self.coordinators):
            if one.node == node and one.is_alive:
                one.die()

    def _lose(self, node: int) -> None:
        self.kill_node(node)
        self.disks = {key: disk for key, disk in self.disks.items() if key[0] != node}

    def _back_up(self) -> None:
        running = {(o.node, o.shard): o for o in self.owners if o.is_open}
        for (node, shard), disk in self.disks.items():
            owner = running.get((node, shard))
            saved = owner.saved() if owner else disk
            self.backups.append((node, shard, saved.copy()))

    def _put_back(self) -> None:
        """Put copies of folders back, on the machine that they are from or on another one."""
        if not self.backups:
            self._back_up()
            return
        is_same = self.dice.random() < 0.6
        node = self.dice.randrange(NODES)
        for of, shard, disk in self.backups:
            where = of if is_same else node
            self.kill_node(where)
            self.disks[where, shard] = disk.copy()

    def _suspect(self, owner: Owner) -> None:
        for leader in self.coordinators:
            is_free = leader.speaks and not (leader.is_frozen or leader.is_cut)
            if is_free and leader.hold.offered is None:
                leader.issue(owner.shard)

    def _split(self, owner: Owner) -> None:
        if owner.leader.is_alive and not owner.leader.is_frozen:
            owner.leader.split(owner.shard)

    def _move(self, owner: Owner) -> None:
        if owner.leader.is_alive and not owner.leader.is_frozen:
            owner.leader.move(owner.shard)

    # ---------------------------------------------------------------- a run

    @property
    def is_ended(self) -> bool:
        return self.charter.is_ended

    def step(self) -> None:
        """Let everything that runs do one thing."""
        dice = self.dice
        self.now += 1
        if self.faults and self.now > 20 and dice.random() < 0.02:
            self._fault()
        if not self.faults:
            self._thaw()
        if self.late and dice.random() < 0.05:
            land(self, self.late.pop(dice.randrange(len(self.late))))
        if dice.random() < 0.01:
            charter = self.store.chains[CHARTER][self.store.newest(CHARTER)]
            assert isinstance(charter, Charter)
            self._stale_ranges = charter.ranges
        if self.mail and dice.random() < 0.8:
            self.deliver(dice.randrange(len(self.mail)))
        self._act()

    def _act(self) -> None:
        for leader in self.coordinators:
            if leader.is_alive and not leader.is_frozen:
                leader.step()
        for owner in self.owners:
            if owner.is_alive and not owner.is_frozen:
                self._step_owner(owner)
        if not self.is_calm and len(self.readers) < MOST_READERS and self.dice.random() < 0.02:
            self.readers.append(RestoreReader(self))
        for reader in list(self.readers):
            is_next = reader.has_all or self.dice.random() < 0.05
            if is_next and reader.step():
                self.note(reader)
        self.owners = [owner for owner in self.owners if owner.is_alive]
        self.coordinators = [one for one in self.coordinators if one.is_alive]
        if not any(not one.is_frozen for one in self.coordinators) and self.dice.random() < 0.05:
            self.lead()

    def _step_owner(self, owner: Owner) -> None:
        if owner.disk is not None:
            owner.work()
        elif owner.hold.link is None or owner.is_claiming:
            if not owner.is_cut:
                owner.claim()
        elif not owner.is_cut:
            owner.restore()

    def note(self, reader: RestoreReader) -> None:
        """Judge what a reader has read."""
        self.readers.remove(reader)
        found = reader.verdict()
        was = self.restored
        self.restored = Verdict(
            was.lost + found.lost, was.twice + found.twice, was.dangling + found.dangling
        )

    def run(self) -> RunOutcome:
        """Go on until the charter says that the crawl is finished; judge what readers see."""
        while not self.is_ended:
            if self.now >= MOST_STEPS or self.claims > MOST_CLAIMS:
                return RunOutcome("stuck" if self.now >= MOST_STEPS else "no end of claims")
            self.step()
        while self.readers:
            if self.readers[0].step():
                self.note(self.readers[0])
        return self.outcome()

    def outcome(self) -> RunOutcome:
        """Judge the newest manifests, and the crawl that goes on from them without a limit."""
        charter = self.store.chains[CHARTER][self.store.newest(CHARTER)]
        assert isinstance(charter, Charter)
        states = [self.store.manifest(shard).state for shard in charter.ranges]
        wanted = min(self.limit, len(self.reachable))
        stored = sum(len(state.stored) for state in states)
        final = judged(self, states)
        if self.limit >= len(self.reachable):
            visible = {url for state in states for url in state.stored}
            final = Verdict(len(self.reachable - visible), final.twice, final.dangling)
        return RunOutcome(
            "finished",
            final,
            self.restored,
            stored,
            self.short_gaps,
            stored - wanted if self.limit < len(self.reachable) else 0,
            self.requests,
            self.claims,
        )
