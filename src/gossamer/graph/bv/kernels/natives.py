"""The compiled kernels of this folder: one set for readers, one for writers."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.bv.kernels import (
    bit_kernels,
    kinds_kernels,
    read_kernels,
    starts_kernels,
    write_kernels,
)
from gossamer.native import Native

_READ = {
    "read_rows": "BIIIUUII",
    "read_row": "BIWnIUUI",
    "read_many": "BIWInIUUIUI",
    "degree_of": "BIWn",
    "put_starts": "WnIn",
    "read_starts": "BIIn",
    "starts_of": "WInI",
    "read_kinds": "BWnnnB",
    "read_all_kinds": "BnInnB",
}
_WRITE = {
    "choose": "IUnnIIIUI",
    "cost_table": "IUnnIUUI",
    "prune": "nnIUIID",
    "write_rows": "IUnnIIUIWnI",
    "write_gaps": "WnInn",
    "write_kinds": "IBnWnI",
}


@cache
def readers() -> Native:
    """Return the kernels that read; the first call loads them, or has them compiled."""
    return Native((bit_kernels, starts_kernels, read_kernels, kinds_kernels), _READ)


@cache
def writers() -> Native:
    """Return the kernels that write; the first call loads them, or has them compiled."""
    return Native((bit_kernels, starts_kernels, write_kernels, kinds_kernels), _WRITE)


def at(array: NDArray[np.generic]) -> int:
    """Return where an array lies in memory. It must outlive the call that it is for."""
    return array.ctypes.data
