"""The URL of a store where a folder to change is expected: its coordinator is asked over TLS.

Whatever steers a crawl asks a socket in its folder. So a crawl that a cluster runs gets a folder
for as long as a command takes, with its settings and a socket that passes questions on.
"""

import asyncio
import atexit
import json
import shutil
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn, ConfigError, GossamerError
from gossamer.linux import short_path

if TYPE_CHECKING:
    from gossamer.cluster import ClusterHome
    from gossamer.report import Status
    from gossamer.store import CrawlCharter

LONGEST_LINE = 16 * 1024 * 1024
STOP_S, LOOK_S = 100.0, 0.3
"""How long the end of a crawl is waited for, and how often it is looked for."""


class CoordinatorRelay:
    """A folder through which the coordinator of a crawl is asked."""

    def __init__(self, url: str) -> None:
        """Find the coordinator of a crawl; refuse one that no cluster runs."""
        from gossamer.store import CrawlFolder

        charter = _charter_of(url)
        self._home, self._address = _home_of(charter), charter.address
        self._folder = CrawlFolder(Path(mkdtemp(prefix="gossamer-")))
        atexit.register(shutil.rmtree, self._folder.root, ignore_errors=True)
        try:
            said = json.loads(self._asked({"ask": "status"}))
            self._prepare(is_paused=said.get("paused") == "on_request")
            self._listening = socket.socket(socket.AF_UNIX)
            with short_path(self._folder.control_path) as short:
                self._listening.bind(short)
            self._listening.listen()
        except BaseException:
            shutil.rmtree(self._folder.root, ignore_errors=True)
            raise
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def root(self) -> Path:
        """Return the folder."""
        return self._folder.root

    def close(self) -> None:
        """Remove the folder."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # whoever waits in accept is woken
        self._listening.close()
        shutil.rmtree(self._folder.root, ignore_errors=True)

    def _prepare(self, *, is_paused: bool) -> None:
        """Let the folder say what the coordinator's says."""
        said = json.loads(self._asked({"ask": "settings"}))
        self._folder.config_path.write_text(str(said.get("settings", "")), encoding="utf-8")
        if is_paused:
            self._folder.paused_path.touch()

    def _serve(self) -> None:
        """Answer one question after the other until we are closed."""
        while True:
            try:
                line, _ = self._listening.accept()
            except OSError:
                return
            with line, suppress(OSError), line.makefile("rwb") as words:
                question = json.loads(words.readline(LONGEST_LINE))
                try:
                    answer = self._passed_on(question)
                except GossamerError as error:
                    answer = json.dumps({"error": str(error)}).encode()
                words.write(answer + b"\n")

    def _passed_on(self, question: dict[str, object]) -> bytes:
        match question.get("ask"):
            case "pause":
                is_paused = self._folder.paused_path.exists()
                return self._asked({**question, "is_paused": is_paused})
            case "stop":
                answer = self._asked(question)
                self._wait_for_end()
                return answer
            case _:
                return self._asked(question)

    def _wait_for_end(self) -> None:
        clock = SystemClock()
        until = clock.steady() + STOP_S
        with suppress(CannotGoOn):
            while clock.steady() < until:
                self._asked({"ask": "status"})
                asyncio.run(clock.sleep(LOOK_S))

    def _asked(self, question: Mapping[str, object]) -> bytes:
        from gossamer.crawl import ask_coordinator

        return ask_coordinator(self._home, self._address, question)


def asked_of_coordinator(url: str, question: Mapping[str, object]) -> bytes:
    """Return what the coordinator of a crawl answers that a cluster runs, as JSON."""
    from gossamer.crawl import ask_coordinator

    if "://" not in url:
        raise ConfigError(f"expected the URL of a crawl's store, such as s3://..., found {url!r}")
    charter = _charter_of(url)
    return ask_coordinator(_home_of(charter), charter.address, question)


def live_status(url: str, shipped: "Status") -> "Status":
    """Return what the coordinator of a crawl says of it; what was shipped if it says nothing."""
    from gossamer.crawl import ask_coordinator
    from gossamer.report import Status

    with suppress(GossamerError, msgspec.ValidationError):  # it may have ended meanwhile
        charter = _charter_of(url)
        said = ask_coordinator(_home_of(charter), charter.address, {"ask": "status"})
        return replace(msgspec.json.decode(said, type=Status), store=shipped.store)
    return shipped


def _charter_of(url: str) -> "CrawlCharter":
    """Return the charter of a crawl that a cluster runs."""
    from gossamer.store import CrawlStore, Objects

    if url.startswith("file://") and not Path(unquote(urlsplit(url).path)).is_dir():
        raise ConfigError(
            f"{url} is no folder: nothing is there; check its spelling, and that its disk is "
            "mounted"
        )
    found = CrawlStore(Objects(url)).charter()
    if found is None:
        raise ConfigError(f"{url} has no crawl: expected the URL of a `gossamer crawl --store URL`")
    if not found[1].address:
        raise ConfigError(
            f"{url} is a store, and only read: `gossamer crawl --into DIR --store {url}` goes on "
            "with the crawl in a folder, which can be changed"
        )
    if found[1].has_ended:
        raise ConfigError(
            f"{url} is a store, and only read while no cluster runs its crawl: "
            f"`gossamer crawl --cluster auto --store {url}` goes on with it"
        )
    return found[1]


def _home_of(charter: "CrawlCharter") -> "ClusterHome":
    """Return what this machine knows of the cluster that runs a crawl."""
    from gossamer.cluster import ClusterHome, default_home, home_of_cluster

    home = home_of_cluster(charter.fingerprint)
    if home is None and ClusterHome(default_home()).is_member:
        raise ConfigError(
            f"another cluster runs the crawl, coordinated by {charter.owner}: type this on one of "
            "its machines"
        )
    return home or ClusterHome(default_home())
