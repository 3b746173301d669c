"""The compiled inner loops: sketches (`sketching`), shared bands (`bands`), phrases (`reuse`).

`gossamer.native` turns them into machine code that is kept on disk and loaded without numba.
"""

from functools import cache

from gossamer.dedupe.kernels import bands, reuse, sketching
from gossamer.native import Native

_SIGNATURES = {
    "sketch_many": "BInWWWWWW",
    "simhash_of": "BnWWWW",
    "judge_many": "WInI",
    "insert": "WnnWn",
    "probe": "WnWnIn",
    "search": "WnWInI",
    "merge": "WnWnW",
    "direct": "WnnIn",
    "settle": "WInW",
}


_REUSE_SIGNATURES = {
    "split_words": "UnBWWI",
    "index_phrases": "WnInII",
    "find_blocks": "WnWInII",
    "most_within": "Inn",
    "count_phrases": "InInnIIUn",
    "count_by_text": "WnWInIInnnIUnI",
}


@cache
def reuse_natives() -> Native:
    """Return the compiled kernels of text reuse."""
    return Native((reuse, sketching), _REUSE_SIGNATURES)


@cache
def natives() -> Native:
    """Return the compiled kernels; the first call loads them, or has them compiled."""
    return Native((sketching, bands), _SIGNATURES)
