"""A picture of the search page for the README: `make shot CRAWL=mycrawl WORDS="web crawler"`.

Light on the left, dark on the right, as small as a picture of text can be.
"""

import io
import os
from pathlib import Path

from PIL import Image

from tests.browser.chromium import Look, browsing, window
from tests.unit.web.served import serving

FILE = Path(__file__).parents[2] / "docs" / "img" / "search.png"
WIDTH, HEIGHT, SPLIT = 1000, 740, 0.62
COLOURS = 96


def shots(folder: Path, words: str) -> list[Image.Image]:
    """Return the first results of a question, in light and in dark."""
    found = []
    with serving(folder, "--no-build") as server, browsing() as browser:
        for is_dark in (False, True):
            with window(browser, server.address, Look(WIDTH, HEIGHT, is_dark=is_dark)) as seen:
                seen.go("/")
                seen.page.fill("#q", words)
                seen.page.keyboard.press("Enter")
                seen.page.wait_for_selector(".hit")
                seen.page.evaluate("document.activeElement.blur()")
                found.append(Image.open(io.BytesIO(seen.page.screenshot())).convert("RGB"))
    return found


def main() -> None:
    """Make the picture and say how large it is."""
    light, dark = shots(Path(os.environ["CRAWL"]), os.environ.get("WORDS", "web crawler"))
    cut = round(WIDTH * SPLIT)
    whole = light.copy()
    whole.paste(dark.crop((cut, 0, WIDTH, HEIGHT)), (cut, 0))
    whole.quantize(COLOURS, dither=Image.Dither.NONE).save(FILE, optimize=True)
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")  # noqa: T201 - somebody waits for it


if __name__ == "__main__":
    main()
