"""The HTML processor, for installations whose entry points were written when it lived here."""

from gossamer.process.html import PROCESSOR

__all__ = ["PROCESSOR"]
