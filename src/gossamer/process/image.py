"""Images: width, height, format, and a hash that similar pictures share."""

import struct
import warnings
from io import BytesIO

from PIL import Image

from gossamer.model import Document, Extraction
from gossamer.process.api import Tools

MAX_PIXELS = 16_000_000
"""Larger pictures are measured but not decoded."""
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_SIDE = 8


def read(document: Document, _tools: Tools) -> Extraction:
    """Return a picture's size, format and difference hash as notes."""
    found = Extraction()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _measure(document.body.decoded(), found)
    except (
        *(Image.DecompressionBombError, EOFError, MemoryError, OSError),
        *(SyntaxError, ValueError, struct.error),
    ) as broken:
        found.errors = (f"image: {type(broken).__name__}: {broken}",)
    return found


def _measure(body: bytes, found: Extraction) -> None:
    with Image.open(BytesIO(body), formats=_FORMATS) as picture:
        width, height = picture.size
        found.notes.update(width=width, height=height, format=(picture.format or "").lower())
        if 0 < width * height <= MAX_PIXELS:
            found.notes["dhash"] = difference_hash(picture)


def difference_hash(picture: Image.Image) -> str:
    """Return 64 bits as 16 hex digits: where brightness rises from left to right, in 8 rows."""
    picture.draft("L", (8 * _SIDE, 8 * _SIDE))
    small = picture.convert("L").resize((_SIDE + 1, _SIDE), Image.Resampling.BILINEAR)
    dots = small.tobytes()
    bits = 0
    for row in range(_SIDE):
        start = row * (_SIDE + 1)
        for left in range(start, start + _SIDE):
            bits = bits << 1 | (dots[left] < dots[left + 1])
    return f"{bits:016x}"
