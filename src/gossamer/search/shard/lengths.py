"""How long the engine thinks a field is: it keeps a length in one byte, long ones roughly.

Up to 40 every length is kept; above, three bits after the first. What it reads back is the longest
length of a byte that is not above the true one, the same as Lucene's.
"""

from bisect import bisect_right
from typing import Final

_EXACT = 24
_MANTISSA = 8


def _length_of(byte: int) -> int:
    if byte < _EXACT:
        return byte
    exponent, rest = divmod(byte - _EXACT, _MANTISSA)
    return _EXACT + (rest if exponent == 0 else (rest + _MANTISSA) << (exponent - 1))


LENGTHS: Final = tuple(_length_of(byte) for byte in range(256))
"""What each byte stands for."""


def quantised(length: int) -> int:
    """Return a length as the engine reads it back."""
    return LENGTHS[bisect_right(LENGTHS, length) - 1]
