"""Sessions: TLS sessions of many hosts, so that a new connection to a known host costs less.

libcurl remembers 25 hosts per share, whatever one asks for; a crawl has more of them in turn. So
there are many shares, and each host has its place in one. They hold nothing but sessions.
"""

from typing import Any, TypeAlias
from zlib import crc32

import pycurl

Share: TypeAlias = Any
"""A pycurl.CurlShare: it has no types."""

SHARES = 64
"""1,600 hosts. A session takes about 2 kB, two are kept of a host; a hostile server can make one
64 kB long, so that the worst case is 200 MB."""


class Sessions:
    """Finds the share that a host's sessions are in. Belongs to one set of TLS options."""

    def __init__(self) -> None:
        self._shares: dict[int, Share] = {}

    def share_of(self, host: str) -> Share:
        """Return the share for a host, always the same one."""
        place = crc32(host.encode()) % SHARES
        share = self._shares.get(place)
        if share is None:
            share = self._shares[place] = pycurl.CurlShare()
            share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
        return share
