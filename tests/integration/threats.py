"""Crawls of webs that mean harm, in this process, and what is left of them when they end."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

import gossamer
from gossamer.config import Config
from gossamer.model import as_json
from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.archive import Archive, FastIterator, Record, read_archive

NETWORK = "127.0.9.0/24"
"""Where scripted hosts live; the rest of loopback stays forbidden."""
NO_NAME_SERVER = "127.0.9.1:9"
"""Nothing listens there: a name that no table holds is never asked for outside this machine."""
PATIENCE_S = 60.0

Knobs = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Done:
    """A crawl that has ended: its folder, and the server that saw it."""

    folder: Path
    ending: gossamer.Ending
    server: FakeServer[ScriptedWeb]

    @cached_property
    def archive(self) -> Archive:
        """Everything in the archive, read by warcio and FastWARC, which must agree."""
        return read_archive(self.folder)

    @cached_property
    def asked(self) -> Counter[str]:
        """How often each URL was asked for, by the server's log."""
        origin = self.server.web.origin
        return Counter(origin(visit.host) + visit.target for visit in self.server.requests)

    @cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        """The links archive's last word on each URL."""
        return {row["url"]: row for row in self.archive.metadata() if row["outcome"] != "seed"}

    def why(self, url: str) -> dict[str, Any]:
        """Return what `gossamer why --json` would print."""
        return as_json(gossamer.why(self.folder, url))

    def fate(self, url: str) -> tuple[str, str]:
        """Return state and reason of a URL, as `why` tells them."""
        told = self.why(url)
        return told["state"], told["reason"]

    def response(self, url: str) -> Record:
        """Return the one response record of a URL."""
        found = [record for record in self.archive.of_kind("response") if record.url == url]
        assert len(found) == 1, f"{len(found)} responses of {url}"
        return found[0]

    @cached_property
    def raw_blocks(self) -> dict[str, bytes]:
        """The block of every response record, byte for byte, as FastWARC reads it."""
        blocks = {}
        for path in (self.folder / "archive").glob("pages-*.gz"):
            with path.open("rb") as stream:
                for record in FastIterator(stream, parse_http=False):
                    if record.headers["WARC-Type"] == "response":
                        blocks[record.headers["WARC-Target-URI"]] = record.reader.read()
        return blocks

    def everything(self) -> Iterator[tuple[str, bytes]]:
        """Give every file of the crawl folder with its bytes; archive records unpacked."""
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                yield str(path.relative_to(self.folder)), path.read_bytes()
        for record in self.archive.records:
            yield f"{record.file}: {record.kind} headers", repr(record.headers).encode()
            yield f"{record.file}: {record.kind} payload", record.payload


@contextmanager
def serving(web: ScriptedWeb) -> Iterator[FakeServer[ScriptedWeb]]:
    """Serve a web from a thread."""
    with serve_in_thread(web) as server:
        yield server


def settings(server: FakeServer[ScriptedWeb], knobs: Knobs | None = None) -> Config:
    """Return a configuration for a web on loopback: no delay, no other network, no DNS."""
    data: dict[str, dict[str, object]] = {
        "politeness": {"delay_s": 0.0},
        "fetch": {
            "allow_net": [NETWORK],
            "resolve": dict(server.resolve),
            "nameservers": [NO_NAME_SERVER],
        },
        "filter": {"scope": "any"},
        "process": {"sitemaps": False},
        "limits": {"max_time_s": PATIENCE_S},
    }
    for section, values in (knobs or {}).items():
        data[section] = {**data.get(section, {}), **values}
    return msgspec.convert(data, Config)


def crawl(
    server: FakeServer[ScriptedWeb],
    folder: Path,
    *seeds: str,
    knobs: Knobs | None = None,
    until: Callable[[], bool] = lambda: False,
) -> Done:
    """Crawl from some seeds until nothing is left, or enough has been seen, or time is over."""
    running = gossamer.Crawl(folder, seeds, settings(server, knobs))
    ending = running.run(lambda _: running.stop() if until() else None)
    return Done(folder, ending, server)
