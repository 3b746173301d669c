"""Indexing beside a crawl, and its console, in processes of their own: `--index`, `--serve`.

The indexer only reads what the crawl has committed, so neither can harm the other. It ends with
us: after the crawl, once it has taken in the last page, or at once if we are killed. If it dies by
itself it is told and started again; the crawl goes on meanwhile.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TypeAlias

from gossamer.errors import CannotGoOn
from gossamer.linux import die_with

Say: TypeAlias = Callable[[str], None]

NICE = 5
TICKS_BETWEEN_STARTS = 10
"""Of a status each second: an indexer that dies at once is not started in vain all the time."""
_TOLD_BYTES = 400


class Indexer:
    """The process that indexes."""

    def __init__(self, folder: Path, say: Say) -> None:
        self._folder = folder
        self._say = say
        self._process: subprocess.Popen[bytes] | None = None
        self._complaint: IO[bytes] | None = None
        self._ticks = 0

    def start(self) -> None:
        """Start it: the folder is ours now."""
        self._run("--follow", "--beside", str(os.getpid()))

    def tick(self) -> None:
        """Start it again if it has died."""
        self._ticks += 1
        process = self._process
        if process is not None and process.poll() is not None:
            self._say(f"the indexer ended ({self._why(process)}) and is started again")
            self._process, self._ticks = None, 0
        elif process is None and self._ticks >= TICKS_BETWEEN_STARTS:
            self.start()

    def finish(self, *, is_stopped: bool) -> None:
        """Wait until the last pages are in it; then, unless we were stopped, build what is due."""
        if self._process is None:
            self.start()
        self._wait()
        if not is_stopped:
            self._run("--beside", str(os.getpid()))
            self._wait()

    def kill(self) -> None:
        """End it at once: the next one goes on where it was."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        self._process = None

    def _run(self, *options: str) -> None:
        command = [sys.executable, "-P", "-m", "gossamer", "build", str(self._folder), "index"]
        if self._complaint is not None:
            self._complaint.close()
        self._complaint = TemporaryFile()  # noqa: SIM115 - closed when the next one is made
        try:
            # A group of its own: Ctrl-C is for the crawl, which ends the indexer in its turn.
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [*command, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._complaint,
                process_group=0,
            )
        except OSError as error:
            raise CannotGoOn(f"cannot start the indexer: {error.strerror}") from error

    def _wait(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        if code:
            advice = f"`gossamer build {self._folder} index` goes on"
            self._say(f"the indexer ended early ({self._why(process)}); {advice}")

    def _why(self, process: subprocess.Popen[bytes]) -> str:
        """Return how it ended, with its last words."""
        words = ""
        if self._complaint is not None:
            end = self._complaint.seek(0, os.SEEK_END)
            self._complaint.seek(max(end - _TOLD_BYTES, 0))
            lines = self._complaint.read().decode("utf-8", "replace").strip().splitlines()
            words = f": {lines[-1]}" if lines else ""
        return f"code {process.returncode}{words}"


class ConsoleServer:
    """The process that serves the console beside a crawl: `gossamer crawl --serve`.

    It dies with us, and the crawl goes on without it if it cannot be started.
    """

    def __init__(self, folder: Path, port: int, say: Say) -> None:
        self._folder = folder
        self._port = port
        self._say = say
        self._process: subprocess.Popen[bytes] | None = None
        self._complaint: IO[bytes] | None = None

    def start(self) -> None:
        """Start it: the folder is ours now."""
        words = ["serve", str(self._folder), "--port", str(self._port), "--no-build", "--json"]
        self._complaint = TemporaryFile()  # noqa: SIM115 - closed with us
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", "-m", "gossamer", *words, "--beside", str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._complaint,
                process_group=0,
            )
        except OSError as error:
            raise CannotGoOn(f"cannot start the console: {error.strerror}") from error
        self._say(f"console: http://127.0.0.1:{self._port}/crawl")

    def tick(self) -> None:
        """Say so if it has ended."""
        if self._process is None or self._process.poll() is None:
            return
        words = ""
        if self._complaint is not None:
            self._complaint.seek(0)
            lines = self._complaint.read().decode("utf-8", "replace").strip().splitlines()
            words = f": {lines[-1]}" if lines else ""
        self._say(f"the console has ended{words}")
        self._process = None

    def kill(self) -> None:
        """End it at once: it has nothing to lose."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        self._process = None


class FirstBuild:
    """The process that builds what is due of a folder that is served, while it is served.

    It tells on our standard error what it cannot build, and dies with us.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        words = ["serve", str(self._folder), "--only-build", "--beside", str(os.getpid())]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", "-m", "gossamer", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                process_group=0,
            )
        except OSError as error:
            raise CannotGoOn(f"cannot start the build: {error.strerror}") from error

    def is_running(self) -> bool:
        """Return True until it has ended."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it at once: the next one goes on where it was."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        self._process = None


class NoConsole:
    """Stands where nobody wants a console."""

    def start(self) -> None:
        """Do nothing."""

    def tick(self) -> None:
        """Do nothing."""

    def kill(self) -> None:
        """Do nothing."""


def end_with(parent: int) -> None:
    """Let this process be nice to others, and die with the one that started it."""
    os.nice(NICE)
    die_with(parent)
