"""The compiled inner loops: sketches of texts (`sketching`), and who shares a band (`bands`).

`gossamer.native` turns them into machine code that is kept on disk and loaded without numba.
"""

from functools import cache

from gossamer.dedupe.kernels import bands, sketching
from gossamer.native import Native

_SIGNATURES = {
    "sketch_many": "BInWWWWWW",
    "judge_many": "WInI",
    "insert": "WnnWn",
    "probe": "WnWnIn",
    "search": "WnWInI",
    "merge": "WnWnW",
    "direct": "WnnIn",
    "settle": "WInW",
}


@cache
def natives() -> Native:
    """Return the compiled kernels; the first call loads them, or has them compiled."""
    return Native((sketching, bands), _SIGNATURES)
