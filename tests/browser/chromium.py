"""The distribution's Chromium, driven by Playwright, and never further than loopback."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PATIENCE_MS = 120_000
PHONE = (375, 740)


def program() -> str | None:
    """Return where a browser is, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


AUTOFOCUS = "Autofocus processing was blocked"
"""What Chromium says when who tests has clicked first."""


@dataclass
class Look:
    """How somebody looks at a page."""

    width: int = 1100
    height: int = 800
    is_dark: bool = False
    has_script: bool = True


@dataclass
class Window:
    """A page in a browser, and whatever it does that it should not."""

    page: Page
    address: str
    noises: list[str] = field(default_factory=list)
    """Dialogs, errors, and requests to anybody but our server."""

    def go(self, path: str) -> None:
        """Open a page of the server."""
        self.page.goto(self.address + path.lstrip("/"), timeout=PATIENCE_MS)

    def texts(self, selector: str) -> list[str]:
        """Return what the elements say."""
        return [one.strip() for one in self.page.locator(selector).all_inner_texts()]

    def too_wide_by(self) -> int:
        """Return by how many pixels one would have to scroll sideways."""
        root = self.page.locator("html")
        found = root.bounding_box()
        wide = self.page.evaluate("document.documentElement.scrollWidth") if found else 0
        return int(wide) - int(self.page.viewport_size["width"] if self.page.viewport_size else 0)


@contextmanager
def browsing() -> Iterator[Browser]:
    """Give a browser with a profile of its own, which is forgotten afterwards."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=program(), args=[*FLAGS], headless=True, timeout=PATIENCE_MS
        )
        yield browser
        browser.close()


@contextmanager
def window(browser: Browser, address: str, look: Look | None = None) -> Iterator[Window]:
    """Give a window of its own: no cookies, no cache, nothing seen."""
    how = look or Look()
    context = browser.new_context(
        viewport={"width": how.width, "height": how.height},
        color_scheme="dark" if how.is_dark else "light",
        java_script_enabled=how.has_script,
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    found = Window(page, address)

    def heard(kind: str, words: str) -> None:
        found.noises.append(f"{kind}: {words}")

    page.on("dialog", lambda one: (heard("dialog", one.message), one.dismiss()))
    page.on("pageerror", lambda one: heard("error", str(one)))
    page.on("console", lambda one: None if AUTOFOCUS in one.text else heard(one.type, one.text))
    page.on("popup", lambda one: heard("popup", one.url))
    page.on(
        "request",
        lambda one: None if one.url.startswith(address) else heard("request", one.url),
    )
    try:
        yield found
    finally:
        context.close()
