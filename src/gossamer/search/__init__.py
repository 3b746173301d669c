"""WHICH PAGES SAY THIS? The text archive as an index, asked in words.

Neighbours: `store` keeps the archive, `web` and `cli` ask. Not for: who links to whom (`graph`).
"""

from gossamer.search.broker import (
    MOST_REQUEST_BYTES,
    BadMessage,
    Broker,
    BrokerOptions,
    Offered,
    Published,
    open_finder,
    publish,
)

__all__ = [
    "MOST_REQUEST_BYTES",
    "BadMessage",
    "Broker",
    "BrokerOptions",
    "Offered",
    "Published",
    "open_finder",
    "publish",
]
