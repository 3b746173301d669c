"""A picture of the search page for the README: `make shot CRAWL=mycrawl WORDS="web crawler"`."""

import io
import os
from pathlib import Path

from PIL import Image

from tests.browser.chromium import Look, browsing, window
from tests.unit.web.served import serving

FILE = Path(__file__).parents[2] / "docs" / "img" / "search.png"
LOOK = Look(860, 735)
COLOURS = 96
"""As few as a picture of text needs."""


def main() -> None:
    """Make the picture and say how large it is."""
    words = os.environ.get("WORDS", "web crawler")
    with (
        serving(Path(os.environ["CRAWL"]), "--no-build") as server,
        browsing() as browser,
        window(browser, server.address, LOOK) as seen,
    ):
        seen.go("/")
        seen.page.fill("#q", words)
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_selector(".hit")
        picture = Image.open(io.BytesIO(seen.page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(FILE, optimize=True)
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")  # noqa: T201 - somebody waits for it


if __name__ == "__main__":
    main()
