"""Moved domains: what a home gives away leaves when that is shipped, and never comes back."""

from collections.abc import Collection, Sequence

from gossamer.cluster import (
    MovedDomains,
    Outbox,
    RegionRules,
    Ring,
    Splitter,
    outbox_tasks,
    owner_in_state,
    taken_points,
)
from gossamer.config import UrlConfig
from gossamer.model import LinkKind, Row, Task
from gossamer.urls import parse

RING = Ring.even(4)
REGIONS = ("eu", "eu", "us", "us")
RULES = RegionRules({"*.de": "eu"}, {}, REGIONS)


class SeenKeys:
    """A seen test."""

    def __init__(self) -> None:
        self.keys: set[int] = set()

    def new_among(self, keys: Collection[int]) -> list[int]:
        return [key for key in keys if key not in self.keys]

    def add(self, keys: Sequence[int]) -> None:
        self.keys.update(keys)


def task_of(text: str, kind: LinkKind = LinkKind.ANCHOR, labels: str = "") -> Task:
    url = parse(text, UrlConfig())
    assert url is not None
    return Task(url=url, kind=kind, labels=labels)


def foreign_host(home: int, top: str = "de") -> str:
    """Return a host whose home is a shard."""
    names = (f"a{n}.{top}" for n in range(1000))
    return next(one for one in names if RING.owner_of(task_of(f"http://{one}/").url.key) == home)


HOST = foreign_host(2)
TASK = task_of(f"http://{HOST}/x")


def moved(shard: int, rows: list[tuple[bytes, bytes]] | None = None) -> MovedDomains:
    return MovedDomains(RING, shard, rows or [], REGIONS, RULES)


def kept(rows: list[Row]) -> list[tuple[bytes, bytes]]:
    return [(key, value) for key, value in rows if value is not None]


def test_a_domain_of_another_region_is_given_to_one_shard_of_it() -> None:
    home = moved(2)
    assert home.goes(TASK)
    guest = home.owner_of(TASK.url.key)
    assert REGIONS[guest] == "eu"
    assert home.goes(task_of(f"http://www.{HOST}/other"))
    again = moved(2, kept(home.rows_to_commit()))
    assert again.owner_of(TASK.url.key) == guest


def test_what_is_near_or_has_no_rule_stays() -> None:
    assert not moved(0).goes(task_of(f"http://{foreign_host(0)}/"))
    assert not moved(2).goes(task_of(f"http://{foreign_host(2, 'com')}/"))


def test_a_domain_of_which_something_is_here_stays() -> None:
    home = MovedDomains(RING, 2, [], REGIONS, RULES, lambda _point: True)
    assert not home.goes(TASK)
    assert home.owner_of(TASK.url.key) == 2


def test_a_seed_that_comes_with_a_region_for_a_label_goes_there() -> None:
    host = foreign_host(2, "com")
    assert not moved(2).goes(task_of(f"http://{host}/", LinkKind.ANCHOR, "eu"))
    assert moved(2).goes(task_of(f"http://{host}/", LinkKind.SEED, "news,eu"))


def test_whoever_is_given_a_domain_keeps_it_and_nobody_else_does() -> None:
    guest = moved(0)
    splitter = Splitter(RING, 0, SeenKeys(), guest)
    assert not splitter.is_ours(TASK.url.key)
    guest.take([TASK.url.key >> 40])
    assert splitter.is_ours(TASK.url.key)
    rows = kept(guest.rows_to_commit())
    assert taken_points(rows, 0) == [TASK.url.key >> 40]
    assert taken_points(rows, 1) == []
    assert Splitter(RING, 0, SeenKeys(), moved(0, rows)).is_ours(TASK.url.key)
    assert not splitter.is_ours(task_of(f"http://{foreign_host(3)}/").url.key)


def test_the_letter_leaves_when_it_is_shipped_that_the_domain_was_given() -> None:
    home, store = moved(2), dict[bytes, bytes]()
    outbox = Outbox(RING, 2, 1, store.get, home)
    splitter = Splitter(RING, 2, SeenKeys(), home)
    ours: list[Task] = []
    plain = task_of(f"http://{foreign_host(3)}/")
    splitter.route([TASK, plain], ours.extend, outbox.post)
    assert ours == []
    rows = kept(outbox.rows_to_commit())
    guest = home.owner_of(TASK.url.key)
    assert [to for to, _ in outbox.committed()] == [3]
    home.committed(1)
    assert outbox.released() == []
    assert list(outbox.letters_to(guest)) == []
    assert not outbox.is_empty
    home.durable(1)
    [(to, mail)] = outbox.released()
    assert (to, mail.tasks, mail.given) == (guest, [TASK], [TASK.url.key >> 40])
    assert [one.tasks for one in outbox.letters_to(guest)] == [[TASK]]
    outbox.receipt(guest, mail.epoch, mail.sequence)
    outbox.receipt(3, 1, 1)
    assert outbox.is_empty
    gone = {key for key, value in outbox.rows_to_commit() if value is None}
    assert gone == {key for key, _ in rows if key.startswith(b"o")}


def test_a_home_that_begins_anew_waits_until_it_has_shipped() -> None:
    first = moved(2)
    outbox = Outbox(RING, 2, 1, {}.get, first)
    Splitter(RING, 2, SeenKeys(), first).route([TASK], list[Task]().extend, outbox.post)
    rows = kept(outbox.rows_to_commit())
    second = moved(2, [row for row in rows if row[0].startswith(b"g")])
    again = Outbox(RING, 2, 2, dict(rows).get, second)
    letters = [row for row in rows if row[0].startswith(b"o")]
    assert again.recover(letters) == []
    assert again.released() == []
    assert second.waits
    second.durable(0)
    [(_, mail)] = again.released()
    assert [one.url for one in mail.tasks] == [TASK.url]
    assert mail.given == [TASK.url.key >> 40]


def test_letters_to_a_home_are_sent_to_it_also_by_whoever_has_the_domain_now() -> None:
    guest, store = moved(0), dict[bytes, bytes]()
    outbox = Outbox(RING, 0, 1, store.get, guest)
    many = [task_of(f"http://{HOST}/{n}") for n in range(20_001)]  # more than stay in memory
    outbox.post(many)
    store.update(kept(outbox.rows_to_commit()))
    assert [to for to, _ in outbox.committed()] == [2]
    guest.take([TASK.url.key >> 40])
    [mail] = outbox.letters_to(2)
    assert len(mail.tasks) == len(many)
    [row] = store.values()
    assert mail.tasks == outbox_tasks(row)


def test_readers_find_a_domain_by_what_its_home_has_written_down() -> None:
    home = moved(2)
    home.goes(TASK)
    rows = {(2, key): value for key, value in kept(home.rows_to_commit())}
    owner, found = owner_in_state(RING, TASK.url.key, lambda shard, key: rows.get((shard, key)))
    assert owner == home.owner_of(TASK.url.key)
    assert found is not None
    assert (found.host, found.rule) == (HOST, 'the rule "*.de" = "eu"')
