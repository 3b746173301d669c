"""Lines of pairs of numbers, written by a kernel: a hundred million take Python too long."""

import numpy as np
from numpy.typing import NDArray


def put_number(out: NDArray[np.uint8], at: int, value: int) -> int:
    """Write digits; return where they end."""
    digits, rest = 1, value // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for place in range(at + digits - 1, at - 1, -1):
        out[place] = 48 + value % 10
        value //= 10
    return at + digits


def put_lines(
    sources: NDArray[np.int64], targets: NDArray[np.int64], count: int, out: NDArray[np.uint8]
) -> int:
    """Write a line per pair; return how many bytes that took."""
    at = 0
    for i in range(count):
        at = put_number(out, at, sources[i])
        out[at] = 32
        at = put_number(out, at + 1, targets[i])
        out[at] = 10
        at += 1
    return at
