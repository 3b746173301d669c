"""AN INDEX IN AN OBJECT STORE: brought there, and brought from there to be asked.

Neighbours: `build` makes what is published, `opening` asks for what is cached. Not for: asking.

PREFIX/seal.json             what belongs together: written last, replaced at once
PREFIX/files/SS/SEGMENT.EXT  files of the engine, which never change
"""

from gossamer.search.broker.stores.cached import CachedIndex
from gossamer.search.broker.stores.objects import is_store
from gossamer.search.broker.stores.publishing import Published, publish
