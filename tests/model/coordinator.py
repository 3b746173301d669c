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
        self._found: dict[int, tuple[int, int]] = {}
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
            self._look_after_shards()
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
        for shard in self.charter.ranges:
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

    def _look_after_shards(self) -> None:
        """Name children that were found, and start one shard that does not run."""
        if self.hold.offered is not None:
            self._go_on_with(self.charter)
            return
        dead = [s for s in self.charter.ranges if not self.runs(s)]
        begun = [shard for shard in self.charter.ranges if self.world.store.newest(shard)]
        for shard in begun if dead else ():
            self._note_children(shard, self.world.store.manifest(shard))
        if self._found:
            ranges = {**self.charter.ranges, **self._found}
            self._plan = None
            self._go_on_with(replace(self.charter, ranges=ranges, intent=None))
        elif dead:
            shard = self.world.dice.choice(dead)
            self.issue(shard, self._moves.get(shard))

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
            self._found = {s: r for s, r in self._found.items() if offered.ranges.get(s) != r}
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
        if not is_free or owner is None or not owner.is_open or owner.split:
            return
        node = (owner.node + 1 + self.world.dice.randrange(NODES - 1)) % NODES
        self._moves[shard] = node
        owner.inbox.append(("end", self.reign, 0))
        if not self.world.rules.moves_wait_for_the_end:
            self.issue(shard, node)

    def _note_children(self, shard: int, manifest: Manifest) -> None:
        """Remember the children that a manifest names and the charter does not."""
        for child in manifest.children:
            if child.shard not in self.charter.ranges:
                self._found[child.shard] = (child.state.low, child.state.high)
                self._found[shard] = (manifest.state.low, manifest.state.high)

    def split(self, shard: int) -> None:
        """Have a shard split: first the intent, then its owner writes the manifest."""
        owner = self.owners.get(shard)
        is_free = self.hold.offered is None and self.speaks and not self.is_cut
        if not is_free or owner is None or not owner.is_open or owner.split:
            return
        low, high = owner.state.low, owner.state.high
        child = self.world.new_shard()
        if high - low < 4 or child is None:
            return
        middle = (low + high) // 2
        self._plan = None
        self._go_on_with(replace(self.charter, intent=(shard, middle, child)))
        is_written = self.is_alive and self.hold.offered is None
        if is_written and owner.checkpoint is None and owner.leader is self:
            owner.split = (middle, child)

    # ---------------------------------------------------------------- grants and the end

    def joined(self, owner: "Owner", pages: int) -> None:
        """Hear of a shard that has been claimed, and of the pages that it has."""
        if self.is_alive and self.owners.get(owner.shard) is owner:
            self.bounds[owner.shard] = pages
            if self.world.rules.knows_children_before_the_end:
                self._note_children(owner.shard, owner.manifest)

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
        if self.world.rules.knows_children_before_the_end:
            for shard, answer in self._answers.items():
                self._note_children(shard, answer.manifest)
        is_same = self._last_answers.keys() == self._answers.keys() and all(
            (last.epoch, last.commits) == (self._answers[s].epoch, self._answers[s].commits)
            for s, last in self._last_answers.items()
        )
        is_idle = all(answer.is_idle for answer in self._answers.values())
        return is_same and is_idle and (is_dry or is_spent) and not self._found

    def _end(self) -> None:
        """Write into the charter that the crawl is finished."""
        if self.hold.offered is not None or not self.speaks or self.is_cut:
            return
        self._plan = None
        self._go_on_with(replace(self.charter, is_ended=True))
