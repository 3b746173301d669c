"""Drives `gossamer` as a user does: through its command.

Crawls run in processes of their own, forked from a nursery unless a fresh one is asked for.
Questions are put to the same command line inside this process where a test has many of them.
"""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeAlias

from gossamer.cli.main import exit_code
from tests.e2e.nursery import Child

GOSSAMER = str(Path(sys.executable).with_name("gossamer"))
PATIENCE_S = 120.0
"""Guards against hanging, never a measure of speed."""
POLL_S = 0.002

Process: TypeAlias = subprocess.Popen[str] | Child
Knobs = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def last_json(self) -> dict[str, Any]:
        """The object on the last line of standard output."""
        found: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        return found

    def expect(self, code: int) -> Self:
        """Insist on an exit code, and on no traceback whatever the code."""
        assert self.code == code, f"exit {self.code}, expected {code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.err + self.out, self.err + self.out
        return self


@dataclass(frozen=True)
class Crawler:
    """One crawl's folder, and the words with which it is started every time."""

    folder: Path
    seeds: tuple[str, ...]
    flags: tuple[str, ...]
    prefix: tuple[str, ...] = field(default=())
    """What stands before the command, such as `nsenter ...`."""

    def with_flags(self, *flags: str) -> "Crawler":
        """Return a crawler of the same folder with further flags."""
        return replace(self, flags=(*self.flags, *flags))

    def command(self, *more: str) -> list[str]:
        """Return the words that start the crawl, or go on with it."""
        words = [*self.prefix, GOSSAMER, "crawl", *self.seeds, "--into", str(self.folder)]
        return [*words, *self.flags, "--json", *more]

    def run(self, *more: str, **options: Any) -> Ended:
        """Crawl until the command ends by itself."""
        return finish(self.start(*more, **options))

    def start(self, *more: str, is_fresh: bool = False, **options: Any) -> Process:
        """Crawl in the background; a fresh process imports everything for itself."""
        words = self.command(*more)
        if is_fresh or self.prefix or options:
            return spawn(words, **options)
        return Child(words[1:])

    @contextmanager
    def running(self, *more: str) -> Iterator[Process]:
        """Crawl in the background for the length of a block; what is left over is killed."""
        process = self.start(*more)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def ask(self, verb: str, *words: str) -> Ended:
        """Run another verb on the folder, in a fresh process."""
        return finish(spawn([*self.prefix, GOSSAMER, verb, str(self.folder), *words]))

    def say(self, verb: str, *words: str) -> Ended:
        """Run another verb on the folder; in this process, unless that sees another folder."""
        if self.prefix:
            return self.ask(verb, *words)
        return say(verb, str(self.folder), *words)

    def status(self) -> dict[str, Any]:
        """Return what `status --json` prints."""
        return only_json(self.say("status", "--json").expect(0))

    def why(self, url: str) -> dict[str, Any]:
        """Return what `why --json` prints."""
        return only_json(self.say("why", url, "--json").expect(0))


def say(*words: str) -> Ended:
    """Run a command line in this process, with its output kept; `show` may print any bytes."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = exit_code(words)
    for stream in (out, err):
        stream.flush()
    said = (stream.buffer.getvalue().decode(errors="replace") for stream in (out, err))
    return Ended(code, *said)


def only_json(ended: Ended) -> dict[str, Any]:
    """Return the one object that a command with --json printed, and nothing besides."""
    lines = ended.out.splitlines()
    assert len(lines) == 1, ended.out
    return ended.last_json


def flags_for(resolve: Mapping[str, str], *more: str) -> tuple[str, ...]:
    """Return the flags for a crawl of a web on loopback, whose hosts all are wanted."""
    pairs = [w for host, address in resolve.items() for w in ("--resolve", f"{host}:{address}")]
    return ("--scope", "any", "--allow", "*.test", "--allow-net", "127.0.0.0/8", *pairs, *more)


def write_knobs(path: Path, knobs: Knobs) -> Path:
    """Write knobs that have no flag as TOML, for --config."""
    lines = []
    for section, values in knobs.items():
        lines.append(f"[{section}]")
        for name, value in values.items():
            key = name if name.isidentifier() else json.dumps(name)
            lines.append(f"{key} = {json.dumps(value)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def spawn(words: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Start a command with its output kept."""
    surroundings = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=surroundings,
        **options,
    )


def finish(process: Process, timeout_s: float = PATIENCE_S) -> Ended:
    """Wait for a command to end by itself; one that hangs is killed, and the test fails."""
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"still running after {timeout_s} s\n{out}\n{err}") from None
    return Ended(process.wait(), out, err)


def kill(process: Process) -> bool:
    """End a process with kill -9; tell whether that was what ended it."""
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def wait_until(
    is_so: Callable[[], object], process: Process | None = None, what: str = "something"
) -> bool:
    """Wait for something to become true; False when the process ended before."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if process is not None and process.poll() is not None:
            return bool(is_so())
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(POLL_S)
    return True
