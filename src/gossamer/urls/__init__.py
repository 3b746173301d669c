"""TEXT → URL: reading, joining, canonical form, and the keys that everything is ordered by. Pure.

Neighbours: everyone who meets an address as text asks here; the result is a `model.Url`.
Not for: deciding whether a URL is wanted (`filter`), or whether it may be asked for (`fetch`).
"""

from gossamer.urls.batch import join_all
from gossamer.urls.explanation import explain, without_credentials
from gossamer.urls.fingerprints import fingerprint, fingerprint_of, host_key, ring_of
from gossamer.urls.hosts import registrable_domain, unicode_host
from gossamer.urls.parsing import BAD_PORTS, is_bad_port, join, parse, whatwg
from gossamer.urls.patterns import Patterns

__all__ = [
    "BAD_PORTS",
    "Patterns",
    "explain",
    "fingerprint",
    "fingerprint_of",
    "host_key",
    "is_bad_port",
    "join",
    "join_all",
    "parse",
    "registrable_domain",
    "ring_of",
    "unicode_host",
    "whatwg",
    "without_credentials",
]
