"""The keeper: a process that holds a crawl's claim on its store while the crawl runs.

A process of its own, because what talks to object stores has threads, and a process that has used
it cannot fork shards any more; and so that a busy loop is not taken for a dead machine.

    ours      asks for the shipping orders, then to end; learns when somebody else has the crawl
    keeper    claims, restores the folder, shows signs of life, keeps history, sweeps

It dies with us: then its sign of life ends, and another machine may go on.
"""

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct, json

from gossamer.clock import SystemClock
from gossamer.cluster import Ranges, Ring, ShardChild, start_child
from gossamer.crawl.history import LEAST_HISTORY_S, KeptHistory
from gossamer.crawl.shipping import ShippingOrders
from gossamer.crawl.takeover import StoreClaim, claim_store
from gossamer.errors import CannotGoOn, ConfigError, GossamerError, TakenOver
from gossamer.linux import boot_time, die_with
from gossamer.store import State

SETTLE_S = 0.3
"""How often is looked whether all shards of a new generation have shipped."""
END_S = 30.0
"""How long the store is waited for at the end."""
LONGEST_BYTES = 1 << 20


class KeepRequest(Struct, frozen=True, kw_only=True):
    """What is to be kept where."""

    root: str
    url: str
    lease_s: float
    ship_s: float
    is_forced: bool = False
    leaves_archive: bool = False
    """A folder that is restored has only what is not whole in the store."""
    keeps_history: bool = True
    """False for who changes it."""


class KeeperLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a keeper says: one of these."""

    said: str = ""
    """For people."""
    has_claimed: bool = False
    has_restored: bool = False
    orders: ShippingOrders | None = None
    has_ended: bool = False
    error: str = ""
    kind: str = ""
    """Of the error: its exit code has it."""


class KeeperQuestion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a keeper is asked: orders for the shards of a ring, or, without one, to end."""

    ranges: Ranges = ()


class Keeper:
    """Our end: the claim on a crawl's store, as long as this is open."""

    def __init__(self, end: socket.socket, kill: Callable[[], None], url: str) -> None:
        self._end = end
        self._kill = kill
        self._url = url
        self._lines = bytearray()
        self.has_restored = False
        """The folder is not the one that was here before."""

    def claim(self, say: Callable[[str], None]) -> None:
        """Wait until the crawl is ours and its folder as new as its store."""
        line = self._wait_for(lambda line: line.has_claimed, say)
        self.has_restored = line.has_restored

    def orders(self, ring: Ring) -> ShippingOrders:
        """Return by what right the shards of a ring ship."""
        self._end.settimeout(None)
        self._end.sendall(json.encode(KeeperQuestion(ranges=ring.ranges)) + b"\n")
        line = self._wait_for(lambda line: line.orders is not None)
        if line.orders is None:
            raise CannotGoOn(f"{self._url}: no orders")
        return line.orders

    async def watch(self) -> None:
        """Wait until somebody else has the crawl, and raise that."""
        self._end.settimeout(0.0)
        loop = asyncio.get_running_loop()
        while True:
            self._lines += await self._received(loop)
            for line in self._whole_lines():
                _raise_if_wrong(line)

    async def _received(self, loop: asyncio.AbstractEventLoop) -> bytes:
        if not (content := await loop.sock_recv(self._end, 65536)):
            raise CannotGoOn(f"the process that keeps the claim on {self._url} died; start again")
        return content

    def end(self) -> None:
        """Say that nothing runs any more and everything is shipped; return when that is known."""
        self._end.settimeout(END_S)
        try:
            self._end.sendall(json.encode(KeeperQuestion()) + b"\n")
            self._wait_for(lambda line: line.has_ended)
        except TimeoutError as error:
            raise CannotGoOn(_not_told(self._url)) from error

    def close(self) -> None:
        """Let the keeper go, and with it its sign of life."""
        self._end.close()
        self._kill()

    def _wait_for(
        self,
        is_it: Callable[[KeeperLine], bool],
        say: Callable[[str], None] = lambda _line: None,
    ) -> KeeperLine:
        while True:
            for line in self._whole_lines():
                _raise_if_wrong(line)
                if line.said:
                    say(line.said)
                if is_it(line):
                    return line
            if not (content := self._end.recv(65536)):
                raise CannotGoOn(
                    f"the process that keeps the claim on {self._url} died; start again"
                )
            self._lines += content

    def _whole_lines(self) -> Iterator[KeeperLine]:
        while (at := self._lines.find(b"\n")) >= 0:
            line = bytes(self._lines[:at])
            del self._lines[: at + 1]
            yield json.decode(line, type=KeeperLine)


@contextmanager
def keeping(
    request: KeepRequest, say: Callable[[str], None] = lambda _line: None
) -> Iterator[Keeper]:
    """Claim a crawl's store, and hold it as long as this is open."""
    keeper = _started(request)
    try:
        keeper.claim(say)
        yield keeper
    finally:
        keeper.close()


def _started(request: KeepRequest) -> Keeper:
    if threading.active_count() == 1 and not State.was_opened:
        child = start_child(0, lambda _, end: _serve(end, request), ())
        return Keeper(child.end, lambda: _end_child(child), request.url)
    ours, theirs = socket.socketpair()  # a program with threads cannot fork
    words = [sys.executable, "-m", __name__, str(theirs.fileno()), json.encode(request).decode()]
    other = subprocess.Popen(  # noqa: S603 -- ourselves
        words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
    )
    theirs.close()
    return Keeper(ours, lambda: _end_process(other), request.url)


def _end_child(child: ShardChild) -> None:
    child.kill()
    child.reap()


def _end_process(other: "subprocess.Popen[bytes]") -> None:
    other.kill()
    other.wait()


def _raise_if_wrong(line: KeeperLine) -> None:
    match line.kind:
        case "":
            return
        case "taken_over":
            raise TakenOver(line.error)
        case "usage":
            raise ConfigError(line.error)
        case _:
            raise CannotGoOn(line.error)


def _not_told(url: str) -> str:
    return f"{url} could not be told that the crawl has ended; start it again here to do so"


def _serve(end: socket.socket, request: KeepRequest) -> int:
    """Be the keeper until we are told to end, or nobody is there to tell us."""

    def send(line: KeeperLine) -> None:
        end.sendall(json.encode(line) + b"\n")

    try:
        claim = claim_store(
            Path(request.root),
            request.url,
            request.lease_s,
            SystemClock(),
            is_forced=request.is_forced,
            leaves_archive=request.leaves_archive,
            say=lambda line: send(KeeperLine(said=line)),
        )
        send(KeeperLine(has_claimed=True, has_restored=claim.has_restored))
        if request.keeps_history:
            threading.Thread(target=_keep_history, args=[claim], daemon=True).start()
        lines, beat_at = b"", 0.0
        while True:
            wait_s = claim.beat_s if claim.is_settled else SETTLE_S
            left_s = max(0.0, beat_at + wait_s - boot_time())
            if select.select([end], [], [], left_s)[0]:
                if not (content := end.recv(65536)):
                    return 0
                lines += content
                while b"\n" in lines:
                    line, _, lines = lines.partition(b"\n")
                    asked = json.decode(line, type=KeeperQuestion)
                    if not asked.ranges:
                        claim.end(forgets=request.keeps_history)
                        send(KeeperLine(has_ended=True))
                        return 0
                    ring = Ring(asked.ranges)
                    orders = claim.orders(ring, request.lease_s, request.ship_s)
                    send(KeeperLine(orders=orders))
            elif not _kept(claim.keep):
                beat_at = boot_time() - wait_s + SETTLE_S
            else:
                beat_at = boot_time()
    except (GossamerError, OSError, msgspec.DecodeError) as error:
        send(KeeperLine(error=str(error), kind=_kind_of(error)))
        return 0


def _keep_history(claim: StoreClaim) -> None:
    """Note which checkpoints fit together, keep some, and delete what nothing needs."""
    history = KeptHistory(claim.store, SystemClock())
    while True:
        time.sleep(max(LEAST_HISTORY_S, claim.beat_s))
        if not claim.is_settled or not claim.charter.shards:
            continue
        with suppress(CannotGoOn):  # the store is away: next time
            claim.forget()
            history.go_on(claim.charter)


def _kept(keep: Callable[[], None]) -> bool:
    """Show a sign of life; return False if the store is away."""
    try:
        keep()
    except TakenOver:
        raise
    except CannotGoOn:
        return False
    return True


def _kind_of(error: Exception) -> str:
    if isinstance(error, TakenOver):
        return "taken_over"
    return "usage" if isinstance(error, ConfigError) else "cannot_go_on"


def main() -> None:
    """Be the keeper of a program that cannot fork: at the end of a connection it has given us."""
    parent = os.getppid()
    die_with(parent)
    for number in (signal.SIGINT, signal.SIGTERM):  # the parent decides
        signal.signal(number, signal.SIG_IGN)
    end = socket.socket(fileno=int(sys.argv[1]))
    _serve(end, json.decode(sys.argv[2], type=KeepRequest))


if __name__ == "__main__":
    main()
