"""TLS sessions: a host that closes its connections is known again, if its certificate was good."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gossamer.fetch import Fetcher
from gossamer.model import Fetched, Url
from gossamer.testing import Certificate, make_certificate
from tests.integration.raw import LOOPBACK, fetching

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
HOSTS = [f"h{number}.many.test" for number in range(60)]
"""More than libcurl remembers by itself, which is 25."""


class Listener:
    """A server that closes after each answer, and notes which connections resumed a session."""

    def __init__(self) -> None:
        self.port = 0
        self.resumed: list[bool] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.resumed.append(writer.get_extra_info("ssl_object").session_reused)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        writer.close()


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificate:
    made = make_certificate(tmp_path, ["*.many.test"])
    if made is None:
        pytest.skip("there is no openssl command to make a certificate with")
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    return made


@asynccontextmanager
async def listening(tls: ssl.SSLContext) -> AsyncIterator[Listener]:
    listener = Listener()
    server = await asyncio.start_server(
        listener.talk, "127.0.0.1", 0, ssl=tls, ssl_shutdown_timeout=0.1
    )
    listener.port = server.sockets[0].getsockname()[1]
    yield listener
    server.close()


async def ask(fetcher: Fetcher, host: str, port: int) -> None:
    origin = f"https://{host}:{port}"
    outcome = await fetcher.fetch(Url(f"{origin}/", host, origin, 0), LOOPBACK)
    assert isinstance(outcome, Fetched), outcome
    outcome.document.body.close()


async def test_sessions_of_many_hosts_are_resumed(certificate: Certificate) -> None:
    async with listening(certificate.context()) as listener, fetching() as fetcher:
        for host in HOSTS:
            await ask(fetcher, host, listener.port)
        assert not any(listener.resumed)
        for host in HOSTS:
            await ask(fetcher, host, listener.port)
    assert all(listener.resumed[len(HOSTS) :])


async def test_no_session_is_kept_where_certificates_are_not_verified(
    certificate: Certificate,
) -> None:
    async with listening(certificate.context()) as listener, fetching(insecure=True) as fetcher:
        for _ in range(3):
            await ask(fetcher, HOSTS[0], listener.port)
    assert listener.resumed == [False, False, False]
