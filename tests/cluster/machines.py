"""A cluster on loopback: machines are process groups with folders of their own, then judged.

The judges are the server's log and the archive that readers see: it is restored from the store.
Commands are forks of a process that has imported everything; nodes and shards are programs.
"""

import json
import os
import random
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import gossamer
from gossamer.testing import (
    FakeWeb,
    LoggedRequest,
    serve_in_process,
    serve_in_thread,
)
from gossamer.testing.request_log import gaps
from tests.cluster.endless import EndlessWeb
from tests.cluster.extent import IS_FULL
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Ended, finish, flags_for, say, write_knobs
from tests.e2e.judge import repeated
from tests.e2e.nursery import Child
from tests.e2e.shards import BLOCKED, judge_of

LEASE_S, SHIP_S = 2.0, 1.0
DELAY_S = 0.5 if IS_FULL else 0.15
"""Crawls with many faults last long: the fewer pages a second, the less there is to judge."""
GAP = 0.95
"""Of its delay; a log says when a request was read."""
CONCURRENCY = 8
LONG_S = 180.0
WHOLE_S = 1200.0
"""Of a whole crawl, with all that is done to it."""
KNOBS = {
    "store": {"ship_s": SHIP_S, "lease_s": LEASE_S, "file_bytes": 150_000, "commit_pages": 8},
    "seen": {"run_keys": 60, "fan_in": 2},
    "frontier": {"lease_urls": 4},
}


def wait_for(what: Callable[[], bool], limit_s: float = LONG_S) -> bool:
    """Wait until something is so; return False if that takes too long."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.05)
    return False


def free_port(host: str) -> int:
    with socket.socket() as end:
        end.bind((host, 0))
        return end.getsockname()[1]


@dataclass
class Node:
    """A machine: a folder, and the process group that stands for it."""

    name: str
    home: Path
    words: tuple[str, ...]
    variables: dict[str, str]
    pid: int = 0
    is_frozen: bool = False

    def start(self) -> str:
        """Bring it into the cluster, for the first time or again; return what joins it."""
        told = gossamer_says(
            "cluster",
            *self.words,
            "--name",
            self.name,
            "--home",
            str(self.home),
            "--json",
            "--cores",
            "2",
            variables=self.variables,
        )
        self.pid = int(told["pid"])
        return str(told["join"])

    def signal(self, number: int) -> None:
        for member in session(self.pid):
            with suppress(ProcessLookupError):
                os.kill(member, number)

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)
        self.is_frozen = False

    def lose(self, *, keeps_certificates: bool = False) -> None:
        """Kill it with everything on it, and delete its disk."""
        members = session(self.pid) if self.pid else []
        for member in members:
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        for member in members:
            assert wait_for(lambda pid=member: not is_running(pid), 30.0)
        for path in self.home.iterdir() if self.home.exists() else ():
            if not keeps_certificates or path.is_dir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def shards(self) -> list[int]:
        """Return the processes of its shards."""
        return [pid for pid in session(self.pid) if is_running(pid) and is_shard(pid)]


def session(leader: int) -> list[int]:
    """Return the processes of a machine, whatever groups they are in: Ray makes its own."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(path.name)) == leader:
                found.append(int(path.name))
    return found


def is_shard(pid: int) -> bool:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b"shard" in words and b"-c" not in words
    return False


def is_running(pid: int) -> bool:
    with suppress(OSError, IndexError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in {"Z", "X"}
    return False


def gossamer_says(*words: str, variables: dict[str, str]) -> dict[str, Any]:
    """Run a command, and return the object that it prints."""
    return finish(Child(words, {**os.environ, **variables}), LONG_S).expect(0).last_json


@dataclass(frozen=True)
class Findings:
    """What was found at the end of a crawl; only repeated requests are none of its faults."""

    pages: int
    lost: int
    twice: int
    wrong: int
    short_gaps: int
    repeated: int


@dataclass
class ClusterTrial:
    """A crawl of a fake web by a cluster; judged at its end."""

    server: Any
    folder: Path
    seeds: tuple[str, ...]
    words: tuple[str, ...]
    dice: random.Random
    nodes: list[Node] = field(default_factory=list)
    losses: int = 0
    story: list[str] = field(default_factory=list)
    coordinators: list[Child] = field(default_factory=list)
    engine: str = "processes"
    shards: int = 4
    delay_s: float = DELAY_S
    bucket: str = ""
    """A store that is no folder; the environment leads to it."""
    join: str = ""
    """What joins its cluster."""
    regions: tuple[str, ...] = ()
    """Of the machines, in turn."""

    @property
    def url(self) -> str:
        return self.bucket or f"file://{self.folder / 'store'}"

    @property
    def variables(self) -> dict[str, str]:
        known = {name: said for name, said in os.environ.items() if name.startswith("AWS_")}
        path = os.environ.get("PYTHONPATH", "")
        return {**known, "GOSSAMER_CLUSTER": str(self.nodes[0].home), "PYTHONPATH": path}

    def build(self, nodes: int) -> None:
        """Bring up a cluster of so many machines."""
        (self.folder / "store").mkdir(exist_ok=True)
        for _ in range(nodes):
            self.add_node()

    def add_node(self) -> Node:
        number = len(self.nodes)
        home = self.folder / f"node-{number}"
        host = f"127.0.0.{number + 2}"
        if number == 0:
            words: tuple[str, ...] = ("up", "--listen", f"{host}:{free_port(host)}", "--engine")
            words = (*words, self.engine)
        else:
            words = (*self.join.split()[2:], "--listen", host)
        if self.regions:
            words = (*words, "--region", self.regions[number % len(self.regions)])
        node = Node(f"node-{number}", home, words, {})
        self.join = node.start() or self.join
        self.nodes.append(node)
        return node

    def begin_drain(self, node: Node) -> None:
        """Let a machine begin to give its shards away."""
        home = str(self.nodes[0].home)
        gossamer_says("cluster", "drain", node.name, "--home", home, "--json", variables={})
        self.note(node.name, "drained at", self.served())

    def drain(self, node: Node) -> None:
        """Let a machine give its shards away and leave."""
        self.begin_drain(node)
        over = wait_for(
            lambda: not is_running(node.pid) or self.coordinators[-1].poll() is not None
        )
        assert over, self.story

    def crawl(self, *flags: str) -> Child:
        """Start a coordinator on the first machine."""
        child = Child(
            [
                "crawl",
                *self.seeds,
                *self.words,
                "--cluster",
                "auto",
                "--store",
                self.url,
                "--into",
                str(self.folder / f"coordinator-{len(self.coordinators)}"),
                "--json",
                *flags,
            ],
            self.variables,
            leads_group=True,
        )
        self.coordinators.append(child)
        return child

    def visits(self) -> list[LoggedRequest]:
        """Return what the server has noted so far."""
        found = self.server.requests
        return list(found) if isinstance(found, list) else found()

    def served(self) -> int:
        """Return how many requests the server has noted."""
        if isinstance(self.server.requests, list):
            return len(self.server.requests)
        return self.server.log.read_bytes().count(b"\n") if self.server.log.exists() else 0

    @property
    def is_over(self) -> bool:
        """The crawl has ended, or its coordinator has."""
        return self.coordinators[-1].poll() is not None

    def wait_for(self, more: int) -> bool:
        """Wait until the server has noted some more requests; False if the crawl ended."""
        goal = self.served() + more
        return wait_for(lambda: self.served() >= goal or self.is_over) and not self.is_over

    def note(self, *story: object) -> None:
        self.story.append(" ".join(map(str, story)))

    def finish(self) -> Ended:
        return finish(self.coordinators[-1], WHOLE_S)

    def judge(self, *, max_pages: int | None = None) -> Findings:
        """Judge what readers see, and what the servers saw."""
        into = self.folder / f"restored-{self.dice.random()}"
        say("restore", self.url, "--into", str(into)).expect(0)
        visits = self.visits()
        archive = read_archive(into)
        judge = judge_of(self.server.web)
        pages = [page.url for page in gossamer.open(into).pages()]
        found = Findings(
            pages=len(pages),
            lost=len(judge.lost(archive)) if max_pages is None else max_pages - len(pages),
            twice=len(judge.twice(archive)) + len(pages) - len(set(pages)),
            wrong=len(judge.wrong(archive)),
            short_gaps=sum(gap < GAP * self.delay_s for gap in gaps(visits)),
            repeated=repeated(visits),
        )
        print(found, "losses", self.losses)  # noqa: T201 - for people
        judge.assert_obedient(visits)
        judge.assert_copies(archive)
        is_right = not (found.lost or found.twice or found.wrong or found.short_gaps)
        assert is_right, (found, judge.lost(archive)[:20], judge.twice(archive), self.story)
        if max_pages is None:
            assert set(archive.page_urls) >= set(pages) >= judge.wanted()
        self.judge_tables(pages)
        say("check", str(into)).expect(0)
        return found

    def judge_tables(self, pages: list[str]) -> None:
        """Insist that tables by the URL of the store have each stored page once."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("GOSSAMER_CACHE", str(self.folder / "cache"))
            asked = say("sql", self.url, "select url from pages", "--format", "jsonl").expect(0)
            rows = [json.loads(line)["url"] for line in asked.out.splitlines()]
            exported = self.folder / "exported"
            say("export", self.url, "pages", "--to", str(exported), "--format", "jsonl").expect(0)
            written = (exported / "pages.jsonl").read_text().splitlines()
        assert len(rows) == len(pages) == len(written)
        assert set(rows) == set(pages) == {json.loads(line)["url"] for line in written}


@contextmanager
def cluster_trial(
    folder: Path,
    web: FakeWeb | EndlessWeb,
    *flags: str,
    nodes: int = 3,
    shards: int = 4,
    engine: str = "processes",
    delay_s: float = DELAY_S,
    bucket: str = "",
    regions: tuple[str, ...] = (),
    rules: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[ClusterTrial]:
    """Serve a web, and bring up a cluster."""
    with ExitStack() as stack:
        server = stack.enter_context(
            serve_in_thread(web)
            if isinstance(web, EndlessWeb)
            else serve_in_process(web, folder / "log.tsv")
        )
        knobs = write_knobs(folder / "knobs.toml", {**KNOBS, "regions": dict(rules)})
        words: Sequence[str] = ("--concurrency", str(CONCURRENCY * shards), "--config", str(knobs))
        words = (*words, *flags, "--shards", str(shards), "--delay", str(delay_s), *BLOCKED)
        trial = ClusterTrial(
            server,
            folder,
            tuple(server.web.seeds),
            flags_for(server.resolve, *words),
            random.Random(web.seed),
            engine=engine,
            shards=shards,
            delay_s=delay_s,
            bucket=bucket,
            regions=regions,
        )
        yield stack.enter_context(cluster_of(trial, nodes))


@contextmanager
def cluster_of(going: ClusterTrial, nodes: int) -> Iterator[ClusterTrial]:
    """Bring up a cluster of so many machines, and leave nothing of it."""
    try:
        going.build(nodes)
        yield going
    except BaseException:
        print(f"story {going.story}")  # noqa: T201 - shown on failure
        for node in going.nodes:
            log = node.home / "node.log"
            print(node.name, log.read_text()[-3000:] if log.exists() else "")  # noqa: T201 - same
        raise
    finally:
        for child in going.coordinators:
            child.kill()
            child.communicate()
        for node in going.nodes:
            node.signal(signal.SIGCONT)
            node.lose()
