"""TEXT → URL: reading, joining, canonical form, and the keys that everything is ordered by. Pure.

Neighbours: everyone who meets an address as text asks here; the result is a `model.Url`.
Not for: deciding whether a URL is wanted (`filter`), or whether it may be asked for (`fetch`).
"""

from gossamer.urls.canonical import (
    BAD_PORTS,
    MAX_CHARS,
    UrlFlaw,
    explain,
    fingerprint,
    fingerprint_of,
    host_key,
    host_name,
    is_bad_port,
    join,
    parse,
    read_canonical,
    registrable_domain,
    ring_of,
    seed_urls,
    unicode_host,
    url_flaw,
    whatwg,
    without_credentials,
)
from gossamer.urls.joining import FEW, Joiner, join_all, load_joining
from gossamer.urls.patterns import Patterns
