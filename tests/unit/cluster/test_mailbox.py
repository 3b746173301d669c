import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.cluster import Courier, Hello, Mail, Mailbox, Outbox, Ring
from gossamer.cluster.connection import Connection
from gossamer.cluster.messages import PeerMessage
from gossamer.config import UrlConfig
from gossamer.linux import short_path
from gossamer.model import Task
from gossamer.urls import parse


def task(path: str) -> Task:
    """Return a task of a host that shard 1 of two owns."""
    url = parse(f"http://a.test/{path}", UrlConfig())
    assert url is not None
    assert Ring.even(2).owner_of(url.key) == 1
    return Task(url=url)


class Sender:
    """Shard 0: an outbox whose letters a courier carries to shard 1."""

    def __init__(self, path: Path, epoch: int = 1) -> None:
        self.rows: dict[bytes, bytes | None] = {}
        self.outbox = Outbox(Ring.even(2), 0, epoch, self.rows.get)
        self.courier = Courier(1, path, Hello(0, epoch), SystemClock(), lambda: None)

    def post(self, *tasks: Task) -> None:
        self.outbox.post(tasks)
        self.rows.update(self.outbox.rows_to_commit())
        for _, mail in self.outbox.committed():
            self.courier.send(mail)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        work = asyncio.create_task(self.courier.run(self.outbox))
        try:
            yield
        finally:
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work


class Receiver:
    """Shard 1: a mailbox, and what was taken out of it."""

    def __init__(self, path: Path, rows: dict[bytes, bytes] | None = None) -> None:
        self.taken: list[Mail] = []
        self.rows = rows if rows is not None else {}
        self.box = Mailbox(path, self.taken.append, self.rows.items())

    @property
    def paths(self) -> list[str]:
        return [one.url.target for mail in self.taken for one in mail.tasks]

    def commit(self) -> None:
        self.rows.update((key, value or b"") for key, value in self.box.rows_to_commit())
        self.box.committed()

    async def credits_of(self, connection: Connection[PeerMessage], *mails: Mail) -> list[float]:
        """Be sent letters; return the credit that came with each."""
        before = len(self.taken)
        for mail in mails:
            connection.send(mail)
        await until(lambda: len(self.taken) == before + len(mails))
        return [mail.tasks[0].credit for mail in self.taken[before:]]

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Receiver"]:
        await self.box.open()
        try:
            yield self
        finally:
            self.box.close()


async def until(is_so: object) -> None:
    assert callable(is_so)
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110  # nothing sets an event when a connection is read
            await asyncio.sleep(0.005)


async def test_a_letter_gets_its_receipt_when_it_is_durable_and_not_before(tmp_path: Path) -> None:
    sender, path = Sender(tmp_path / "mail.sock"), tmp_path / "mail.sock"
    async with Receiver(path).open() as receiver, sender.running():
        sender.post(task("x"), task("y"))
        await until(lambda: receiver.paths == ["/x", "/y"])
        assert (receiver.box.has_uncommitted, receiver.box.is_empty) == (True, False)
        receiver.box.durable(receiver.box.commits)
        receiver.commit()
        assert (receiver.box.has_uncommitted, receiver.box.owes_receipts) == (False, True)
        receiver.box.durable(receiver.box.commits - 1)
        sender.post(task("z"))
        await until(lambda: receiver.paths[-1] == "/z")
        assert sender.outbox.waiting == 3
        receiver.box.durable(receiver.box.commits)
        await until(lambda: sender.outbox.waiting == 1)  # the one that came after the commit
        receiver.commit()
        receiver.box.durable(receiver.box.commits)
        await until(lambda: sender.outbox.waiting == 0)
        assert receiver.box.is_empty


async def test_letters_without_a_receipt_are_brought_to_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "mail.sock"
    sender = Sender(path)
    sender.post(task("early"))
    async with sender.running():
        async with Receiver(path).open() as first:
            await until(lambda: first.paths == ["/early"])
        sender.post(task("late"))
        async with Receiver(path).open() as second:
            await until(lambda: second.paths == ["/early", "/late"])


async def test_a_closed_mailbox_takes_no_more_letters(tmp_path: Path) -> None:
    path = tmp_path / "mail.sock"
    sender = Sender(path)
    async with sender.running(), Receiver(path).open() as receiver:
        sender.post(task("x"))
        await until(lambda: receiver.paths == ["/x"])
        receiver.box.close()
        sender.post(task("y"))
        await asyncio.sleep(0.1)
        assert receiver.paths == ["/x"]
        assert not path.exists()


async def test_an_older_start_of_a_shard_is_not_heard(tmp_path: Path) -> None:
    path = tmp_path / "mail.sock"
    new, old = Sender(path, epoch=5), Sender(path, epoch=4)
    async with Receiver(path).open() as receiver, new.running():
        new.post(task("new"))
        await until(lambda: receiver.paths == ["/new"])
        old.post(task("old"))
        async with old.running():
            await asyncio.sleep(0.2)
        assert receiver.paths == ["/new"]


@asynccontextmanager
async def connection_to(
    path: Path, sender: int, epoch: int = 1
) -> AsyncIterator[Connection[PeerMessage]]:
    """Open a connection to a mailbox by hand, as a shard that sends what it likes."""
    with short_path(path) as short:
        connection: Connection[PeerMessage] = Connection(
            *await asyncio.open_unix_connection(short), PeerMessage
        )
    connection.send(Hello(sender, epoch))
    try:
        yield connection
    finally:
        connection.close()


def letter(sender: int, sequence: int, epoch: int = 1) -> Mail:
    return Mail(sender, epoch, sequence, [replace(task("x"), credit=0.5)])


async def test_a_letter_that_comes_again_brings_no_credit_also_after_a_crash(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mail.sock"
    async with (
        Receiver(path).open() as first,
        connection_to(path, 2) as connection,
        connection_to(path, 3) as other,
    ):
        assert await first.credits_of(connection, letter(2, 0), letter(2, 1), letter(2, 1)) == [
            0.5,
            0.5,
            0,
        ]
        assert await first.credits_of(other, letter(3, 0)) == [0.5]
        first.commit()
        # The connection broke: what has no receipt comes again, the oldest first, and is committed.
        assert await first.credits_of(connection, letter(2, 0)) == [0]
        first.commit()
    async with Receiver(path, first.rows).open() as second, connection_to(path, 2) as connection:
        again = await second.credits_of(connection, letter(2, 0), letter(2, 1), letter(2, 2))
        assert again == [0, 0, 0.5]
        assert await second.credits_of(connection, letter(2, 0, epoch=2)) == [0.5]
    assert first.rows.keys() == {b"w\0\2", b"w\0\3"}


async def test_a_commit_marks_only_senders_that_brought_something_new(tmp_path: Path) -> None:
    path = tmp_path / "mail.sock"
    async with Receiver(path).open() as receiver, connection_to(path, 2) as connection:
        await receiver.credits_of(connection, letter(2, 4))
        assert receiver.box.rows_to_commit() == [
            (b"w\0\2", (1).to_bytes(8, "big") + (4).to_bytes(8, "big"))
        ]
        assert receiver.box.rows_to_commit() == []
        await receiver.credits_of(connection, letter(2, 3))
        assert receiver.box.rows_to_commit() == []


async def test_a_folder_with_a_very_long_name_has_a_mailbox_too(tmp_path: Path) -> None:
    path = tmp_path / ("long" * 40) / "mail.sock"
    path.parent.mkdir()
    sender = Sender(path)
    sender.post(task("x"))
    async with Receiver(path).open() as receiver, sender.running():
        await until(lambda: receiver.paths == ["/x"])


async def test_a_mailbox_on_a_disk_that_is_gone_is_closed_all_the_same(tmp_path: Path) -> None:
    place = tmp_path / "state"
    place.mkdir()
    box = Receiver(place / "mail.sock").box
    await box.open()
    place.rename(tmp_path / "away")
    place.write_bytes(b"no folder any more: to remove a file in it is an error")
    box.close()
