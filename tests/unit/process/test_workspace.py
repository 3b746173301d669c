"""What a page was read in is free as soon as it has been read."""

import gc
from collections.abc import Iterator

import pytest
from tests.bodies import Bytes

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Document
from gossamer.process import Tools
from gossamer.process.html import read_rows
from gossamer.process.onepass import FlatPage
from gossamer.process.onepass.loading import KEPT_BYTES, Workspace, natives
from gossamer.urls import parse

TOOLS = Tools(urls=UrlConfig(), process=ProcessConfig(), robots_agent="gossamer")


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("size", [1000, 2 * KEPT_BYTES])
@pytest.mark.parametrize("title", ["<title>t</title>", "<meta charset=no-such>"])
def test_what_has_been_read_waits_for_no_collector(size: int, title: str) -> None:
    natives()
    url = parse("http://h.test/", TOOLS.urls)
    assert url is not None
    paragraph = "<p>some words <a href='/to'>and a link</a> <img src=i.png style='x:y'>"
    body = f"<!doctype html>{title}{paragraph * (size // len(paragraph))}".encode()
    document = Document(
        url=url,
        status=200,
        head=b"",
        headers=(),
        body=Bytes(body),
        request=b"",
        address="127.0.0.1",
        fetched_at=0.0,
        latency_s=0.0,
        media_type="text/html",
        charset="",
    )
    read_rows(document, body, TOOLS)
    alive = gc.get_objects()
    assert not [one for one in alive if isinstance(one, FlatPage)]
    assert not [one for one in alive if isinstance(one, Workspace) and one.page_bytes > KEPT_BYTES]
