"""A crawl of a few records whose text means harm, its graph, and a server process to ask."""

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from gossamer.config import Config
from gossamer.graph import build_graph
from gossamer.settings import save_config
from tests.unit.graph.links_archive import LinksArchive, page

PATIENCE_S = 90.0
A, B, C = (f"http://{name}.test/" for name in "abc")
HARMFUL = (
    'http://evil.test/"><script>alert(1)</script>',
    "http://evil.test/'onmouseover='alert(1)",
    "http://evil.test/</title><img/src=x/onerror=alert(1)>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "http://evil.test/&lt;&quot;&#39;",
    "http://evil.test/\u202egnp.exe\u2028",
)


def crawled(root: Path) -> Path:
    """Make the folder of a crawl whose pages link to all that means harm; return it."""
    save_config(root / "crawl.toml", Config(seeds=("http://a.test/",)))
    archive = LinksArchive(root)
    archive.write(
        [
            page(A, B, "nofollow " + C, *HARMFUL),
            page(B, A, "image " + C, *(f"http://b.test/{n:03}" for n in range(300))),
            page(HARMFUL[0], A),
        ]
    )
    build_graph(root)
    return root


@dataclass(frozen=True)
class Answer:
    """What a server said."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The object that it is."""
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def text(self) -> str:
        """The text that it is."""
        return self.body.decode()


@dataclass(frozen=True)
class Served:
    """A running server."""

    address: str
    folder: Path
    process: subprocess.Popen[str]

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Ask over a new connection."""
        place = urlsplit(self.address)
        line = http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE_S)
        try:
            line.request(method, path, headers=headers)
            answer = line.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())
        finally:
            line.close()

    def ask(self, path: str, **query: object) -> Answer:
        """Ask with a query."""
        pairs = [
            f"{name.rstrip('_')}={quote(str(value), safe='')}" for name, value in query.items()
        ]
        return self.get(f"{path}?{'&'.join(pairs)}")


@contextmanager
def serving(folder: Path | str, *flags: str, is_waited_for: bool = True) -> Iterator[Served]:
    """Serve a folder, or URLs, on a free port; at the end insist that Ctrl-C ends it well.

    Give it once graph and index are built, unless they are not waited for.
    """
    words = [sys.executable, "-m", "gossamer", "serve", folder, "--port", "0", "--json", *flags]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            server = Served(json.loads(first)["address"], Path(folder), process)
            if is_waited_for:
                server.get("/api/graph")
            yield server
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
