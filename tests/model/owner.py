"""One process that owns a shard, or believes so: it claims, restores, fetches and ships."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from tests.model.chains import (
    Hold,
    LetterKey,
    Lost,
    Manifest,
    Original,
    Outcome,
    ShardState,
    StoredFile,
)
from tests.model.rules import GAP, HOUR, LEASE

if TYPE_CHECKING:
    from tests.model.coordinator import Coordinator
    from tests.model.world import World


@dataclass
class Disk:
    """What a machine keeps of a shard."""

    lineage: float
    epoch: int
    state: ShardState
    is_unbroken: bool = True
    """Nobody has put an older folder in its place."""

    def copy(self) -> "Disk":
        return Disk(self.lineage, self.epoch, self.state.copy(), is_unbroken=False)


@dataclass
class Checkpoint:
    """A cut that is being uploaded."""

    manifest: Manifest
    begun_at: int
    file: StoredFile | None = None
    uploaded_at: int = 0


class Debt(NamedTuple):
    """A receipt that is due when a commit is shipped."""

    commits: int
    sender: int
    key: LetterKey


class Mail(NamedTuple):
    """A letter of one task on its way."""

    sender: int
    key: LetterKey
    url: int
    given_to: int = -1
    """The shard that has its domain, if the range of the sender has that."""
    number: int = 0
    """The manifest by which it was given."""


class Receipt(NamedTuple):
    """An answer to a letter: the manifest that covers it."""

    sender: int
    key: LetterKey
    receiver: int
    number: int


class Idle(NamedTuple):
    """What a shard answers to the question whether it has something to do."""

    shard: int
    epoch: int
    round: int
    is_idle: bool
    is_dry: bool
    """No page waits, whether or not it may be asked for."""
    commits: int
    manifest: Manifest


class Owner:
    """A shard's process. Each method is one step; the world decides who steps when."""

    def __init__(
        self,
        world: "World",
        shard: int,
        node: int,
        epoch: int,
        leader: "Coordinator",
        *,
        is_moved: bool = False,
    ) -> None:
        self.world, self.shard, self.node, self.epoch = world, shard, node, epoch
        self.leader, self.is_moved = leader, is_moved
        self.hold = Hold(world, shard)
        self.disk: Disk | None = None
        self.inbox: list[tuple[str, int, int]] = []
        self.hand: list[int] = []
        self.allowance, self.is_waiting = 0, False
        self.shipped = 0
        self.checkpoint: Checkpoint | None = None
        self.is_alive, self.is_frozen, self.is_cut, self.is_stopping = True, False, False, False
        self._owed: list[Debt] = []
        self._claim: Manifest | None = None
        self._is_local = False
        self._not_before = 0
        self._to_read: list[StoredFile] = []
        self._letters = 0
        self._cuts = 0

    @property
    def state(self) -> ShardState:
        assert self.disk is not None
        return self.disk.state

    @property
    def manifest(self) -> Manifest:
        assert isinstance(self.hold.link, Manifest)
        return self.hold.link

    @property
    def is_open(self) -> bool:
        return self.is_alive and self.disk is not None

    @property
    def is_claiming(self) -> bool:
        """True until the claim is written."""
        return self.hold.link is not self._claim

    def die(self) -> None:
        """End; on the disk, what was in hand is still queued."""
        self.is_alive = False
        if self.disk is not None:
            self.state.queue[:0] = self.hand
            self.hand.clear()

    # ---------------------------------------------------------------- taking the shard

    def claim(self) -> None:
        """Write the claim: content of the newest manifest, the epoch that was issued."""
        rules = self.world.rules
        if self.hold.offered is None:
            newest = self._newest()
            if not rules.epochs_are_issued:
                self.epoch = newest.epoch + 1
            if newest.epoch >= self.epoch or newest.heirs:
                return self.die()
            local = self.world.disks.get((self.node, self.shard))
            self._is_local = local is not None and self._fits(local, newest)
            is_same_node = newest.node == self.node
            is_settled = is_same_node and (newest.is_settled or not rules.waits_are_inherited)
            is_settled = is_settled or (self.is_moved and not rules.moves_wait_for_the_end)
            self._claim = replace(
                newest,
                epoch=self.epoch,
                nonce=self.world.dice.random(),
                lineage=newest.lineage if self._is_local else self.world.dice.random(),
                node=self.node,
                is_settled=is_settled or (newest.is_last and newest.is_settled),
                is_last=False,
            )
        assert self._claim is not None
        match self.hold.offer(self._claim):
            case Outcome.OURS:
                self._claimed()
            case Outcome.ANOTHERS | Outcome.UNKNOWN:
                pass  # read again, or try the same again
        return None

    def _newest(self) -> Manifest:
        found = self.hold.read()
        assert isinstance(found, Manifest)
        return found

    def _fits(self, local: Disk, newest: Manifest) -> bool:
        """Tell whether the folder that is here is the one that the newest manifest is from."""
        rules = self.world.rules
        if not rules.asks_whose_manifest_is_newest:
            return True
        is_newest = newest.state.commits <= local.state.commits or not rules.compares_commit_numbers
        is_last = local.epoch == newest.epoch or not rules.compares_epochs
        return local.lineage == newest.lineage and is_newest and is_last

    def _claimed(self) -> None:
        now, rules = self.world.now, self.world.rules
        claim = self.manifest
        local = self.world.disks.get((self.node, self.shard))
        wait = 0 if claim.is_settled else LEASE
        if not (claim.is_settled and self._is_local and local and local.is_unbroken):
            wait += GAP
        self._not_before = now + wait if rules.has_leases else now
        self._to_read = [] if self._is_local else list(claim.files)
        if self._is_local:
            assert local is not None
            self._open(Disk(claim.lineage, self.epoch, local.state))

    def restore(self) -> None:
        """Read the files that the claim names, one each time; they stay while it is the newest."""
        if self._to_read:
            file = self._to_read.pop()
            found = self.world.store.files.get(file.name)
            if found != file.content:
                if self.world.store.newest(self.shard) > self.hold.number:
                    self.die()  # it slept: somebody else has the shard, and went on
                    return
                what = "missing" if found is None else "another's"
                raise Lost(f"shard {self.shard}: file {file.name} is {what}")
            return
        self._open(Disk(self.manifest.lineage, self.epoch, self._part()))

    def _part(self) -> ShardState:
        """Return what the manifest leaves to us: after a split, a half."""
        whole, part = self.manifest.state, self.manifest.part
        if part is None:
            return whole.copy()
        low, high, is_first = part
        is_kept = is_first and self.world.rules.splits_keep_domains
        taken = frozenset(whole.taken) if is_kept else frozenset[int]()
        state = whole.half(self.world.points, low, high, taken)
        if is_first:
            state.stored, state.copies = list(whole.stored), dict(whole.copies)
            state.outbox = dict(whole.outbox)
        return state

    def _open(self, disk: Disk) -> None:
        self.disk = self.world.disks[self.node, self.shard] = disk
        disk.state = disk.state.copy()
        if not self.world.rules.homes_write_domains_down:
            self.state.given.clear()
        if not self.world.rules.guests_write_domains_down:
            self.state.taken.clear()
        old, self.state.outbox = self.state.outbox, {}
        for url in old.values():
            self._post(url)
        self.shipped = -1  # what is here may be more than the manifest says
        self._commit()
        self.join(self.leader)

    def join(self, leader: "Coordinator") -> None:
        """Meet a coordinator, and give up what an older one has granted."""
        if self.leader is not leader and leader.reign < self.leader.reign:
            return
        if self.world.rules.gives_up_grants:
            self.allowance = 0
        self.leader, self.is_waiting = leader, False
        leader.joined(self, len(self.state.stored) + len(self.hand))

    # ---------------------------------------------------------------- crawling

    def work(self) -> None:
        """Do one thing."""
        if self.hold.is_expired or self.hold.is_lost:
            return self.die()
        self.listen()
        if not self.counts and self.world.rules.heirs_wait_for_the_charter:
            return self.ship() if self.shipped < 0 else self.hold.confirm()
        luck = self.world.dice.random()
        if luck < 0.30:
            self.fetch()
        elif luck < 0.45:
            self.commit_pages()
        elif luck < 0.60:
            self.send()
        elif luck < 0.75:
            self.ship()
        elif luck < 0.90 and not self.is_cut:
            self.hold.confirm()
        elif self.state.queue and not self.allowance and not self.is_waiting:
            self.is_waiting = self.leader.granted(self, len(self.state.queue))
        return None

    @property
    def counts(self) -> bool:
        """True if the charter names our chain."""
        return self.shard in self.world.charter.ranges

    def is_mine(self, url: int) -> bool:
        point = self.world.points[url]
        if point in self.state.given:
            return False
        return point in self.state.taken or self.state.low <= point < self.state.high

    def take(self, url: int) -> None:
        """Add a link that was found or came by mail."""
        if not self.is_mine(url) or (url not in self.state.seen and self._gives(url)):
            self._post(url)
        elif url not in self.state.seen:
            self.state.seen.add(url)
            self.state.queue.append(url)

    def _gives(self, url: int) -> bool:
        """Decide where a domain is to be that nothing is known of; give it away if not here."""
        world, point = self.world, self.world.points[url]
        is_known = point in self.state.taken or any(
            world.points[one] == point for one in self.state.seen
        )
        to = -1 if is_known else world.place_of_domain(self.shard)
        if to < 0:
            return False
        self.state.given[point] = to, self.state.commits + 1
        return True

    def _post(self, url: int) -> None:
        self._letters += 1
        self.state.outbox[LetterKey(self.epoch, self._letters)] = url

    def fetch(self) -> None:
        """Begin a request, if one is allowed."""
        world, state = self.world, self.state
        is_allowed = world.now >= self._not_before and self.hold.is_leased and self.allowance
        if not is_allowed or self.is_stopping:
            return
        for url in state.queue:
            point = world.points[url]
            if world.now >= state.asked_at.get(point, -GAP) + GAP:
                state.queue.remove(url)
                self.allowance -= 1
                self.hand.append(url)
                state.asked_at[point] = world.now
                world.asked(point)
                return

    def commit_pages(self) -> None:
        """Make all pages count that are in hand; of a content that others had first, as copies."""
        if self.hand:
            for url in self.hand:
                self.state.stored.append(url)
                self._refer(url)
                for link in self.world.links[url]:
                    self.take(link)
            self.hand.clear()
            self._commit()

    def _commit(self) -> None:
        self.state.commits += 1

    def _refer(self, url: int) -> None:
        """Let a page be a copy if the owner of its content names another one."""
        first = self.world.first_of(url)
        if first is not None and first.url != url:
            self.state.copies[url] = first.url
            if self.world.rules.copies_rely_on_originals and first.shard != self.shard:
                self._rely(first.shard, first.number)
        elif not self.world.rules.gives_away_what_is_shipped:
            self.world.give_away(Original(url, self.shard, self.hold.number))

    def _rely(self, shard: int, number: int) -> None:
        self.state.relies[shard] = max(self.state.relies.get(shard, 0), number)

    def saved(self) -> Disk:
        """Return what a copy of the folder has: what is in hand is queued there."""
        assert self.disk is not None
        disk = replace(self.disk, state=self.state.copy())
        disk.state.queue = [*self.hand, *disk.state.queue]
        return disk

    def send(self) -> None:
        """Send a letter; it may be sent often."""
        if self.state.outbox:
            key = self.world.dice.choice(list(self.state.outbox))
            url = self.state.outbox[key]
            to, commit = self.state.given.get(self.world.points[url], (-1, 0))
            if to >= 0 and commit > self.shipped and self.world.rules.gives_domains_when_shipped:
                return
            self.world.mail.append(Mail(self.shard, key, url, to, self.hold.number))

    def receive(self, mail: Mail) -> None:
        """Take a letter's task, and owe a receipt."""
        if mail.given_to >= 0:
            self.state.taken.add(self.world.points[mail.url])
            if self.world.rules.guests_rely_on_homes:
                self._rely(mail.sender, mail.number)
        if self.is_mine(mail.url) or self.world.rules.forwards_foreign_tasks:
            self.take(mail.url)
        self._commit()
        if self.world.rules.receipts_wait_for_the_store:
            self._owed.append(Debt(self.state.commits, mail.sender, mail.key))
        else:
            self.world.mail.append(Receipt(mail.sender, mail.key, self.shard, self.hold.number))

    def receipted(self, receipt: Receipt) -> None:
        """Delete a letter's row."""
        if self.state.outbox.pop(receipt.key, None) is not None:
            self._rely(receipt.receiver, receipt.number)
            self._commit()

    def learn(self, content: int, first: Original) -> None:
        """Take a claim that was given away; what is kept already stays."""
        if self.state.firsts.setdefault(content, first) is first:
            self._commit()

    # ---------------------------------------------------------------- shipping

    def ship(self) -> None:
        """Cut a checkpoint, upload its file, or offer its manifest."""
        if self.is_cut:
            return
        if self.checkpoint is None:
            self.cut()
        elif not self._is_uploaded(self.checkpoint):
            self._upload(self.checkpoint)
        else:
            self._offer(self.checkpoint)

    def _is_uploaded(self, checkpoint: Checkpoint) -> bool:
        if checkpoint.file is None:
            return False
        is_fresh = self.world.now - checkpoint.uploaded_at <= HOUR or self.hold.offered is not None
        return is_fresh or not self.world.rules.uploads_again_after_an_hour

    def cut(self) -> None:
        """Take what is committed as the content of the next manifest."""
        is_calm = not self.hand
        if self.is_stopping and not is_calm:
            return
        state = self.saved().state
        content = replace(
            self.manifest,
            state=state,
            nonce=self.world.dice.random(),
            is_settled=self.world.now >= self._not_before or self.manifest.is_settled,
            is_last=self.is_stopping,
            part=None,
        )
        self.checkpoint = Checkpoint(content, self.world.now)

    def _upload(self, checkpoint: Checkpoint) -> None:
        self._cuts += 1
        is_named_so = self.world.rules.names_have_the_epoch
        name = (self.shard, self.epoch if is_named_so else 0, self._cuts)
        checkpoint.file = StoredFile(name, self.world.dice.random())
        checkpoint.uploaded_at = self.world.now
        self.world.store.files[name] = checkpoint.file.content
        files = (*self.manifest.files, checkpoint.file)[-3:]
        checkpoint.manifest = replace(checkpoint.manifest, files=files)

    def _offer(self, checkpoint: Checkpoint) -> None:
        is_old = self.world.now - checkpoint.uploaded_at > HOUR
        if is_old and self.hold.offered is not None and self.world.rules.stops_after_an_hour:
            return self.die()  # nothing else may be offered, and its file may be swept
        if self.hold.offered is not None and not self.world.rules.offers_one_content:
            newer = replace(checkpoint.manifest, state=self.saved().state)
            checkpoint.manifest = newer
        before = self.manifest
        match self.hold.offer(checkpoint.manifest):
            case Outcome.OURS:
                self._is_shipped(before)
            case Outcome.ANOTHERS:
                self.die()
            case Outcome.UNKNOWN:
                pass  # try the same again
        return None

    def _is_shipped(self, before: Manifest) -> None:
        if not self.world.rules.sweeps_twice:
            for file in before.files:
                if file not in self.manifest.files:
                    self.world.store.files.pop(file.name, None)
        self.checkpoint = None
        self.shipped = self.manifest.state.commits
        for debt in self._owed:
            if debt.commits <= self.shipped:
                receipt = Receipt(debt.sender, debt.key, self.shard, self.hold.number)
                self.world.mail.append(receipt)
        self._owed = [debt for debt in self._owed if debt.commits > self.shipped]
        state = self.manifest.state
        for url in set(state.stored) - set(before.state.stored) - state.copies.keys():
            self.world.give_away(Original(url, self.shard, self.hold.number))
        if self.manifest.is_last:
            self.die()

    # ---------------------------------------------------------------- the coordinator

    def listen(self) -> None:
        """Hear one thing that a coordinator said; the highest one is obeyed."""
        if not self.inbox:
            return
        what, reign, number = self.inbox.pop(0)
        if reign != self.leader.reign:
            return
        if what == "grant":
            self.allowance += number
            self.is_waiting = False
        elif what == "end":
            self.is_stopping = self.checkpoint is None
        elif what == "idle?":
            self.leader.answered(self._idle(number))

    def _idle(self, number: int) -> Idle:
        state = self.state
        is_dry = not state.queue and not self.hand
        is_calm = not (self.hand or state.outbox or self._owed or self.is_stopping)
        is_shipped = self.shipped == state.commits or not self.world.rules.idle_is_shipped
        is_idle = is_calm and is_shipped and (is_dry or not self.allowance)
        return Idle(self.shard, self.epoch, number, is_idle, is_dry, state.commits, self.manifest)
