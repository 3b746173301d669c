"""The pages that `report --html` and `copies --of --html` write, in a browser: from a file."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

import gossamer
from tests.browser.chromium import Look, window
from tests.unit.web.served import Served

WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def pages(server: Served, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the two pages of one crawl."""
    place = tmp_path_factory.mktemp("pages")
    crawl = gossamer.open(server.folder)
    longest = max((page.text() for page in crawl.pages()), key=len)
    given = place / "given.txt"
    given.write_text(longest)
    copies = crawl.copies_of(given)
    assert copies.copies
    made = {"report": gossamer.html_of(crawl.report()), "copies": gossamer.html_of(copies)}
    for name, text in made.items():
        (place / f"{name}.html").write_text(text)
    return {name: place / f"{name}.html" for name in made}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("name", ["report", "copies"])
def test_a_page_fits_its_window_loads_nothing_and_can_be_read(
    browser: Browser, pages: dict[str, Path], name: str, width: int, *, is_dark: bool
) -> None:
    look = Look(width=width, is_dark=is_dark)
    with window(browser, pages[name].as_uri(), look) as seen:
        seen.page.goto(pages[name].as_uri())
        assert seen.too_wide_by() <= 0
        assert seen.noises == []
        colors = seen.page.evaluate(
            "[getComputedStyle(document.body).color, "
            "getComputedStyle(document.body).backgroundColor]"
        )
        ink, paper = (sum(map(int, one[4:-1].split(","))) for one in colors)
        assert (ink > paper) == is_dark
        assert abs(ink - paper) > 400


def test_the_pictures_of_a_report_have_a_size_and_no_letters_lie_upon_each_other(
    browser: Browser, pages: dict[str, Path]
) -> None:
    with window(browser, pages["report"].as_uri(), Look(width=390)) as seen:
        seen.page.goto(pages["report"].as_uri())
        assert seen.page.locator("svg").count() > 5
        overlapping = seen.page.evaluate(
            """() => [...document.querySelectorAll('svg')].flatMap(svg => {
                const boxes = [...svg.querySelectorAll('text.soft')].map(
                    one => one.getBoundingClientRect());
                return boxes.slice(1).filter((box, n) => box.left < boxes[n].right - 1);
            }).length"""
        )
        assert overlapping == 0
