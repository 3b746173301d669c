"""What does Ray cost a cluster? `make bench-ray-share`; needs Ray (`make test-ray` installs it).

Two machines on loopback addresses, each with a folder of its own, with Ray and without: memory that
no other process shares and CPU while nothing runs, by kind of process; then crawls of the local
real web by two shards, in turns, and what the processes of each kind took. PAIRS and PAGES change
the defaults; IDLE_S is for how long nothing runs.
"""

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from realweb import FLAGS, SEED, bring_up, save

PAIRS = int(os.environ.get("PAIRS") or 3)
PAGES = int(os.environ.get("PAGES") or 2000)
IDLE_S = float(os.environ.get("IDLE_S") or 30)
ENGINES = ("processes", "ray")
HOSTS = ("127.0.0.2", "127.0.0.3")
LOOK_S = 0.25
LIMIT_S = 600.0
TICKS = os.sysconf("SC_CLK_TCK")
KINDS = (
    ("ray::ShardGuard", "actor"),
    ("ray::", "agents"),
    ("raylet/raylet", "raylet"),
    ("gcs/gcs_server", "gcs"),
    ("autoscaler/_private/monitor", "monitor"),
    ("ray/dashboard", "dashboard"),
    ("ray.scripts.scripts", "daemon"),
    ("import drive", "driver"),
    ("gossamer\0shard", "shard"),
    ("cluster\0node", "node"),
    ("gossamer\0crawl", "coordinator"),
)
"""Words of a command line, and the kind of process: the first that fits."""
OURS = frozenset({"shard", "node", "coordinator", "other"})


def kind_of(pid: int) -> str:
    """Return what a process is."""
    said = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return next((kind for words, kind in KINDS if words in said), "other")


def session_of(leaders: set[int]) -> Iterator[int]:
    """Yield the processes whose session one of these leads."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(path.name)) in leaders:
                yield int(path.name)


def cpu_s(pid: int) -> float:
    """Return the CPU that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def own_mb(pid: int) -> float:
    """Return the memory of a process that no other shares."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private")) / 1024


class Watched:
    """Processes of machines by kind: what they have taken, also those that have ended."""

    def __init__(self, leaders: set[int]) -> None:
        self._leaders = set(leaders)
        self._first: dict[int, float] = {}
        self._last: dict[int, tuple[str, float]] = {}

    def look(self) -> None:
        """Note what each has taken until now."""
        for pid in session_of(self._leaders):
            with suppress(OSError, IndexError):
                known = self._last.get(pid, ("", 0.0))[0]
                said = kind_of(pid)  # of a process that waits for its burial nothing is said
                self._last[pid] = (known if said == "other" and known else said, cpu_s(pid))
                self._first.setdefault(pid, 0.0)

    def follow(self, leader: int) -> None:
        """Watch the processes of another session, too."""
        self._leaders.add(leader)

    def begin(self) -> None:
        """Count from now on."""
        self.look()
        self._first = {pid: taken for pid, (_, taken) in self._last.items()}

    def cpu(self) -> Counter[str]:
        """Return the CPU of each kind."""
        found: Counter[str] = Counter()
        for pid, (kind, taken) in self._last.items():
            found[kind] += taken - self._first.get(pid, 0.0)
        return found

    def memory(self) -> dict[str, list[float]]:
        """Return the memory of each process that runs, by kind."""
        found: dict[str, list[float]] = {}
        for pid in session_of(self._leaders):
            with suppress(OSError, IndexError):
                found.setdefault(kind_of(pid), []).append(round(own_mb(pid), 1))
        return found


def told(*words: str) -> dict[str, object]:
    """Return what a command of ours answers."""
    done = subprocess.run(
        [sys.executable, "-m", "gossamer", *words, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr[-800:]}")
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def cluster(engine: str, folder: Path) -> Iterator[set[int]]:
    """Bring up two machines; give the processes that stand for them."""
    with socket.socket() as end:
        end.bind((HOSTS[0], 0))
        port = end.getsockname()[1]
    homes = [folder / f"{engine}-{number}" for number in range(len(HOSTS))]
    os.environ["GOSSAMER_CLUSTER"] = str(homes[0])
    own = ("--cores", "1", "--name")
    first = told(
        "cluster",
        "up",
        "--engine",
        engine,
        "--listen",
        f"{HOSTS[0]}:{port}",
        *own,
        "a",
        "--home",
        str(homes[0]),
    )
    leaders = {int(str(first["pid"]))}
    try:
        words = str(first["join"]).split()[1:]
        second = told(*words, "--listen", HOSTS[1], *own, "b", "--home", str(homes[1]))
        leaders.add(int(str(second["pid"])))
        yield leaders
    finally:
        for leader in leaders:
            with suppress(ProcessLookupError):
                os.kill(leader, signal.SIGTERM)
        deadline = time.monotonic() + 30
        while any(session_of(leaders)) and time.monotonic() < deadline:
            time.sleep(LOOK_S)


def crawled(leaders: set[int], folder: Path) -> tuple[Counter[str], dict[str, list[float]]]:
    """Crawl; return the CPU of each kind of process, and the memory of each in the middle of it."""
    store = folder / "store"
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir()
    into = tempfile.mkdtemp(dir=folder)
    words = [sys.executable, "-m", "gossamer", "crawl", SEED, *FLAGS, "--into", into, "--json"]
    words += [
        "--max-pages",
        str(PAGES),
        "--shards",
        "2",
        "--store",
        f"file://{store}",
        "--cluster",
        "auto",
    ]
    with (folder / "crawl.log").open("wb") as log:
        child = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
    watched = Watched(leaders)
    watched.begin()
    watched.follow(child.pid)
    memory: dict[str, list[float]] = {}
    deadline = time.monotonic() + LIMIT_S
    while child.poll() is None and time.monotonic() < deadline:
        watched.look()
        now = watched.memory()
        memory = now if len(now.get("shard", [])) >= 2 else memory
        time.sleep(LOOK_S)
    watched.look()
    if child.poll() != 0:
        child.kill()
        sys.exit(
            f"the crawl ended with {child.poll()}: {(folder / 'crawl.log').read_text()[-800:]}"
        )
    return watched.cpu(), memory


def idle(leaders: set[int]) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return what each kind takes of a core while nothing runs, in percent, and its memory."""
    watched = Watched(leaders)
    watched.begin()
    began = time.monotonic()
    time.sleep(IDLE_S)
    watched.look()
    wall = time.monotonic() - began
    return {kind: round(100 * s / wall, 2) for kind, s in watched.cpu().items()}, watched.memory()


def main() -> None:
    """Measure both engines in turns."""
    bring_up()
    folder = Path(tempfile.mkdtemp(prefix="gossamer-ray-"))
    found: dict[str, dict[str, object]] = {engine: {} for engine in ENGINES}
    crawls: dict[str, list[Counter[str]]] = {engine: [] for engine in ENGINES}
    try:
        for turn in range(PAIRS):
            for engine in ENGINES:
                with cluster(engine, folder) as leaders:
                    if turn == 0:
                        found[engine]["idle_percent"], found[engine]["idle_mb"] = idle(leaders)
                    cpu, memory = crawled(leaders, folder)
                    crawls[engine].append(cpu)
                    found[engine]["crawling_mb"] = memory
                print(engine, {kind: round(s, 2) for kind, s in cpu.items()}, flush=True)
                for old in folder.iterdir():
                    shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for engine in ENGINES:
        kinds = sorted({kind for cpu in crawls[engine] for kind in cpu})
        found[engine]["crawl_cpu_s"] = {
            kind: round(statistics.median(cpu[kind] for cpu in crawls[engine]), 2) for kind in kinds
        }
    of_ray = [sum(s for kind, s in cpu.items() if kind not in OURS) for cpu in crawls["ray"]]
    ours = [
        sum(s for kind, s in with_ray.items() if kind in OURS) / sum(without.values())
        for with_ray, without in zip(crawls["ray"], crawls["processes"], strict=True)
    ]
    save(
        "ray-share",
        {
            "pages": PAGES,
            "pairs": PAIRS,
            "load": round(os.getloadavg()[0], 1),
            "ray_cpu_s": round(statistics.median(of_ray), 2),
            "our_cpu_ratio": round(statistics.median(ours), 3),
            **found,
        },
    )


if __name__ == "__main__":
    main()
