"""One command, measured from outside: CPU and memory of all its processes, and what else ran."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from realweb import DATA

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
POLL_S = 0.05
POLLS_PER_SAMPLE = 4
GRACE_S = 10.0


class Measured(NamedTuple):
    """What a command took, its children included."""

    exit_code: int
    cpu_s: float
    wall_s: float
    rss_mb: float
    """Peak of the sum over its processes, sampled; at least the largest process's own peak."""
    others_cores: float
    """Cores that neither the command nor the web server kept busy: 0 on a quiet machine."""
    output: str
    errors: str
    is_stopped: bool


def measured(
    command: list[str],
    folder: Path,
    is_enough: Callable[[], bool] = lambda: False,
    limit_s: float = 600.0,
) -> Measured:
    """Run a command in a folder to its end, or stop it when it is enough or takes too long."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        busy_s, server_s, began = machine_cpu_s(), server_cpu_s(), time.perf_counter()
        child = subprocess.Popen(  # a group of its own, so that all of it can be ended
            command, cwd=folder, stdout=output, stderr=errors, start_new_session=True
        )
        peak, polls, is_stopped = 0, 0, False
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if polls % POLLS_PER_SAMPLE == 0:
                peak = max(peak, rss_bytes(child.pid))
            polls += 1
            took_s = time.perf_counter() - began
            if not is_stopped and (took_s > limit_s or is_enough()):
                is_stopped, limit_s = True, took_s + GRACE_S
                os.kill(child.pid, signal.SIGTERM)
            elif is_stopped and took_s > limit_s:
                os.killpg(child.pid, signal.SIGKILL)
            time.sleep(POLL_S)
        wall_s = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        texts = [told.seek(0) or told.read().decode(errors="replace") for told in (output, errors)]
    cpu_s = usage.ru_utime + usage.ru_stime
    other_s = machine_cpu_s() - busy_s - cpu_s - (server_cpu_s() - server_s)
    rss_mb = max(usage.ru_maxrss / 1024, peak / 1024**2)
    others_cores = max(0.0, other_s / wall_s)
    return Measured(child.returncode, cpu_s, wall_s, rss_mb, others_cores, *texts, is_stopped)


def machine_cpu_s() -> float:
    """Return the seconds that all cores together have been busy, stolen time left out."""
    user, nice, system, _idle, _wait, irq, soft = (
        int(field) for field in Path("/proc/stat").read_text().split(maxsplit=8)[1:8]
    )
    return (user + nice + system + irq + soft) / TICKS_PER_S


def server_cpu_s() -> float:
    """Return the CPU seconds of the web server's processes; 0 if there is none."""
    if not (DATA / "run" / "nginx.pid").exists():
        return 0.0
    master = int((DATA / "run" / "nginx.pid").read_text())
    return sum(
        (int(stat[11]) + int(stat[12])) / TICKS_PER_S
        for pid, stat in processes()
        if pid == master or int(stat[1]) == master
    )


def rss_bytes(root: int) -> int:
    """Return the resident memory of a process and its offspring, shared pages counted in each."""
    family, total = {root}, 0
    for pid, stat in processes():  # parents have smaller numbers, but for a wrap of the counter
        if pid == root or int(stat[1]) in family:
            family.add(pid)
            total += int(stat[21]) * PAGE_BYTES
    return total


def processes() -> list[tuple[int, list[str]]]:
    """Return every process, by number, with the fields of its stat file that follow its name."""
    found = []
    for pid in sorted(int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except OSError:  # it has just ended
            continue
        found.append((pid, stat.rpartition(")")[2].split()))
    return found
