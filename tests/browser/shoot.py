"""Pictures of the search page for the README and the guide, from a crawl.

`make shot CRAWL=mycrawl WORDS="web crawler"` makes docs/img/search.png and, for a phone and a wide
screen in light and dark, docs/img/search-WIDTH-SCHEME.png; on a phone once more with the drawer.
"""

import io
import os
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

from tests.browser.chromium import Look, browsing, window
from tests.unit.web.served import Served, serving

FOLDER = Path(__file__).parents[2] / "docs" / "img"
PLAIN = Look(1060, 735)
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
        picture = Image.open(io.BytesIO(seen.page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size:,} bytes")  # noqa: T201 - somebody waits for it


if __name__ == "__main__":
    main()
