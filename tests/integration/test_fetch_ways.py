"""Http by other ways: over TLS with a certificate nobody vouches for, and through a proxy."""

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from gossamer.model import Failed, FailureKind, Fetched, RefusalKind, Refused, Url
from tests.integration.raw import LOOPBACK, RawServer, fetching, says, serve

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
OPENSSL = shutil.which("openssl")


def certificate(folder: Path) -> ssl.SSLContext:
    assert OPENSSL is not None
    key, cert = folder / "key.pem", folder / "cert.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a.test"]
    subprocess.run(
        [OPENSSL, *words, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def secure(server: RawServer) -> Url:
    origin = f"https://a.test:{server.port}"
    return Url(f"{origin}/", "a.test", origin, 0)


@pytest.mark.skipif(OPENSSL is None, reason="no openssl to make a certificate with")
async def test_a_certificate_that_nobody_vouches_for_is_refused_unless_told(tmp_path: Path) -> None:
    raw = RawServer(says(OK, OK))
    listener = await asyncio.start_server(
        raw.handle, "127.0.0.1", 0, ssl=certificate(tmp_path), ssl_shutdown_timeout=0.1
    )
    raw.port = listener.sockets[0].getsockname()[1]
    async with fetching() as fetcher:
        outcome = await fetcher.fetch(secure(raw), LOOPBACK)
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.TLS_CERTIFICATE
    assert outcome.detail.startswith("the certificate is self-signed")
    async with fetching(insecure=True) as fetcher:
        connections = []
        for _ in range(2):
            outcome = await fetcher.fetch(secure(raw), LOOPBACK)
            connections.append(raw.connections)
            assert isinstance(outcome, Fetched)
            assert outcome.document.body.decoded() == b"hello"
            assert outcome.document.oddities == ("the certificate is not valid (error 18)",)
    assert connections[0] == connections[1]
    listener.close()


async def test_a_proxy_is_asked_and_finds_the_address_itself() -> None:
    received = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK)

    async with (
        serve(talk) as server,
        fetching(proxy=f"http://127.0.0.1:{server.port}") as fetcher,
    ):
        url = Url("http://b.test/x", "b.test", "http://b.test", 0)
        outcome = await fetcher.fetch(url, ())
        private = await fetcher.fetch(url, ("10.0.0.1",))
    assert isinstance(outcome, Fetched)
    assert received[0].startswith(b"GET http://b.test/x HTTP/1.1\r\nHost: b.test\r\n")
    assert isinstance(private, Refused)
    assert private.kind is RefusalKind.PRIVATE_ADDRESS
