"""WHICH PAGES SAY THIS, on the command line: `build` and `index`.

`indexing` makes an index of a crawl or of files that others wrote, `beside` does so while a crawl
runs.

Neighbours: asks `gossamer.search`. Not for: answering.
"""

from gossamer.cli.search.building import build
from gossamer.cli.search.indexing import index

__all__ = ["build", "index"]
