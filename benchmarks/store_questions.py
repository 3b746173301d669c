"""What do questions ask of an object store? `make bench-store-questions`.

A crawl of the local real web lies in an S3 server on loopback only. Requests are counted, and the
bytes that they bring: of the first question on a machine that has nothing of the crawl, and of the
next one. PAGES changes how large the crawl is.
"""

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from realweb import FLAGS, SEED, bring_up, save
from werkzeug.serving import make_server

PAGES = int(os.environ.get("PAGES") or 3000)
LIMIT_S = 600.0
STORE = "s3://crawls/real"
WORDS = ("operator overloading", "reading a file line by line")
Start: TypeAlias = Callable[..., object]
Wsgi: TypeAlias = Callable[[dict[str, Any], Start], Iterable[bytes]]


class Counted:
    """What was asked of a server, and how many bytes it has sent."""

    def __init__(self, app: Wsgi) -> None:
        self._app = app
        self._lock = threading.Lock()
        self.requests = self.bytes = 0

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        """Answer, and count."""

        def begin(status: str, headers: list[tuple[str, str]], *more: object) -> object:
            lengths = [int(value) for name, value in headers if name.lower() == "content-length"]
            has_body = environ["REQUEST_METHOD"] != "HEAD"
            with self._lock:
                self.requests += 1
                self.bytes += sum(lengths) if has_body else 0
            return start(status, headers, *more)

        return self._app(environ, begin)


@contextmanager
def s3() -> Iterator[tuple[Counted, dict[str, str]]]:
    """Serve a bucket; give what is counted, and the environment that leads to it."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = Counted(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/crawls", method="PUT"))
    yield (
        app,
        {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        },
    )
    server.shutdown()


def gossamer(*words: str) -> str:
    """Type a command; return what it says."""
    told = subprocess.run(
        [sys.executable, "-m", "gossamer", *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if told.returncode:
        sys.exit(f"gossamer {' '.join(words)}: exit code {told.returncode}: {told.stderr[-500:]}")
    return told.stdout


def asked(counted: Counted, *words: str) -> dict[str, float]:
    """Return what a command asks of the store."""
    requests, size = counted.requests, counted.bytes
    gossamer(*words)
    kb = round((counted.bytes - size) / 1000, 1)
    return {"requests": counted.requests - requests, "kb": kb}


def main() -> None:
    """Ask each question twice, with a cache that is empty at first."""
    bring_up()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, s3() as (counted, variables):
        os.environ |= variables
        os.environ["GOSSAMER_CACHE"] = f"{folder}/cache"
        crawl = ["crawl", SEED, *FLAGS, "--into", f"{folder}/crawl", "--shards", "2"]
        gossamer(*crawl, "--max-pages", str(PAGES), "--store", STORE)
        local = Path(folder, "crawl")
        urls = gossamer("list", str(local), "pages", "--json").splitlines()
        pages = [json.loads(line)["url"] for line in (urls[len(urls) // 3], urls[-9])]
        results["archive_kb"] = round(
            sum(one.stat().st_size for one in (local / "archive").iterdir()) / 1000
        )

        def ask(name: str, *questions: tuple[str, ...]) -> None:
            os.environ["GOSSAMER_CACHE"] = f"{folder}/{name.replace(' ', '-')}"
            first, then = (asked(counted, *one) for one in questions)
            results[name] = {"first": first, "then": then}
            print(name, results[name], flush=True)

        ask("status", *[("status", STORE)] * 2)
        ask("show", *[("show", STORE, page) for page in pages])
        ask("show --text", *[("show", STORE, page, "--text") for page in pages])
        for page in pages:
            if gossamer("show", STORE, page) != gossamer("show", str(local), page):
                sys.exit(f"the store says something else of {page} than the folder")
        ask("search, index built here", *[("search", STORE, words) for words in WORDS])
        gossamer("build", STORE, "index")
        ask("search, index published", *[("search", STORE, words) for words in WORDS])
    save("store-questions", {"pages": PAGES, **results})


if __name__ == "__main__":
    main()
