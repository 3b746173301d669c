"""When is a unit suspected, and how does its probation end? Pure rules over what was counted.

Growth alone proves nothing: the first pages of any site bring new URLs, as those of a maze do. So
a suspected unit is followed down, one page after the other. A finite site has leaves (pages with a
text of their own and no new URLs) a few steps down; a maze has none. Where none is found, links to
known pages (cross links) decide: in a finite site there are more and more of them.
"""

from enum import StrEnum

from gossamer.config import TrapsConfig
from gossamer.model import Reject
from gossamer.traps.observations import Observation, count_cross_links
from gossamer.traps.unit import NUMBERS_KEPT, Probation, Unit

SUSPECT_PAGES = 8
"""Pages of a unit after which it may be suspected, and put on probation."""
ENDLESS_DEPTH = 10
"""Pages in a row, each found on the one before, that must all bring new URLs to close it."""
SAME_PAGES = 6
"""Pages that have a known text, and lead to new URLs, to close it."""
PRODUCTIVE_SHARE = 0.85
"""Of a block of pages, so many bring new URLs..."""
NEW_PER_PAGE = 1.5
"""...and on average so many: a chain of pages has one each, and is not suspected."""
GROWING_BLOCKS = 3
"""So many blocks in a row must grow to be suspected, if they do not grow as a tree does."""
SAME_SHARE = 0.7
ALL_SAME_SHARE = 0.9
EXTRA_SAME_PAGES = 2
RECHECK_FACTOR = 4
"""A released unit may be suspected again when it has so many times as many pages."""
ENOUGH_LEAVES = 3
LEAF_SHARE = 0.12
DENSE = 200
"""Numbers up to so many times their count are an archive's; those of a maze lie far apart."""
DISTINCT_SHARE = 0.8
ENOUGH_NUMBERS = 8
ENOUGH_EXPECTED = 4.0
"""A site of a thousand pages would have had so many cross links: that it had none is no accident.
"""
ENOUGH_CROSS_LINKS = 5
FINITE, LIKELY_FINITE, ENDLESS = 1.6, 1.3, 1.1
"""Cross links of the later half of a probation for each of the first half, and what they prove."""
FALLING = 0.75
HOME_FACTOR = 25
"""The unit of a seed may have so many times as many pages before it is closed."""
LONG_CHAIN = 25
"""Blocks of pages that lead from one to the next, without numbers, after which they are tested."""
KNOWN_DOMAINS = 3
SHARE_OF_CHILD = 0.7
STRIKES = 3
"""So many closed children close their unit, if nothing honest was found in it."""
FAST_GROWTH = 3
STABLE_URL_FACTOR = 3
"""The same text under stable URLs needs so many times the pages to be believed."""


class Decision(StrEnum):
    """What follows from the pages of a probation so far."""

    UNDECIDED = "undecided"
    RELEASE = "release"
    SAME = Reject.TRAP_SAME
    ENDLESS = Reject.TRAP_ENDLESS
    HOSTS = Reject.TRAP_HOSTS
    MIRROR = Reject.MIRROR_HOST


def suspicion(unit: Unit, page: Observation) -> str:
    """Return why a unit is suspected after a block of pages, in words; "" if it is not."""
    pages = unit.block_pages
    if unit.block_same >= SAME_SHARE * pages and unit.new_urls:
        return f"{unit.block_same} of {pages} pages say what others have said"
    is_productive = unit.block_productive >= PRODUCTIVE_SHARE * pages
    is_growing = is_productive and unit.block_new_urls >= NEW_PER_PAGE * pages
    unit.growing_blocks = unit.growing_blocks + 1 if is_growing else 0
    unit.chain_blocks = unit.chain_blocks + 1 if is_productive and not page.is_in_series() else 0
    is_suspect = is_growing and (
        unit.growing_blocks >= GROWING_BLOCKS or page.is_of_tree(unit.name)
    )
    if is_suspect or (unit.chain_blocks >= LONG_CHAIN and page.is_of_tree(unit.name)):
        return f"{unit.block_productive} of {pages} pages brought {unit.block_new_urls} new URLs"
    return ""


def decide(unit: Unit, probation: Probation, config: TrapsConfig, *, is_home: bool) -> Decision:
    """Return what follows for a unit on probation; `is_home`: a seed lies in it."""
    decision = _decide_by_text(probation)
    if decision is not Decision.UNDECIDED:
        return decision
    if has_leaves(probation):
        return Decision.RELEASE
    if not is_deep(probation) or probation.productive < probation.pages * PRODUCTIVE_SHARE:
        return Decision.UNDECIDED
    if is_numbered(probation):
        return Decision.RELEASE
    return _decide_by_growth(unit, probation, config, is_home=is_home)


def decide_on_hosts(probation: Probation, config: TrapsConfig) -> Decision:
    """Return what follows for a domain on probation: do new hosts name ever newer ones?"""
    if has_leaves(probation):
        return Decision.RELEASE
    is_deep = probation.depth * 2 >= ENDLESS_DEPTH
    is_productive = probation.productive >= PRODUCTIVE_SHARE * probation.pages
    if is_deep and probation.pages >= config.new_hosts and is_productive:
        return Decision.HOSTS
    return Decision.UNDECIDED


def _decide_by_text(probation: Probation) -> Decision:
    """Decide by pages that have the text of another."""
    if probation.same * 2 <= probation.pages:
        return Decision.UNDECIDED
    is_volatile = probation.volatile * 2 > probation.pages
    wanted = SAME_PAGES * (1 if is_volatile else STABLE_URL_FACTOR)
    if max(probation.same_by_child.values(), default=0) >= wanted:
        return Decision.SAME
    is_all_same = probation.same >= ALL_SAME_SHARE * probation.pages and not probation.leaves
    if is_all_same and probation.same_productive >= SAME_PAGES + EXTRA_SAME_PAGES:
        return Decision.SAME
    # So many copies, and none of them leads on: they will come to an end by themselves.
    is_ending = probation.pages >= 2 * wanted and probation.same_productive * 4 < wanted
    return Decision.RELEASE if is_ending else Decision.UNDECIDED


def _decide_by_growth(
    unit: Unit, probation: Probation, config: TrapsConfig, *, is_home: bool
) -> Decision:
    """Decide on a unit in which no end was found, by its links to known pages."""
    is_chain = probation.new_urls < NEW_PER_PAGE * probation.pages
    if is_chain and unit.pages < LONG_CHAIN * SUSPECT_PAGES:
        return Decision.UNDECIDED
    cross_links = count_cross_links(probation)
    is_certain = probation.expected >= ENOUGH_EXPECTED or bool(probation.strikes)
    if not cross_links and is_certain and not is_home:
        return Decision.ENDLESS
    if probation.pages < config.unproven_pages:
        return Decision.UNDECIDED
    is_known = (is_home and cross_links > 0) or len(unit.linking_domains) >= KNOWN_DOMAINS
    trend = cross_link_trend(probation, cross_links)
    is_extended = probation.pages >= 2 * config.unproven_pages
    if is_known or trend >= (LIKELY_FINITE if is_extended else FINITE):
        return Decision.RELEASE
    is_over = is_extended or trend <= ENDLESS
    if is_home:
        is_over = probation.pages >= HOME_FACTOR * config.unproven_pages
    return Decision.ENDLESS if is_over else Decision.UNDECIDED


def has_leaves(probation: Probation) -> bool:
    """Return True if there are as many leaves as a finite site has."""
    leaves = probation.leaves
    return leaves >= ENOUGH_LEAVES and leaves >= LEAF_SHARE * probation.pages


def is_deep(probation: Probation) -> bool:
    """Return True if enough pages in a row have brought new URLs."""
    half = 2 if probation.strikes and not probation.leaves else 1
    return probation.depth >= ENDLESS_DEPTH // half


def is_in_child(probation: Probation) -> bool:
    """Return True if the pages in a row lie in one child of the unit, not in the unit at large."""
    return is_deep(probation) and probation.depth_in_child >= SHARE_OF_CHILD * probation.depth


def is_fast(child: Unit) -> bool:
    """Return True if a child grows so fast that the probation of its unit decides on it, too.

    The unit may have been large before, so that cross links were to be expected at once; a child
    that grows slowly has to be judged by its own size.
    """
    return child.new_urls >= FAST_GROWTH * child.pages


def same_child(probation: Probation) -> str:
    """Return the child that repeats itself; "" if it is the unit itself, or several children."""
    by_child = probation.same_by_child
    child = max(by_child, key=lambda name: by_child[name])
    return child if by_child[child] >= SHARE_OF_CHILD * probation.same_productive else ""


def cross_link_trend(probation: Probation, cross_links: int) -> float:
    """Return how many cross links the later half of a long probation had per one of the first half.

    The links of a finite site lead to known pages ever more often; those of a maze, whatever it
    links besides, as often as at the beginning.
    """
    if probation.new_urls - probation.half_new_urls <= FALLING * probation.half_new_urls:
        return FINITE
    later = cross_links - probation.half_cross_links
    return later / max(1, probation.half_cross_links) if later >= ENOUGH_CROSS_LINKS else 0.0


def is_numbered(probation: Probation) -> bool:
    """Return True if the new URLs are numbered closely, as the pages of an archive."""
    count = len(probation.numbers)
    most = min(probation.numbered, NUMBERS_KEPT)
    return (
        count >= ENOUGH_NUMBERS
        and count >= DISTINCT_SHARE * most  # not 1 to 9 on each page
        and probation.numbered >= DISTINCT_SHARE * probation.new_urls
        and max(probation.numbers, default=0) <= DENSE * count
    )
