"""Ftp against a real server (pyftpdlib), and against servers that lie."""

import asyncio
from pathlib import Path

import pytest

from gossamer.config import UrlConfig
from gossamer.fetch import HostRules
from gossamer.fetch.grants import Login
from gossamer.model import (
    Document,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    RefusalKind,
    Refused,
    Url,
)
from gossamer.urls import parse
from tests.ftp import serve_ftp
from tests.integration.raw import LOOPBACK, fetching, serve

ODD = ("a b.txt", "ü.txt", "100%.txt", "50%25.txt", "q?x#y.txt", "s;type=a", "a&b<c>.txt", "~x")


def url(text: str) -> Url:
    found = parse(text, UrlConfig())
    assert found is not None
    return found


def page_of(outcome: FetchOutcome) -> str:
    return document_of(outcome).body.decoded().decode()


def document_of(outcome: FetchOutcome) -> Document:
    assert isinstance(outcome, Fetched), outcome
    return outcome.document


WAYS = [(), ("MLSD",), ("MLSD", "LIST"), ("EPSV",)]


@pytest.mark.parametrize("without", WAYS, ids=["MLSD", "LIST", "NLST", "PASV"])
async def test_a_folder_is_a_page_of_links_by_whatever_way_the_server_knows(
    without: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a b.txt").write_text("x")
    with serve_ftp(tmp_path, without=without) as server:
        async with fetching() as fetcher:
            page = page_of(await fetcher.fetch(url(server.url()), LOOPBACK))
    slash = "" if "LIST" in without else "/"
    assert f'<a href="./sub{slash}">sub{slash}</a>' in page
    assert '<a href="./a%20b.txt">a b.txt</a>' in page
    assert page.count("<li>") == 2


async def test_an_empty_folder_is_a_page_without_links(tmp_path: Path) -> None:
    for without in WAYS:
        with serve_ftp(tmp_path, without=without) as server:
            async with fetching() as fetcher:
                assert "<li>" not in page_of(await fetcher.fetch(url(server.url()), LOOPBACK))


async def test_odd_names_are_found_again_under_their_links(tmp_path: Path) -> None:
    for name in ODD:
        (tmp_path / name).write_text(f"I am {name}")
    with serve_ftp(tmp_path) as server:
        async with fetching() as fetcher:
            page = page_of(await fetcher.fetch(url(server.url()), LOOPBACK))
            hrefs = [part.partition('"')[0] for part in page.split('href="./')[1:]]
            told = [
                page_of(await fetcher.fetch(url(server.url(f"/{href}")), LOOPBACK))
                for href in hrefs
            ]
    assert sorted(told) == sorted(f"I am {name}" for name in ODD)


async def test_a_folder_without_its_slash_redirects(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    with serve_ftp(tmp_path) as server:
        async with fetching() as fetcher:
            outcome = await fetcher.fetch(url(server.url("/a%20b")), LOOPBACK)
    assert isinstance(outcome, Redirected)
    assert outcome.target == "/a%20b/"


async def test_control_connections_and_what_a_server_does_not_know_are_remembered(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.txt").write_text("x")
    with serve_ftp(tmp_path, without=("MLSD",)) as server:
        async with fetching() as fetcher:
            for path in ("/", "/a/", "/a/x.txt", "/a/"):
                document_of(await fetcher.fetch(url(server.url(path)), LOOPBACK))
    assert server.connections == 1
    assert server.said.count("MLSD") == 1
    assert server.users == ["anonymous"]


async def test_what_is_not_there_and_what_is_not_allowed_are_failures(tmp_path: Path) -> None:
    kinds = []
    with serve_ftp(tmp_path, login=("ann", "secret")) as server:
        async with fetching() as fetcher:
            kinds.append(await fetcher.fetch(url(server.url()), LOOPBACK))
        login = HostRules(logins={f"ftp://127.0.0.1:{server.port}": Login("ann", "secret")})
        async with fetching(login) as fetcher:
            kinds += [
                await fetcher.fetch(url(server.url(path)), LOOPBACK)
                for path in ("/none", "/none/", "/a%0D%0ADELE%20x", "/")
            ]
    assert [one.kind if isinstance(one, Failed) else one for one in kinds[:4]] == [
        FailureKind.UNAUTHORIZED,
        *[FailureKind.NOT_FOUND] * 3,
    ]
    assert isinstance(kinds[4], Fetched)
    assert set(server.users) == {"ann"}
    assert not [line for line in server.said if line.startswith("DELE")]


async def test_a_list_is_cut_at_the_cap_and_marked(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number:03}.txt").touch()
    with serve_ftp(tmp_path) as server:
        async with fetching(max_body_bytes=2_000) as fetcher:
            document = document_of(await fetcher.fetch(url(server.url()), LOOPBACK))
    assert document.truncated == "length"
    assert 5 < document.body.decoded().count(b"<li>") < 50


async def test_a_large_file_goes_to_a_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(bytes(3_000_000))
    with serve_ftp(tmp_path) as server:
        async with fetching() as fetcher:
            document = document_of(await fetcher.fetch(url(server.url("/big.bin")), LOOPBACK))
            assert document.body.is_spooled
            assert document.body.sent_bytes == 3_000_000
            document.body.close()


async def test_private_addresses_are_refused(tmp_path: Path) -> None:
    with serve_ftp(tmp_path) as server:
        async with fetching(allow_net=()) as fetcher:
            outcome = await fetcher.fetch(url(server.url()), LOOPBACK)
    assert isinstance(outcome, Refused)
    assert outcome.kind is RefusalKind.PRIVATE_ADDRESS
    assert server.connections == 0


class LyingFtp:
    """Sends whoever wants data to another address, by PASV or by EPSV."""

    def __init__(self, decoy: str, replies: dict[str, str]) -> None:
        self._decoy = decoy
        self._replies = replies
        self.reached: list[str] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = await asyncio.start_server(self._own, "127.0.0.1", 0)
        port = own.sockets[0].getsockname()[1]
        decoy = await asyncio.start_server(self._lured, self._decoy, port)
        async with own, decoy:
            await self._obey(reader, writer, port)

    async def _own(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reached.append("own")
        writer.write(b"type=file; a.txt\r\n")
        writer.close()

    async def _lured(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reached.append("decoy")
        writer.close()

    async def _obey(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int
    ) -> None:
        high, low = divmod(port, 256)
        lured = self._decoy.replace(".", ",")
        writer.write(b"220 hello\r\n")
        while line := await reader.readline():
            verb = line.decode().split()[0].upper()
            usual = {"USER": "230 in", "PWD": '257 "/"', "TYPE": "200 ok", "CWD": "250 ok"}
            said = self._replies.get(verb) or usual.get(verb, "502 no")
            said = said.format(decoy=self._decoy, lured=lured, high=high, low=low, port=port)
            if verb == "MLSD":
                said = "150 here\r\n226 done"
            writer.write(f"{said}\r\n".encode())
            await writer.drain()


@pytest.mark.parametrize(
    "replies",
    [
        {"PASV": "227 Entering Passive Mode ({lured},{high},{low})"},
        {"EPSV": "229 Extended Passive Mode (|1|{decoy}|{port}|)", "PASV": "502 no"},
    ],
    ids=["PASV", "EPSV"],
)
async def test_the_address_that_a_server_names_for_its_data_is_ignored(
    replies: dict[str, str],
) -> None:
    ftp = LyingFtp("127.0.0.9", replies)
    async with serve(ftp.talk) as raw, fetching(allow_net=("127.0.0.1/32",)) as fetcher:
        outcome = await fetcher.fetch(url(f"ftp://a.test:{raw.port}/"), LOOPBACK)
    assert "decoy" not in ftp.reached
    if "PASV" in replies and "EPSV" not in replies:
        assert "a.txt" in page_of(outcome)


async def test_a_server_that_greets_without_an_end_is_left() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"220-hello\r\n" * 1000)
            await writer.drain()

    async with serve(talk) as raw, fetching() as fetcher:
        outcome = await fetcher.fetch(url(f"ftp://a.test:{raw.port}/"), LOOPBACK)
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.HEADER_TOO_LARGE


async def test_a_server_with_too_many_guests_is_throttling() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"421 too many connections\r\n")
        await reader.read()

    async with serve(talk) as raw, fetching() as fetcher:
        outcome = await fetcher.fetch(url(f"ftp://a.test:{raw.port}/"), LOOPBACK)
    assert outcome == Failed(kind=FailureKind.THROTTLED, detail="421 too many connections")


async def test_a_server_that_says_nothing_is_left_in_time() -> None:
    async def talk(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serve(talk) as raw, fetching(total_s=0.5) as fetcher:
        outcome = await fetcher.fetch(url(f"ftp://a.test:{raw.port}/x"), LOOPBACK)
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.TOTAL_TIMEOUT
