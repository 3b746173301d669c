"""When a unit is suspected, and what follows from the pages of its probation: figure by figure."""

# ruff: noqa: FBT001 -- cases of tests

import pytest

from gossamer.config import TrapsConfig
from gossamer.traps.observations import Observation, observation_of
from gossamer.traps.rules import (
    Decision,
    decide,
    decide_on_hosts,
    entrances_of,
    has_leaves,
    is_dying_out,
    is_easing,
    is_fast,
    is_growing_on,
    is_half_over,
    is_in_child,
    is_listed_elsewhere,
    is_numbered,
    is_own_text_over,
    is_rising,
    is_slowing,
    may_grow,
    numbers_run_out,
    same_child,
    suspicion,
    weight_of,
)
from gossamer.traps.unit import NUMBERS_KEPT, Probation, Unit
from tests.unit.traps.pages import page_turn

CONFIG = TrapsConfig(unproven_pages=80, new_hosts=8)
NAME = "h.test/a/"


def probation(**counts: object) -> Probation:
    return Probation(suspicion="", **counts)  # type: ignore[arg-type] -- whatever a test names


def deep(**counts: object) -> Probation:
    """Return a probation that has gone down ten pages without a leaf, two new URLs on each."""
    return probation(**{"pages": 10, "productive": 10, "depth": 10, "new_urls": 20, **counts})


def decided(on: Probation, pages: int = 10) -> Decision:
    return decide(on, CONFIG, pages=pages)


def test_nothing_is_decided_before_there_is_anything_to_decide_by() -> None:
    assert decided(probation()) is Decision.UNDECIDED


@pytest.mark.parametrize(
    ("leaves", "pages", "are_enough"),
    [(2, 3, False), (3, 3, True), (3, 25, True), (3, 26, False), (4, 33, True), (4, 34, False)],
)
def test_three_leaves_and_one_in_eight_pages_are_those_of_a_finite_site(
    leaves: int, pages: int, are_enough: bool
) -> None:
    on = probation(pages=pages, leaves=leaves, new_urls=pages, rate_before=3.0)
    assert has_leaves(on) is are_enough
    assert decided(on) is (Decision.RELEASE if are_enough else Decision.UNDECIDED)


@pytest.mark.parametrize(("new", "is_over"), [(56, True), (57, False)])
@pytest.mark.parametrize("counts", [{"pages": 80, "is_again": True}, {"pages": 80}])
def test_of_what_has_grown_on_for_long_leaves_release_only_what_brings_ever_fewer(
    new: int, is_over: bool, counts: dict[str, object]
) -> None:
    on = probation(**counts, leaves=20, new_urls=new, rate_before=3.0)
    assert decided(on) is (Decision.RELEASE if is_over else Decision.UNDECIDED)


def test_a_unit_that_was_released_before_needs_16_pages_to_be_released_again() -> None:
    few, enough = (
        probation(pages=pages, leaves=10, new_urls=11, rate_before=3.0, is_again=True)
        for pages in (15, 16)
    )
    assert decided(few) is Decision.UNDECIDED
    assert decided(enough) is Decision.RELEASE


@pytest.mark.parametrize(("pages", "is_seen"), [(64, True), (65, False)])
def test_leaves_release_a_unit_of_whose_pages_an_eighth_came_on_probation(
    pages: int, is_seen: bool
) -> None:
    on = probation(pages=8, leaves=3, new_urls=8, rate_before=3.0)
    assert decided(on, pages=pages) is (Decision.RELEASE if is_seen else Decision.UNDECIDED)


@pytest.mark.parametrize(("new", "is_slower"), [(20, True), (21, False)])
def test_leaves_release_only_what_brings_half_of_the_new_urls_that_it_brought_before(
    new: int, is_slower: bool
) -> None:
    on = probation(pages=10, leaves=3, new_urls=new, rate_before=4.0)
    assert is_slowing(on) is is_slower
    assert decided(on) is (Decision.RELEASE if is_slower else Decision.UNDECIDED)


@pytest.mark.parametrize(
    ("pages", "new", "decision"),
    [
        (16, 4, Decision.RELEASE),
        (16, 5, Decision.UNDECIDED),
        (15, 3, Decision.UNDECIDED),
        (40, 10, Decision.RELEASE),
        (40, 11, Decision.UNDECIDED),
    ],
)
def test_a_unit_that_brings_hardly_any_new_urls_is_released_without_leaves(
    pages: int, new: int, decision: Decision
) -> None:
    assert decided(probation(pages=pages, new_urls=new, rate_before=9.0)) is decision


def test_a_unit_that_grew_slowly_is_not_released_for_bringing_little() -> None:
    """Pages of a chain that were passed over bring nothing, and have no new links."""
    for counts in ({"new_urls": 4}, {"new_urls": 0, "leaves": 16}):
        assert decided(probation(pages=16, **counts, rate_before=3.0)) is Decision.RELEASE
        assert decided(probation(pages=16, **counts, rate_before=2.9)) is Decision.UNDECIDED


@pytest.mark.parametrize(
    ("volatile", "repeated", "decision"),
    [
        (7, 10, Decision.SAME),
        (7, 9, Decision.UNDECIDED),
        (6, 10, Decision.UNDECIDED),
        (6, 29, Decision.UNDECIDED),
        (6, 30, Decision.SAME),
    ],
)
def test_repeated_texts_that_lead_on_close_sooner_under_volatile_urls(
    volatile: int, repeated: int, decision: Decision
) -> None:
    repeats = {"same": 11, "same_productive": repeated, "same_by_child": {f"{NAME}x/": repeated}}
    on = probation(pages=12, leaves=1, volatile=volatile, same_depth=6, **repeats)
    assert decided(on) is decision


@pytest.mark.parametrize(
    ("same", "productive", "leaves", "decision"),
    [
        (18, 12, 0, Decision.SAME),
        (18, 11, 0, Decision.UNDECIDED),
        (17, 12, 0, Decision.UNDECIDED),
        (18, 12, 1, Decision.UNDECIDED),
    ],
)
def test_a_unit_of_which_nearly_all_pages_are_the_same_is_closed_whatever_its_urls(
    same: int, productive: int, leaves: int, decision: Decision
) -> None:
    counts = {"same_productive": productive, "new_urls": 40, "same_depth": 6}
    assert decided(probation(pages=20, same=same, leaves=leaves, **counts)) is decision


def test_where_one_page_in_six_has_a_text_of_its_own_nothing_is_proven_empty() -> None:
    counts = {"volatile": 20, "same_by_child": {"": 20}, "same_depth": 6}
    assert decided(probation(pages=20, same=16, **counts)) is Decision.UNDECIDED
    assert decided(probation(pages=20, same=17, **counts)) is Decision.SAME


@pytest.mark.parametrize(("depth", "decision"), [(6, Decision.SAME), (5, Decision.UNDECIDED)])
def test_repeated_texts_close_only_what_goes_on_repeating_from_page_to_page(
    depth: int, decision: Decision
) -> None:
    """The lists of files of a repository say the same at every commit, and name files."""
    one_child = {"volatile": 20, "same_by_child": {f"{NAME}tree?": 20}}
    assert decided(probation(pages=20, same=17, same_depth=depth, **one_child)) is decision
    all_same = {"same": 20, "same_productive": 20, "new_urls": 40}
    assert decided(probation(pages=20, same_depth=depth, **all_same)) is decision


def test_what_was_released_before_is_closed_only_after_half_as_many_same_pages() -> None:
    counts = {"same": 20, "same_productive": 20, "new_urls": 40, "same_depth": 9}
    again = probation(pages=20, is_again=True, **counts)
    assert decided(again, pages=59) is Decision.SAME
    assert decided(again, pages=60) is not Decision.SAME
    assert decided(probation(pages=20, **counts), pages=60) is Decision.SAME


def test_a_deep_tree_without_cross_links_where_some_were_due_is_endless() -> None:
    assert decided(deep(expected=4.0)) is Decision.ENDLESS
    assert decided(deep(expected=3.9)) is Decision.UNDECIDED
    assert decided(deep(expected=4.0, depth=9)) is Decision.UNDECIDED
    assert decided(deep(expected=4.0, pages=12)) is Decision.UNDECIDED
    assert decided(deep(expected=4.0, pages=11, productive=10)) is Decision.ENDLESS
    share = {"pages": 20, "new_urls": 40, "expected": 4.0}
    assert decided(deep(productive=17, **share)) is Decision.ENDLESS
    assert decided(deep(productive=16, **share)) is Decision.UNDECIDED


def test_what_is_endless_already_is_looked_at_again_only_when_its_pages_have_doubled() -> None:
    assert decided(deep(expected=4.0, is_endless=True)) is Decision.UNDECIDED
    assert decided(deep(pages=80, productive=80, new_urls=160, is_endless=True)) is Decision.ENDLESS


def test_an_endless_child_halves_the_depth_that_is_asked_for() -> None:
    assert decided(deep(strikes=1)) is Decision.ENDLESS
    assert decided(deep(strikes=1, depth=5)) is Decision.ENDLESS
    assert decided(deep(strikes=1, depth=4)) is Decision.UNDECIDED
    assert decided(deep(strikes=1, depth=5, leaves=1)) is Decision.UNDECIDED


def test_one_cross_link_puts_a_decision_off_and_navigation_is_none() -> None:
    assert decided(deep(expected=4.0, cross_links={1: 3})) is Decision.UNDECIDED
    assert decided(deep(expected=4.0, cross_links={1: 4})) is Decision.ENDLESS


def test_a_chain_is_left_alone_until_its_unit_has_40_pages() -> None:
    on = deep(new_urls=14, expected=4.0)
    assert decided(on, pages=39) is Decision.UNDECIDED
    assert decided(on, pages=40) is Decision.ENDLESS
    assert decided(deep(new_urls=15, expected=4.0), pages=10) is Decision.ENDLESS


def long(pages: int = 80, **counts: object) -> Probation:
    """Return a long probation: its first half brought 100 new URLs and ten cross links."""
    halves = {"half_new_urls": 100, "half_cross_links": 10}
    return deep(**{"pages": pages, "productive": pages, "new_urls": 400, **halves, **counts})


@pytest.mark.parametrize(
    ("pages", "half", "is_due"), [(79, 0, False), (80, 0, True), (99, 50, False), (100, 50, True)]
)
def test_a_long_probation_is_looked_at_after_the_pages_of_the_settings_and_twice_as_many(
    pages: int, half: int, is_due: bool
) -> None:
    on = long(pages, half_pages=half)
    assert is_half_over(on, CONFIG) is is_due
    assert decided(on, pages=pages) is (Decision.ENDLESS if is_due else Decision.UNDECIDED)


@pytest.mark.parametrize(
    ("later", "new", "half_cross_links", "looks_finite"),
    [
        (16, 192, 10, True),
        (15, 192, 10, False),
        (16, 193, 10, False),
        (5, 192, 1, True),
        (4, 192, 1, False),
        (5, 192, 0, True),
    ],
)
def test_cross_links_that_become_more_frequent_while_growth_falls_are_a_sign_of_an_end(
    later: int, new: int, half_cross_links: int, looks_finite: bool
) -> None:
    links = dict.fromkeys(range(half_cross_links + later), 1)
    on = long(new_urls=new, half_cross_links=half_cross_links, cross_links=links)
    assert is_easing(on) is looks_finite
    assert decided(on, pages=80) is (Decision.EASING if looks_finite else Decision.ENDLESS)


@pytest.mark.parametrize(
    ("rate", "new", "half_pages", "is_over"),
    [
        (3.0, 127, 40, True),
        (3.0, 128, 40, False),
        (2.9, 127, 40, False),
        (3.0, 155, 0, True),
        (3.0, 156, 0, False),
    ],
)
def test_a_unit_that_grew_fast_and_brings_less_than_seven_new_urls_for_ten_pages_dies_out(
    rate: float, new: int, half_pages: int, is_over: bool
) -> None:
    on = probation(
        pages=80, new_urls=new, half_new_urls=100, half_pages=half_pages, rate_before=rate
    )
    assert is_dying_out(on) is is_over
    assert decided(on, pages=80) is (Decision.RELEASE if is_over else Decision.UNDECIDED)
    on.pages, on.new_urls = 79, 100
    assert decided(on, pages=79) is Decision.UNDECIDED, "it is decided at the end of a half"


def numbered(numbers: range, **counts: object) -> Probation:
    return deep(**{"numbers": set(numbers), "numbered": len(numbers), **counts})


def test_closely_numbered_urls_are_those_of_an_archive() -> None:
    assert is_numbered(numbered(range(8), new_urls=8))
    assert not is_numbered(numbered(range(7), new_urls=7))


def test_numbers_that_lie_far_apart_or_repeat_or_are_few_are_no_archive() -> None:
    assert is_numbered(numbered(range(80, 1601, 80), new_urls=20))
    assert is_numbered(deep(numbers={*range(9), 2000}, numbered=10, new_urls=10))
    assert not is_numbered(deep(numbers={*range(9), 2001}, numbered=10, new_urls=10))
    assert is_numbered(numbered(range(8), numbered=10, new_urls=10))
    assert not is_numbered(numbered(range(8), numbered=11, new_urls=11))
    assert is_numbered(numbered(range(16), new_urls=20))
    assert not is_numbered(numbered(range(16), new_urls=21))


def test_numbers_beyond_those_that_are_kept_do_not_count_as_repeated() -> None:
    assert is_numbered(numbered(range(NUMBERS_KEPT), numbered=10_000, new_urls=10_000))


@pytest.mark.parametrize(
    ("highest", "half", "do_run_out"),
    [(30, 30, True), (30, 31, True), (30, 29, False), (31, 31, False), (9, 9, True)],
)
def test_numbers_run_out_when_nearly_all_are_known_and_none_is_higher_than_before(
    highest: int, half: int, do_run_out: bool
) -> None:
    numbers = {*range(1, 10), highest, 0}
    numbers = set(sorted(numbers)[-10:])
    on = deep(numbers=numbers, numbered=10, new_urls=10, half_number=half)
    assert numbers_run_out(on) is do_run_out


def test_numbers_that_are_too_few_or_more_than_are_kept_do_not_run_out() -> None:
    assert not numbers_run_out(numbered(range(1, 8), new_urls=7, half_number=9))
    most = {"new_urls": NUMBERS_KEPT, "half_number": 10_000}
    assert numbers_run_out(numbered(range(1, NUMBERS_KEPT), **most))
    assert not numbers_run_out(numbered(range(1, NUMBERS_KEPT + 1), **most))
    assert not numbers_run_out(probation())


def test_numbers_that_run_out_release_at_the_end_of_a_half() -> None:
    counts = {"new_urls": 160, "numbered": 160, "half_new_urls": 0, "half_cross_links": 0}
    on = long(**{**counts, "numbers": set(range(1, 161)), "half_number": 160})
    assert decided(on, pages=80) is Decision.RELEASE
    on.half_number = 159
    assert decided(on, pages=80) is Decision.ENDLESS
    on.half_number, on.pages, on.productive = 160, 79, 79
    assert decided(on, pages=79) is Decision.UNDECIDED


@pytest.mark.parametrize(
    ("counts", "decision"),
    [
        ({"depth": 5, "pages": 8, "productive": 8}, Decision.HOSTS),
        ({"depth": 4, "pages": 8, "productive": 8}, Decision.UNDECIDED),
        ({"depth": 5, "pages": 7, "productive": 7}, Decision.UNDECIDED),
        ({"depth": 5, "pages": 20, "productive": 16}, Decision.UNDECIDED),
        ({"depth": 5, "pages": 20, "productive": 17}, Decision.HOSTS),
        ({"depth": 5, "pages": 8, "productive": 8, "leaves": 3}, Decision.RELEASE),
        ({"depth": 5, "pages": 26, "productive": 26, "leaves": 3}, Decision.HOSTS),
    ],
)
def test_a_domain_whose_new_hosts_name_newer_ones_is_endless(
    counts: dict[str, int], decision: Decision
) -> None:
    assert decide_on_hosts(probation(**counts), CONFIG) is decision


@pytest.mark.parametrize(
    ("listed", "held", "spent", "is_released"),
    [(16, 15, 0, True), (15, 0, 0, False), (16, 16, 0, False), (16, 10, 5, True),
     (16, 10, 6, False), (40, 20, 19, True), (40, 20, 20, False)],
)  # fmt: skip
def test_a_unit_is_listed_elsewhere_if_sixteen_of_its_urls_and_most_of_them_are(
    listed: int, held: int, spent: int, is_released: bool
) -> None:
    unit = Unit(name=NAME, listed=listed, probation=probation(spent=spent))
    assert is_listed_elsewhere(unit, held) is is_released
    assert is_listed_elsewhere(Unit(name=NAME, listed=listed), held + spent) is is_released


def test_a_host_that_brings_as_many_new_urls_per_page_as_before_grows_on() -> None:
    unit = Unit(name="h.test/", pages=500)
    assert not is_growing_on(unit, 1000), "there is nothing to compare with"
    assert (unit.growth_pages, unit.growth_known, unit.growth_rate) == (500, 1000, 2.0)
    unit.pages = 1000
    assert is_growing_on(unit, 1900)
    assert (unit.growth_pages, unit.growth_known, unit.growth_rate) == (1000, 1900, 1.8)


@pytest.mark.parametrize(
    ("before", "known", "grows_on"),
    [(2.0, 1120, True), (2.0, 1119, False), (0.5, 1090, True), (0.5, 1089, False),
     (0.0, 1500, False)],
)  # fmt: skip
def test_a_host_grows_on_at_six_tenths_of_its_rate_and_nearly_one_new_url_per_page(
    before: float, known: int, grows_on: bool
) -> None:
    past = {"growth_pages": 100, "growth_known": 1000, "growth_rate": before}
    unit = Unit(name="h.test/", pages=200, **past)  # type: ignore[arg-type] -- counts only
    assert is_growing_on(unit, known) is grows_on


def test_what_has_no_pages_yet_does_not_divide_by_nothing() -> None:
    assert not is_growing_on(Unit(name="h.test/"), 0)
    assert weight_of(probation()) == pytest.approx(0.5**-1.5)


@pytest.mark.parametrize(
    ("counts", "weight"),
    [
        ({"pages": 20, "new_urls": 20}, 1.0),
        ({"pages": 20, "new_urls": 80}, 0.125),
        ({"pages": 20, "new_urls": 10}, 0.5**-1.5),
        ({"pages": 20, "new_urls": 0}, 0.5**-1.5),
        ({"pages": 20, "new_urls": 146}, 7.3**-1.5),
        ({"pages": 20, "new_urls": 148}, 0.05),
        ({"pages": 20, "new_urls": 20, "leaves": 5}, 1.75),
        ({"pages": 20, "new_urls": 20, "is_easing": True}, 2.0),
        ({"pages": 20, "new_urls": 10, "leaves": 10, "is_easing": True}, 4.0),
        ({"pages": 36, "half_pages": 20, "new_urls": 164, "half_new_urls": 100}, 0.125),
        ({"pages": 35, "half_pages": 20, "new_urls": 140, "half_new_urls": 100}, 0.125),
    ],
)
def test_a_unit_weighs_the_more_the_fewer_new_urls_its_pages_bring(
    counts: dict[str, int], weight: float
) -> None:
    assert weight_of(probation(**counts)) == pytest.approx(weight)


def test_a_folder_weighs_more_the_more_links_lead_into_it() -> None:
    assert [entrances_of(doors) for doors in (0, 1, 2, 8, 100)] == [1, 1, 2, 8, 8]
    tree = probation(pages=20, new_urls=400)
    assert [weight_of(tree, entrances=n) for n in (1.0, 8.0)] == [0.05, 0.4]
    assert weight_of(probation(), entrances=8.0) == 4.0
    steady = probation(is_steady=True, pages=20, new_urls=20)
    assert [weight_of(steady, entrances=n) for n in (1.0, 2.0)] == [0.2, 0.4]


@pytest.mark.parametrize(
    ("doors", "pages"), [(0, 0), (1, 0), (3, 32), (7, 160), (18, 512), (1000, 512)]
)
def test_a_folder_with_many_doors_may_grow_for_a_while(doors: int, pages: int) -> None:
    folder = Unit(name=NAME, doors=doors)
    assert may_grow(folder, max(0, pages - 1)) is (pages > 0)
    assert not may_grow(folder, max(0, pages))


def test_what_may_grow_is_suspected_for_its_texts_alone() -> None:
    assert suspicion(block(), TREE, is_free_to_grow=True) == ""
    assert suspicion(block(block_same=6), TREE, is_free_to_grow=True)


def test_numbers_that_can_always_be_raised_weigh_a_tenth() -> None:
    numbers = {"pages": 20, "new_urls": 20, "numbered": 20, "numbers": set(range(1, 21))}
    assert weight_of(probation(**numbers, half_number=19)) == pytest.approx(0.1)
    assert weight_of(probation(**numbers, half_number=20)) == 1.0
    assert weight_of(probation(**{**numbers, "numbered": 15})) == 1.0


def test_that_numbers_have_run_out_is_believed_some_pages_after_the_last_look() -> None:
    numbers = {"pages": 30, "new_urls": 20, "numbered": 20, "numbers": set(range(1, 21))}
    assert not is_rising(probation(**numbers, half_number=20, half_pages=20))
    assert is_rising(probation(**numbers, half_number=20, half_pages=21))
    assert is_rising(probation(**numbers, half_number=19, half_pages=20))


def test_that_what_is_suspected_for_a_growth_that_lasts_grows_slowly_is_no_sign() -> None:
    ending = {"pages": 20, "new_urls": 10, "leaves": 10, "is_easing": True}
    assert weight_of(probation(is_steady=True, **ending)) == 0.2
    assert weight_of(probation(is_steady=True, pages=20, new_urls=80)) == 0.125


def test_a_host_with_endless_sitemaps_weighs_least_whatever_its_pages_bring() -> None:
    assert weight_of(probation(has_endless_sitemaps=True, pages=20, leaves=20)) == 0.05


@pytest.mark.parametrize(("looped", "weight"), [(11, 0.05), (10, 4.0)])
def test_folders_within_themselves_go_last_if_most_pages_lie_in_such(
    looped: int, weight: float
) -> None:
    assert weight_of(probation(looped=looped, pages=20, leaves=20)) == weight


@pytest.mark.parametrize(
    ("pages", "same", "last_own", "is_over"),
    [
        (20, 20, 0, True),  # nothing but what repeats itself
        (20, 19, 1, True),  # which came once for the first time
        (20, 18, 2, False),  # another text may come again
        (256 + 2, 256, 2, True),  # but not after so many pages
        (255 + 2, 255, 2, False),
        (35 + 318, 351 - 2, 35, True),
        (35 + 150, 185 - 4, 35, False),  # three in 35 pages, none in 150: that happens
        (35 + 326, 361 - 4, 35, True),
        (5 + 24, 29 - 5, 5, True),  # each had its own, and then none any more
        (5 + 23, 28 - 5, 5, False),
        (100, 90, 0, True),  # a probation that an older version has begun
    ],
)
def test_nothing_is_empty_while_texts_of_its_own_may_still_come(
    pages: int, same: int, last_own: int, is_over: bool
) -> None:
    assert is_own_text_over(probation(pages=pages, same=same, last_own=last_own)) is is_over


def test_what_may_still_bring_texts_of_its_own_is_not_closed() -> None:
    counts = {"pages": 60, "same": 55, "same_productive": 55, "same_depth": 6}
    counts |= {"same_by_child": {"": 55}}
    assert decide(probation(last_own=5, **counts), CONFIG, pages=60) is Decision.SAME
    assert decide(probation(last_own=40, **counts), CONFIG, pages=60) is not Decision.SAME


def test_a_path_through_one_child_is_that_childs() -> None:
    assert is_in_child(probation(depth=10, depth_in_child=7))
    assert not is_in_child(probation(depth=10, depth_in_child=6))
    assert not is_in_child(probation(depth=9, depth_in_child=9))


def test_a_child_that_grows_by_three_urls_a_page_is_fast() -> None:
    assert is_fast(Unit(name=NAME, pages=4, new_urls=12))
    assert not is_fast(Unit(name=NAME, pages=4, new_urls=11))


def test_the_child_with_most_of_the_repeated_texts_is_named() -> None:
    assert same_child(probation(same_productive=10, same_by_child={"x": 7, "y": 3})) == "x"
    assert same_child(probation(same_productive=10, same_by_child={"x": 6, "y": 4})) == ""
    assert same_child(probation(same_productive=10, same_by_child={"": 8, "y": 2})) == ""


def block(**counts: int) -> Unit:
    """Return a unit with a full block of pages, each of which brought two new URLs."""
    full = {"block_pages": 8, "block_productive": 8, "block_new_urls": 16, "new_urls": 16}
    return Unit(name=NAME, **{**full, **counts})  # type: ignore[arg-type] -- counts only


def page(*known: str, new: tuple[str, ...] = (), address: str = f"{NAME}page") -> Observation:
    return observation_of(page_turn(f"http://{address}", links=(*known, *new), new=new))


WOVEN = page(*(f"http://{NAME}old{n}" for n in range(4)))
TREE = page()


def test_a_block_that_grows_as_a_tree_is_suspect_at_once_and_others_after_three() -> None:
    assert suspicion(block(), TREE) == "8 of 8 pages brought 16 new URLs"
    unit = block()
    assert [suspicion(unit, WOVEN) for _ in range(2)] == ["", ""]
    assert suspicion(unit, WOVEN) == "8 of 8 pages brought 16 new URLs"


def test_blocks_that_do_not_grow_start_the_count_anew() -> None:
    unit = block(highest=7, block_number=7)
    assert [suspicion(unit, WOVEN) for _ in range(2)] == ["", ""]
    unit.block_new_urls = 11
    assert suspicion(unit, WOVEN) == ""
    unit.block_new_urls = 12
    assert [suspicion(unit, WOVEN) for _ in range(2)] == ["", ""]
    assert suspicion(unit, WOVEN)


def test_a_block_with_two_leaves_is_not_suspect() -> None:
    assert suspicion(block(block_productive=7), TREE)
    assert suspicion(block(block_productive=6), TREE) == ""


def test_a_block_of_repeated_texts_is_suspect_if_the_unit_grows_at_all() -> None:
    still = {"block_productive": 0, "block_new_urls": 0}
    assert suspicion(block(block_same=6, **still), TREE) == "6 of 8 pages say what others have said"
    assert suspicion(block(block_same=5, **still), TREE) == ""
    assert suspicion(block(block_same=8, **{**still, "new_urls": 0}), TREE) == ""
    assert suspicion(block(block_pages=10, block_same=7, **still), TREE)


def chain(**counts: int) -> Unit:
    """Return a unit whose pages brought one new URL each."""
    return block(**{"block_new_urls": 8, **counts})


def test_a_chain_is_suspect_after_five_blocks() -> None:
    unit = chain()
    assert {suspicion(unit, TREE) for _ in range(4)} == {""}
    assert suspicion(unit, TREE) == "8 of 8 pages brought 8 new URLs"


def test_blocks_with_two_leaves_start_a_chain_anew() -> None:
    unit = chain()
    assert {suspicion(unit, TREE) for _ in range(4)} == {""}
    unit.block_productive = 6
    assert suspicion(unit, TREE) == ""
    unit.block_productive = 7
    assert {suspicion(unit, TREE) for _ in range(4)} == {""}
    assert suspicion(unit, TREE)


@pytest.mark.parametrize(("brought", "blocks"), [(40, 1), (39, 5)])
def test_a_list_whose_pages_bring_others_besides_is_suspect_after_a_block(
    brought: int, blocks: int
) -> None:
    unit = chain(block_brought=brought)  # eight of them its own
    assert not any(suspicion(unit, TREE) for _ in range(blocks - 1))
    assert suspicion(unit, TREE)


def test_a_chain_whose_numbers_have_ceased_to_rise_is_not_suspect() -> None:
    still = chain(chain_blocks=9, highest=70, block_number=70)
    assert suspicion(still, TREE) == ""
    assert suspicion(chain(chain_blocks=9, highest=71, block_number=70), TREE)
    assert suspicion(chain(chain_blocks=9, highest=0, block_number=70), TREE)


def test_a_unit_that_grows_is_no_list_whatever_it_brings_besides() -> None:
    unit = block(block_brought=99)
    assert [suspicion(unit, WOVEN) for _ in range(2)] == ["", ""]
