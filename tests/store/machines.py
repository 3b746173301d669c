"""Machines that take a crawl over from one another, each a folder and a process group."""

import hashlib
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import gossamer
from gossamer.testing import FakeWeb, ServerProcess, serve_in_process, smallest_gap
from tests.e2e.archive import Archive, read_archive
from tests.e2e.crawler import Ended, finish, flags_for, say, wait_until, write_knobs
from tests.e2e.judge import repeated
from tests.e2e.nursery import Child
from tests.e2e.shards import BLOCKED, is_alive, judge_of
from tests.store.places import SECRET, FolderPlace, S3Place, StorePlace

LEASE_S, SHIP_S = 2.0, 1.0
DELAY_S = 0.15
CONCURRENCY = 6
TAKEN_OVER = 5
KNOBS = {
    "store": {"ship_s": SHIP_S, "lease_s": LEASE_S, "file_bytes": 150_000, "commit_pages": 8},
    "seen": {"run_keys": 60, "fan_in": 2},
    "frontier": {"lease_urls": 4},
}
"""Archive files and seen runs so small that a kill often falls into a rotation or a merge."""


@dataclass
class Machine:
    """One folder, and the processes that crawl into it."""

    name: str
    folder: Path
    words: tuple[str, ...]
    variables: dict[str, str]
    process: Child | None = None
    is_frozen: bool = False

    def command(self, *more: str) -> list[str]:
        """Return the words after `gossamer` with which a crawl starts, or goes on."""
        return ["crawl", *self.words, "--into", str(self.folder), "--json", *more]

    def start(self, *more: str) -> Child:
        """Crawl in the background, in a process group of its own."""
        assert not self.is_running
        self.process = Child(self.command(*more), self.variables, leads_group=True)
        return self.process

    def run(self, *more: str) -> Ended:
        """Crawl until the command ends."""
        self.start(*more)
        return self.finish()

    def finish(self) -> Ended:
        """Wait for the command to end by itself."""
        assert self.process is not None
        try:
            return finish(self.process)
        except AssertionError as error:
            raise AssertionError(f"machine {self.name}: {error}") from None

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: int) -> None:
        """Send a signal to all its processes."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def kill(self) -> bool:
        """Kill all its processes; return False if the command had ended."""
        if self.process is None:
            return False
        members = group(self.process.pid)
        self.signal(signal.SIGKILL)
        self.process.communicate()
        gone = f"the processes of machine {self.name} to be gone"
        assert wait_until(lambda: not any(is_alive(member) for member in members), what=gone)
        return self.process.returncode == -signal.SIGKILL

    def lose(self) -> bool:
        """Kill all its processes and delete its disk."""
        was_killed = self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        return was_killed


def group(leader: int) -> list[int]:
    """Return the processes of a group."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ProcessLookupError):
            if os.getpgid(int(path.name)) == leader:
                found.append(int(path.name))
    return found


@dataclass
class Trial:
    """A crawl of a fake web, a store, and machines that come and go; judged at its end."""

    server: ServerProcess
    place: StorePlace
    folder: Path
    words: tuple[str, ...]
    dice: random.Random
    losses: int = 0
    """How often an owner went without having shipped all."""
    story: list[str] = field(default_factory=list)
    machines: dict[str, Machine] = field(default_factory=dict)

    def machine(self, name: str, *flags: str, has_store: bool = True) -> Machine:
        """Return a machine that is told the same words as all others, but for the folder."""
        store = ("--store", self.place.url) if has_store else ()
        words = (*self.server.web.seeds, *self.words, *store, *flags)
        made = Machine(name, self.folder / name / "crawl", words, self.place.variables)
        made.folder.parent.mkdir(exist_ok=True)
        self.machines[name] = made
        return made

    def served(self) -> int:
        """Return how many requests the server has noted."""
        return self.server.log.read_bytes().count(b"\n") if self.server.log.exists() else 0

    def wait_for(self, more: int, machine: Machine) -> bool:
        """Wait until the server has noted some more requests; False if the command ended."""
        goal = self.served() + more
        what = f"machine {machine.name} to make {more} requests"
        return wait_until(lambda: self.served() >= goal, machine.process, what)

    def note(self, *story: object) -> None:
        """Remember what was done."""
        self.story.append(" ".join(map(str, story)))

    def judge(self, machine: Machine) -> Archive:
        """Judge a crawl that has ended, by the server's log and what its readers see."""
        visits = self.server.requests()
        archive = read_archive(machine.folder)
        judge = judge_of(self.server.web)
        judge.assert_complete(archive)
        judge.assert_obedient(visits)
        gap = smallest_gap(visits)
        assert gap >= 0.95 * DELAY_S, (gap, self.story)
        rate = self.server.web.hosts / DELAY_S
        # A machine may be so slow that a checkpoint takes longer than its interval.
        most = self.losses * ((SHIP_S + LEASE_S) * rate + CONCURRENCY)
        assert repeated(visits) <= most, self.story
        pages = [page.url for page in gossamer.open(machine.folder).pages()]
        assert len(pages) == len(set(pages))
        assert set(archive.page_urls) >= set(pages) >= judge.wanted()
        say("check", str(machine.folder)).expect(0)
        self.assert_no_secrets()
        return archive

    def assert_no_secrets(self) -> None:
        """No credentials of the store are in it, nor in any folder; no secrets.toml in it."""
        for name, content in self.place.contents():
            assert SECRET.encode() not in content, name
            assert "secrets.toml" not in name
        for machine in self.machines.values():
            for path in machine.folder.rglob("*"):
                if path.is_file():
                    assert SECRET.encode() not in path.read_bytes(), path


@contextmanager
def trial(
    folder: Path, web: FakeWeb, *flags: str, is_s3: bool = False, shards: int = 1
) -> Iterator[Trial]:
    """Serve a web and a store; on failure the seed is printed with what was done."""
    place: StorePlace = S3Place(str(folder)) if is_s3 else FolderPlace(folder / "store")
    with serve_in_process(web, folder / "log.tsv") as server:
        knobs = write_knobs(folder / "knobs.toml", KNOBS)
        words = ("--concurrency", str(CONCURRENCY), "--config", str(knobs), *flags)
        words = (*words, "--shards", str(shards), "--delay", str(DELAY_S), *BLOCKED)
        words = flags_for(server.resolve, *words)
        going = Trial(server, place, folder, words, random.Random(web.seed))
        try:
            yield going
        except BaseException:
            print(f"seed {web.seed}, story {going.story}")  # noqa: T201  # shown on failure
            raise
        finally:
            for machine in going.machines.values():
                machine.kill()
            place.close()


def tree_hash(folder: Path) -> str:
    """Return what changes when anything in a folder does."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(str(path.relative_to(folder)).encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def pause(seconds: float) -> None:
    """Let time pass that nothing announces."""
    time.sleep(seconds)
