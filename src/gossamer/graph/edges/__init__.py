"""EDGE LISTS AND EXPORTS: graphs from and to plain text, and to what other programs read.

Neighbours: `build` sorts, `bv` encodes and `names` numbers. Not for: graphs of crawls (`build`).
"""

from gossamer.graph.edges.exports import FORMATS, export, to_networkx, to_scipy
from gossamer.graph.edges.making import EdgeOptions, MadeGraph, from_edges
from gossamer.graph.edges.writing import name_lines, number_lines, pair_lines
