"""WHAT IS SHOWN OF IT? A page's title and the part of its text that answers a question.

Neighbours: `analysis` says which words have the terms of a question; `ask` hands in stored pages.
Not for: markup. Crawled text stays text, and whoever shows it says what a hit looks like.
"""

from gossamer.search.shown.snippets import Segments, Snippets
