"""The keys: ring bits first, so that a domain's data are neighbours on disk.

A ring point is 24 bits of the registrable domain's hash. A URL's fingerprint is its ring point and
40 bits of its text's hash; a host's key is its ring point and all 64 bits of the host's hash.
"""

from functools import lru_cache

from xxhash import xxh3_64_intdigest

from gossamer.model import HostKey
from gossamer.urls.hosts import HOSTS_KEPT, registrable_domain

RING_BITS = 24
TEXT_BITS = 40
TEXT_MASK = (1 << TEXT_BITS) - 1


@lru_cache(maxsize=HOSTS_KEPT)
def ring_of(host: str) -> int:
    """Return the host's point on the ring: the same for all hosts of a registrable domain."""
    return ring_of_new(host)


def ring_of_new(host: str) -> int:
    """Return `ring_of` a host without remembering it: for those who remember more than that."""
    domain = registrable_domain.__wrapped__(host)
    return xxh3_64_intdigest(domain.encode()) >> (64 - RING_BITS)


@lru_cache(maxsize=HOSTS_KEPT)
def host_key(host: str) -> HostKey:
    """Return 11 bytes that order queues and clocks: ring point, then the hash of the host."""
    return ring_of(host).to_bytes(3, "big") + xxh3_64_intdigest(host.encode()).to_bytes(8, "big")


def fingerprint(text: str, host: str) -> int:
    """Return the 64-bit key of a canonical URL text on a host."""
    return (ring_of(host) << TEXT_BITS) | (xxh3_64_intdigest(text.encode()) & TEXT_MASK)


def fingerprint_of(text: str) -> int:
    """Return the 64-bit key of a canonical URL text, whose host it finds by itself."""
    authority = text.split("/", 3)[2]
    host = authority if authority.endswith("]") else authority.rpartition(":")[0] or authority
    return fingerprint(text, host)
