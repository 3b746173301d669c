"""The coordinator: it holds the charter, issues epochs, grants pages, splits, sweeps and ends."""

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.model.chains import CHARTER, Charter, Hold, Manifest, Outcome
from tests.model.rules import LEASE, NODES

if TYPE_CHECKING:
    from tests.model.owner import Idle, Owner
    from tests.model.world import World

MOST_ROUND = 60
"""Steps after which a question that nobody answered is asked again."""
MOST_GRANTED = 3


class Coordinator:
    """Who claims the charter, and while it holds it decides what only one may decide."""

    def __init__(self, world: "World", node: int, *, is_forced: bool) -> None:
        self.world, self.node, self.is_forced = world, node, is_forced
        self.hold = Hold(world, CHARTER)
        self.reign = 0
        self.is_alive, self.is_frozen, self.is_cut = True, False, False
        self.owners: dict[int, Owner] = {}
        self.bounds: dict[int, int] = {}
        """By shard that has joined: the pages that it has stored or may store."""
        self._beat = world.dice.randrange(1 << 30)
        self._looked: tuple[tuple[int, int] | None, int] | None = None
        self._plan: tuple[int, int] | None = None
        self._round, self._round_at = 0, 0
        self._answers: dict[int, Idle] = {}
        self._last_answers: dict[int, Idle] = {}
        self._closing: Hold | None = None
        """A link under way that closes the chain of a shard which is split."""
        self._moves: dict[int, int] = {}
        """By shard that was told to end: where it is to go on."""

    @property
    def charter(self) -> Charter:
        assert isinstance(self.hold.link, Charter)
        return self.hold.link

    @property
    def speaks(self) -> bool:
        """True while what it says is nobody else's to say."""
        return self.hold.is_leased and self.is_alive and bool(self.reign)

    def die(self) -> None:
        self.is_alive = False

    def step(self) -> None:
        """Do one thing."""
        if not self.reign:
            if not self.is_cut:
                self.begin()
            return None
        is_over = self.hold.is_expired or self.hold.is_lost
        if is_over and self.world.rules.epochs_are_issued:
            return self.die()
        luck = self.world.dice.random()
        if luck < 0.25 and not self.is_cut:
            self.hold.confirm()
            if self.speaks:
                self._beat += 1
                self.world.store.alive = (self.hold.number, self._beat)
        elif luck < 0.60 and not self.is_cut:
            self.look_after_shards()
        elif luck < 0.75:
            self.go_round()
        elif luck < 0.78 and not self.is_cut:
            self.world.store.sweep(self.world.now)
        return None

    # ---------------------------------------------------------------- the charter

    def begin(self) -> None:
        """Look at `alive`; claim the charter if nobody writes it, or if told so."""
        world = self.world
        if self.hold.offered is None:
            newest = self.hold.read()
            assert isinstance(newest, Charter)
            if newest.is_ended or (not self.is_forced and self._is_elsewhere()):
                return self.die()
            if not self.is_forced and self._is_looking():
                return None
        assert isinstance(self.hold.link, Charter)
        offered = self.hold.offered or replace(self.hold.link, nonce=world.dice.random())
        match self.hold.offer(offered):
            case Outcome.OURS:
                self.reign = self.hold.number
                world.store.alive = (self.hold.number, self._beat)
                self.adopt()
            case Outcome.ANOTHERS:
                self.is_forced, self._looked = False, None  # not again: look first
            case Outcome.UNKNOWN:
                pass  # try the same again
        return None

    def _seen_alive(self) -> tuple[int, int] | None:
        alive = self.world.store.alive
        return alive if alive is not None and alive[0] >= self.hold.number else None

    def _is_elsewhere(self) -> bool:
        alive = self._seen_alive()
        return self._looked is not None and alive is not None and alive != self._looked[0]

    def _is_looking(self) -> bool:
        alive = self._seen_alive()
        if self._looked is None:
            self._looked = (alive, self.world.now)
        return alive is not None and self.world.now - self._looked[1] < 2 * LEASE

    def adopt(self) -> None:
        """Go on with some of the processes that run; the others are claimed anew."""
        for shard in (*self.charter.ranges, *(self.charter.intent or ())[2:]):
            owner = self.world.newest_owner(shard)
            if owner is not None and not owner.is_frozen and self.world.dice.random() < 0.5:
                self.owners[shard] = owner
                owner.join(self)

    def _rewrite(self, charter: Charter) -> Outcome:
        """Write the next charter; whoever loses that ends."""
        outcome = self.hold.offer(charter)
        if outcome is Outcome.ANOTHERS:
            self.die()
        return outcome

    # ---------------------------------------------------------------- shards

    def look_after_shards(self) -> None:
        """Go on with a split, or start one shard that does not run."""
        if self.hold.offered is not None:
            self._go_on_with(self.charter)
            return
        wanted = list(self.charter.ranges)
        if self.charter.intent is not None:
            if self._go_on_with_split():
                return
            if self._is_closed:
                wanted.remove(self.charter.intent[0])
                wanted += self.charter.intent[2:]
        dead = [shard for shard in wanted if not self.runs(shard)]
        if dead:
            shard = self.world.dice.choice(dead)
            self.issue(shard, self._moves.get(shard))

    @property
    def _is_closed(self) -> bool:
        """True if the shard of a split goes on as two, and not as one again."""
        assert self.charter.intent is not None
        shard, _, first, _ = self.charter.intent
        store = self.world.store
        if not self.world.rules.splits_close_by_a_link:
            return bool(store.newest(first))
        return bool(store.manifest(shard).heirs)

    def _go_on_with_split(self) -> bool:
        """Take one step of a split; return False if something else is to be done."""
        assert self.charter.intent is not None
        shard, middle, first, second = self.charter.intent
        store, rules = self.world.store, self.world.rules
        last, owner = store.manifest(shard), self.owners.get(shard)
        if not self._is_closed:
            may_close = last.is_last or not rules.splits_close_what_has_ended
            if self.runs(shard) and may_close and not last.is_last:
                return self._close(last)
            if self.runs(shard):
                assert owner is not None
                if owner.is_open and not owner.is_stopping and self.speaks:
                    owner.inbox.append(("end", self.reign, 0))
                return False
            return may_close and self._close(last)
        if not store.newest(second):
            store.create(first, 1, self._half(last, is_first=True))
            store.create(second, 1, self._half(last, is_first=False))
            return True
        are_shipped = all(store.manifest(one).part is None for one in (first, second))
        if not (are_shipped or not rules.splits_ship_before_they_count):
            return False
        low, high = self.charter.ranges[shard]
        ranges = {one: r for one, r in self.charter.ranges.items() if one != shard}
        ranges |= {first: (low, middle), second: (middle, high)}
        self._plan = None
        self._go_on_with(replace(self.charter, ranges=ranges, intent=None))
        return True

    def _close(self, last: Manifest) -> bool:
        """Close the chain of a shard that has ended, by an epoch of our own."""
        assert self.charter.intent is not None
        shard, _, first, second = self.charter.intent
        if not self.world.rules.splits_close_by_a_link:
            self.world.store.create(first, 1, self._half(last, is_first=True))
            return True
        if self._closing is None:
            self._closing = Hold(self.world, shard)
            self._closing.read()
            if self._closing.link is not last or last.epoch >= self.hold.number:
                self._closing = None
                self._plan = None
                self._go_on_with(self.charter)  # its number is an epoch that nobody else has
                return True
        nonce = self.world.dice.random()
        closing = replace(
            last, epoch=self.hold.number, nonce=nonce, heirs=(first, second), is_last=True
        )
        if self._closing.offer(self._closing.offered or closing) is not Outcome.UNKNOWN:
            self._closing = None
        return True

    def _half(self, last: Manifest, *, is_first: bool) -> Manifest:
        """Return the first manifest of one half."""
        assert self.charter.intent is not None
        _, middle, first, second = self.charter.intent
        state = last.state
        low, high = (state.low, middle) if is_first else (middle, state.high)
        nonce = (first if is_first else second) + 2.0
        return replace(last, heirs=(), part=(low, high, is_first), nonce=nonce, is_last=True)

    def runs(self, shard: int) -> bool:
        return shard in self.owners and self.owners[shard].is_alive

    def issue(self, shard: int, node: int | None = None) -> None:
        """Issue an epoch for a shard: the number of the charter that says so."""
        dice = self.world.dice
        where = dice.choice([self.node, self.node, dice.randrange(NODES)])
        self._plan = (shard, where if node is None else node)
        if self.world.rules.epochs_are_issued:
            self._go_on_with(self.charter)
        else:
            self._start(*self._plan)

    def _go_on_with(self, charter: Charter) -> None:
        offered = self.hold.offered or replace(charter, nonce=self.world.dice.random())
        assert isinstance(offered, Charter)
        if self._rewrite(offered) is Outcome.OURS:
            self.bounds = {s: n for s, n in self.bounds.items() if self._knows(s)}
            if self._plan is not None:
                self._start(*self._plan)
            self._plan = None

    def _start(self, shard: int, node: int) -> None:
        self.bounds.pop(shard, None)
        self._last_answers = {}
        is_moved = self._moves.pop(shard, None) == node
        self.owners[shard] = self.world.start(
            shard, node, self.hold.number, self, is_moved=is_moved
        )

    def move(self, shard: int) -> None:
        """Have a shard end and go on elsewhere: it ships, its last manifest says so, it ends."""
        owner = self.owners.get(shard)
        is_free = self.hold.offered is None and self.speaks and not self.is_cut
        if not is_free or owner is None or not owner.is_open or not owner.counts:
            return
        node = (owner.node + 1 + self.world.dice.randrange(NODES - 1)) % NODES
        self._moves[shard] = node
        owner.inbox.append(("end", self.reign, 0))
        if not self.world.rules.moves_wait_for_the_end:
            self.issue(shard, node)

    def _knows(self, shard: int) -> bool:
        """Return True of a shard that the charter names, or wants."""
        return shard in self.charter.ranges or shard in (self.charter.intent or ())[2:]

    def split(self, shard: int) -> None:
        """Have a shard split: first the intent, for whoever coordinates."""
        owner = self.owners.get(shard)
        is_free = self.hold.offered is None and self.speaks and not self.is_cut
        is_free = is_free and self.charter.intent is None and shard in self.charter.ranges
        if not is_free or owner is None or not owner.is_open:
            return
        low, high = owner.state.low, owner.state.high
        if high - low < 4 or (chains := self.world.new_chains()) is None:
            return
        self._plan = None
        self._go_on_with(replace(self.charter, intent=(shard, (low + high) // 2, *chains)))

    # ---------------------------------------------------------------- grants and the end

    def joined(self, owner: "Owner", pages: int) -> None:
        """Hear of a shard that has been claimed, and of the pages that it has."""
        if self.is_alive and self.owners.get(owner.shard) is owner:
            self.bounds[owner.shard] = pages

    def granted(self, owner: "Owner", wanted: int) -> bool:
        """Grant pages to a shard, as far as the limit allows; return False if there are none."""
        is_mine = self.owners.get(owner.shard) is owner and owner.shard in self.bounds
        are_all = self.bounds.keys() >= self.charter.ranges.keys()
        is_known = are_all or not self.world.rules.waits_for_all_before_granting
        if not (self.speaks and not self.is_frozen and is_mine and is_known):
            return False
        pages = min(wanted, MOST_GRANTED, self.world.limit - sum(self.bounds.values()))
        if pages <= 0:
            return False
        self.bounds[owner.shard] += pages
        owner.inbox.append(("grant", self.reign, pages))
        return True

    def answered(self, idle: "Idle") -> None:
        """Hear what a shard has to do."""
        owner = self.owners.get(idle.shard)
        if owner is not None and owner.epoch == idle.epoch and idle.round == self._round:
            self._answers[idle.shard] = idle

    def go_round(self) -> None:
        """Ask all whether they have something to do; end when two rounds say no, and the same."""
        now = self.world.now
        ranges = self.charter.ranges
        is_complete = self._answers.keys() >= ranges.keys()
        if is_complete and self._is_over():
            self._end()
        elif is_complete or now - self._round_at > MOST_ROUND:
            self._last_answers = self._answers if is_complete else {}
            self._round, self._round_at, self._answers = self._round + 1, now, {}
            for shard in ranges:
                if shard in self.owners:
                    self.owners[shard].inbox.append(("idle?", self.reign, self._round))

    def _is_over(self) -> bool:
        ranges = self.charter.ranges
        is_dry = all(answer.is_dry for answer in self._answers.values())
        is_spent = self.bounds.keys() >= ranges.keys() and (
            sum(self.bounds.values()) >= self.world.limit
        )
        is_same = self._last_answers.keys() == self._answers.keys() and all(
            (last.epoch, last.commits) == (self._answers[s].epoch, self._answers[s].commits)
            for s, last in self._last_answers.items()
        )
        is_idle = all(answer.is_idle for answer in self._answers.values())
        return is_same and is_idle and (is_dry or is_spent)

    def _end(self) -> None:
        """Write into the charter that the crawl is finished."""
        if self.hold.offered is not None or not self.speaks or self.is_cut:
            return
        self._plan = None
        self._go_on_with(replace(self.charter, is_ended=True))
