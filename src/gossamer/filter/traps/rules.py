"""When is a unit suspected, and how does its trial end? Pure rules over what was counted.

Growth alone proves nothing: the first pages of any site bring new URLs, as those of a maze do. So
a suspected unit is followed down, one page after the other. A finite site has leaves (pages with a
text of their own and no new URLs) a few steps down; a maze has none. A unit that is cross-linked
like a large site, or whose pages are numbered, is given more pages before it is judged.
"""

from collections.abc import Callable
from enum import StrEnum

from gossamer.config import TrapsConfig
from gossamer.filter.traps.unit import FIRST_PAGES, NUMBERS_KEPT, Trial, Unit
from gossamer.model import Reject

BREEDING = 0.85
"""Of a block of pages, so many bring new URLs..."""
FRESH_PER_PAGE = 1.5
"""...and on average so many: a chain of pages has one each, and is not suspected."""
PATIENCE = 3
"""So many blocks in a row must grow to be suspected, if they do not grow as a tree does."""
SAME = 0.7
ALL_THE_SAME = 0.9
LOOK_AGAIN = 4
"""An acquitted unit is looked at again when it has so many times as many pages."""
LEAVES = 3
LEAF_SHARE = 0.12
CROSSED_SHARE = 0.1
DENSE = 200
"""Numbers up to so many times their count are an archive's; those of a maze lie far apart."""
DISTINCT = 0.8
FALLING = 0.5
KNOWN_DOMAINS = 3
SHARE_OF_CHILD = 0.7
STRIKES = 3
"""So many closed children close their unit, if nothing honest was found in it."""
SLOW = 3
"""Sameness under plain URLs needs so many times the pages to be believed."""


class Finding(StrEnum):
    """How a trial stands."""

    OPEN = "open"
    """Not decided yet."""
    FREE = "free"
    """Acquitted."""
    LONG = "long"
    """It grows, and may yet be honest: it goes on as far as its allowance reaches."""
    SAME = Reject.TRAP_SAME
    ENDLESS = Reject.TRAP_ENDLESS
    HOSTS = Reject.TRAP_HOSTS


def suspicion(unit: Unit, is_of_tree: Callable[[str], bool]) -> str:
    """Return why a unit is suspected after a block of pages, in words; "" if it is not.

    `is_of_tree` tells whether hardly any link of the last page leads to a known page of a unit.
    """
    pages = unit.block_pages
    if unit.block_same >= SAME * pages and unit.fresh:
        return f"{unit.block_same} of {pages} pages say what others have said"
    grows = unit.block_fresh >= FRESH_PER_PAGE * pages and unit.block_bred >= BREEDING * pages
    unit.blocks = unit.blocks + 1 if grows else 0
    if grows and (unit.blocks >= PATIENCE or is_of_tree(unit.name)):
        return f"{unit.block_bred} of {pages} pages brought {unit.block_fresh} new URLs"
    return ""


def finding(unit: Unit, trial: Trial, config: TrapsConfig, *, is_home: bool) -> Finding:
    """Return how a trial stands; `is_home` tells whether a seed lies in the unit."""
    found = _of_sameness(trial, config)
    if found is not Finding.OPEN:
        return found
    if trial.leaves >= LEAVES and trial.leaves >= LEAF_SHARE * trial.pages:
        return Finding.FREE
    wanted = config.endless_depth // (2 if trial.strikes and not trial.leaves else 1)
    if trial.depth < wanted or trial.bred < trial.pages * BREEDING:
        return Finding.OPEN
    if is_numbered(trial) or is_falling(trial):
        return Finding.FREE
    if not is_cross_linked(trial):
        return Finding.LONG if is_home and not is_of_child(trial) else Finding.ENDLESS
    is_known = is_home or len(unit.domains) >= KNOWN_DOMAINS
    return Finding.FREE if is_known else Finding.LONG


def _of_sameness(trial: Trial, config: TrapsConfig) -> Finding:
    """Judge by what the pages say."""
    if trial.same * 2 <= trial.pages:
        return Finding.OPEN
    is_moving = trial.moving * 2 > trial.pages
    wanted = config.same_pages * (1 if is_moving else SLOW)
    if max(trial.children.values(), default=0) >= wanted:
        return Finding.SAME
    # So many copies, and none of them leads on: they will come to an end by themselves.
    is_dull = trial.pages >= 2 * wanted and trial.same_bred * 4 < wanted
    return Finding.FREE if is_dull else Finding.OPEN


def is_of_child(trial: Trial) -> bool:
    """Tell whether the pages in a row lie in one child of the unit, not in the unit at large."""
    return trial.inside >= SHARE_OF_CHILD * trial.depth


def same_child(trial: Trial) -> str:
    """Return the child that repeats itself most; "" if it is the unit itself."""
    return max(trial.children, key=lambda name: trial.children[name])


def is_cross_linked(trial: Trial) -> bool:
    """Tell whether pages link known pages of the unit, as sites do and trees do not."""
    return len(trial.crossed) >= CROSSED_SHARE * trial.links


def is_numbered(trial: Trial) -> bool:
    """Tell whether the new URLs are numbered closely, as the pages of an archive."""
    count = len(trial.numbers)
    is_counting = count >= DISTINCT * min(trial.numbered, NUMBERS_KEPT)  # not 1 to 9 on each page
    return (
        is_counting
        and trial.numbered >= DISTINCT * trial.fresh
        and max(trial.numbers, default=0) <= DENSE * count
    )


def is_falling(trial: Trial) -> bool:
    """Tell whether pages bring fewer new URLs than the first ones did."""
    first = trial.first_fresh / min(trial.pages, FIRST_PAGES)
    return trial.fresh / trial.pages < FALLING * first


def of_hosts(trial: Trial, config: TrapsConfig) -> Finding:
    """Return how the trial of a domain stands: do new hosts name ever newer ones?"""
    if trial.leaves >= LEAVES and trial.leaves >= LEAF_SHARE * trial.pages:
        return Finding.FREE
    is_deep = trial.depth * 2 >= config.endless_depth
    if is_deep and trial.pages >= config.new_hosts and trial.bred >= BREEDING * trial.pages:
        return Finding.HOSTS
    return Finding.OPEN
