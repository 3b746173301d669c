"""The outbox: what was committed reaches its receiver, is kept until then, and counts once."""

from collections.abc import Iterable

import msgspec
import pytest

from gossamer.cluster import OUTBOX, PARCELS, Mail, Outbox, Ring, outbox
from gossamer.cluster.outbox import outbox_tasks, parcel_rows
from gossamer.config import UrlConfig
from gossamer.model import Task
from gossamer.urls import parse

SHARDS = 3
NOTHING: dict[bytes, bytes] = {}
HOSTS = {0: "b.test", 1: "w.test", 2: "a.test"}


def task(owner: int, path: str = "", credit: float = 0.0) -> Task:
    """Return a task of a host that a shard of three owns."""
    url = parse(f"http://{HOSTS[owner]}/{path}", UrlConfig())
    assert url is not None
    assert Ring.even(SHARDS).owner_of(url.key) == owner
    return Task(url=url, credit=credit)


class Sender:
    """Shard 0 of three: an outbox, a dictionary for its state, and a list for a wire."""

    def __init__(self, rows: dict[bytes, bytes] | None = None, epoch: int = 1) -> None:
        self.rows = rows if rows is not None else {}
        self.sent: list[tuple[int, Mail]] = []
        self.outbox = Outbox(Ring.even(SHARDS), 0, epoch, self.rows.get)

    def write(self) -> None:
        """Let the state take what there is to commit: the outbox does not know of it yet."""
        for key, value in self.outbox.rows_to_commit():
            if value is None:
                del self.rows[key]
            else:
                assert key not in self.rows, "a row was overwritten"
                self.rows[key] = value

    def commit(self) -> list[tuple[int, Mail]]:
        """Commit; return what left the house by it."""
        self.write()
        left = self.outbox.committed()
        self.sent += left
        return left

    def post(self, *tasks: Task) -> list[tuple[int, Mail]]:
        self.outbox.post(tasks)
        return self.commit()

    def waiting_rows(self, table: bytes) -> list[tuple[bytes, bytes]]:
        return [(key, value) for key, value in self.rows.items() if key[:1] == table]

    def recover(self) -> list[Task]:
        """Take in what the state holds, as a start does."""
        ours = self.outbox.recover(self.waiting_rows(OUTBOX))
        assert self.outbox.recover_parcels(self.waiting_rows(PARCELS)) == []
        return ours

    def connect(self) -> list[tuple[int, Mail]]:
        """Send each receiver what it may have lost, as when it connects."""
        left = [(to, mail) for to in (1, 2) for mail in self.outbox.letters_to(to)]
        self.sent += left
        return left


def letters(box: Outbox, to: int) -> list[int]:
    return [mail.sequence for mail in box.letters_to(to)]


def paths(mails: Iterable[tuple[int, Mail]]) -> list[tuple[int, list[str]]]:
    return [(to, [one.url.target for one in mail.tasks]) for to, mail in mails]


def test_tasks_leave_with_their_commit_and_not_before() -> None:
    sender = Sender()
    one, two = task(1, "x"), task(1, "y")
    sender.outbox.post([one, two])
    sender.write()
    assert sender.sent == []
    assert list(sender.outbox.letters_to(1)) == []
    sender.sent += sender.outbox.committed()
    assert sender.sent == [(1, Mail(sender=0, epoch=1, sequence=0, tasks=[one, two]))]
    assert sender.commit() == []


def test_a_commit_without_a_wire_keeps_the_letter() -> None:
    rows: dict[bytes, bytes | None] = {}
    alone = Outbox(Ring.even(SHARDS), 0, 1, rows.get)
    alone.post([task(1)])
    rows.update(alone.rows_to_commit())
    alone.committed()
    assert letters(alone, 1) == [0]


def test_each_receiver_gets_its_own_tasks_under_the_number_of_the_letter() -> None:
    sender = Sender()
    assert paths(sender.post(task(1, "x"), task(2, "y"), task(1, "z"))) == [
        (1, ["/x", "/z"]),
        (2, ["/y"]),
    ]
    assert [mail.sequence for _, mail in sender.sent] == [0, 0]
    assert sender.post(task(2))[0][1].sequence == 1


def test_what_is_posted_while_a_commit_is_written_waits_for_the_next() -> None:
    sender = Sender()
    sender.outbox.post([task(1, "early")])
    sender.write()
    sender.outbox.post([task(1, "late")])
    sender.sent += sender.outbox.committed()
    assert paths(sender.sent) == [(1, ["/early"])]
    assert sender.outbox.waiting == 2
    assert paths(sender.commit()) == [(1, ["/late"])]


def test_a_commit_is_one_row_of_tasks_and_one_of_parcels_under_keys_that_never_repeat() -> None:
    sender = Sender(epoch=0x01020304)
    one, two = task(1, credit=0.5), task(2)
    sender.outbox.post([one, two])
    sender.outbox.post_parcels([(2, b"seal")])
    sender.commit()
    sender.post(two)
    number = bytes((1, 2, 3, 4)) + bytes(7)
    assert [(key, outbox_tasks(value)) for key, value in sender.waiting_rows(b"o")] == [
        (b"o\0\0" + number + b"\0", [one, two]),
        (b"o\0\0" + number + b"\2", [two]),
    ]
    assert list(parcel_rows(sender.waiting_rows(b"O"), Ring.even(SHARDS))) == [
        (b"O\0\0" + number + b"\1", [(2, b"seal")])
    ]
    other = Outbox(Ring.even(SHARDS), 0x0102, 1, NOTHING.get)
    other.post([task(1)])
    assert [key[:3] for key, _ in other.rows_to_commit()] == [b"o\1\2"]


def test_a_row_goes_when_every_receiver_has_given_a_receipt() -> None:
    sender = Sender()
    sender.post(task(1, "x"), task(1, "y"), task(2))
    assert sender.outbox.waiting == 3
    sender.outbox.receipt(1, 1, 0)
    assert sender.outbox.waiting == 1
    assert not sender.outbox.has_uncommitted
    sender.commit()
    assert len(sender.rows) == 1
    sender.outbox.receipt(2, 1, 0)
    assert (sender.outbox.waiting, sender.outbox.is_empty) == (0, True)
    assert sender.outbox.has_uncommitted
    sender.commit()
    assert sender.rows == {}
    assert not sender.outbox.has_uncommitted


def test_a_receipt_that_is_no_receipt_for_the_letter_changes_nothing() -> None:
    sender = Sender(epoch=2)
    sender.post(task(1))
    for stranger in ((2, 2, 0), (1, 1, 0), (1, 3, 0), (1, 2, 1)):
        sender.outbox.receipt(*stranger)
        assert sender.outbox.waiting == 1
        assert letters(sender.outbox, 1) == [0]


def test_a_receipt_that_comes_twice_counts_once() -> None:
    sender = Sender()
    sender.post(task(1), task(2))
    sender.post(task(1))
    sender.outbox.receipt(1, 1, 0)
    sender.outbox.receipt(1, 1, 0)
    assert sender.outbox.waiting == 2
    sender.outbox.receipt(2, 1, 0)
    sender.outbox.receipt(2, 1, 0)
    assert sender.outbox.waiting == 1
    sender.commit()
    assert len(sender.rows) == 1


def test_after_a_reconnect_a_receiver_gets_the_committed_letters_that_it_gave_no_receipt_for() -> (
    None
):
    sender = Sender()
    sender.post(task(1, "done"))
    sender.post(task(1, "x"), task(2))
    sender.post(task(2))
    sender.outbox.receipt(1, 1, 0)
    sender.outbox.post([task(1, "posted")])
    assert letters(sender.outbox, 1) == [1]
    sender.write()
    assert letters(sender.outbox, 1) == [1]
    sender.sent += sender.outbox.committed()
    assert letters(sender.outbox, 1) == [1, 3]
    assert letters(sender.outbox, 2) == [1, 2]
    again = next(iter(sender.outbox.letters_to(1)))
    assert again == Mail(sender=0, epoch=1, sequence=1, tasks=[task(1, "x")])


def test_parcels_leave_with_their_commit_each_to_its_receiver() -> None:
    sender = Sender()
    sender.outbox.post_parcels([(1, b"a"), (2, b"b"), (1, b"c")])
    assert sender.outbox.has_uncommitted
    sender.write()
    assert list(sender.outbox.letters_to(1)) == []
    sender.sent += sender.outbox.committed()
    assert sender.sent == [
        (1, Mail(sender=0, epoch=1, sequence=0, tasks=[], parcels=[b"a", b"c"])),
        (2, Mail(sender=0, epoch=1, sequence=0, tasks=[], parcels=[b"b"])),
    ]
    assert sender.commit() == []
    assert letters(sender.outbox, 2) == [0]


def test_the_outbox_is_not_empty_while_anything_waits() -> None:
    sender = Sender()
    assert (sender.outbox.is_empty, sender.outbox.has_uncommitted) == (True, False)
    sender.outbox.post_parcels([(1, b"a"), (2, b"b")])
    assert not sender.outbox.is_empty
    sender.commit()
    assert (sender.outbox.waiting, sender.outbox.is_empty) == (0, False)
    sender.outbox.receipt(1, 1, 0)
    assert not sender.outbox.is_empty
    sender.outbox.receipt(2, 1, 0)
    assert sender.outbox.is_empty
    sender.commit()
    assert sender.rows == {}
    sender.outbox.post([task(1)])
    assert (sender.outbox.is_empty, sender.outbox.has_uncommitted) == (False, True)
    sender.commit()
    assert (sender.outbox.is_empty, sender.outbox.has_uncommitted) == (False, False)


def test_nothing_new_is_asked_for_while_too_many_tasks_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "MOST_WAITING", 1000)
    sender = Sender()
    many = [task(1)] * 500
    sender.outbox.post(iter(many))
    sender.outbox.post(many[1:])
    assert (sender.outbox.waiting, sender.outbox.is_full) == (999, False)
    sender.outbox.post([task(2)])
    assert (sender.outbox.waiting, sender.outbox.is_full) == (1000, True)
    sender.commit()
    assert (sender.outbox.waiting, sender.outbox.is_full) == (1000, True)
    sender.outbox.receipt(2, 1, 0)
    assert (sender.outbox.waiting, sender.outbox.is_full) == (999, False)


def test_nothing_new_is_asked_for_while_too_many_letters_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "MOST_LETTERS", 3)
    sender = Sender()
    for path in "abc":
        assert not sender.outbox.is_full
        sender.post(task(1, path))
    assert sender.outbox.is_full
    sender.outbox.receipt(1, 1, 1)
    assert not sender.outbox.is_full


def held(sender: Sender) -> int:
    """Return how many tasks are in memory."""
    letters = sender.outbox._letters.values()  # what is promised is memory
    return sum(len(one.tasks) for letter in letters for one in (letter.held or {}).values())


def test_beyond_the_first_ones_letters_are_in_the_state_only_and_nothing_else_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "MOST_IN_MEMORY", 10)
    sender = Sender()
    for number in range(20):
        left = sender.post(task(1, f"a{number}", credit=0.5), task(2, f"b{number}"))
        assert paths(left) == [(1, [f"/a{number}"]), (2, [f"/b{number}"])]
    assert (sender.outbox.waiting, held(sender)) == (40, 10)
    first, *_, last = sender.outbox.letters_to(1)
    assert (first.tasks, last.tasks) == ([task(1, "a0", 0.5)], [task(1, "a19", 0.5)])
    assert letters(sender.outbox, 1) == letters(sender.outbox, 2) == list(range(20))
    assert letters(sender.outbox, 1)[5:] == [one.sequence for one in sender.outbox.letters_to(1, 4)]
    for number in (19, 0, 7):
        sender.outbox.receipt(1, 1, number)
    assert letters(sender.outbox, 1) == [n for n in range(20) if n not in {0, 7, 19}]
    for number in range(20):
        sender.outbox.receipt(1, 1, number)
        sender.outbox.receipt(2, 1, number)
    assert (sender.outbox.waiting, sender.outbox.is_empty, held(sender)) == (0, True, 0)
    sender.commit()
    assert sender.rows == {}
    sender.post(task(1, "after"))
    assert held(sender) == 1


def test_what_an_earlier_start_left_is_sent_in_its_order_however_much_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dead = Sender()
    for number in range(20):
        dead.post(task(1, str(number), credit=0.5))
    dead.outbox.post_parcels([(1, b"seal" * 1000), (2, b"other")])
    dead.commit()
    monkeypatch.setattr(outbox, "MOST_IN_MEMORY", 5)
    sender = Sender(dead.rows, epoch=2)
    sender.recover()
    assert (sender.outbox.waiting, held(sender)) == (20, 5)
    sender.post(task(1, "new", credit=0.25))
    tasks = [one for mail in sender.outbox.letters_to(1) for one in mail.tasks]
    assert tasks == [*(task(1, str(n)) for n in range(20)), task(1, "new", credit=0.25)]
    parcels = [(to, mail.parcels) for to, mail in sender.connect() if mail.parcels]
    assert parcels == [(1, [b"seal" * 1000]), (2, [b"other"])]


def test_a_receipt_while_letters_are_sent_again_takes_its_letter_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "MOST_IN_MEMORY", 1)
    sender = Sender()
    for number in range(4):
        sender.post(task(1, str(number)))
    sending = sender.outbox.letters_to(1)
    assert next(sending).sequence == 0
    sender.outbox.receipt(1, 1, 2)
    sender.post(task(1, "late"))
    assert [one.sequence for one in sending] == [1, 3]
    assert letters(sender.outbox, 1) == [0, 1, 3, 4]


def test_what_an_earlier_start_committed_is_sent_again_and_its_row_kept_until_the_receipt() -> None:
    dead = Sender()
    dead.post(task(1, "x"), task(2, "y"))
    dead.outbox.post([task(1, "never committed")])
    sender = Sender(dead.rows, epoch=2)
    assert sender.recover() == []
    assert (sender.outbox.waiting, sender.outbox.is_empty) == (2, False)
    assert not sender.outbox.has_uncommitted
    assert paths(sender.connect()) == [(1, ["/x"]), (2, ["/y"])]
    assert [(mail.epoch, mail.sequence) for _, mail in sender.sent] == [(2, 0), (2, 0)]
    sender.outbox.receipt(1, 1, 0)  # for the letter of the dead
    assert sender.outbox.waiting == 2
    sender.post(task(1, "z"))
    assert len(sender.rows) == 2
    sender.outbox.receipt(1, 2, 0)
    sender.outbox.receipt(2, 2, 0)
    sender.commit()
    assert [outbox_tasks(value) for value in sender.rows.values()] == [[task(1, "z")]]


def test_credit_is_not_counted_again_after_a_crash() -> None:
    dead = Sender()
    assert dead.post(task(1, credit=0.5))[0][1].tasks[0].credit == 0.5
    sender = Sender(dead.rows, epoch=2)
    sender.recover()
    assert sender.connect()[0][1].tasks == [task(1, credit=0.0)]


def test_tasks_that_are_our_own_since_the_last_split_come_home() -> None:
    sender = Sender()
    # Written by shard 1 of another split, which did not own these hosts.
    theirs = Outbox(Ring.even(2), 1, 7, NOTHING.get)
    theirs.post([task(0, "a", credit=0.5), task(0, "b")])
    theirs.post([task(0, "c")])
    sender.rows |= {key: value or b"" for key, value in theirs.rows_to_commit()}
    theirs.post([task(0, "d"), task(2, "e")])
    sender.rows |= {key: value or b"" for key, value in theirs.rows_to_commit()}
    assert sender.recover() == [task(0, "a"), task(0, "b"), task(0, "c"), task(0, "d")]
    assert sender.outbox.waiting == 1
    assert sender.outbox.has_uncommitted
    assert paths(sender.connect()) == [(2, ["/e"])]
    assert sender.commit() == []
    assert len(sender.rows) == 1
    sender.outbox.receipt(2, 1, 0)
    sender.commit()
    assert sender.rows == {}


def test_parcels_of_an_earlier_start_are_sent_again_and_kept_until_the_receipt() -> None:
    dead = Sender()
    dead.outbox.post_parcels([(1, b"a"), (2, b"b")])
    dead.commit()
    sender = Sender(dead.rows, epoch=2)
    sender.recover()
    assert not sender.outbox.is_empty
    assert [(to, mail.parcels) for to, mail in sender.connect()] == [(1, [b"a"]), (2, [b"b"])]
    sender.outbox.receipt(1, 2, 0)
    sender.commit()
    assert len(sender.rows) == 1
    sender.outbox.receipt(2, 2, 0)
    assert sender.outbox.is_empty
    sender.commit()
    assert sender.rows == {}


def test_parcels_go_to_all_who_own_anything_of_what_their_receiver_had() -> None:
    dead = Sender()
    dead.outbox.post_parcels([(1, b"a"), (2, b"b")])
    dead.commit()
    more = Ring.even(SHARDS).resplit(5)
    grown = Outbox(more, 0, 2, dead.rows.get)
    assert grown.recover_parcels(dead.waiting_rows(PARCELS)) == []
    mail = {to: [one.parcels for one in grown.letters_to(to)] for to in range(5)}
    assert mail == {0: [], 1: [[b"a"]], 2: [[b"b"]], 3: [[b"a"]], 4: [[b"a", b"b"]]}
    few = Outbox(Ring.even(SHARDS).resplit(1), 0, 2, dead.rows.get)
    assert few.recover_parcels(dead.waiting_rows(PARCELS)) == [b"a", b"b"]
    assert [value for _, value in few.rows_to_commit()] == [None]


def test_parcels_of_an_older_version_go_to_the_shard_that_they_name() -> None:
    row = (b"O\0\0\0\0\0\1" + bytes(8), msgspec.msgpack.encode([(1, b"a"), (2, b"b"), (7, b"c")]))
    sender = Sender(dict([row]), epoch=2)
    sender.recover()
    assert [(to, mail.parcels) for to, mail in sender.connect()] == [(1, [b"a"]), (2, [b"b"])]
