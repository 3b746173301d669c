"""Serve a changing web in a process of its own."""

import json
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from gossamer.testing.request_log import LoggedRequest, read_log
from gossamer.testing.server import start_attached, stop_attached
from laboratory.changing.web import BEGIN, ChangingWeb

BENCHMARKS = Path(__file__).parents[2]
"""Where `python -m laboratory.changing` is found."""
_ANSWER_S = 60.0
_OUR_OWN = frozenset({"clock", "began_at", "served"})


@dataclass(frozen=True, slots=True)
class ChangingProcess:
    """A changing web. It ends with `stop`, or when this process ends."""

    process: subprocess.Popen[bytes]
    web: ChangingWeb
    """The web as it is served: with its port, and with the moment at which it began."""
    log: Path

    def begin(self) -> float:
        """Let the changes begin; return the wall-clock second."""
        address = self.web.addresses["w0.test"]
        request = urllib.request.Request(
            f"http://{address}:{self.web.port}{BEGIN}", headers={"Host": "w0.test"}
        )
        with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
            self.web.began_at = float(answer.read())
        return self.web.began_at

    def requests(self) -> list[LoggedRequest]:
        """Return what was asked so far."""
        return read_log(self.log)

    def stop(self) -> None:
        """End the process and wait for it."""
        stop_attached(self.process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve_changing(web: ChangingWeb, log: Path) -> ChangingProcess:
    """Start a changing web in a process of its own and return when it listens.

    The log is tab-separated, appended to, and each line is written before its answer is sent.
    """
    told = {f.name: getattr(web, f.name) for f in fields(web) if f.name not in _OUR_OWN}
    command = [sys.executable, "-m", "laboratory.changing", json.dumps(told), str(log.absolute())]
    process, hello = start_attached(command, cwd=BENCHMARKS)
    return ChangingProcess(process, web.served_at("http", hello["port"]), log)
