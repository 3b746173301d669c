"""When is a unit suspected, and how does its probation end? Pure rules over what was counted.

Growth alone proves nothing: the first pages of any site bring new URLs, as those of a maze do. So
a suspected unit is put on probation and followed down, one page after the other. It is released by
signs of an end: leaves (pages with a text of their own and no new URLs) a few steps down, links to
known pages (cross links) that become more frequent, numbers that go no higher; or because most of
its URLs are listed elsewhere. Without such a sign it stays on probation, behind everything else.
Only what repeats the same text again and again is closed.
"""

import math
from enum import StrEnum

from gossamer.config import TrapsConfig
from gossamer.model import Reject
from gossamer.traps.observations import Observation, count_cross_links
from gossamer.traps.unit import NUMBERS_KEPT, Probation, Unit

SUSPECT_PAGES = 8
"""Pages of a unit after which it may be suspected, and put on probation."""
ENDLESS_DEPTH = 10
"""Pages in a row, each found on the one before, that must all bring new URLs to close it."""
SAME_PAGES = 10
"""Pages that have a known text, and lead to new URLs, to close it."""
SAME_DEPTH = 6
"""So many of them in a row, each found on the one before: the lists of files of a repository are
the same at every commit, but what they name are files, not further lists."""
PRODUCTIVE_SHARE = 0.85
"""Of a block of pages, so many bring new URLs..."""
NEW_PER_PAGE = 1.5
"""...and on average so many: a chain of pages has one each, and is not suspected."""
GROWING_BLOCKS = 3
"""So many blocks in a row must grow to be suspected, if they do not grow as a tree does."""
SAME_SHARE = 0.7
MOSTLY_SAME_SHARE = 0.85
"""Where more pages than the rest have texts of their own, nothing is proven empty."""
ALL_SAME_SHARE = 0.9
EXTRA_SAME_PAGES = 2
SURELY_OVER, LONG_SILENCE = 7.0, 256
"""The logarithm of the odds against so many pages without a text of their own, where some had one;
and so many are enough anyway."""
RECHECK_FACTOR, RECHECK_ADDRESS_FACTOR = 2, 4
"""A released unit, or address, may be suspected again with so many times the pages, or domains."""
ENOUGH_LEAVES = 3
LEAF_SHARE = 0.12
DENSE = 200
"""Numbers up to so many times their count are an archive's; those of a maze lie far apart."""
FULL = 3
"""Nearly all numbers up to the highest are known."""
DISTINCT_SHARE = 0.8
ENOUGH_NUMBERS = 8
ENOUGH_EXPECTED = 4.0
"""A site of a thousand pages would have had so many cross links: that it had none is no accident.
"""
ENOUGH_CROSS_LINKS = 5
RISING = 1.6
"""Cross links of the later half of a probation for each of the first half, in a finite site."""
FALLING = 0.92
LONG_CHAIN = 5
"""Blocks of pages that lead from one to the next, after which they are suspected..."""
LONG_LIST, LISTED_PER_PAGE = 1, 4.0
"""...or so many, if each page lists other pages besides."""
ENOUGH_LISTED = 16
SLOWER = 0.5
GROWTH_PAGES = 1000
"""A host is asked whether it grows on after so many pages, twice, four times, ... as many."""
HOME_GROWTH_PAGES = 128
"""A folder of a seed's host sooner, because a wrong suspicion costs little there..."""
QUERY_GROWTH_PAGES = 64
"""...and a path with queries, because a form can ask for any combination of values."""
PAIR_PAGES = 16
"""Pages of two hosts after which they may be suspected together."""
LISTED_BY_ONE = 64
"""So many URLs of a host that was suspected for its growth may be listed by one other host."""
STEADY, LEAST_RATE = 0.6, 0.9
DYING_OUT = 0.7
SEEN_SHARE = 0.125
"""Of the pages of a unit, so many must have been fetched on probation to release it for its leaves.
"""
NEW_PAGES = 24
"""Of a domain on probation: after so many pages it is not new any more."""
MOST_WEIGHT, LEAST_WEIGHT = 4.0, 0.05
EASING_WEIGHT, NUMBERED_WEIGHT = 2.0, 10.0
ENOUGH_PAGES = 16
HARDLY_NEW = 0.25
LEAST_GROWTH, STEEPNESS = 0.5, 1.5
MOST_FOR_DOORS = 8
"""So many times more weighs a folder into which many links lead."""
DOORS_OF_TRAP = 2
PAGES_PER_DOOR, ENTERED_PAGES = 32, 512
"""A folder of a seed's host with more doors than that may have so many pages for each, and at most,
before it is suspected for its growth."""
STEADY_WEIGHT = 0.2
"""The most for a unit that was suspected for a growth that lasts: that it is slow is no sign."""
SHARE_OF_CHILD = 0.7
STRIKES = 3
"""So many endless children make their unit endless, if nothing honest was found in it."""
FAST_GROWTH = 3
STABLE_URL_FACTOR = 3
"""The same text under stable URLs needs so many times the pages to be believed."""


class Decision(StrEnum):
    """What follows from the pages of a probation so far."""

    UNDECIDED = "undecided"
    RELEASE = "release"
    EASING = "easing"
    """It is not proven finite, but goes before those that show no sign of it."""
    SAME = Reject.TRAP_SAME
    ENDLESS = Reject.TRAP_ENDLESS
    HOSTS = Reject.TRAP_HOSTS
    MIRROR = Reject.MIRROR_HOST


def suspicion(unit: Unit, page: Observation, *, is_free_to_grow: bool = False) -> str:
    """Return why a unit is suspected after a block of pages, in words; "" if it is not.

    One that is free to grow is suspected for its texts alone.
    """
    pages = unit.block_pages
    if unit.block_same >= SAME_SHARE * pages and unit.new_urls:
        return f"{unit.block_same} of {pages} pages say what others have said"
    is_productive = unit.block_productive >= PRODUCTIVE_SHARE * pages
    is_growing = is_productive and unit.block_new_urls >= NEW_PER_PAGE * pages
    unit.growing_blocks = unit.growing_blocks + 1 if is_growing else 0
    unit.chain_blocks = unit.chain_blocks + 1 if is_productive else 0
    if is_free_to_grow:
        return ""
    is_suspect = is_growing and (
        unit.growing_blocks >= GROWING_BLOCKS or page.is_of_tree(unit.name)
    )
    others = unit.block_brought - unit.block_new_urls
    lists_others = not is_growing and others >= LISTED_PER_PAGE * pages
    is_long = unit.chain_blocks >= (LONG_LIST if lists_others else LONG_CHAIN)
    if is_suspect or (is_long and unit.is_rising):
        return f"{unit.block_productive} of {pages} pages brought {unit.block_new_urls} new URLs"
    return ""


def decide(probation: Probation, config: TrapsConfig, *, pages: int) -> Decision:
    """Return what follows for a unit on probation that has so many pages, those before included."""
    before = pages - probation.pages if probation.is_again else 0
    decision = _decide_by_text(probation, pages_before=before)
    if decision is not Decision.UNDECIDED:
        return decision
    is_over = probation.pages >= ENOUGH_PAGES and probation.new_urls <= HARDLY_NEW * probation.pages
    is_young = not probation.is_again and probation.pages < config.unproven_pages
    is_leafy = has_leaves(probation) and (is_young or is_shrinking(probation))
    is_seen = probation.pages >= SEEN_SHARE * pages
    if is_seen and (is_leafy or is_over) and is_slowing(probation):
        return Decision.RELEASE
    if is_half_over(probation, config) and is_dying_out(probation):
        return Decision.RELEASE
    if not is_deep(probation) or probation.productive < probation.pages * PRODUCTIVE_SHARE:
        return Decision.UNDECIDED
    return _decide_by_growth(probation, config, pages=pages)


def is_listed_elsewhere(unit: Unit, held: int) -> bool:
    """Return True if most of the known URLs of a unit on probation are listed outside of it."""
    spent = unit.probation.spent if unit.probation is not None else 0
    return unit.listed >= ENOUGH_LISTED and unit.listed > held + spent


def grow_together(one: Unit, other: Unit) -> bool:
    """Return True if the pages of two hosts do nothing but list ever new pages of each other."""
    return (
        min(
            one.abroad.get(other.name, 0) / max(PAIR_PAGES, one.pages),
            other.abroad.get(one.name, 0) / max(PAIR_PAGES, other.pages),
        )
        >= NEW_PER_PAGE
    )


def is_growing_on(unit: Unit, known: int) -> bool:
    """Return True if a unit grows as fast as ever; to be asked when its pages have doubled.

    Most sites bring ever fewer new URLs per page long before all of their pages are known.
    """
    rate = (known - unit.growth_known) / max(1, unit.pages - unit.growth_pages)
    before, unit.growth_rate = unit.growth_rate, rate
    unit.growth_pages, unit.growth_known = unit.pages, known
    return before > 0.0 and rate >= LEAST_RATE and rate >= STEADY * before


def decide_on_hosts(probation: Probation, config: TrapsConfig) -> Decision:
    """Return what follows for a domain on probation: do new hosts name ever newer ones?"""
    if has_leaves(probation):
        return Decision.RELEASE
    is_deep = probation.depth * 2 >= ENDLESS_DEPTH
    is_productive = probation.productive >= PRODUCTIVE_SHARE * probation.pages
    if is_deep and probation.pages >= config.new_hosts and is_productive:
        return Decision.HOSTS
    return Decision.UNDECIDED


def _decide_by_text(probation: Probation, *, pages_before: int) -> Decision:
    """Decide by pages that have the text of another, after so many in an earlier probation."""
    is_deep_enough = probation.same_depth >= SAME_DEPTH
    if not is_repeating(probation) or not is_deep_enough or probation.same * 2 <= pages_before:
        return Decision.UNDECIDED
    if not is_own_text_over(probation):
        return Decision.UNDECIDED
    is_volatile = probation.volatile * 2 > probation.pages
    wanted = SAME_PAGES * (1 if is_volatile else STABLE_URL_FACTOR)
    is_mostly_same = probation.same >= MOSTLY_SAME_SHARE * probation.pages
    if is_mostly_same and max(probation.same_by_child.values(), default=0) >= wanted:
        return Decision.SAME
    is_all_same = probation.same >= ALL_SAME_SHARE * probation.pages and not probation.leaves
    is_empty = is_all_same and probation.same_productive >= SAME_PAGES + EXTRA_SAME_PAGES
    return Decision.SAME if is_empty else Decision.UNDECIDED


def _decide_by_growth(probation: Probation, config: TrapsConfig, *, pages: int) -> Decision:
    """Decide on a unit in which no end was found, by its links to known pages."""
    is_chain = probation.new_urls < NEW_PER_PAGE * probation.pages
    if is_chain and pages < LONG_CHAIN * SUSPECT_PAGES:
        return Decision.UNDECIDED
    if not is_half_over(probation, config):
        is_certain = probation.expected >= ENOUGH_EXPECTED or bool(probation.strikes)
        is_due = is_certain and not probation.is_endless
        return (
            Decision.ENDLESS if is_due and not count_cross_links(probation) else Decision.UNDECIDED
        )
    if numbers_run_out(probation):
        return Decision.RELEASE
    return Decision.EASING if is_easing(probation) else Decision.ENDLESS


def is_half_over(probation: Probation, config: TrapsConfig) -> bool:
    """Return True if a long probation has twice the pages that it had at the last look."""
    return probation.pages >= max(config.unproven_pages, 2 * probation.half_pages)


def weight_of(probation: Probation, *, entrances: float = 1.0) -> float:
    """Return how likely a unit on probation is to end soon: its weight among others.

    The fewer new URLs its pages bring, the better. A number that can always be raised is worse
    than a name: nobody needs to have written the next page. Many entrances are better than one.
    Folders within themselves come last.
    """
    pages, new = (
        probation.pages - probation.half_pages,
        probation.new_urls - probation.half_new_urls,
    )
    if pages < ENOUGH_PAGES:
        pages, new = max(1, probation.pages), probation.new_urls
    weight = math.pow(max(LEAST_GROWTH, new / max(1, pages)), -STEEPNESS)
    weight *= 1.0 + 3.0 * probation.leaves / max(1, probation.pages)
    if probation.is_easing:
        weight *= EASING_WEIGHT
    if is_rising(probation):
        weight /= NUMBERED_WEIGHT
    if probation.has_endless_sitemaps or probation.looped * 2 > probation.pages:
        return LEAST_WEIGHT
    most = STEADY_WEIGHT * entrances if probation.is_steady else MOST_WEIGHT
    return min(most, max(LEAST_WEIGHT, weight) * entrances)


def entrances_of(doors: int) -> float:
    """Return by how much a folder of a seed's host weighs more for the links that lead into it.

    What a site links in many places was meant to be found; a trap has one door, or two. Elsewhere
    that is no sign: the front page may be the trap's, too.
    """
    return float(min(MOST_FOR_DOORS, max(1, doors)))


def may_grow(folder: Unit, pages: int) -> bool:
    """Return True if so many links lead into a folder that growth is not suspected yet."""
    return pages < min(ENTERED_PAGES, PAGES_PER_DOOR * (folder.doors - DOORS_OF_TRAP))


def is_own_text_over(probation: Probation) -> bool:
    """Return True if no text of its own has come for longer than by chance.

    As many came before as an unknown rate let come; the fewer, the longer the next may take.
    """
    own = probation.pages - probation.same - 1  # without what is repeated, where it came first
    silent = probation.pages - probation.last_own
    if own <= 0 or not probation.last_own or silent >= LONG_SILENCE:
        return True
    return own * math.log1p(silent / probation.last_own) >= SURELY_OVER


def is_repeating(probation: Probation) -> bool:
    """Return True if most pages have the text of another."""
    return probation.same * 2 > probation.pages


def is_unending(probation: Probation) -> bool:
    """Return True if a unit shows what can go on for ever: ever higher numbers, a steady growth."""
    return probation.is_steady or is_rising(probation)


def is_rising(probation: Probation) -> bool:
    """Return True if new URLs are numbered, and their numbers still rise.

    Soon after the last look hardly any can be higher than the highest was then.
    """
    has_run_out = numbers_run_out(probation) and 2 * probation.pages >= 3 * probation.half_pages
    return is_numbered(probation) and not has_run_out


def has_leaves(probation: Probation) -> bool:
    """Return True if there are as many leaves as a finite site has."""
    leaves = probation.leaves
    return leaves >= ENOUGH_LEAVES and leaves >= LEAF_SHARE * probation.pages


def is_slowing(probation: Probation) -> bool:
    """Return True if pages bring far fewer new URLs than before the probation.

    A maze may have dead ends, too; then it brings as many as ever. What grew slowly before cannot
    show it: in a chain whose pages name the next few, those that were passed over bring nothing.
    """
    before = probation.rate_before
    return before >= FAST_GROWTH and probation.new_urls <= SLOWER * before * probation.pages


def is_shrinking(probation: Probation) -> bool:
    """Return True if fewer new URLs are brought than pages are fetched: those known become fewer.

    Leaves alone say little of what has grown on for long: the posts of a list are leaves, too.
    """
    return probation.pages >= ENOUGH_PAGES and probation.new_urls <= DYING_OUT * probation.pages


def numbers_run_out(probation: Probation) -> bool:
    """Return True if the URLs are numbered closely, and their numbers have ceased to rise."""
    highest = max(probation.numbers, default=0)
    count = len(probation.numbers)
    is_full = count < NUMBERS_KEPT and highest <= FULL * count
    return is_full and is_numbered(probation) and 0 < highest <= probation.half_number


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


def is_dying_out(probation: Probation) -> bool:
    """Return True if the later half of a long probation brought less than one new URL per page.

    What goes on so must end, unless it grew slowly before: see `is_slowing`.
    """
    later = probation.new_urls - probation.half_new_urls
    is_fast = probation.rate_before >= FAST_GROWTH
    return is_fast and later < DYING_OUT * (probation.pages - probation.half_pages)


def is_easing(probation: Probation) -> bool:
    """Return True if the later half of a long probation looks more like an end than the first.

    The links of a finite site lead to known pages ever more often; those of a maze, whatever it
    links besides, as often as at the beginning.
    """
    later = count_cross_links(probation) - probation.half_cross_links
    is_rising = later >= max(ENOUGH_CROSS_LINKS, RISING * probation.half_cross_links)
    new = probation.new_urls - probation.half_new_urls
    return is_rising and new <= FALLING * probation.half_new_urls


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
