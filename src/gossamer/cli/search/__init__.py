"""WHICH PAGES SAY THIS, on the command line: `search`.

`asking` finds the index and brings it up to date, `views` turns an answer into what a person likes
to read.

Neighbours: asks `gossamer.search`. Not for: answering.
"""

from gossamer.cli.search.asking import search

__all__ = ["search"]
