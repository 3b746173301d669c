"""The search page as a person has it: in a browser."""

from collections.abc import Iterator
from itertools import combinations
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import PHONE, Look, Window, window
from tests.browser.site import IMAGE, LIVE_PATH, SCRIPT, TAME
from tests.unit.web.served import Served

PAGES = (
    "",
    "search?q=spider",
    "search?q=tarantula",
    "search?q=zebra+site:nowhere.test",
    "search?q=spider+lang:en+type:html#filters",
    "links",
    "hosts",
    "ranks",
    "path?from=x&to=y",
)

READ = (".snippet", ".crumbs", ".facts", ".facts a", ".hit h2 a", ".told")


@pytest.fixture
def seen(browser: Browser, server: Served) -> Iterator[Window]:
    with window(browser, server.address) as found:
        yield found
        assert found.noises == []


def test_who_types_a_question_and_presses_enter_sees_results(seen: Window) -> None:
    seen.go("/")
    assert seen.page.evaluate("document.activeElement.id") == "q"
    seen.page.keyboard.type("gossamer silk")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector(".hit")
    marked = {word.lower() for word in seen.texts("mark")}
    assert {"gossamer", "silk"} <= marked
    assert seen.page.input_value("#q") == "gossamer silk"
    assert seen.page.title() == "gossamer silk · gossamer"
    assert f"{TAME} pages" in seen.texts(".told")[0]
    assert len(seen.texts(".hit h2 a")) == 10
    assert all(line.startswith("127.0.0.1:") for line in seen.texts(".crumbs"))


def test_pages_of_results_follow_each_other_until_there_are_no_more(seen: Window) -> None:
    seen.go("/search?q=spider")
    found: list[str | None] = []
    while True:
        found += [one.get_attribute("href") for one in seen.page.locator(".hit h2 a").all()]
        more = seen.page.locator(".paging a[rel=next]")
        if not more.count():
            break
        more.click()
        seen.page.wait_for_load_state()
    assert len(found) == len(set(found)) >= TAME
    last = int(seen.page.locator(".paging [aria-current]").inner_text())
    seen.page.click(".paging a[rel=prev]")
    seen.page.wait_for_load_state()
    assert seen.page.locator(".paging [aria-current]").inner_text() == str(last - 1)


def test_a_filter_is_a_chip_that_a_click_takes_away(seen: Window) -> None:
    seen.go("/search?q=spider+inurl:7")
    assert [chip.split()[0] for chip in seen.texts(".chip.on")] == ["inurl:7"]
    few = seen.texts(".told")
    seen.page.click(".chip.on")
    seen.page.wait_for_load_state()
    assert seen.page.input_value("#q") == "spider"
    assert seen.texts(".told") != few


def test_one_result_leads_to_more_of_its_host_and_to_its_links(seen: Window) -> None:
    seen.go("/search?q=spider")
    seen.page.locator(".facts a", has_text="more from").first.click()
    seen.page.wait_for_load_state()
    assert "site:127.0.0.1" in seen.page.input_value("#q")
    assert seen.texts(".hit")
    seen.page.locator(".facts a", has_text="links").first.click()
    seen.page.wait_for_load_state()
    assert urlsplit(seen.page.url).path == "/links"
    assert seen.texts("h2")[0].startswith("Linked from")
    assert seen.page.evaluate("document.querySelector('img.picture').naturalWidth") > 0


def test_a_misspelt_query_has_results_at_once_and_can_be_insisted_on(seen: Window) -> None:
    seen.go("/search?q=gosamer+sipder")
    assert "Showing results for gossamer spider" in seen.texts(".meant")[0]
    assert seen.texts(".hit")
    seen.page.click(".meant a")
    seen.page.wait_for_selector(".empty")
    assert parse_qs(urlsplit(seen.page.url).query)["q"] == ["gosamer sipder"]
    seen.page.click(".meant a")
    seen.page.wait_for_selector(".hit")
    assert parse_qs(urlsplit(seen.page.url).query)["q"] == ["gossamer spider"]


def test_a_facet_narrows_the_results_and_is_taken_off_again(seen: Window) -> None:
    seen.go("/search?q=spider")
    assert seen.page.locator("#filters").is_visible()
    seen.go("/search?q=spider+after:2020+before:2021")
    assert not seen.texts(".hit")
    seen.page.locator("#filters section", has_text="Year").locator(".facet").first.click()
    seen.page.wait_for_selector(".hit")
    year = seen.page.locator(".facet[aria-current]")
    assert "after:" in seen.page.input_value("#q")
    assert seen.texts(".told span")[0].split()[0] == f"{TAME + 1}"
    year.click()
    seen.page.wait_for_load_state()
    assert seen.page.input_value("#q") == "spider"


def test_days_are_chosen_in_a_form(seen: Window) -> None:
    seen.go("/search?q=spider")
    seen.page.fill("#filters input[name=from]", "2020-01-31")
    seen.page.fill("#filters input[name=to]", "2020-02-28")
    seen.page.click(".days button")
    seen.page.wait_for_selector(".empty")
    assert seen.page.input_value("#q") == "spider after:2020-01-31 before:2020-02-29"
    assert seen.page.input_value("#filters input[name=to]") == "2020-02-28"


def test_on_a_phone_the_filters_are_a_drawer_that_opens_and_closes_without_script(
    browser: Browser, server: Served
) -> None:
    with window(browser, server.address, Look(*PHONE, has_script=False)) as phone:
        phone.go("/search?q=spider+after:2020")
        filters = phone.page.locator("#filters")
        assert not filters.is_visible()
        phone.page.click(".opener")
        assert filters.is_visible()
        box = filters.bounding_box()
        assert box is not None
        assert (box["x"] > 0, box["x"] + box["width"]) == (True, PHONE[0])
        assert phone.too_wide_by() <= 0
        phone.page.click(".closer")
        assert not filters.is_visible()
        phone.page.click(".opener")
        phone.page.mouse.click(5, 300)
        assert not filters.is_visible()
        phone.page.click(".opener")
        phone.page.click("#filters a:has-text('Any year')")
        phone.page.wait_for_load_state()
        assert phone.page.input_value("#q") == "spider"
        assert phone.noises == []


def test_details_and_the_stored_text_are_a_click_away(seen: Window) -> None:
    seen.go("/search?q=spider")
    title = seen.texts(".hit h2")[0]
    seen.page.locator(".facts a", has_text="details").first.click()
    seen.page.wait_for_selector(".known")
    assert "archived" in seen.texts(".known dd")[0]
    assert any(one.startswith("Linked from 1 page") for one in seen.texts("h2"))
    seen.page.locator(".facts a", has_text="stored text").click()
    seen.page.wait_for_selector(".copy")
    assert seen.texts("h1") == [title]
    assert "spins silk" in seen.texts(".copy")[0]


def test_a_stored_page_is_shown_and_nothing_in_it_acts(browser: Browser, server: Served) -> None:
    with window(browser, server.address) as found:
        found.go("/search?q=scorpion")
        url = found.page.locator(".hit h2 a").first.get_attribute("href") or ""
        assert url.endswith(LIVE_PATH)
        found.go(f"/copy?form=page&url={quote(url, safe='')}")
        found.page.wait_for_load_state("networkidle")
        assert "sits in the sand" in found.page.inner_text("body")
        assert found.page.title() == "scorpion"
        assert urlsplit(found.page.url).path == "/copy"
        found.page.click("button")
        assert urlsplit(found.page.url).path == "/copy"
        colour = found.page.eval_on_selector("h1", "e => getComputedStyle(e).color")
        assert colour == "rgb(1, 2, 3)"
        kinds = {noise.partition(":")[0] for noise in found.noises}
        assert not kinds & {"dialog", "popup"}
        asked = [noise for noise in found.noises if noise.startswith("request:")]
        assert asked == []
    metrics = server.get("/metrics").text
    assert 'place="other",status="404"' not in metrics


def test_what_means_harm_is_shown_and_does_nothing(seen: Window) -> None:
    seen.go("/search?q=tarantula")
    titles = seen.texts(".hit h2")
    assert any(SCRIPT in title and IMAGE in title for title in titles)
    markup = "script, iframe, svg, main img, base, style, object, [onerror], [onload], [style]"
    assert seen.page.locator(markup).count() == 0
    for link in seen.page.locator("a").all():
        assert (link.get_attribute("href") or "").startswith(("/", "http://", "https://", "#"))
    shown = seen.page.inner_text("main")
    assert not set(shown) & set("\u202e\u2066\u2069\x07")
    with seen.page.expect_navigation():
        seen.page.locator(".facts a", has_text="links").first.click()
    seen.page.wait_for_load_state("networkidle")
    assert seen.page.locator(markup.replace("main img", "main img:not(.picture)")).count() == 0


def test_harm_in_the_question_does_nothing_either(seen: Window) -> None:
    for harm in (SCRIPT, IMAGE, "\"'><img src=x onerror=alert(1)>", 'site:"><script>alert(1)'):
        seen.go("/")
        seen.page.fill("#q", harm)
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_selector(".told")
        assert seen.page.input_value("#q") == harm
        assert seen.page.locator("script, main img, [onerror]").count() == 0


def test_without_script_everything_is_the_same(browser: Browser, server: Served) -> None:
    with window(browser, server.address, Look(has_script=False)) as plain:
        plain.go("/")
        plain.page.fill("#q", "gossamer silk")
        plain.page.click("button")
        plain.page.wait_for_selector(".hit")
        plain.page.click("a[rel=next]")
        plain.page.wait_for_load_state()
        assert plain.page.locator(".hit").count() == 10
        plain.go("/")
        plain.page.click("summary")
        assert plain.page.locator("dl").is_visible()
        assert plain.noises == []


def test_on_a_phone_nobody_scrolls_sideways(browser: Browser, server: Served) -> None:
    with window(browser, server.address, Look(*PHONE)) as phone:
        for path in PAGES:
            phone.go(path)
            assert phone.too_wide_by() <= 0, path
        assert phone.noises == []


def test_on_a_phone_every_filter_is_seen_and_none_lies_on_another(
    browser: Browser, server: Served
) -> None:
    with window(browser, server.address, Look(*PHONE)) as phone:
        phone.go("/search?q=spider+site:127.0.0.1+lang:en+type:html+inurl:spiders")
        found = [one.bounding_box() for one in phone.page.locator(".chip").all()]
        boxes = [box for box in found if box is not None]
        assert len(boxes) >= 4
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0] for box in boxes)
        for one, other in combinations(boxes, 2):
            is_beside = (
                one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
            )
            is_above = (
                one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
            )
            assert is_beside or is_above, (one, other)
        assert phone.noises == []


def contrast(one: str, other: str) -> float:
    """Return how well a colour can be read on another (WCAG 2)."""
    lights = sorted(_light(colour) for colour in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _light(colour: str) -> float:
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(p * w for p, w in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize("is_dark", [False, True])
def test_in_light_and_dark_everything_can_be_read(
    browser: Browser, server: Served, *, is_dark: bool
) -> None:
    with window(browser, server.address, Look(is_dark=is_dark)) as found:
        found.go("/search?q=spider+inurl:spiders+lang:en")
        colour = "e => getComputedStyle(e).color"
        ground = found.page.eval_on_selector("body", "e => getComputedStyle(e).backgroundColor")
        assert (_light(ground) < 0.5) is is_dark
        for selector in (*READ, ".facets h2", ".facets label span", ".opener"):
            assert contrast(found.page.eval_on_selector(selector, colour), ground) >= 4.5, selector
        for selector in (".snippet mark", "button", ".chip.on", ".facet[aria-current]"):
            own = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
            assert contrast(*found.page.eval_on_selector(selector, own)) >= 4.5, selector
        assert found.noises == []


def test_everything_has_a_name_and_can_be_reached_by_keyboard(seen: Window) -> None:
    seen.go("/search?q=spider")
    tree = seen.page.locator("body").aria_snapshot()
    for landmark in ("banner", "main", "contentinfo", 'navigation "Parts"', "search"):
        assert f"- {landmark}" in tree, landmark
    assert 'searchbox "Search"' in tree
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.className") == "skip"
    seen.page.keyboard.press("Enter")
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.id") == "q"
