"""Digests of shipped objects: what is restored is compared with what was uploaded.

Every byte of an archive is hashed twice, in its stretches and in the whole file. xxh3 takes a
twentieth of what BLAKE2b took, and tells damage as well; who could write other bytes into the store
on purpose could write the manifest with their digests, too. Older manifests have BLAKE2b.
"""

from collections.abc import Iterable
from hashlib import blake2b

from xxhash import xxh3_128

_XXH3 = "xxh3:"
_OLD_BYTES = 16


class ShippedDigest:
    """The digest of bytes that come one after the other; of the kind that another one is."""

    __slots__ = ("_hashed", "_kind")

    def __init__(self, like: str = _XXH3) -> None:
        self._kind = _XXH3 if like.startswith(_XXH3) else ""
        self._hashed = xxh3_128() if self._kind else blake2b(digest_size=_OLD_BYTES)

    def update(self, content: bytes) -> None:
        """Take in the next bytes."""
        self._hashed.update(content)

    def text(self) -> str:
        """Return the digest of all bytes so far, as manifests have it."""
        return self._kind + self._hashed.hexdigest()


def shipped_digest(pieces: Iterable[bytes]) -> str:
    """Return the digest of an object that consists of pieces."""
    hashed = ShippedDigest()
    for piece in pieces:
        hashed.update(piece)
    return hashed.text()
