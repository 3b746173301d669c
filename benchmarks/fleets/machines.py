"""Machines of a cluster on loopback: process groups with folders of their own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GOSSAMER = [sys.executable, "-m", "gossamer"]
CORES = 2
LONG_S = 900.0
TICKS = os.sysconf("SC_CLK_TCK")


class Machine:
    """A machine of the cluster."""

    def __init__(self, number: int, place: Path, words: list[str]) -> None:
        self.name, self.home, self.words = f"node-{number}", place / f"node-{number}", words
        self.pid = 0
        self._cpu_before_s = 0.0

    def start(self) -> None:
        """Bring it into the cluster, for the first time or again."""
        named = ["--name", self.name, "--home", str(self.home), "--cores", str(CORES)]
        self.pid = int(said("cluster", *self.words, *named)["pid"])

    def cpu_s(self) -> float:
        """Return the CPU of its processes, with that of those that they have seen end."""
        fields = [stat_of(pid)[11:15] for pid in members(self.pid)]
        return self._cpu_before_s + sum(sum(map(int, one)) for one in fields) / TICKS

    def lose(self) -> None:
        """Kill it with everything on it, and delete its disk."""
        self._cpu_before_s = self.cpu_s()
        os.killpg(self.pid, signal.SIGKILL)
        time.sleep(1.0)
        shutil.rmtree(self.home)

    def end(self) -> None:
        """Kill what is left of it."""
        for pid in members(self.pid):
            os.kill(pid, signal.SIGKILL)


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


def brought_up(place: Path, count: int) -> list[Machine]:
    """Return the machines of a new cluster."""
    listen = f"127.0.0.2:{free_port('127.0.0.2')}"
    machines = [Machine(0, place, ["up", "--listen", listen])]
    machines[0].start()
    line = str(_status_of(machines)["join"]).split()
    for number in range(1, count):
        machines.append(Machine(number, place, line[2:]))
        machines[-1].start()
    return machines


def placed_now(machines: list[Machine]) -> dict[int, str]:
    """Return the machine of each shard."""
    return {
        int(shard): name
        for crawl in _status_of(machines)["crawls"]
        for name, shards in crawl["nodes"].items()
        for shard in shards
    }


def _status_of(machines: list[Machine]) -> dict[str, Any]:
    return said("cluster", "status", "--home", str(machines[0].home))
