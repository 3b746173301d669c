"""AN INDEX IN AN OBJECT STORE: brought there, and brought from there to be asked.

Neighbours: `build` makes what is published, `broker` opens what is cached. Not for: asking.

PREFIX/seal.json             what belongs together: written last, replaced at once
PREFIX/files/SS/SEGMENT.EXT  files of the engine, which never change
"""

from gossamer.search.published.cached import CachedIndex
from gossamer.search.published.places import (
    BEAT_S,
    Offering,
    offer_shards,
    place_of_shard,
    published_places,
)
from gossamer.search.published.publishing import Published, publish
