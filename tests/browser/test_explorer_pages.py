"""The link explorer as a person has it: in a browser."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import PHONE, Look, Window, window
from tests.browser.site import TAME
from tests.unit.web.served import Served


@pytest.fixture
def seen(browser: Browser, server: Served) -> Iterator[Window]:
    with window(browser, server.address) as found:
        yield found
        assert found.noises == []


def home(seen: Window) -> str:
    """Return the URL of the site's front page, as the ranks tell it."""
    seen.go("/ranks")
    return next(url for url in seen.texts("td a") if url.endswith("/") and "127.0.0.1" in url)


def test_a_url_leads_to_its_links_and_from_there_to_others(seen: Window) -> None:
    url = home(seen)
    seen.go("/links")
    seen.page.fill("input[name=url]", url)
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("img.picture")
    assert seen.texts("h1")[0].startswith(url)
    assert len(seen.texts("section:nth-of-type(2) li")) >= TAME
    seen.page.locator("section:nth-of-type(2) li a", has_text="/spiders/7.html").first.click()
    seen.page.wait_for_load_state()
    assert seen.texts("section:nth-of-type(1) li")[0].startswith(url)


def test_addresses_of_old_still_lead_to_the_explorer(seen: Window) -> None:
    url = home(seen)
    seen.go(f"/?url={quote(url, safe='')}")
    assert seen.texts("h1")[0].startswith(url)


def test_a_picture_is_drawn_with_all_its_colours_and_words(seen: Window) -> None:
    seen.go(f"/picture.svg?url={quote(home(seen), safe='')}")
    assert seen.page.locator("svg text").count() > 10
    boxes = [one.bounding_box() for one in seen.page.locator("svg text").all()]
    ground = seen.page.locator("svg").bounding_box()
    assert ground is not None
    for box in boxes:
        assert box is not None
        assert box["x"] >= ground["x"] - 1
        assert box["x"] + box["width"] <= ground["x"] + ground["width"] + 1
    fills = seen.page.eval_on_selector_all(
        "circle", "all => all.map(e => getComputedStyle(e).fill)"
    )
    assert fills
    assert all(fill != "rgb(0, 0, 0)" for fill in fills)


def test_a_picture_is_whole_on_a_phone_and_leads_to_itself_in_full_size(
    browser: Browser, server: Served
) -> None:
    with window(browser, server.address, Look(*PHONE)) as phone:
        phone.go(f"/links?url={quote(home(phone), safe='')}")
        assert phone.too_wide_by() <= 0
        shown = phone.page.locator("img.picture").bounding_box()
        assert shown is not None
        assert shown["x"] >= 0
        assert shown["x"] + shown["width"] <= PHONE[0]
        assert phone.page.evaluate("document.querySelector('img.picture').naturalWidth") > PHONE[0]
        with phone.page.expect_navigation():
            phone.page.locator("img.picture").click()
        assert phone.page.locator("svg").bounding_box()["width"] > PHONE[0]  # type: ignore[index]  # it is shown
        assert phone.noises == []
