"""FULL-TEXT SEARCH on the command line: `search`, `build`, `index`, and `serve`.

`asking` searches and shows the answer, `updating` builds what is missing before. `indexing` makes
an index of a crawl or of files that others wrote, `beside` does so while a crawl runs.

Neighbours: asks `gossamer.OpenCrawl`, starts `gossamer.web`. Not for: answering.
"""

from gossamer.cli.search.asking import search
from gossamer.cli.search.building import build
from gossamer.cli.search.indexing import index
from gossamer.cli.search.serving import serve

__all__ = ["build", "index", "search", "serve"]
