"""Rare mishaps, played step by step: what a random run meets once in a thousand."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from tests.model.chains import land
from tests.model.coordinator import MOST_ROUND, Coordinator
from tests.model.owner import Owner
from tests.model.reader import RestoreReader
from tests.model.rules import DAY, GAP, KEPT, LEASE, Rules
from tests.model.world import RunOutcome, Web, World

LATER = 0.05
"""How lucky a put is that stays under way."""
PAIR: Web = ([5, 25], [[1], [0]])
"""A page of the first shard that links to one of the second."""
THREE: Web = ([5, 25, 50], [[1], [0], [0]])
SAME_HOST: Web = ([5, 5, 5], [[1, 2], [0], [0]])
HALVES: Web = ([5, 15], [[1], [0]])
"""Two hosts of the first shard."""


class Stage(NamedTuple):
    """A crawl whose shards all run, each on the machine of its number."""

    world: World
    leader: Coordinator
    owners: list[Owner]


def staged(rules: Rules, web: Web) -> Stage:
    """Start a crawl; nobody's lease has to be waited for any more."""
    world = World(rules, 1, web)
    leader = led(world)
    owners = [opened(leader, shard, shard) for shard in range(3)]
    world.now += LEASE + GAP
    for one in (*owners, leader):
        confirmed(one)
    return Stage(world, leader, owners)


def led(world: World, node: int = 3) -> Coordinator:
    """Have a coordinator claim the charter."""
    leader = world.lead(is_forced=True, node=node)
    leader.begin()
    assert leader.reign
    leader.owners.clear()
    confirmed(leader)
    return leader


def opened(leader: Coordinator, shard: int, node: int) -> Owner:
    """Issue an epoch, and have its owner claim and restore."""
    leader.issue(shard, node)
    owner = leader.owners[shard]
    owner.claim()
    while owner.is_alive and not owner.is_open:
        owner.restore()
    owner.allowance = 100 if owner.is_open and leader.world.limit > 100 else 0
    return owner


def confirmed(one: Owner | Coordinator) -> None:
    """Ask the store, and hear its answer at once."""
    for _ in range(3):
        one.hold.confirm()


def crawled(owner: Owner) -> None:
    """Fetch a page and commit it."""
    owner.fetch()
    owner.commit_pages()


def delivered(world: World, to: Owner | None = None) -> None:
    """Deliver every letter; those with tasks to one owner, if it is named."""
    while world.mail:
        if to is not None and hasattr(world.mail[0], "url"):
            to.receive(world.mail.pop(0))
        else:
            world.deliver(0)


def shipped(owner: Owner) -> None:
    """Cut, upload, and write the manifest."""
    for _ in range(3):
        owner.ship()


def with_a_letter(rules: Rules, web: Web = PAIR) -> Stage:
    """Let the first shard find a link to the second, whose owner gets it by mail."""
    stage = staged(rules, web)
    crawled(stage.owners[0])
    shipped(stage.owners[0])
    stage.owners[0].send()
    return stage


def ended(stage: Stage) -> RunOutcome:
    """Let the sender use what receipts there are, then all die with their disks; go on."""
    world = stage.world
    delivered(world)
    if not world.is_ended:
        shipped(stage.owners[0])
    for owner in stage.owners:
        owner.die()
    for leader in world.coordinators:
        leader.die()
    world.disks.clear()
    return world.run()


# -------------------------------------------------------------------- put, create, read back


def suspended_beyond_its_number(rules: Rules) -> RunOutcome:
    """A suspended owner wakes after its successor's manifests were swept: its number is free."""
    stage = with_a_letter(rules)
    world, owner = stage.world, stage.owners[1]
    delivered(world, owner)
    owner.ship()
    owner.ship()
    successor = opened(stage.leader, 1, 2)
    for _ in range(KEPT + 2):
        shipped(successor)
    world.store.sweep(world.now)
    owner.ship()
    return ended(stage)


def exists_but_is_anothers(rules: Rules) -> RunOutcome:
    """An answer is lost, and so is the put; meanwhile another takes the number."""
    stage = with_a_letter(rules)
    world, owner = stage.world, stage.owners[1]
    delivered(world, owner)
    owner.ship()
    owner.ship()
    world.lucks = [LATER]
    owner.ship()
    world.late.clear()
    opened(stage.leader, 1, 2)
    owner.ship()
    return ended(stage)


def late_put_has_older_content(rules: Rules) -> RunOutcome:
    """A put is under way for long; a second try under its nonce would say more than it does."""
    stage = with_a_letter(rules)
    world, owner = stage.world, stage.owners[1]
    owner.ship()
    owner.ship()
    world.lucks = [LATER]
    owner.ship()
    delivered(world, owner)
    land(world, world.late.pop())
    owner.ship()
    return ended(stage)


def late_put_lands_in_a_swept_number(rules: Rules) -> RunOutcome:
    """A put arrives when its number has been swept: rubbish below all that count."""
    stage = with_a_letter(rules)
    world, owner = stage.world, stage.owners[1]
    owner.ship()
    owner.ship()
    world.lucks = [LATER]
    owner.ship()
    successor = opened(stage.leader, 1, 2)
    for _ in range(KEPT + 2):
        shipped(successor)
    world.store.sweep(world.now)
    land(world, world.late.pop())
    third = opened(stage.leader, 1, 0)
    delivered(world, third)
    shipped(third)
    return ended(stage)


# -------------------------------------------------------------------- files, hours and days


def swept(stage: Stage) -> None:
    """Let the files be swept that nothing names for a day."""
    stage.world.store.sweep(stage.world.now)
    stage.world.now += DAY + 1
    stage.world.store.sweep(stage.world.now)


def manifest_comes_a_day_after_its_file(rules: Rules) -> RunOutcome:
    """An owner that is well uploads a file, and writes its manifest only a day later."""
    stage = staged(rules, PAIR)
    owner = stage.owners[1]
    owner.ship()
    owner.ship()
    swept(stage)
    confirmed(owner)
    shipped(owner)
    return ended(stage)


def put_again_after_a_day(rules: Rules) -> RunOutcome:
    """An owner is suspended before it hears of a put, and tries the same again a day later."""
    stage = staged(rules, PAIR)
    world, owner = stage.world, stage.owners[1]
    owner.ship()
    owner.ship()
    world.lucks = [LATER]
    owner.ship()
    world.late.clear()
    swept(stage)
    while owner.is_alive and owner.hold.offered is not None:
        owner.work()
    return ended(stage)


# -------------------------------------------------------------------- leases and folders


def answer_is_heard_late(rules: Rules) -> RunOutcome:
    """An owner is suspended between the store's answer and its hearing it."""
    stage = staged(rules, SAME_HOST)
    world, owner = stage.world, stage.owners[0]
    crawled(owner)
    shipped(owner)
    owner.hold.confirm()
    owner.hold.confirm()
    successor = opened(stage.leader, 0, 2)
    world.now += LEASE + GAP
    confirmed(successor)
    crawled(successor)
    world.now += 1
    owner.hold.confirm()
    crawled(owner)
    return ended(stage)


def successor_dies_while_it_waits(rules: Rules) -> RunOutcome:
    """A successor waits for the lease of the first owner, dies, and is started again at once."""
    stage = staged(rules, SAME_HOST)
    world, owner = stage.world, stage.owners[0]
    crawled(owner)
    shipped(owner)
    opened(stage.leader, 0, 2).die()
    third = opened(stage.leader, 0, 2)
    world.now += GAP
    confirmed(third)
    crawled(third)
    world.now += 1
    crawled(owner)
    return ended(stage)


def both_copies_of_a_folder_are_used(rules: Rules) -> RunOutcome:
    """A folder is copied; its copy takes over, ships less, and the first one comes back."""
    stage = with_a_letter(rules)
    world, owner = stage.world, stage.owners[1]
    shipped(owner)
    world.disks[2, 1] = owner.saved().copy()
    for _ in range(5):
        world.mail.append(world.mail[0])
        owner.receive(world.mail.pop())  # work that is never shipped
    world.disks[1, 1].state.seen.discard(1)
    world.disks[1, 1].state.queue.clear()
    copy = opened(stage.leader, 1, 2)
    delivered(world, copy)
    shipped(copy)
    delivered(world)
    shipped(stage.owners[0])
    first = opened(stage.leader, 1, 1)
    shipped(first)
    return ended(stage)


# -------------------------------------------------------------------- coordinators and the end


def task_of_another_range(rules: Rules) -> RunOutcome:
    """A letter goes to a shard that does not have the range, as after a split."""
    stage = with_a_letter(rules)
    stage.world.mail[:] = stage.world.mail[:1]
    delivered(stage.world, stage.owners[2])
    shipped(stage.owners[2])
    return ended(stage)


def all_are_idle_and_one_has_not_shipped(rules: Rules) -> RunOutcome:
    """Nothing is left to do but a checkpoint; then the machine dies."""
    stage = staged(rules, ([5, 6], [[1], [0]]))
    world = stage.world
    for owner in stage.owners:
        shipped(owner)
    crawled(stage.owners[0])
    world.now += GAP
    crawled(stage.owners[0])
    asked(stage)
    return ended(stage)


def asked(stage: Stage) -> None:
    """Let the coordinator ask three rounds."""
    stage.world.now += MOST_ROUND + 1
    for _ in range(3):
        confirmed(stage.leader)
        stage.leader.go_round()
        for owner in stage.leader.owners.values():
            while owner.is_open and owner.inbox:
                owner.listen()


def parted(stage: Stage, *, is_settled: bool = True) -> list[Owner]:
    """Have the coordinator go on with a split, as far as it gets; return the halves that run."""
    world, leader = stage.world, stage.leader
    for _ in range(20):
        halves = [one for shard, one in leader.owners.items() if shard > 2]
        for one in (stage.owners[0], *halves):
            if one.is_alive and not one.is_open:
                one.claim()
                while one.is_alive and not one.is_open:
                    one.restore()
            if one.is_open:
                one.listen()
                shipped(one)
        are_shipped = len(halves) == 2 and all(one.shipped >= 0 for one in halves)
        if world.charter.intent is None or (are_shipped and not is_settled):
            break
        leader.look_after_shards()
    for one in halves:
        confirmed(one)
        one.allowance = 100
    return halves


def half_of_a_shard_that_runs(rules: Rules) -> RunOutcome:
    """A shard has not heard yet that it is to be split, and has its lease."""
    stage = staged(rules, SAME_HOST)
    world, owner = stage.world, stage.owners[0]
    crawled(owner)
    shipped(owner)
    confirmed(owner)
    stage.leader.split(0)
    for _ in range(2):
        stage.leader.look_after_shards()
    owner.inbox.clear()
    halves = parted(stage)
    world.now += GAP
    for one in (*halves, owner):
        one.fetch()
    return ended(stage)


def claim_comes_after_the_split(rules: Rules) -> RunOutcome:
    """A process that was started long ago claims a shard when it has been split."""
    stage = staged(rules, SAME_HOST)
    world, leader, owner = stage.world, stage.leader, stage.owners[0]
    crawled(owner)
    shipped(owner)
    leader.issue(0, 1)
    late, leader.owners[0] = leader.owners[0], owner
    leader.split(0)
    halves = parted(stage)
    late.claim()
    while late.is_alive and not late.is_open:
        late.restore()
    late.allowance = 100
    if late.is_open:
        confirmed(late)
    world.now += GAP + LEASE
    for one in (*halves, late):
        if one.is_open:
            confirmed(one)
            one.fetch()
    return ended(stage)


def half_takes_letters_too_early(rules: Rules) -> RunOutcome:
    """Both halves have shipped; the charter does not name them yet, and a letter comes."""
    stage = staged(rules, ([25, 15], [[1], [0]]))
    world, sender = stage.world, stage.owners[1]
    crawled(sender)
    shipped(sender)
    stage.leader.split(0)
    halves = parted(stage, is_settled=False)
    sender.send()
    delivered(world)
    for one in (*halves, *halves):
        shipped(one)
    delivered(world)
    shipped(sender)
    reader = RestoreReader(world)
    world.readers.append(reader)
    while not reader.step():
        continue
    world.note(reader)
    return ended(stage)


def grants_of_two_coordinators(rules: Rules) -> RunOutcome:
    """A shard has unused grants when it meets a new coordinator, which grants all that is left."""
    world = World(rules, 1, THREE)
    world.limit = 1
    first = led(world)
    owners = [opened(first, shard, shard) for shard in range(3)]
    world.now += LEASE + GAP
    for one in (*owners, first):
        confirmed(one)
    first.granted(owners[0], 1)
    owners[0].listen()
    second = led(world)
    for owner in owners:
        second.owners[owner.shard] = owner
        owner.join(second)
    second.granted(owners[1], 1)
    owners[1].listen()
    owners[1].take(1)
    for owner in owners[:2]:
        confirmed(owner)
        crawled(owner)
        shipped(owner)
    return world.run()


def two_coordinators_start_what_died(rules: Rules) -> RunOutcome:
    """A coordinator that was replaced starts its shards again whenever they are fenced."""
    world = World(rules, 1, THREE)
    led(world)
    led(world)
    return world.run()


def moved_shard_has_not_heard(rules: Rules) -> RunOutcome:
    """A shard is to move; it has not heard of that yet, and has its lease."""
    stage = staged(rules, SAME_HOST)
    world, leader, owner = stage.world, stage.leader, stage.owners[0]
    crawled(owner)
    shipped(owner)
    confirmed(owner)
    leader.move(0)
    if leader.owners[0] is owner:  # silent for long: it is started elsewhere all the same
        leader.issue(0, 1)
    both_fetch(world, owner, leader.owners[0])
    return ended(stage)


def shard_is_taken_for_dead(rules: Rules) -> RunOutcome:
    """A shard is silent for long and is started elsewhere; it runs, and has its lease."""
    stage = staged(rules, SAME_HOST)
    world, leader, owner = stage.world, stage.leader, stage.owners[0]
    crawled(owner)
    shipped(owner)
    confirmed(owner)
    leader.issue(0, 1)
    both_fetch(world, owner, leader.owners[0])
    return ended(stage)


def both_fetch(world: World, owner: Owner, successor: Owner) -> None:
    """Let a shard be claimed by another owner, and both begin a request if they may."""
    successor.claim()
    while not successor.is_open:
        successor.restore()
    confirmed(successor)
    successor.allowance = 100
    world.now += GAP
    successor.fetch()
    owner.fetch()


Scene: TypeAlias = Callable[[Rules], RunOutcome]
SCENES: dict[str, Scene] = {
    "checks_the_predecessor": suspended_beyond_its_number,
    "reads_what_exists": exists_but_is_anothers,
    "offers_one_content": late_put_has_older_content,
    "newest_is_of_a_listing": late_put_lands_in_a_swept_number,
    "uploads_again_after_an_hour": manifest_comes_a_day_after_its_file,
    "stops_after_an_hour": put_again_after_a_day,
    "leases_count_from_the_question": answer_is_heard_late,
    "waits_are_inherited": successor_dies_while_it_waits,
    "compares_epochs": both_copies_of_a_folder_are_used,
    "forwards_foreign_tasks": task_of_another_range,
    "idle_is_shipped": all_are_idle_and_one_has_not_shipped,
    "splits_close_what_has_ended": half_of_a_shard_that_runs,
    "splits_close_by_a_link": claim_comes_after_the_split,
    "heirs_wait_for_the_charter": half_takes_letters_too_early,
    "has_leases": shard_is_taken_for_dead,
    "gives_up_grants": grants_of_two_coordinators,
    "epochs_are_issued": two_coordinators_start_what_died,
    "moves_wait_for_the_end": moved_shard_has_not_heard,
}
"""By the rule without which each goes wrong."""
