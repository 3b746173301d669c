"""Lengths of fields as the engine keeps them: in one byte, exact up to 40, then 3 bits of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.search.fields import K1, B

_EXACT = 24
_STEPS = 8


def _lengths() -> list[int]:
    """Return the length that each byte stands for."""
    found = list(range(_EXACT + _STEPS))
    for byte in range(_EXACT + _STEPS, 256):
        power, step = divmod(byte - _EXACT, _STEPS)
        found.append(_EXACT + ((_STEPS + step) << (power - 1)))
    return found


LENGTHS: NDArray[np.int64] = np.array(_lengths(), np.int64)
"""What each byte stands for, ascending."""


def norms_of(lengths: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of lengths: each the greatest that is not above it."""
    return (np.searchsorted(LENGTHS, lengths, side="right") - 1).astype(np.uint8)


def discounts(tokens: Sequence[int], pages: int) -> NDArray[np.float64]:
    """Return, for each field and byte, what BM25 adds to the count below the line."""
    rows = [
        K1 * (1 - B + B * LENGTHS / (total / pages if total and pages else 1.0)) for total in tokens
    ]
    return np.ascontiguousarray(np.concatenate(rows))
