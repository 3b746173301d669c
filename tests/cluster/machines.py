"""A cluster on loopback: machines are process groups with folders of their own, then judged.

The judges are the server's log and the archive that readers see: it is restored from the store.
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.testing import FakeWeb, serve_in_process, smallest_gap
from tests.cluster.extent import IS_FULL
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Ended, finish, flags_for, say, write_knobs
from tests.e2e.judge import repeated
from tests.e2e.nursery import Child
from tests.e2e.shards import BLOCKED, judge_of

LEASE_S, SHIP_S = 2.0, 1.0
DELAY_S = 0.5 if IS_FULL else 0.15
"""The more faults, the longer a crawl has to last: by its delay rather than by its pages."""
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

    def start(self) -> None:
        """Bring it into the cluster, for the first time or again."""
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


def gossamer_says(*words: str, variables: dict[str, str]) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "gossamer", *words],
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


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
            line = gossamer_says(
                "cluster", "status", "--home", str(self.nodes[0].home), "--json", variables={}
            )["join"].split()
            words = (*line[2:], "--listen", host)
        node = Node(f"node-{number}", home, words, {})
        node.start()
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

    def served(self) -> int:
        return self.server.log.read_bytes().count(b"\n") if self.server.log.exists() else 0

    def wait_for(self, more: int) -> bool:
        """Wait until the server has noted some more requests; False if the crawl ended."""
        goal = self.served() + more
        return wait_for(lambda: self.served() >= goal or self.coordinators[-1].poll() is not None)

    def note(self, *story: object) -> None:
        self.story.append(" ".join(map(str, story)))

    def finish(self) -> Ended:
        return finish(self.coordinators[-1], WHOLE_S)

    def judge(self, *, max_pages: int | None = None) -> None:
        """Judge what readers see, and what the servers saw."""
        into = self.folder / f"restored-{self.dice.random()}"
        say("restore", self.url, "--into", str(into)).expect(0)
        visits = self.server.requests()
        archive = read_archive(into)
        judge = judge_of(self.server.web)
        judge.assert_obedient(visits)
        assert smallest_gap(visits) >= 0.95 * self.delay_s, self.story
        pages = [page.url for page in gossamer.open(into).pages()]
        assert len(pages) == len(set(pages))
        if max_pages is None:
            judge.assert_complete(archive)
            assert set(archive.page_urls) >= set(pages) >= judge.wanted()
        else:
            assert len(pages) == max_pages, (len(pages), self.story)
        self.judge_tables(pages)
        say("check", str(into)).expect(0)
        print("repeated", repeated(visits), "losses", self.losses)  # noqa: T201 - for people

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
    web: FakeWeb,
    *flags: str,
    nodes: int = 3,
    shards: int = 4,
    engine: str = "processes",
    delay_s: float = DELAY_S,
    bucket: str = "",
) -> Iterator[ClusterTrial]:
    """Serve a web, and bring up a cluster."""
    with serve_in_process(web, folder / "log.tsv") as server:
        knobs = write_knobs(folder / "knobs.toml", KNOBS)
        words = ("--concurrency", str(CONCURRENCY * shards), "--config", str(knobs), *flags)
        words = (*words, "--shards", str(shards), "--delay", str(delay_s), *BLOCKED)
        words = flags_for(server.resolve, *words)
        dice = random.Random(web.seed)
        seeds = tuple(server.web.seeds)
        trial = ClusterTrial(server, folder, seeds, words, dice)
        trial = replace(trial, engine=engine, shards=shards, delay_s=delay_s, bucket=bucket)
        with cluster_of(trial, nodes) as made:
            yield made


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
