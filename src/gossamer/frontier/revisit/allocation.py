"""How often is each page worth a visit, when all share one budget? Pure, over arrays.

A page of importance w that changes at rate r earns most, under a budget of requests, if visited
at the rate sqrt(w r) * level - r; where that is negative, a visit costs more than it brings. The
level is the same for all pages and rises with the budget (water-filling).
The rule is exact for visits at random moments (Azar et al. 2018); evenly spaced, as here, it comes
to more than 99 % of the best intervals, which are dearer to compute and, while rates are still
being learned, no better.

Every page has a floor, so that none is forgotten: ten times the interval of an even share, and
spread, so that floors never fall due together.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
Keys: TypeAlias = NDArray[np.uint64]

FLOOR_SHARE = 0.1
"""Visits at the floor, as a share of an even division of the budget."""

_STEPS = 40
_CLOSE = 1e-4
_ROUNDS = 4
_PIECE = 1 << 15
_MIX = 0x9E3779B97F4A7C15
_MIX_AGAIN = 0xC2B2AE3D27D4EB4F
_WORD = (1 << 64) - 1
_SHIFT = 40
_UNITS = float(1 << 24)


class Demand(NamedTuple):
    """What each page asks of the budget: a column per property."""

    gain: Numbers
    """sqrt(importance * rate)"""
    rate: Numbers
    """Changes per second."""
    floor: Numbers
    """Visits per second that the page gets in any case."""


class HostShares(NamedTuple):
    """What a host's pages are given: the level, and the share of their floors."""

    level: NDArray[np.float64]
    floor: NDArray[np.float64]


def pieces(count: int) -> Iterator[slice]:
    """Yield slices that cover so many rows, each small enough for the processor's cache."""
    for begin in range(0, count, _PIECE):
        yield slice(begin, min(begin + _PIECE, count))


def spread(key: int) -> float:
    """Return a number of [0, 1) that is always the same for a key."""
    return ((key * _MIX & _WORD) >> _SHIFT) / _UNITS


def phase(key: int) -> float:
    """Return a number of (0, 1] that is always the same for a key, and unlike its spread."""
    return 1.0 - ((key * _MIX_AGAIN & _WORD) >> _SHIFT) / _UNITS


def spreads(keys: Keys) -> NDArray[np.float32]:
    """Return `spread` of each key."""
    return ((keys * np.uint64(_MIX)) >> np.uint64(_SHIFT)).astype(np.float32) / np.float32(_UNITS)


def phases(keys: Keys) -> NDArray[np.float32]:
    """Return `phase` of each key."""
    mixed = (keys * np.uint64(_MIX_AGAIN)) >> np.uint64(_SHIFT)
    return np.float32(1.0) - mixed.astype(np.float32) / np.float32(_UNITS)


def visit_rates(
    demand: Demand, level: Numbers | float, floor_share: Numbers | float = 1.0
) -> Numbers:
    """Return the visits per second of each page."""
    return np.maximum(demand.gain * level - demand.rate, demand.floor * floor_share)


def find_level(demand: Demand, requests_per_s: float, start: float = 0.0) -> float:
    """Return the level at which all pages together get so many visits per second.

    The sum is convex and piecewise linear in the level, so Newton's steps come down to the root
    from above, in three to eight passes over the pages. A level near it saves a few.
    """
    above = _above(demand, requests_per_s)
    level = start if 0.0 < start < above else above
    for _ in range(_STEPS):
        total, slope = _total(demand, level)
        excess = total - requests_per_s
        if abs(excess) <= _CLOSE * requests_per_s:
            break
        if slope <= 0.0:  # nobody is wanted yet: too low a start, or the floors take everything
            if excess > 0.0 or level >= above:
                break
            level = above
        else:
            level = min(level - excess / slope, above)
    return level


def _total(demand: Demand, level: float) -> tuple[float, float]:
    """Return the visits per second of all pages, and by how much they rise with the level."""
    total = slope = 0.0
    wanted = np.empty(_PIECE, demand.gain.dtype)
    for part in pieces(len(demand.gain)):
        gain, rate, floor = (column[part] for column in demand)
        some = wanted[: len(gain)]
        np.multiply(gain, level, out=some)
        np.subtract(some, rate, out=some)
        slope += float(gain @ (some > floor))
        total += float(np.maximum(some, floor, out=some).sum())
    return total, slope


def _above(demand: Demand, requests_per_s: float) -> float:
    """Return a level that cannot be too low: right if every page were above its floor."""
    gains = float(demand.gain.sum())
    return (requests_per_s + float(demand.rate.sum())) / gains if gains > 0.0 else 0.0


def share_out(
    demand: Demand, host: Indices, most_per_s: Numbers, requests_per_s: float, start: float = 0.0
) -> tuple[float, HostShares]:
    """Return the level for all, and the shares of each host: lower where it would be too much.

    A host whose politeness allows less than its pages would get has a level of its own; what it
    leaves goes to the others, whose level rises, which may bring the next host to its limit.
    """
    count = len(most_per_s)
    is_full = np.zeros(count, np.bool_)
    level, rest, others = start, requests_per_s, demand
    for _ in range(_ROUNDS):
        level = find_level(others, rest, level)
        loads = np.bincount(host, visit_rates(demand, level), count)
        too_much = (loads > most_per_s) & ~is_full
        if not too_much.any():
            break
        is_full |= too_much
        if is_full.all():
            break
        rest = requests_per_s - float(most_per_s[is_full].sum())
        others = Demand(*(column[~is_full[host]] for column in demand))
    shares = HostShares(np.full(count, level), np.ones(count))
    if is_full.any():
        _fill(demand, host, most_per_s, (is_full, shares))
    return level, shares


def _fill(
    demand: Demand, host: Indices, most_per_s: Numbers, full: tuple[NDArray[np.bool_], HostShares]
) -> None:
    """Lower the shares of full hosts until their pages get what the host allows, all at once."""
    is_full, shares = full
    mine = np.flatnonzero(is_full[host])
    gain, rate, floor = (column[mine] for column in demand)
    owner, count = host[mine], len(most_per_s)
    floors = np.bincount(owner, floor, count)
    with np.errstate(divide="ignore", invalid="ignore"):  # hosts without pages divide by zero
        shares.floor[is_full] = np.minimum(most_per_s / floors, 1.0)[is_full]
        for _ in range(_STEPS):
            wanted = gain * shares.level[owner] - rate
            active = wanted > floor * shares.floor[owner]
            owners = owner[active]
            slope = np.bincount(owners, gain[active], count)
            idle = np.bincount(owner[~active], floor[~active], count) * shares.floor
            target = (most_per_s + np.bincount(owners, rate[active], count) - idle) / slope
            lower = is_full & (slope > 0.0) & (target < shares.level * (1.0 - _CLOSE))
            if not lower.any():
                break
            shares.level[lower] = target[lower]


def freshness(rate: Numbers, visits_per_s: Numbers) -> Numbers:
    """Return the share of time for which a page visited at even intervals is as we know it."""
    gap = rate / visits_per_s
    return -np.expm1(-gap) / np.maximum(gap, np.finfo(gap.dtype).tiny)


LimitOfHost: TypeAlias = Callable[[int], float]
"""A host, as the caller numbers it → the most requests per second that it may be sent."""
