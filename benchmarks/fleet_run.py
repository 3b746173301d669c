"""Does the model of `fleet.py` foretell a crawl by three machines? `make bench-fleet-run`.

Three machines (process groups on loopback with folders of their own) crawl the real web (PAGES
pages) with SHARDS shards into a store of files; one is killed with its disk on the way, and comes
back empty. What was put into the store, where the shards lay and what moved is compared with what
the model says of three machines, that many shards, pages and seconds. Its costs are those that
`fleet_costs.py` measured on one machine with two shards. CPU is that of the machines' processes.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from fleet_costs import GOSSAMER, StoreWatch, mail
from fleets.costs import Costs, read_costs
from realweb import FLAGS, SEED, bring_up, save

import gossamer
from gossamer.cluster import PlacedNode, place

PAGES = int(os.environ.get("PAGES", "4000"))
SHARDS = int(os.environ.get("SHARDS", "6"))
NODES = 3
LEASE_S, DETECT_S = 10.0, 1.0
"""A machine whose processes are killed is noticed by its connections."""
LONG_S = 900.0
TICKS = os.sysconf("SC_CLK_TCK")


class Machine:
    """A machine of the cluster."""

    def __init__(self, number: int, place: Path, words: list[str]) -> None:
        self.name, self.home, self.words = f"node-{number}", place / f"node-{number}", words
        self.pid = 0
        self.cpu_before_s = 0.0

    def start(self) -> None:
        """Bring it into the cluster, for the first time or again."""
        named = ["--name", self.name, "--home", str(self.home), "--cores", "2"]
        self.pid = int(said("cluster", *self.words, *named)["pid"])

    def cpu_s(self) -> float:
        """Return the CPU of its processes, those that have ended included."""
        total = 0.0
        for pid in members(self.pid):
            fields = stat_of(pid)
            total += sum(map(int, fields[11:15])) / TICKS if pid == self.pid else 0.0
            if pid != self.pid:
                total += sum(map(int, fields[11:13])) / TICKS
        return self.cpu_before_s + total

    def lose(self) -> None:
        """Kill it with everything on it, and delete its disk."""
        self.cpu_before_s = self.cpu_s()
        os.killpg(self.pid, signal.SIGKILL)
        time.sleep(1.0)
        shutil.rmtree(self.home)


def stat_of(pid: int) -> list[str]:
    """Return the fields of a process behind its name."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 20


def members(group: int) -> list[int]:
    """Return the processes of a group."""
    if not group:  # it was never started
        return []
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [pid for pid in pids if stat_of(pid)[2] == str(group)]


def said(*words: str) -> dict[str, Any]:
    """Run a command; return the object on its last line."""
    command = [*GOSSAMER, *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONG_S)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def free_port(host: str) -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as end:
        end.bind((host, 0))
        return int(end.getsockname()[1])


def brought_up(place: Path) -> list[Machine]:
    """Return the machines of a new cluster."""
    listen = f"127.0.0.2:{free_port('127.0.0.2')}"
    machines = [Machine(0, place, ["up", "--listen", listen])]
    machines[0].start()
    line = str(status_of(machines)["join"]).split()
    for number in range(1, NODES):
        machines.append(Machine(number, place, line[2:]))
        machines[-1].start()
    return machines


def status_of(machines: list[Machine]) -> dict[str, Any]:
    """Return what `cluster status` says."""
    return said("cluster", "status", "--home", str(machines[0].home))


def placed_now(machines: list[Machine]) -> dict[int, str]:
    """Return the machine of each shard."""
    crawls = status_of(machines)["crawls"]
    return {
        int(shard): name
        for crawl in crawls
        for name, shards in crawl["nodes"].items()
        for shard in shards
    }


def main() -> None:
    """Crawl, compare, and keep the result."""
    bring_up()
    costs, _ = read_costs()
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        place_ = Path(folder)
        store = place_ / "store"
        store.mkdir()
        machines = brought_up(place_)
        try:
            measured, seconds, pages = crawled(machines, place_, store)
        finally:
            for machine in machines:
                for pid in members(machine.pid):
                    os.kill(pid, signal.SIGKILL)
        restored = place_ / "restored"
        said("restore", f"file://{store}", "--into", str(restored))
        letters = mail(restored, (SHARDS,))
        with gossamer.open(restored) as crawl:
            status = crawl.status()
            assert status.pages == pages
            known = status.known_urls
    measured["tasks_mailed_of_a_page"] = round(letters[SHARDS], 2)
    foretold = foretell(costs, seconds, pages)
    ratios = {
        name: round(measured[name] / value, 3)
        for name, value in foretold.items()
        if isinstance(value, int | float)
    }
    result = {
        "pages": pages,
        "known_urls": known,
        "seconds": round(seconds, 1),
        "shards": SHARDS,
        "nodes": NODES,
    }
    save("fleet-run", {**result, "measured": measured, "foretold": foretold, "ratios": ratios})


def foretell(costs: Costs, seconds: float, pages: int) -> dict[str, Any]:
    """Return what the model says of a crawl by these machines: one dies, its shards wait.

    They start elsewhere, and as many when the machine is back. Of the manifests some are no
    checkpoints: the coordinator makes the first of each shard, and each start claims by one.
    """
    lost = SHARDS // NODES
    away_s = lost * (DETECT_S + LEASE_S)
    starts = SHARDS + 2 * lost
    claims = SHARDS + starts
    checkpoints = (SHARDS * seconds - away_s) / costs.interval_s
    manifests = checkpoints + claims
    of_one = pages / checkpoints
    objects = checkpoints * costs.objects(of_one) + claims
    cpu_s = starts * costs.shard_start_cpu_s + (NODES + 1) * costs.start_cpu_s
    nodes = [PlacedNode(f"node-{n}", 2) for n in range(NODES)]
    placed = place(range(SHARDS), nodes, {}, {})
    rest = place(range(SHARDS), nodes[:-1], placed, {})
    return {
        "shards_of_machines": sorted(Counter(placed.values()).values()),
        "shards_moved": sum(rest[shard] != name for shard, name in placed.items()),
        "manifests": round(manifests),
        "objects_of_a_manifest": round(objects / manifests, 2),
        "state_bytes_of_a_page": round(costs.state_sent(of_one) / of_one),
        "archive_bytes_of_a_page": round(costs.archive_bytes * costs.archive_sent_share),
        "tasks_mailed_of_a_page": round(costs.mailed_of(SHARDS), 2),
        "cpu_s": round(cpu_s + pages * costs.cluster_cpu_ms / 1000, 1),
    }


def crawled(
    machines: list[Machine], place_: Path, store: Path
) -> tuple[dict[str, Any], float, int]:
    """Crawl with the machines, of which one dies; return what was measured, seconds and pages."""
    command = [*GOSSAMER, "crawl", SEED, *FLAGS, "--cluster", "auto", "--store", f"file://{store}"]
    command += ["--shards", str(SHARDS), "--max-pages", str(PAGES), "--json"]
    command += ["--into", str(place_ / "coordinator")]
    variables = {**os.environ, "GOSSAMER_CLUSTER": str(machines[0].home)}
    with StoreWatch(store) as watch:
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables
        )
        wait_for(lambda: watch.totals().get("manifest", (0, 0))[0] >= 2 * SHARDS, child)
        before, lost = placed_now(machines), machines[-1]
        lost.lose()
        print("lost", lost.name, before, file=sys.stderr, flush=True)
        wait_for(lambda: is_whole(placed_now(machines), without=lost.name), child)
        after = placed_now(machines)
        lost.start()
        told, _ = child.communicate(timeout=LONG_S)
        seconds = time.monotonic() - watch.began_at
        cpu_s = sum(machine.cpu_s() for machine in machines)
    ended = json.loads(told.splitlines()[-1])
    put, pages = watch.totals(), int(ended["pages"])
    print({kind: list(one) for kind, one in put.items()}, before, after, file=sys.stderr)
    manifests = put["manifest"][0]
    measured: dict[str, Any] = {
        "manifests": manifests,
        "objects_of_a_manifest": round(sum(n for n, _ in put.values()) / manifests, 2),
        "state_bytes_of_a_page": round((put["files"][1] + put["manifest"][1]) / pages),
        "archive_bytes_of_a_page": round(put["archive"][1] / pages),
        "shards_of_machines": sorted(Counter(before.values()).values()),
        "shards_moved": sum(after.get(shard) != name for shard, name in before.items()),
        "cpu_s": round(cpu_s, 1),
    }
    return measured, seconds, pages


def is_whole(placed: dict[int, str], *, without: str) -> bool:
    """Return True if every shard runs, and none on a machine that is lost."""
    return len(placed) == SHARDS and without not in placed.values()


def wait_for(what: Any, child: "subprocess.Popen[str]") -> None:  # noqa: ANN401 - a question
    """Wait until something is so, or the crawl has ended."""
    deadline = time.monotonic() + LONG_S
    while not what() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.5)


if __name__ == "__main__":
    main()
