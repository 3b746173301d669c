"""A document made by hand, and the tools that processors get."""

from collections.abc import Callable

import pytest
from tests.bodies import Bytes

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Document
from gossamer.process import Registry, Tools
from gossamer.urls import parse

RULES = UrlConfig()


MakeDocument = Callable[..., Document]


@pytest.fixture(scope="session")
def document() -> MakeDocument:
    """Make a document from a body, and from whatever else matters to the test."""

    def make(
        body: bytes | str,
        url: str = "http://h.test/dir/page.html",
        media_type: str = "text/html",
        charset: str = "",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Document:
        address = parse(url, RULES)
        assert address is not None
        data = body.encode() if isinstance(body, str) else body
        return Document(
            url=address,
            status=200,
            head=b"",
            headers=headers,
            body=Bytes(data),
            request=b"",
            address="127.0.0.1",
            fetched_at=0.0,
            latency_s=0.0,
            media_type=media_type,
            charset=charset,
        )

    return make


@pytest.fixture(scope="session")
def tools() -> Tools:
    return Tools(urls=RULES, process=ProcessConfig(), robots_agent="Gossamer")


@pytest.fixture(scope="session")
def registry(tools: Tools) -> Registry:
    return Registry.load(tools)
