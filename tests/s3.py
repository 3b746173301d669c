"""An S3 server on loopback (moto's), with a bucket, and the environment that leads to it."""

import http.client
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import pytest
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)
BUCKET = "crawls"
Wsgi: TypeAlias = Callable[[dict[str, Any], Any], Any]
NOWHERE = "http://127.0.0.1:1"


class S3(NamedTuple):
    """Where the server is."""

    endpoint: str

    def variables(self, secret: str = "test") -> dict[str, str]:
        """Return what leads to it, and to nothing outside this machine."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
            "AWS_METADATA_ENDPOINT": NOWHERE,
            "NO_PROXY": "127.0.0.1",
        }

    def point(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let whoever opens a store find this one."""
        for name in ("AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION", "AWS_ENDPOINT", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in self.variables().items():
            monkeypatch.setenv(name, value)


def one_condition_at_a_time(app: Wsgi) -> Wsgi:
    """Return a server that answers one conditional request at a time.

    moto looks whether an object is there and makes it in two steps, and two requests may come
    between them; S3 itself decides at once.
    """
    deciding = threading.Lock()

    def serve(environ: dict[str, Any], start: Any) -> Any:
        if "HTTP_IF_NONE_MATCH" not in environ:
            return app(environ, start)
        with deciding:
            return app(environ, start)

    return serve


@contextmanager
def s3_server() -> Iterator[S3]:
    """Run a server."""
    app = one_condition_at_a_time(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        host, port = "127.0.0.1", server.server_port
        connection = http.client.HTTPConnection(host, port, timeout=30)
        connection.request("PUT", f"/{BUCKET}")
        assert connection.getresponse().status == 200
        connection.close()
        yield S3(f"http://{host}:{port}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
