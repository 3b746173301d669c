"""Starting a crawl from a form: what may be asked for, and the process that does it."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, NamedTuple

from gossamer import OpenCrawl
from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn, ConfigError, GossamerError
from gossamer.web.console.actions import PostedForm
from gossamer.web.door.turns import Turns
from gossamer.web.start.found import is_crawl

SCOPES = ("domain", "host", "prefix", "any")
MOST_SEEDS, MOST_RUNNING, MOST_PAGES_DIGITS = 100, 8, 9
START_S, LOOK_AGAIN_S, SETTLED_S = 15.0, 0.1, 1.0
"""How long a start is waited for; how often it is looked at; a crawl that holds its folder for so
long has begun."""
_TOLD_BYTES = 2000
_ERROR = "gossamer: "
_NAME = re.compile(r"\w[\w.-]{0,59}")
_TAKEN = {"archive", "state", "crawl.toml"}
"""With these in it, the folder above would be a crawl's."""


class CrawlOrder(NamedTuple):
    """What a form asks for."""

    name: str
    """Of the folder, which is new."""
    seeds: list[str]
    scope: str
    max_pages: str
    """ "": without end."""


class StartedCrawl(NamedTuple):
    """A crawl's process, and what it tells on its standard error."""

    process: "subprocess.Popen[bytes]"
    told: IO[bytes]


def order_of(form: PostedForm) -> CrawlOrder:
    """Return what a form asks for; refuse what is no plain name, scope or number."""
    name, scope, most = form.one("name"), form.one("scope") or SCOPES[0], form.one("max_pages")
    seeds = form.one("seeds").split()
    if not seeds or len(seeds) > MOST_SEEDS:
        raise ConfigError(f"seeds: expected 1 to {MOST_SEEDS} URLs with blanks between them")
    if not _NAME.fullmatch(name) or name in _TAKEN:
        raise ConfigError(
            "folder: expected a plain name of at most 60 letters, digits, dots, - and _, that "
            f"begins with a letter or digit, such as mycrawl; found {name!r}"
        )
    if scope not in SCOPES:
        raise ConfigError(f"scope: expected {', '.join(SCOPES)}, found {scope!r}")
    is_number = most.isascii() and most.isdigit() and len(most) <= MOST_PAGES_DIGITS
    if most and not (is_number and int(most)):
        raise ConfigError(f"most pages: expected a number from 1, or nothing; found {most!r}")
    return CrawlOrder(name, seeds, scope, most)


def words_of(order: CrawlOrder, flags: Sequence[str] = ()) -> list[str]:
    """Return the command; what was typed as a seed can be no flag."""
    most = [f"--max-pages={order.max_pages}"] if order.max_pages else []
    own = [f"--into={order.name}", f"--scope={order.scope}", *most]
    return ["crawl", *flags, *own, "--", *order.seeds]


class CrawlStarter:
    """Starts crawls in a folder. They are processes of their own, and go on without us."""

    def __init__(self, folder: Path, flags: Sequence[str] = ()) -> None:
        """Start them in a folder; `flags` are those of all of them."""
        self._folder = folder
        self._flags = flags
        self._clock = SystemClock()
        self._turn = Turns()
        self._telling = Lock()
        """Held by who reads or closes what crawls have told."""
        self._started: dict[str, StartedCrawl] = {}

    def start(self, order: CrawlOrder) -> str:
        """Start a crawl; return what happened, or raise with what `gossamer crawl` says."""
        with self._turn.own():
            if is_crawl(self._folder):
                raise ConfigError(
                    "this folder is that of a crawl: run `gossamer serve` in the one above"
                )
            if self.running() >= MOST_RUNNING:
                raise ConfigError(
                    f"{MOST_RUNNING} crawls that were started here are running: stop one first "
                    "with `gossamer stop DIR`"
                )
            return self._start(order)

    def running(self) -> int:
        """Return how many that were started here are running."""
        with self._telling:
            return sum(one.process.poll() is None for one in self._started.values())

    def endings(self) -> dict[str, str]:
        """Return what crawls said that were started here and ended badly, by name."""
        with self._telling:
            return {
                name: _last_line(one, name)
                for name, one in self._started.items()
                if one.process.poll() not in {None, 0, 3}
            }

    def close(self) -> None:
        """Let go of all crawls; those that run go on."""
        with self._telling:
            for one in self._started.values():
                one.process.poll()
                one.told.close()
            self._started.clear()

    def _start(self, order: CrawlOrder) -> str:
        folder = self._folder / order.name
        try:
            folder.mkdir()
        except FileExistsError:
            raise ConfigError(
                f"{order.name} exists already: give another name, or go on with it with "
                f"`gossamer crawl --into {order.name}`"
            ) from None
        except OSError as error:
            raise CannotGoOn(f"cannot make {order.name}: {error.strerror}") from error
        self._forget_old()
        started = self._process(order)
        with self._telling:
            self._started[order.name] = started
        code = self._settled(started, folder)
        if code is None:
            return f"Started: {order.name}. `gossamer stop {order.name}` ends it."
        if code == 0:
            return f"Crawled: {order.name} is finished."
        _remove_if_empty(folder)
        with self._telling:
            said = _last_line(started, order.name)
            if not folder.exists():
                self._started.pop(order.name).told.close()
        raise ConfigError(said)

    def _process(self, order: CrawlOrder) -> StartedCrawl:
        told = TemporaryFile()  # noqa: SIM115 - closed when the crawl is forgotten
        own = {name: value for name, value in os.environ.items() if name != "GOSSAMER_TOKEN"}
        try:
            process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", "-m", "gossamer", *words_of(order, self._flags)],
                cwd=self._folder,
                env=own,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=told,
                start_new_session=True,  # Ctrl-C is for the server
            )
        except OSError as error:
            told.close()
            _remove_if_empty(self._folder / order.name)
            raise CannotGoOn(f"cannot start the crawl: {error.strerror}") from error
        return StartedCrawl(process, told)

    def _settled(self, started: StartedCrawl, folder: Path) -> int | None:
        """Return the exit code of a crawl that ends soon; None once it goes on."""
        until = self._clock.steady() + START_S
        pause_s = LOOK_AGAIN_S
        while self._clock.steady() < until:
            try:
                return started.process.wait(pause_s)
            except subprocess.TimeoutExpired:
                if pause_s == SETTLED_S:
                    return None
                pause_s = SETTLED_S if _is_running(folder) else LOOK_AGAIN_S
        return None

    def _forget_old(self) -> None:
        """Let go of the oldest that have ended, so that few files are open."""
        with self._telling:
            ended = [name for name, one in self._started.items() if one.process.poll() is not None]
            for name in ended[:-MOST_RUNNING]:
                self._started.pop(name).told.close()


def _remove_if_empty(folder: Path) -> None:
    """Take back a folder that was made for a crawl, unless the crawl has put something into it."""
    try:
        folder.rmdir()
    except OSError:
        return


def _is_running(folder: Path) -> bool:
    try:
        return OpenCrawl(folder).is_running()
    except (GossamerError, OSError):
        return False


def _last_line(one: StartedCrawl, name: str) -> str:
    """Return the line with which a crawl ended."""
    end = one.told.seek(0, os.SEEK_END)
    one.told.seek(max(end - _TOLD_BYTES, 0))
    lines = one.told.read().decode("utf-8", "replace").splitlines()
    errors = [line for line in lines if line.startswith(_ERROR)]  # others tell of progress
    if errors:
        return errors[-1].removeprefix(_ERROR)
    if one.process.returncode == 1:
        return f"no seed could be fetched: `gossamer status {name}` says why"
    return f"it ended with code {one.process.returncode}: `gossamer status {name}` says more"
