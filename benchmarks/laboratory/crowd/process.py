"""Serve a crowd in a process of its own."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from gossamer.testing.server import start_attached, stop_attached
from laboratory.crowd.web import Crowd

BENCHMARKS = Path(__file__).parents[2]
"""Where `python -m laboratory.crowd` is found."""


@dataclass(frozen=True, slots=True)
class CrowdProcess:
    """A crowd and its name server. They end with `stop`, or when this process ends."""

    process: subprocess.Popen[bytes]
    crowd: Crowd
    """The crowd as it is served: with its port."""
    nameserver: str
    """ADDR:PORT, as the crawler's `nameservers` wants it."""
    log: Path

    def stop(self) -> None:
        """End the process and wait for it."""
        stop_attached(self.process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve_crowd(crowd: Crowd, log: Path) -> CrowdProcess:
    """Start a crowd in a process of its own and return when it listens.

    The log is tab-separated, appended to, and each line is written before its answer is sent.
    """
    wish = json.dumps({**asdict(crowd), "port": 0})
    command = [sys.executable, "-m", "laboratory.crowd", wish, str(log.absolute())]
    process, hello = start_attached(command, cwd=BENCHMARKS)
    return CrowdProcess(process, crowd.served_at("http", hello["port"]), hello["nameserver"], log)
