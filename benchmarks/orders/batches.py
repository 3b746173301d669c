"""The same rules for many pages at once: arrays in, arrays out, with the same results."""

import numpy as np
from numpy.typing import NDArray

from gossamer.frontier.order.best_first import HOST_DISCOUNT, LOCAL, PASS_ON
from gossamer.frontier.order.grading import GRADES, SHIFT
from gossamer.frontier.order.opic import START_CREDIT, TO_LINKS

Credits = NDArray[np.float32]
Grades = NDArray[np.uint8]
Counts = NDArray[np.int64]

_MANTISSA_BITS = np.uint32(23)
_BIAS = 127


def unit_shares(credit_of_pages: Credits, known_of_domains: Counts, links: Counts) -> Credits:
    """Return what each link of each page to another domain gets: `unit_share` as float32."""
    units = 1.0 / (1.0 + known_of_domains / HOST_DISCOUNT)
    shares = PASS_ON * (credit_of_pages.astype(np.float64) + units) / np.maximum(links, 1)
    return shares.astype(np.float32)


def link_shares(shares: Credits, links: Counts, is_local: NDArray[np.bool_]) -> Credits:
    """Return what each link gets: those of the first page, those of the second, and so on."""
    return np.repeat(shares, links) * np.where(is_local, np.float32(LOCAL), np.float32(1.0))


def grades_of(credit_of_pages: Credits) -> Grades:
    """Return the grades of credits: their float32 exponents, shifted and clamped; no logarithm."""
    exponents = (credit_of_pages.view(np.uint32) >> _MANTISSA_BITS).astype(np.int16) - (_BIAS - 1)
    return np.clip(exponents + SHIFT, 1, GRADES).astype(np.uint8)


def opic_shares(credit_of_pages: Credits, links: Counts) -> tuple[Credits, float]:
    """Return what each link of each page gets, and what goes to Lambda; see `opic_share`."""
    credit = credit_of_pages.astype(np.float64)
    each = np.where(links > 0, TO_LINKS * credit / np.maximum(links, 1), 0.0)
    to_lambda = np.where(links > 0, (1.0 - TO_LINKS) * credit, credit)
    return each.astype(np.float32), float(to_lambda.sum())


def opic_grades_of(credit_of_pages: Credits) -> Grades:
    """Return the grades of credits (stored plus level); see `opic_grade_of`."""
    return grades_of(np.maximum(credit_of_pages - np.float32(START_CREDIT), np.float32(0.0)))
