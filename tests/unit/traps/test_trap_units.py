"""Units have names, and pages are observed: what counts as the same, as volatile, as a leaf."""

import pytest

from gossamer.model import LinkKind
from gossamer.traps.observations import (
    TRAILS_KEPT,
    Observation,
    SameTrails,
    count_page,
    count_probe,
    is_redirect_page,
    observation_of,
    remember_half,
)
from gossamer.traps.unit import (
    Probation,
    Unit,
    child_of,
    group_of,
    host_of,
    is_looped,
    is_volatile,
    number_in,
    shape_of,
    units_of,
    word_folder_around,
)
from tests.unit.traps.pages import page_turn, url

HOST = "http://h.test/"


@pytest.mark.parametrize(
    ("tail", "names"),
    [
        ("", ["h.test/"]),
        ("about", ["h.test/"]),
        ("page-1.html", ["h.test/page", "h.test/"]),
        ("page1", ["h.test/page", "h.test/"]),
        ("p1", ["h.test/"]),
        ("a/b/list?x=1", ["h.test/a/b/list?", "h.test/a/b/", "h.test/a/", "h.test/"]),
        ("a/b;sid=1", ["h.test/a/b;", "h.test/a/", "h.test/"]),
        ("a/b/c/d/e", ["h.test/a/b/c/", "h.test/a/b/", "h.test/a/", "h.test/"]),
    ],
)
def test_a_url_lies_in_its_query_or_stem_its_folders_and_its_host(
    tail: str, names: list[str]
) -> None:
    assert units_of(url(HOST + tail)) == names


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("h.test/a/", "h.test"),
        ("h.test:8080/", "h.test"),
        ("[::1]/", "[::1]"),
        ("[::1]:80/", "[::1]"),
        ("*.h.test", "h.test"),
        ("", ""),
    ],
)
def test_a_units_name_has_its_host(name: str, host: str) -> None:
    assert host_of(name) == host


def test_folders_of_numbers_are_judged_together() -> None:
    assert word_folder_around("h.test/cal/2024/05/") == "h.test/cal/"
    assert word_folder_around("h.test/cal/") == "h.test/cal/"
    assert word_folder_around("h.test/2024/") == "h.test/2024/"
    assert word_folder_around("h.test/cal/2024/list?") == "h.test/cal/2024/list?"
    assert group_of("h.test/cal/2024/", "h.test/cal/") == ""
    assert group_of("h.test/cal2/shop/", "h.test/cal2/") == "h.test/cal2/shop/"


def test_the_child_of_a_unit_is_the_next_smaller_one() -> None:
    names = units_of(url(f"{HOST}a/b/c"))
    assert child_of("h.test/", names) == "h.test/a/"
    assert child_of("h.test/a/b/", names) == ""


def test_addresses_that_differ_in_digits_have_one_shape() -> None:
    assert shape_of("h.test/p/12?d=3") == shape_of("h.test/p/7?d=44")
    assert shape_of("h.test/p/12") != shape_of("h.test/q/12")
    assert number_in("h.test/2/page-17.html") == 17
    assert number_in("h.test/page") is None


@pytest.mark.parametrize(
    "target",
    [
        "/cal/2024/05",
        "/cal/2024/may",
        "/may/2024",
        "/news/20240531",
        "/events?date=3",
        "/s/9f86d081884c7d65",
        "/s/12345678",
        "/s/a1b2c3d4e5",
        "/a/b/a/b",
        "/a/b/c/d/e/f/g/h",
        "/week/2024/w13",
    ],
)
def test_a_date_an_id_or_a_very_deep_path_is_volatile(target: str) -> None:
    assert is_volatile(target)


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/about",
        "/page/17",
        "/p/1234567",
        "/p/01234567",
        "/a/b/c/d/e/f/g",
        "/may/june",
        "/1599/abc",
        "/deadbeef",
        "/a1b2c3",
    ],
)
def test_a_name_or_a_small_number_is_not_volatile(target: str) -> None:
    assert not is_volatile(target)


def fingerprint(tail: str, body: str, *pictures: str) -> int | None:
    turn = page_turn(HOST + tail, body=body, links=pictures, kind=LinkKind.IMAGE)
    return observation_of(turn).fingerprint


def test_a_calendar_says_the_same_on_every_day() -> None:
    may = fingerprint("cal/2024/05", "Events of Tuesday, May 7th, 2024: none. Session 12345678")
    june = fingerprint("cal/2024/06", "Events of Wed, June 12th, 2024: none. Session 87654321")
    assert may == june
    plain = [fingerprint("p", f"Events of May {day}th: none") for day in (7, 8)]
    assert plain[0] != plain[1]
    assert may != fingerprint("cal/2024/05", "Events of Tuesday, May 7th, 2024: one")


READINGS = "Monday, May 6th 2024: -3.4 °C 78 % 1,013.2 hPa; 2.8 °C; 5.1 °C; 991 hPa; 12.7 °C"


def test_a_page_of_many_figures_has_a_text_of_its_own_though_its_words_are_those_of_others() -> (
    None
):
    monday = fingerprint("weather/2024/05/06", READINGS)
    assert monday != fingerprint("weather/2024/05/07", READINGS.replace("12.7", "9.3"))
    assert monday == fingerprint("weather/2024/05/13", READINGS.replace("6th", "13th"))


def test_few_figures_or_days_and_years_are_no_text_of_their_own() -> None:
    def both(*texts: str) -> set[int | None]:
        return {fingerprint("cal/2024/05", text) for text in texts}

    assert len(both("Page made in 0.123 s, 4711 visitors", "Page made in 0.7 s, 815 visitors")) == 1
    days = [" ".join(f"{day:02}.{month:02}." for day in range(1, 29)) for month in (5, 6)]
    assert len(both(*days, *(day.replace("0", "") for day in days))) == 1
    assert len(both(*(" ".join(map(str, range(y, y + 9))) for y in (1990, 2010)))) == 1


def test_pictures_are_compared_by_name_beside_more_text() -> None:
    legend = "Drawn every weekday since 1999, with a pen and a ruler. " * 10
    strips = [f"{HOST}strips/{name}.png" for name in ("anvil", "bucket")]
    first, second = (fingerprint("comic/2024/05/06", legend, strip) for strip in strips)
    assert first != second
    moved = f"{HOST}a/b/strips/anvil.png"
    assert first == fingerprint("comic/2024/05/07", legend, moved)
    long = "x" * 4001
    assert fingerprint("p", long, f"{HOST}1.png") == fingerprint("p", long, f"{HOST}2.png")


def test_a_long_text_counts_with_its_dates_also_under_a_volatile_url() -> None:
    def both(words: int) -> set[int | None]:
        days = ("Monday", "Friday")
        return {fingerprint("cal/2024/05", "word " * words + day) for day in days}

    assert len(both(700)) == 1
    assert len(both(800)) == 2


def test_the_middle_of_a_very_long_text_does_not_count_but_its_length_does() -> None:
    texts = ["a" * 6000 + middle + "z" * 2000 for middle in ("xx", "yy", "xxx")]
    first, second, longer = (fingerprint("p", text) for text in texts)
    assert first == second
    assert first != longer


def test_short_pages_are_told_apart_by_their_pictures() -> None:
    assert fingerprint("p", "", f"{HOST}1.png") != fingerprint("p", "", f"{HOST}2.png")
    assert fingerprint("p", "", f"{HOST}1.png?a") == fingerprint("p", "", f"{HOST}1.png?b")
    assert fingerprint("p", " \n") is None


@pytest.mark.parametrize("kind", [LinkKind.IMAGE, LinkKind.MEDIA, LinkKind.CSS, LinkKind.FRAME])
def test_pages_without_words_are_told_apart_by_whatever_is_shown_in_them(kind: LinkKind) -> None:
    def seen(tail: str, text: str) -> int | None:
        return observation_of(
            page_turn(HOST, body=text, links=[HOST + tail], kind=kind)
        ).fingerprint

    for text in ("", "Next", "Next " * 200 if kind is not LinkKind.FRAME else ""):
        assert seen("show?id=1", text) != seen("show?id=2", text)
        assert seen("show?id=1", text) == seen("show?id=1", text)
        assert seen("films/one", text) != seen("films/two", text)
    if kind is not LinkKind.FRAME:
        assert seen("one.jpg?v=1", "Next") == seen("one.jpg?v=2", "Next"), "a version of a file"
        assert seen("a/show?id=1", "Next " * 200) == seen("b/show?id=1", "Next " * 200)


def test_a_linked_picture_tells_pages_without_words_apart_but_a_linked_page_does_not() -> None:
    def seen(tail: str, text: str) -> int | None:
        turn = page_turn(HOST, body=text, links=[HOST + tail], kind=LinkKind.ANCHOR)
        return observation_of(turn).fingerprint

    assert seen("1.JPG", "Next") != seen("2.JPG", "Next")
    assert seen("1.mp4?t=5", "Next") != seen("2.mp4?t=5", "Next")
    assert seen("1.jpgs", "Next") == seen("2.jpgs", "Next")
    assert seen("1.html", "Next") == seen("2.html", "Next")
    assert seen("1.jpg", "Next " * 200) == seen("2.jpg", "Next " * 200)


def test_a_page_that_only_sends_on_is_a_redirect() -> None:
    links = [f"{HOST}a", f"{HOST}b"]
    assert is_redirect_page(page_turn(HOST, links=links, kind=LinkKind.REFRESH))
    assert not is_redirect_page(page_turn(HOST, links=links))
    more = [*links, f"{HOST}c"]
    assert not is_redirect_page(page_turn(HOST, links=more, kind=LinkKind.REFRESH))
    long = "x" * 401
    assert not is_redirect_page(page_turn(HOST, body=long, links=links, kind=LinkKind.REFRESH))


def test_a_page_of_a_free_unit_is_counted_in_its_block() -> None:
    unit = Unit(name="h.test/a/")
    inside, outside = f"{HOST}a/1", f"{HOST}b/1"
    for _ in range(2):
        turn = page_turn(f"{HOST}a/", links=(inside, outside), new=(inside, outside))
        count_page(unit, observation_of(turn), SameTrails())
    count_page(
        unit, observation_of(page_turn(f"{HOST}a/x", body="", links=(outside,))), SameTrails()
    )
    assert (unit.pages, unit.block_pages, unit.block_same) == (3, 3, 1)
    assert (unit.block_productive, unit.block_new_urls, unit.new_urls) == (2, 2, 2)


def test_pages_that_repeat_others_are_counted_from_page_to_page() -> None:
    def page(path: str, via: str) -> Observation:
        return observation_of(page_turn(f"{HOST}{path}", via=f"{HOST}{via}"))

    trails = SameTrails()
    depths = [trails.follow(page(str(n), str(n - 1))) for n in range(1, 4)]
    assert depths == [1, 2, 3]
    assert trails.follow(page("aside", "1")) == 2
    assert trails.follow(page("elsewhere", "unknown")) == 1
    assert trails.follow(page("1", "0")) == 1, "the same page again is no further one"
    for number in range(TRAILS_KEPT):
        trails.follow(page(f"many/{number}", "unknown"))
    assert trails.follow(page("4", "3")) == 1, "of the oldest nobody knows any more"


def test_a_unit_remembers_its_last_32_texts() -> None:
    unit = Unit(name="h.test/")
    assert not any(unit.repeats(text) for text in range(33))
    assert not unit.repeats(None)
    assert unit.repeats(1)
    assert not unit.repeats(0)


def probed(turns: int = 1, *, leads_on: bool = False, **page: object) -> tuple[Unit, Probation]:
    unit, probation = Unit(name="h.test/a/", new_urls=750), Probation(suspicion="")
    turn = page_turn(f"{HOST}a/p/7", **page)  # type: ignore[arg-type] -- whatever a test names
    for _ in range(turns):
        count_probe(
            unit, probation, observation_of(turn), (3, 2), "h.test/a/p/", SameTrails(), leads_on
        )
    return unit, probation


def test_a_probe_without_new_urls_is_a_leaf_unless_its_text_is_known() -> None:
    unit, probation = probed(turns=2)
    assert (probation.pages, probation.leaves, probation.same) == (2, 1, 1)
    assert (probation.productive, probation.depth, unit.pages) == (0, 0, 2)


def test_a_probe_with_new_urls_makes_its_trail_longer() -> None:
    new = (f"{HOST}a/p/8", f"{HOST}a/p/9")
    unit, probation = probed(turns=2, links=new, new=new)
    assert (probation.depth, probation.depth_in_child) == (4, 3)
    assert (probation.productive, probation.same_productive, probation.leaves) == (2, 1, 0)
    assert (probation.new_urls, unit.new_urls) == (4, 754)
    assert probation.same_by_child == {"h.test/a/p/": 1}
    assert (probation.numbered, probation.numbers) == (4, {8, 9})
    assert probation.shapes == {shape_of("h.test/a/p/7")}


def test_links_to_known_pages_are_cross_links_but_not_those_to_root_parent_and_ancestors() -> None:
    others = (f"{HOST}a/", f"{HOST}a/p/", f"{HOST}b/", f"{HOST}a/parent")
    links = (*others, f"{HOST}a/q", f"{HOST}a/new")
    new = (f"{HOST}a/new",)
    _, probation = probed(turns=2, links=links, new=new, via=f"{HOST}a/parent")
    assert probation.cross_links == {url(f"{HOST}a/q").key: 2}
    assert probation.expected == 2 * 750 / 1500 + 2 * 751 / 1500
    remember_half(probation)
    assert (probation.half_cross_links, probation.half_new_urls) == (2, 2)
    assert (probation.half_pages, probation.half_number) == (2, 0)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("h.test/a/b/a/b/a/", True),
        ("h.test/a/a/a/page", True),
        ("h.test/a/b/a/b/", False),
        ("h.test/a/b/a/a", False),  # the last is no folder
        ("h.test/2026/11/11/11/", False),  # numbers may be alike
        ("a/x/a/y/a?z=/a/a/a/", False),
        ("h.test/x?to=/a/a/a/", False),
    ],
)
def test_a_path_is_looped_in_which_a_folder_comes_three_times(address: str, *, told: bool) -> None:
    assert is_looped(address) is told


def test_a_probe_remembers_where_the_last_text_of_its_own_was_and_counts_looped_paths() -> None:
    unit, probation = Unit(name="h.test/"), Probation(suspicion="")
    for target, text in (("a/", "x"), ("a/a/", "y"), ("a/a/a/", "x"), ("a/a/a/a/", "x")):
        page = observation_of(page_turn(f"{HOST}{target}", body=f"The text {text}."))
        count_probe(unit, probation, page, (0, 0), "", SameTrails(), leads_on=False)
    assert (probation.pages, probation.same) == (4, 2)
    assert (probation.last_own, probation.looped) == (2, 2)
