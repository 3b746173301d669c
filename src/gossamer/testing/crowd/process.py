"""Serve a crowd in a process of its own."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from gossamer.errors import CannotGoOn
from gossamer.testing.crowd.web import Crowd

_STOP_S = 10.0


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
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(_STOP_S)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve_crowd(crowd: Crowd, log: Path) -> CrowdProcess:
    """Start a crowd in a process of its own and return when it listens.

    The log is tab-separated, appended to, and each line is written before its answer is sent.
    """
    wish = json.dumps({**asdict(crowd), "port": 0})
    command = [sys.executable, "-m", "gossamer.testing.crowd", wish, str(log)]
    process = subprocess.Popen(  # noqa: S603 - our own module, arguments made here
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    line = process.stdout.readline() if process.stdout else b""
    if not line:
        process.wait(_STOP_S)
        raise CannotGoOn(f"the crowd did not start: exit code {process.returncode}")
    hello = json.loads(line)
    return CrowdProcess(process, crowd.placed("http", hello["port"]), hello["nameserver"], log)
