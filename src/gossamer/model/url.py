"""Url: a web address in canonical form, with the keys that everything is ordered by."""

from typing import TypeAlias

from msgspec import Struct

HostKey: TypeAlias = bytes
"""11 bytes: 3 of ring (registrable domain), 8 of xxh3(host); orders queues and clocks."""


class Url(Struct, frozen=True, gc=False):
    """A canonical absolute URL. Only `gossamer.urls` makes one.

    `text` has no fragment and no credentials. `host` is the ASCII host without port (IPv6 in
    brackets). `origin` is scheme, host and any port that is not the scheme's default. `key` is the
    64-bit fingerprint: 24 bits of ring (registrable domain), then 40 bits of xxh3 of `text`.
    """

    text: str
    host: str
    origin: str
    key: int

    @property
    def scheme(self) -> str:
        """Return the scheme without its colon."""
        return self.origin.partition(":")[0]

    @property
    def target(self) -> str:
        """Return path and query: what robots rules are matched against."""
        return self.text[len(self.origin) :] or "/"
