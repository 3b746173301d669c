"""When is a unit suspected, and how does its trial end? Pure rules over what was counted.

Growth alone proves nothing: the first pages of any site bring new URLs, as those of a maze do. So
a suspected unit is followed down, one page after the other. A finite site has leaves (pages with a
text of their own and no new URLs) a few steps down; a maze has none. Where none is found, links to
known pages decide: in a finite site there are more and more of them.
"""

from enum import StrEnum
from typing import Protocol

from gossamer.config import TrapsConfig
from gossamer.model import Reject
from gossamer.traps.evidence.unit import NUMBERS_KEPT, Trial, Unit

SUSPECT_PAGES = 8
"""Pages of a unit after which it may be suspected, and put on trial."""
ENDLESS_DEPTH = 10
"""Pages in a row, each found on the one before, that must all bring new URLs to close it."""
SAME_PAGES = 6
"""Pages that say what others have said, and lead to new URLs, to close it."""
BREEDING = 0.85
"""Of a block of pages, so many bring new URLs..."""
FRESH_PER_PAGE = 1.5
"""...and on average so many: a chain of pages has one each, and is not suspected."""
PATIENCE = 3
"""So many blocks in a row must grow to be suspected, if they do not grow as a tree does."""
SAME = 0.7
ALL_THE_SAME = 0.9
FEW_MORE = 2
LOOK_AGAIN = 4
"""An acquitted unit is looked at again when it has so many times as many pages."""
LEAVES = 3
LEAF_SHARE = 0.12
DENSE = 200
"""Numbers up to so many times their count are an archive's; those of a maze lie far apart."""
DISTINCT = 0.8
FEW_NUMBERS = 8
CERTAIN = 4.0
"""A site of a thousand pages would have had so many crossings: that it had none is no accident."""
SITE_PAGES = 1500
OFTEN = 3
FEW_CROSSINGS = 5
FINITE, LIKELY_FINITE, ENDLESS = 1.6, 1.3, 1.1
"""Crossings of the later half of a trial for each of the first half, and what they prove."""
FALLING = 0.75
HOME_BONUS = 25
LONG_CHAIN = 25
"""Blocks of pages that lead from one to the next, without numbers, after which they are tried."""
KNOWN_DOMAINS = 3
SHARE_OF_CHILD = 0.7
STRIKES = 3
"""So many closed children close their unit, if nothing honest was found in it."""
FAST = 3
SLOW = 3
"""Sameness under plain URLs needs so many times the pages to be believed."""


class Finding(StrEnum):
    """How a trial stands."""

    OPEN = "open"
    """Not decided yet."""
    FREE = "free"
    """Acquitted."""
    SAME = Reject.TRAP_SAME
    ENDLESS = Reject.TRAP_ENDLESS
    HOSTS = Reject.TRAP_HOSTS
    MIRROR = Reject.MIRROR_HOST


class LastPage(Protocol):
    """What must be known of the last page of a block."""

    def is_of_tree(self, name: str) -> bool:
        """Tell whether hardly any of its links leads to a known page of a unit."""
        ...

    def is_in_series(self) -> bool:
        """Tell whether its own number goes on in the URLs that it brought."""
        ...


def suspicion(unit: Unit, page: LastPage) -> str:
    """Return why a unit is suspected after a block of pages, in words; "" if it is not."""
    pages = unit.block_pages
    if unit.block_same >= SAME * pages and unit.fresh:
        return f"{unit.block_same} of {pages} pages say what others have said"
    is_breeding = unit.block_bred >= BREEDING * pages
    is_growing = is_breeding and unit.block_fresh >= FRESH_PER_PAGE * pages
    unit.blocks = unit.blocks + 1 if is_growing else 0
    unit.chain = unit.chain + 1 if is_breeding and not page.is_in_series() else 0
    is_suspect = is_growing and (unit.blocks >= PATIENCE or page.is_of_tree(unit.name))
    if is_suspect or (unit.chain >= LONG_CHAIN and page.is_of_tree(unit.name)):
        return f"{unit.block_bred} of {pages} pages brought {unit.block_fresh} new URLs"
    return ""


def finding(unit: Unit, trial: Trial, config: TrapsConfig, *, is_home: bool) -> Finding:
    """Return how a trial stands; `is_home` tells whether a seed lies in the unit."""
    found = _of_sameness(trial)
    if found is not Finding.OPEN:
        return found
    if trial.leaves >= LEAVES and trial.leaves >= LEAF_SHARE * trial.pages:
        return Finding.FREE
    if not is_deep(trial) or trial.bred < trial.pages * BREEDING:
        return Finding.OPEN
    return Finding.FREE if is_numbered(trial) else _of_growth(unit, trial, config, is_home=is_home)


def _of_growth(unit: Unit, trial: Trial, config: TrapsConfig, *, is_home: bool) -> Finding:
    """Judge a unit in which no end was found, by its links to known pages."""
    is_chain = trial.fresh < FRESH_PER_PAGE * trial.pages
    if is_chain and unit.pages < LONG_CHAIN * SUSPECT_PAGES:
        return Finding.OPEN
    crossings = count_crossings(trial)
    is_tree = not crossings and (trial.expected >= CERTAIN or bool(trial.strikes))
    if is_tree and not is_home:
        return Finding.ENDLESS
    if trial.pages < config.unproven_pages:
        return Finding.OPEN
    is_known = (is_home and crossings > 0) or len(unit.domains) >= KNOWN_DOMAINS
    turn = how_crossings_turn(trial, crossings)
    is_extended = trial.pages >= 2 * config.unproven_pages
    if is_known or turn >= (LIKELY_FINITE if is_extended else FINITE):
        return Finding.FREE
    is_over = is_extended or turn <= ENDLESS
    if is_home:
        is_over = trial.pages >= HOME_BONUS * config.unproven_pages
    return Finding.ENDLESS if is_over else Finding.OPEN


def _of_sameness(trial: Trial) -> Finding:
    """Judge by what the pages say."""
    if trial.same * 2 <= trial.pages:
        return Finding.OPEN
    is_moving = trial.moving * 2 > trial.pages
    wanted = SAME_PAGES * (1 if is_moving else SLOW)
    is_nothing_else = trial.same >= ALL_THE_SAME * trial.pages and not trial.leaves
    if max(trial.children.values(), default=0) >= wanted:
        return Finding.SAME
    if is_nothing_else and trial.same_bred >= SAME_PAGES + FEW_MORE:
        return Finding.SAME
    # So many copies, and none of them leads on: they will come to an end by themselves.
    is_dull = trial.pages >= 2 * wanted and trial.same_bred * 4 < wanted
    return Finding.FREE if is_dull else Finding.OPEN


def is_deep(trial: Trial) -> bool:
    """Tell whether enough pages in a row have brought new URLs."""
    return trial.depth >= ENDLESS_DEPTH // (2 if trial.strikes and not trial.leaves else 1)


def is_of_child(trial: Trial) -> bool:
    """Tell whether the pages in a row lie in one child of the unit, not in the unit at large."""
    return is_deep(trial) and trial.inside >= SHARE_OF_CHILD * trial.depth


def is_clear(child: Unit) -> bool:
    """Tell whether a unit's child grows so fast that the trial of the unit speaks for it, too.

    The unit may have been large before, so that crossings were to be expected at once; a child
    that grows slowly has to be judged by its own size.
    """
    return child.fresh >= FAST * child.pages


def same_child(trial: Trial) -> str:
    """Return the child that repeats itself; "" if it is the unit itself, or several children."""
    child = max(trial.children, key=lambda name: trial.children[name])
    return child if trial.children[child] >= SHARE_OF_CHILD * trial.same_bred else ""


def count_crossings(trial: Trial) -> int:
    """Return how many known pages were linked again; those that every page links do not count."""
    return sum(times <= OFTEN for times in trial.crossed.values())


def how_crossings_turn(trial: Trial, crossings: int) -> float:
    """Return how many crossings the later half of a long trial had for each of the first half.

    The links of a finite site lead to known pages ever more often; those of a maze, whatever it
    links besides, as often as at the beginning.
    """
    if (trial.fresh - trial.half_fresh) <= FALLING * trial.half_fresh:
        return FINITE
    later = crossings - trial.half_crossed
    return later / max(1, trial.half_crossed) if later >= FEW_CROSSINGS else 0.0


def is_numbered(trial: Trial) -> bool:
    """Tell whether the new URLs are numbered closely, as the pages of an archive."""
    count = len(trial.numbers)
    is_counting = count >= DISTINCT * min(trial.numbered, NUMBERS_KEPT)  # not 1 to 9 on each page
    return (
        count >= FEW_NUMBERS
        and is_counting
        and trial.numbered >= DISTINCT * trial.fresh
        and max(trial.numbers, default=0) <= DENSE * count
    )


def of_hosts(trial: Trial, config: TrapsConfig) -> Finding:
    """Return how the trial of a domain stands: do new hosts name ever newer ones?"""
    if trial.leaves >= LEAVES and trial.leaves >= LEAF_SHARE * trial.pages:
        return Finding.FREE
    is_deep = trial.depth * 2 >= ENDLESS_DEPTH
    if is_deep and trial.pages >= config.new_hosts and trial.bred >= BREEDING * trial.pages:
        return Finding.HOSTS
    return Finding.OPEN
