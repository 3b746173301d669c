"""An S3 server on loopback (moto's), with a bucket, and the environment that leads to it."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from moto.server import ThreadedMotoServer

BUCKET = "crawls"
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


@contextmanager
def s3_server() -> Iterator[S3]:
    """Run a server."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        connection = http.client.HTTPConnection(host, port, timeout=30)
        connection.request("PUT", f"/{BUCKET}")
        assert connection.getresponse().status == 200
        connection.close()
        yield S3(f"http://{host}:{port}")
    finally:
        server.stop()
