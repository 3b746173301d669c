"""The distribution's Chromium, driven by Playwright, and never further than loopback."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


def program() -> str | None:
    """Return where a browser is, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def browsing() -> Iterator[Browser]:
    """Give a browser with a profile of its own, which is forgotten afterwards."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=program(), args=[*FLAGS], headless=True, timeout=120_000
        )
        yield browser
        browser.close()
