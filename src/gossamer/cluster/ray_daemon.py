"""Ray on a node: the daemon that the process of a node holds where Ray starts the shards.

It is `ray start --block`, in a process group of its own below a holder, which kills the group when
the node's process dies, however that is. Ray's own token keeps strangers out; it is made from the
cluster's, so whoever can join the one can join the other.
"""

import asyncio
import hashlib
import os
import signal
import sys
from contextlib import suppress

import msgspec

from gossamer.clock import Clock
from gossamer.cluster.connection import split_address
from gossamer.cluster.home import VARIABLE, ClusterHome
from gossamer.log import warn

RESOURCE = "gossamer"
"""Of a Ray node: how many cores shards may count on. A node without it gets none."""
STARTED = "gossamer-started"
"""Label of a Ray node: when its daemon was started. The newest of two that call themselves alike
is meant: the other is dead, and Ray does not know it yet."""
AGAIN_S = 2.0
OBJECT_BYTES = 80_000_000
"""What Ray reserves for objects, of which there are none: nearly its least."""
HOLD = """
import ctypes, os, signal, subprocess, sys
parent, words = int(sys.argv[1]), sys.argv[2:]
def end(*_):
    raise SystemExit
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, signal.SIG_IGN)
ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
if os.getppid() == parent:
    child = None
    try:
        child = subprocess.Popen(words, process_group=0)
        child.wait()
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except (AttributeError, ProcessLookupError):
            pass
"""
HEALTH = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}
"""A node that hangs is noticed after four seconds; by Ray's own settings after more than 60."""


def ray_variables(home: ClusterHome) -> dict[str, str]:
    """Return the environment of Ray's processes on a node, and of those that talk to them."""
    known = home.membership()
    variables = {VARIABLE: str(home.root)}
    if known.has_head:  # else somebody else has started Ray, and knows how it is talked to
        token = hashlib.sha256(f"ray {known.secret}".encode()).hexdigest()
        variables |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
        variables |= {"RAY_USAGE_STATS_ENABLED": "0", **HEALTH}
    return variables


def ray_words(home: ClusterHome, cores: int, now: float) -> list[str]:
    """Return the command that makes this machine a node of the cluster's Ray."""
    known = home.membership()
    words = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block"]
    words += ["--disable-usage-stats", "--include-log-monitor=false", "--num-cpus=0"]
    words += ["--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0"]
    words += [f"--object-store-memory={OBJECT_BYTES}", f"--labels={STARTED}={now:.0f}"]
    words += [f"--resources={msgspec.json.encode({RESOURCE: cores}).decode()}"]
    words += [f"--node-name={known.name}", f"--node-ip-address={known.host}"]
    if home.authority_key.exists():
        port = split_address(known.ray)[1]
        return [*words, "--head", f"--port={port}", "--include-dashboard=false"]
    return [*words, f"--address={known.ray}"]


class RayDaemon:
    """Ray on this machine, as long as the node is there."""

    def __init__(self, home: ClusterHome, cores: int, clock: Clock) -> None:
        self._home = home
        self._cores = cores
        self._clock = clock

    async def run(self) -> None:
        """Hold it until this is cancelled; start it again when it ends, as when its head was."""
        while True:
            words = ray_words(self._home, self._cores, self._clock.wall())
            with self._home.log_path.open("ab") as log:
                holder = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-S", "-E", "-c", HOLD, str(os.getpid()), *words),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **ray_variables(self._home)},
                )
            try:
                await holder.wait()
            finally:
                with suppress(ProcessLookupError):
                    os.kill(holder.pid, signal.SIGTERM)
                await holder.wait()
            warn("ray.ended", node=self._home.membership().name)
            await self._clock.sleep(AGAIN_S)
