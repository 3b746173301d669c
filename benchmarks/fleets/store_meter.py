"""An S3 server on loopback that counts what is asked of it, by kind of request and of object."""

import logging
import re
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qs

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

BUCKET = "crawls"
_PAGES = re.compile(r"archive/pages-(\d+)-")
Start: TypeAlias = Callable[..., object]
Wsgi: TypeAlias = Callable[[dict[str, Any], Start], Iterable[bytes]]


class Put(NamedTuple):
    """What was put of one kind."""

    objects: int
    bytes: int


class StoreMeter:
    """Counts the requests below each prefix of a bucket."""

    def __init__(self, app: Wsgi) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._requests: dict[str, Counter[str]] = {}
        self._objects: dict[str, Counter[str]] = {}
        self._bytes: dict[str, Counter[str]] = {}
        self.manifests: dict[str, list[tuple[float, int]]] = {}
        """By prefix: when the manifest of which shard was put."""
        self.parts: dict[str, list[tuple[float, int]]] = {}
        """By prefix: when pages of which shard were put."""

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        """Count, and answer."""
        _, _, path = str(environ["PATH_INFO"]).lstrip("/").partition("/")
        prefix, _, name = path.partition("/")
        query = parse_qs(str(environ.get("QUERY_STRING", "")), keep_blank_values=True)
        if not path:
            prefix = query.get("prefix", [""])[0].partition("/")[0]
        if prefix:
            self._count(prefix, name, environ, query)
        return self._app(environ, start)

    def _count(
        self, prefix: str, name: str, environ: dict[str, Any], query: dict[str, list[str]]
    ) -> None:
        method = _class_of(str(environ["REQUEST_METHOD"]), query)
        size = int(environ.get("CONTENT_LENGTH") or 0)
        with self._lock:
            self._requests.setdefault(prefix, Counter())[method] += 1
            if method != "PUT":
                return
            kind = kind_of(name)
            self._bytes.setdefault(prefix, Counter())[kind] += size
            # Of an object in parts the beginning counts.
            is_part = "partNumber" in query or "uploadId" in query
            self._objects.setdefault(prefix, Counter())[kind] += not is_part
            if kind == "manifest":
                shard = int(name.split("/")[1])
                self.manifests.setdefault(prefix, []).append((time.monotonic(), shard))
            if (found := _PAGES.match(name)) is not None:
                self.parts.setdefault(prefix, []).append((time.monotonic(), int(found[1])))

    def requests(self, prefix: str) -> dict[str, int]:
        """Return how many requests there were below a prefix, by kind."""
        return dict(self._requests.get(prefix, {}))

    def put(self, prefix: str) -> dict[str, Put]:
        """Return how many objects of each kind were put, and their bytes."""
        objects = self._objects.get(prefix, Counter())
        return {kind: Put(objects[kind], self._bytes[prefix][kind]) for kind in objects}


def _class_of(method: str, query: dict[str, list[str]]) -> str:
    if method == "POST" and "delete" in query:
        return "DELETE"
    if method == "GET" and ("list-type" in query or "prefix" in query):
        return "LIST"
    return "PUT" if method == "POST" else method


def kind_of(name: str) -> str:
    """Return what an object of a store is."""
    parts = name.split("/")
    return parts[2] if parts[0].isdecimal() and len(parts) > 2 else parts[0]


@contextmanager
def metered() -> Iterator[tuple[StoreMeter, dict[str, str]]]:
    """Serve a bucket; give what is counted, and the environment that leads to it."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    meter = StoreMeter(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, meter, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT"))
    yield (
        meter,
        {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        },
    )
    server.shutdown()
