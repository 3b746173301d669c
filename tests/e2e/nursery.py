"""A process that has imported everything, and forks a `gossamer` whenever a test wants one.

The child runs the real command line from its first line on, in a process of its own that can be
killed like any other; it is only spared the second or two of importing libraries, of which these
tests would pay hundreds. Run as `python -m tests.e2e.nursery`, it reads one JSON request a line.
"""

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[2]
POLL_S = 0.005


class Child:
    """A forked command, with the face of `subprocess.Popen`.

    It may have variables of its own, and lead a process group.
    """

    def __init__(
        self,
        words: Sequence[str],
        variables: Mapping[str, str] | None = None,
        *,
        leads_group: bool = False,
    ) -> None:
        self._folder = TemporaryDirectory()
        self._out = Path(self._folder.name) / "out"
        self._err = Path(self._folder.name) / "err"
        self._said = ("", "")
        born: dict[str, Any] = {"born": list(words), "out": str(self._out), "err": str(self._err)}
        born |= {"variables": dict(variables or {}), "leads_group": leads_group}
        self.pid = int(_request(born))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self.returncode is None:
            self.returncode = _request({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the exit code."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("gossamer", timeout or 0.0)
            time.sleep(POLL_S)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end and return what it wrote."""
        self.wait(timeout)
        with contextlib.suppress(FileNotFoundError):
            self._said = (
                self._out.read_text(errors="replace"),
                self._err.read_text(errors="replace"),
            )
        self._folder.cleanup()
        return self._said


@cache
def _nursery() -> subprocess.Popen[str]:
    surroundings = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.nursery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=surroundings,
    )
    atexit.register(_close, process)
    return process


def _close(process: subprocess.Popen[str]) -> None:
    process.communicate()


def _request(wish: dict[str, Any]) -> Any:
    nursery = _nursery()
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(json.dumps(wish) + "\n")
    nursery.stdin.flush()
    return json.loads(nursery.stdout.readline())


def _answer(wish: dict[str, Any]) -> int | None:
    match wish:
        case {"born": words, "out": out, "err": err, "variables": more, "leads_group": leads}:
            child = os.fork()
            if leads:
                os.setpgid(child, child)
            os.environ.update({} if child else more)
            return child or _live(words, out, err)
        case {"poll": pid}:
            done, status = os.waitpid(pid, os.WNOHANG)
            return os.waitstatus_to_exitcode(status) if done else None
        case _:
            raise ValueError(wish)


def _live(words: list[str], out: str, err: str) -> int:
    """Be a `gossamer`: the child's whole life."""
    from gossamer.cli.main import run  # noqa: PLC0415  # the nursery's own business

    for number, path in ((0, os.devnull), (1, out), (2, err)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644), number)
    named = os.environ.get("PYTHONPATH", "").split(
        os.pathsep
    )  # it may have changed since our start
    sys.path[:0] = [path for path in named if path and path not in sys.path]
    sys.argv = ["gossamer", *words]
    code = 1
    try:
        run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  # as the interpreter would show it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _warm_up() -> None:
    """Import and load what every crawl needs, without opening a file or starting a thread."""
    import gossamer.crawl  # noqa: PLC0415  # the nursery's own business
    from gossamer.config import UrlConfig  # noqa: PLC0415
    from gossamer.seen.kernels import kernels  # noqa: PLC0415
    from gossamer.urls import parse  # noqa: PLC0415

    assert gossamer.crawl
    parse("http://a.test/", UrlConfig())
    kernels()
    for point in entry_points(group="gossamer.processors"):
        point.load()


def main() -> None:
    """Answer until the test run ends."""
    _warm_up()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
