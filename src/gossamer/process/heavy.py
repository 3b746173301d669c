"""Processors whose libraries are loaded only when the first such document comes.

PDFium and Pillow cost a tenth of a second of start-up; most crawls meet neither.
"""

from importlib import import_module

from gossamer.model import Document, Extraction
from gossamer.process.api import ReadFunction, Tools, processor


def deferred(module: str) -> ReadFunction:
    """Return a read function that imports its module when it is first called."""

    def read(document: Document, tools: Tools) -> Extraction:
        found: Extraction = import_module(module).read(document, tools)
        return found

    return read


PDF = processor("application/pdf", "application/x-pdf", name="pdf", is_slow=True)(
    deferred("gossamer.process.pdf")
)
IMAGE = processor("image/png", "image/jpeg", "image/gif", "image/webp", name="image")(
    deferred("gossamer.process.image")
)
