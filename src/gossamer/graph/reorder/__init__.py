"""BETTER NUMBERS: an order of nodes that compresses well, where there are no URLs to go by."""

from gossamer.graph.reorder.layers import find_order

__all__ = ["find_order"]
