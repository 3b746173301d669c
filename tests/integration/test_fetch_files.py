"""The file and ftp modules: two small proofs that the table of schemes is open."""

import asyncio
import os
from pathlib import Path

from gossamer.config import UrlConfig
from gossamer.model import Failed, FailureKind, Fetched, Url
from gossamer.urls import parse
from tests.integration.raw import LOOPBACK, fetching, serve


def url(text: str) -> Url:
    found = parse(text, UrlConfig())
    assert found is not None
    return found


async def test_a_file_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "a b.html").write_text("<p>hello")
    async with fetching() as fetcher:
        outcome = await fetcher.fetch(url(f"file://{tmp_path}/a%20b.html"), ())
    assert isinstance(outcome, Fetched)
    document = outcome.document
    assert document.body.decoded() == b"<p>hello"
    assert document.media_type == "text/html"
    assert (
        document.head == b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\n"
    )


async def test_a_folder_is_a_page_of_links(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "<x>&.txt").touch()
    async with fetching() as fetcher:
        outcome = await fetcher.fetch(url(f"file://{tmp_path}/"), ())
    assert isinstance(outcome, Fetched)
    page = outcome.document.body.decoded().decode()
    assert '<a href="./sub/">sub/</a>' in page
    assert '<a href="./%3Cx%3E%26.txt">&lt;x&gt;&amp;.txt</a>' in page


async def test_a_file_is_cut_at_the_cap(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(1000))
    async with fetching(max_body_bytes=100) as fetcher:
        outcome = await fetcher.fetch(url(f"file://{tmp_path}/big"), ())
    assert isinstance(outcome, Fetched)
    assert (outcome.document.truncated, outcome.document.body.sent_bytes) == ("length", 100)


async def test_missing_files_and_pipes_are_failures(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    kinds = []
    async with fetching() as fetcher:
        for name in ("none", "pipe", "%00"):
            outcome = await fetcher.fetch(url(f"file://{tmp_path}/{name}"), ())
            assert isinstance(outcome, Failed)
            kinds.append(outcome.kind)
    assert kinds == [
        FailureKind.NOT_FOUND,
        FailureKind.UNREADABLE_FILE,
        FailureKind.UNREADABLE_FILE,
    ]


class SmallFtp:
    """As much of an ftp server as one retrieval needs."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

        async def take(_: asyncio.StreamReader, line: asyncio.StreamWriter) -> None:
            await data.put(line)

        server = await asyncio.start_server(take, "127.0.0.1", 0)
        async with server:
            await self._obey(reader, writer, data, server.sockets[0].getsockname()[1])

    async def _obey(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        data: "asyncio.Queue[asyncio.StreamWriter]",
        port: int,
    ) -> None:
        writer.write(b"220 hello\r\n")
        while line := await reader.readline():
            verb = line.decode().split()[0].upper()
            self.said.append(line.decode().strip())
            if verb in {"RETR", "NLST"}:
                await self._send(verb, line, writer, await data.get())
                continue
            answers = {"USER": "331 password?", "PASS": "230 in", "PWD": '257 "/"'}
            answers |= {"EPSV": f"229 ok (|||{port}|)", "TYPE": "200 ok", "CWD": "250 ok"}
            answers |= {"QUIT": "221 bye"}
            writer.write(f"{answers.get(verb, '502 no')}\r\n".encode())
            if verb == "QUIT":
                return

    async def _send(
        self, verb: str, line: bytes, writer: asyncio.StreamWriter, data: asyncio.StreamWriter
    ) -> None:
        if b"none" in line:
            writer.write(b"550 no such file\r\n")
            data.close()
            return
        writer.write(b"150 here\r\n")
        data.write(b"content" if verb == "RETR" else b"a.txt\r\nb.txt\r\n")
        data.close()
        writer.write(b"226 done\r\n")


async def test_ftp_files_and_folders_are_documents() -> None:
    ftp = SmallFtp()
    async with serve(ftp.talk) as server, fetching() as fetcher:
        base = f"ftp://a.test:{server.port}"
        found = await fetcher.fetch(url(f"{base}/d/a.txt"), LOOPBACK)
        folder = await fetcher.fetch(url(f"{base}/d/"), LOOPBACK)
        missing = await fetcher.fetch(url(f"{base}/none"), LOOPBACK)
    assert isinstance(found, Fetched)
    assert found.document.body.decoded() == b"content"
    assert found.document.media_type == "text/plain"
    assert isinstance(folder, Fetched)
    assert b'<a href="./b.txt">b.txt</a>' in folder.document.body.decoded()
    assert isinstance(missing, Failed)
    assert missing.kind is FailureKind.NOT_FOUND
