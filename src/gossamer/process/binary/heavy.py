"""The PDF and image processors, for installations whose entry points name this module."""

from gossamer.process.heavy import IMAGE, PDF

__all__ = ["IMAGE", "PDF"]
