"""Object stores for trials: a folder, and S3 on loopback; each can go away and come back."""

import http.client
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import boto3
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import BaseWSGIServer, make_server

from tests.s3 import BUCKET, S3, Wsgi, one_condition_at_a_time

SECRET = "the-key-of-the-store-which-is-nobodys-business"
logging.getLogger("werkzeug").setLevel(logging.ERROR)


class StorePlace(Protocol):
    """A store that a trial can look into, and take away."""

    url: str
    variables: dict[str, str]

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Yield every object with its name."""

    def go_away(self) -> None:
        """Be out of reach from now on."""

    def come_back(self) -> None:
        """Be there again, with all that was there."""

    def close(self) -> None:
        """Be gone for good."""


class FolderPlace:
    """A folder that two machines share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.url = f"file://{folder}"
        self.variables: dict[str, str] = {}
        self._aside = folder.with_name(f"{folder.name}-away")

    def contents(self) -> Iterator[tuple[str, bytes]]:
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                yield str(path.relative_to(self.folder)), path.read_bytes()

    def go_away(self) -> None:
        self.folder.rename(self._aside)

    def come_back(self) -> None:
        self._aside.rename(self.folder)

    def close(self) -> None:
        """Leave it to whoever made the folder around it."""


class S3Place:
    """A bucket of moto's server, which runs in a thread."""

    def __init__(self, prefix: str, around: Callable[[Wsgi], Wsgi] = lambda app: app) -> None:
        self._app = one_condition_at_a_time(around(DomainDispatcherApplication(create_backend_app)))
        self._port = 0
        self._prefix = prefix.strip("/")
        self.come_back()
        self._endpoint = f"http://127.0.0.1:{self._port}"
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request("PUT", f"/{BUCKET}")
        assert connection.getresponse().status == 200
        connection.close()
        self.url = f"s3://{BUCKET}/{self._prefix}"
        self.variables = S3(self._endpoint).variables(SECRET)

    def contents(self) -> Iterator[tuple[str, bytes]]:
        client = boto3.client(
            "s3",
            endpoint_url=self._endpoint,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name="us-east-1",
        )
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=self._prefix)
        for page in pages:
            for row in page.get("Contents", ()):
                found = client.get_object(Bucket=BUCKET, Key=row["Key"])["Body"]
                yield row["Key"], found.read()
        client.close()

    def go_away(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def come_back(self) -> None:
        self._server: BaseWSGIServer = make_server(
            "127.0.0.1", self._port, self._app, threaded=True, request_handler=MotoRequestHandler
        )
        self._port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.go_away()


def without_conditions(app: Wsgi) -> Wsgi:
    """Return a server that ignores If-None-Match, as some that speak S3 do: it replaces."""

    def serve(environ: dict[str, Any], start: Any) -> Any:
        environ.pop("HTTP_IF_NONE_MATCH", None)
        return app(environ, start)

    return serve
