"""The compiled inner loops: sketches (`sketching`), shared bands (`bands`), phrases (`reuse`).

`gossamer.native` turns them into machine code that is kept on disk and loaded without numba.
"""

from functools import cache

from gossamer.dedupe.kernels import bands, reuse, sketching
from gossamer.native import Native

_SIGNATURES = {
    "sketch_many": f"B[0]I[2*c+1]nW[512]W*[4]W*[4]W*[{sketching.SCRATCH}]"
    f"W*[{sketching.RECORD}*c]W*[{sketching.BANDS}*c]",
    "simhash_of": "B[b]nW[512]W*[4]W*[64]W*[1]",
    "judge_many": "W[0]I[2*c]nI*[c]",
    "insert": f"W[{sketching.BANDS}*b]nnW*[e+1]n",
    "probe": f"W[{sketching.BANDS}*b]nW[d+1]nI*[f]n",
    "search": f"W[{sketching.BANDS}*b]nW[1]I[{2 * sketching.BANDS}]nI*[b]",
    "merge": "W[b]nW[d]nW*[b+d]",
    "direct": "W[b]nnI*[e+1]n",
    "settle": "W*[0]I[2*c]nW*[0]",
}


_REUSE_SIGNATURES = {
    "split_words": "U[b]nB[1114112]W[1114112]W*[b]I*[2*b]",
    "index_phrases": f"W[b+{reuse.PHRASE}]nI*[d+1]nI*[b]I*[b]",
    "find_blocks": "W[b]nW[0]I[e+1]nI[0]I*[0]",
    "most_within": f"I[{reuse.BLOCK}*b]nn",
    "count_phrases": f"I[{reuse.BLOCK}*b]nI[0]nnI*[0]I*[0]U*[i+1]n",
    "count_by_text": "W[b]nW[0]I[e+1]nI[0]I[0]nnnI[0]U[m+1]nI*[0]",
}


@cache
def reuse_natives() -> Native:
    """Return the compiled kernels of text reuse."""
    return Native((reuse, sketching), _REUSE_SIGNATURES)


@cache
def natives() -> Native:
    """Return the compiled kernels; the first call loads them, or has them compiled."""
    return Native((sketching, bands), _SIGNATURES)
