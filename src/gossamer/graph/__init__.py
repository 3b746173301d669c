"""WHO LINKS TO WHOM? The links archive as a compressed graph that can be asked in both directions.

Neighbours: reads what `store` keeps; `web` and `cli` ask it. Not for: deciding what is crawled.
What others want to know of it (ranks of pages) they read from a file, not from this room.
"""
