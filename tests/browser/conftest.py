"""One browser and one server for all tests of this folder."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error

from tests.browser.chromium import browsing, program
from tests.browser.site import crawl
from tests.unit.web.served import Served, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if program() is None:
        pytest.skip("no Chromium is installed here: `apt-get install chromium`")
    try:
        opened = browsing()
        found = opened.__enter__()
    except Error as error:
        pytest.skip(f"the Chromium that is installed here does not start: {error.message[:200]}")
    yield found
    opened.__exit__(None, None, None)


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    del browser  # where there is none, nothing has to be crawled
    with serving(crawl(tmp_path_factory.mktemp("browsed") / "spiders")) as running:
        yield running
