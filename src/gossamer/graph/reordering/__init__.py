"""BETTER NUMBERS: an order of nodes that compresses well, where there are no URLs to go by."""

from gossamer.graph.reordering.layers import find_order
from gossamer.graph.reordering.making import read_order, reorder
