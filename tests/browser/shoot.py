"""Pictures of the search page and the console for the README and the guide, from a crawl.

`make shot CRAWL=mycrawl WORDS="web crawler"` makes docs/img/search.png and, for a phone and a wide
screen in light and dark, docs/img/search-WIDTH-SCHEME.png; on a phone once more with the drawer.
If the crawl runs, it makes those of the console, docs/img/console-PAGE.png, and no others; HOST and
URL name what is shown in them.
"""

import io
import os
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Browser

import gossamer
from tests.browser.chromium import Look, Window, browsing, window
from tests.unit.web.served import Served, serving

FOLDER = Path(__file__).parents[2] / "docs" / "img"
PLAIN = Look(1060, 735)
CONSOLE = Look(1100, 760)
PHONE, WIDE = (390, 844), (1280, 900)
COLOURS = 96
"""As few as a picture of text needs."""


def main() -> None:
    """Make the pictures and say how large they are."""
    words = os.environ.get("WORDS", "web crawler")
    chosen = os.environ.get("FILTER", "lang:en")
    with (
        serving(Path(os.environ["CRAWL"]), "--no-build") as server,
        browsing() as browser,
    ):
        if gossamer.open(server.folder).is_running():
            shoot_console(browser, server)
            return
        shoot(browser, server, PLAIN, words, FOLDER / "search.png")
        for width, height in (PHONE, WIDE):
            for is_dark in (False, True):
                look = Look(width, height, is_dark=is_dark)
                name = f"search-{width}-{'dark' if is_dark else 'light'}"
                shoot(browser, server, look, f"{words} {chosen}", FOLDER / f"{name}.png")
                if width == PHONE[0]:
                    drawer = FOLDER / f"{name}-filters.png"
                    shoot(browser, server, look, f"{words} {chosen}", drawer, is_open=True)


def shoot(
    browser: Browser, server: Served, look: Look, words: str, file: Path, *, is_open: bool = False
) -> None:
    """Ask for some words, and make a picture of the answer; `is_open`: of the drawer."""
    with window(browser, server.address, look) as seen:
        seen.go("/")
        seen.page.fill("#q", words)
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_selector(".hit")
        if is_open:
            seen.page.click(".opener")
            seen.page.mouse.move(0, 0)
        keep(seen, file)


def shoot_console(browser: Browser, server: Served) -> None:
    """Make the pictures of the console of a crawl that runs."""
    host, url = quote(os.environ["HOST"]), quote(os.environ["URL"], safe="")
    pages = {
        "crawl": "/crawl",
        "host": f"/crawl/host?host={host}",
        "copy": f"/copy?form=view&url={url}",
        "problems": "/crawl/problems",
    }
    with window(browser, server.address, CONSOLE) as seen:
        for name, path in pages.items():
            seen.go(path)
            seen.page.wait_for_selector("[data-again]", state="detached")
            keep(seen, FOLDER / f"console-{name}.png")


def keep(seen: Window, file: Path) -> None:
    """Save what is seen, as small as it can be."""
    picture = Image.open(io.BytesIO(seen.page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size:,} bytes")  # noqa: T201 - somebody waits for it


if __name__ == "__main__":
    main()
