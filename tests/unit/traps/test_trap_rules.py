"""When a unit is suspected, and what follows from the pages of its probation: figure by figure."""

from dataclasses import dataclass

import pytest

from gossamer.config import TrapsConfig
from gossamer.traps.observations import Observation, observation_of
from gossamer.traps.rules import (
    Decision,
    cross_link_trend,
    decide,
    decide_on_hosts,
    is_fast,
    is_in_child,
    is_numbered,
    same_child,
    suspicion,
)
from gossamer.traps.unit import Probation, Unit
from tests.unit.traps.pages import page_turn

CONFIG = TrapsConfig(unproven_pages=80, new_hosts=8)
NAME = "h.test/a/"


def probation(**counts: object) -> Probation:
    return Probation(suspicion="", **counts)  # type: ignore[arg-type] -- whatever a test names


def deep(**counts: object) -> Probation:
    """Return a probation that has gone down ten pages without a leaf, two new URLs on each."""
    return probation(**{"pages": 10, "productive": 10, "depth": 10, "new_urls": 20, **counts})


def decided(on: Probation, unit: Unit | None = None, *, is_home: bool = False) -> Decision:
    return decide(unit or Unit(name=NAME), on, CONFIG, is_home=is_home)


def test_nothing_is_decided_before_there_is_anything_to_decide_by() -> None:
    assert decided(probation()) is Decision.UNDECIDED


@pytest.mark.parametrize(
    ("leaves", "pages", "decision"),
    [
        (2, 3, Decision.UNDECIDED),
        (3, 3, Decision.RELEASE),
        (3, 25, Decision.RELEASE),
        (3, 26, Decision.UNDECIDED),
        (4, 33, Decision.RELEASE),
    ],
)
def test_three_leaves_and_one_in_eight_pages_release(
    leaves: int, pages: int, decision: Decision
) -> None:
    assert decided(probation(pages=pages, leaves=leaves)) is decision


@pytest.mark.parametrize(
    ("volatile", "repeated", "decision"),
    [
        (7, 6, Decision.SAME),
        (7, 5, Decision.UNDECIDED),
        (6, 6, Decision.UNDECIDED),
        (6, 17, Decision.UNDECIDED),
        (6, 18, Decision.SAME),
    ],
)
def test_repeated_texts_that_lead_on_close_sooner_under_volatile_urls(
    volatile: int, repeated: int, decision: Decision
) -> None:
    repeats = {"same": 7, "same_productive": repeated, "same_by_child": {f"{NAME}x/": repeated}}
    on = probation(pages=12, leaves=1, volatile=volatile, **repeats)
    assert decided(on) is decision


@pytest.mark.parametrize(
    ("same", "productive", "leaves", "decision"),
    [
        (18, 8, 0, Decision.SAME),
        (18, 7, 0, Decision.UNDECIDED),
        (17, 8, 0, Decision.UNDECIDED),
        (18, 8, 1, Decision.UNDECIDED),
    ],
)
def test_a_unit_of_which_nearly_all_pages_are_the_same_is_closed_whatever_its_urls(
    same: int, productive: int, leaves: int, decision: Decision
) -> None:
    on = probation(pages=20, same=same, same_productive=productive, leaves=leaves)
    assert decided(on) is decision


@pytest.mark.parametrize(
    ("pages", "productive", "decision"),
    [
        (36, 4, Decision.RELEASE),
        (36, 5, Decision.UNDECIDED),
        (35, 4, Decision.UNDECIDED),
    ],
)
def test_many_copies_that_do_not_lead_on_release(
    pages: int, productive: int, decision: Decision
) -> None:
    assert decided(probation(pages=pages, same=19, same_productive=productive)) is decision


def test_half_of_the_pages_repeating_others_is_not_enough() -> None:
    counts = {"volatile": 12, "same_by_child": {"": 20}}
    assert decided(probation(pages=12, same=6, **counts)) is Decision.UNDECIDED
    assert decided(probation(pages=12, same=7, **counts)) is Decision.SAME


def test_a_deep_tree_without_cross_links_where_some_were_due_is_endless() -> None:
    assert decided(deep(expected=4.0)) is Decision.ENDLESS
    assert decided(deep(expected=3.9)) is Decision.UNDECIDED
    assert decided(deep(expected=4.0, depth=9)) is Decision.UNDECIDED
    assert decided(deep(expected=4.0, pages=12)) is Decision.UNDECIDED
    assert decided(deep(expected=4.0, pages=11, productive=10)) is Decision.ENDLESS
    share = {"pages": 20, "new_urls": 40, "expected": 4.0}
    assert decided(deep(productive=17, **share)) is Decision.ENDLESS
    assert decided(deep(productive=16, **share)) is Decision.UNDECIDED


def test_a_closed_child_halves_the_depth_that_is_asked_for() -> None:
    assert decided(deep(strikes=1)) is Decision.ENDLESS
    assert decided(deep(strikes=1, depth=5)) is Decision.ENDLESS
    assert decided(deep(strikes=1, depth=4)) is Decision.UNDECIDED
    assert decided(deep(strikes=1, depth=5, leaves=1)) is Decision.UNDECIDED


def test_one_cross_link_puts_a_decision_off_and_navigation_is_none() -> None:
    assert decided(deep(expected=4.0, cross_links={1: 3})) is Decision.UNDECIDED
    assert decided(deep(expected=4.0, cross_links={1: 4})) is Decision.ENDLESS


def test_the_unit_of_a_seed_is_closed_after_25_times_the_pages() -> None:
    grown = {"productive": 2000, "new_urls": 4000, "expected": 9.0}
    assert decided(deep(pages=80, **grown), is_home=True) is Decision.UNDECIDED
    assert decided(deep(pages=1999, **grown), is_home=True) is Decision.UNDECIDED
    assert decided(deep(pages=2000, **grown), is_home=True) is Decision.ENDLESS


def test_the_unit_of_a_seed_is_released_by_any_cross_link() -> None:
    on = deep(pages=80, productive=80, new_urls=160, cross_links={1: 1})
    assert decided(on, is_home=True) is Decision.RELEASE
    assert decided(on) is Decision.ENDLESS


def test_links_from_three_domains_release() -> None:
    on = deep(pages=80, productive=80, new_urls=160, cross_links={1: 1})
    assert decided(on, Unit(name=NAME, linking_domains={1, 2, 3})) is Decision.RELEASE
    assert decided(on, Unit(name=NAME, linking_domains={1, 2})) is Decision.ENDLESS


def test_a_chain_is_left_alone_for_200_pages() -> None:
    on = deep(new_urls=14, expected=4.0)
    assert decided(on, Unit(name=NAME, pages=199)) is Decision.UNDECIDED
    assert decided(on, Unit(name=NAME, pages=200)) is Decision.ENDLESS
    assert decided(deep(new_urls=15, expected=4.0), Unit(name=NAME)) is Decision.ENDLESS


@dataclass
class Long:
    """A long probation with cross links, ten of them in its first half."""

    pages: int
    later: int

    @property
    def probation(self) -> Probation:
        return deep(
            pages=self.pages,
            productive=self.pages,
            new_urls=400,
            half_new_urls=100,
            half_cross_links=10,
            cross_links=dict.fromkeys(range(10 + self.later), 1),
        )


@pytest.mark.parametrize(
    ("pages", "later", "decision"),
    [
        (79, 40, Decision.UNDECIDED),
        (80, 16, Decision.RELEASE),
        (80, 15, Decision.UNDECIDED),
        (80, 12, Decision.UNDECIDED),
        (80, 11, Decision.ENDLESS),
        (159, 13, Decision.UNDECIDED),
        (160, 13, Decision.RELEASE),
        (160, 12, Decision.ENDLESS),
    ],
)
def test_cross_links_that_become_more_frequent_release_and_others_close(
    pages: int, later: int, decision: Decision
) -> None:
    assert decided(Long(pages, later).probation) is decision


def test_a_few_later_cross_links_prove_nothing_and_falling_growth_does() -> None:
    on = deep(new_urls=400, half_new_urls=100, half_cross_links=1)
    assert cross_link_trend(on, 5) == 0.0
    assert cross_link_trend(on, 6) == 5.0
    assert cross_link_trend(deep(new_urls=175, half_new_urls=100), 0) == 1.6
    assert cross_link_trend(deep(new_urls=176, half_new_urls=100), 0) == 0.0


def numbered(numbers: range, **counts: object) -> Probation:
    return deep(**{"numbers": set(numbers), "numbered": len(numbers), **counts})


def test_closely_numbered_urls_are_those_of_an_archive() -> None:
    assert decided(numbered(range(20), expected=9.0)) is Decision.RELEASE
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
def test_a_domain_whose_new_hosts_name_newer_ones_is_closed(
    counts: dict[str, int], decision: Decision
) -> None:
    assert decide_on_hosts(probation(**counts), CONFIG) is decision


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
    unit = block()
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


def test_a_chain_is_suspect_after_25_blocks_unless_it_is_numbered() -> None:
    chain = {"block_new_urls": 8}
    unit = block(**chain)
    assert {suspicion(unit, TREE) for _ in range(24)} == {""}
    assert suspicion(unit, TREE)
    series = page(new=(f"http://{NAME}page8",), address=f"{NAME}page7")
    unit = block(**chain)
    assert {suspicion(unit, series) for _ in range(30)} == {""}
