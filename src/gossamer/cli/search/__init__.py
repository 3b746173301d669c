"""WHICH PAGES SAY THIS, on the command line: `search`, and `serve` for all that can be looked at.

`asking` puts a question, `views` turns the answer into what a person likes to read, `updating`
builds what is missing before.

Neighbours: asks `gossamer.search`, starts `gossamer.web`. Not for: answering.
"""

from gossamer.cli.search.asking import search
from gossamer.cli.search.serving import serve

__all__ = ["search", "serve"]
