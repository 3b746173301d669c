"""What a page says, as one number: has it really changed, or only its markup?"""

import xxhash

from gossamer.model import EMBEDDED, Extraction, LinkKind

_ANCHOR = LinkKind.ANCHOR
_PARTS = tuple(EMBEDDED)
"""No set: hashing the member of an enumeration takes longer than the whole comparison."""


def words_fingerprint(found: Extraction) -> int | None:
    """Return a fingerprint of title, text and the pages linked; None if nothing was read.

    Markup that is new at every serving (a nonce, a comment, the version of a script) leaves it as
    it is. A number that a reader sees does not.
    """
    targets = [
        link.target.text for link in found.links if link.kind is _ANCHOR or link.kind not in _PARTS
    ]
    if not found.text and not found.title and not targets:
        return None
    said = "\n".join((found.title, found.text, *targets))
    return xxhash.xxh3_64_intdigest(said.encode("utf-8", "surrogatepass"))
