"""Local files and folders."""

import os
from pathlib import Path

from gossamer.config import UrlConfig
from gossamer.model import Failed, FailureKind, Fetched, Url
from gossamer.urls import parse
from tests.integration.raw import fetching


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
    assert document.head == b""


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
