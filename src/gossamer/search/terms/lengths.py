"""Lengths of fields as the engine keeps them, in one byte, and what they take off a score."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.search.fields import K1, B
from gossamer.search.shard import LENGTHS

_LENGTHS: NDArray[np.int64] = np.array(LENGTHS, np.int64)


def norms_of(lengths: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of lengths: each the greatest that is not above it."""
    return (np.searchsorted(_LENGTHS, lengths, side="right") - 1).astype(np.uint8)


def discounts(tokens: Sequence[int], pages: int) -> NDArray[np.float64]:
    """Return, for each field and byte, what BM25 adds to the count below the line."""
    rows = [
        K1 * (1 - B + B * _LENGTHS / (total / pages if total and pages else 1.0))
        for total in tokens
    ]
    return np.ascontiguousarray(np.concatenate(rows))
