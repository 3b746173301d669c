"""The compiled kernels of the readers, and arrays as these take them."""

from functools import cache

from gossamer.native import Native
from gossamer.search import fields
from gossamer.search.terms import hash_kernels, read_kernels, set_kernels

_SIGNATURES = {
    "heading": "BnnnI",
    "hits": "BIInnBDDID",
    "starts": "BIInnIn",
    "join": "IDBnIDnnIDB",
    "common": "InInI",
    "pack": "InB",
    "unpack": "BnnI",
    "hash_of": "Bn",
}


@cache
def natives() -> Native:
    """Return the compiled kernels; the first call loads or compiles them."""
    return Native((fields, read_kernels, set_kernels, hash_kernels), _SIGNATURES)


def term_hash(term: str) -> int:
    """Return the hash of a term."""
    text = term.encode("utf-8", "surrogatepass")
    return natives()["hash_of"](text, len(text)) & 0xFFFF_FFFF_FFFF_FFFF
