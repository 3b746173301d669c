"""WHAT IS SHOWN OF IT? A page's title and the part of its text that answers a query.

Neighbours: `analysis` says which words have the terms of a query; `searcher` hands in stored pages.
Not for: markup. Crawled text stays text, and whoever shows it says what a hit looks like.
"""

from gossamer.search.snippets.cutting import Segments, Snippets
