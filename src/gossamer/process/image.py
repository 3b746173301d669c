"""Images: width, height, format, and hashes that similar pictures share."""

import struct
import warnings
from io import BytesIO

import numpy as np
from PIL import Image

from gossamer.model import Document, Extraction
from gossamer.process.api import Tools

MAX_PIXELS = 16_000_000
"""Larger pictures are measured but not decoded."""
MAX_SEEN_THROUGH = 4_000_000
"""Pixels of a transparent picture that is put on white, which takes 12 bytes each."""
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_SIDE = 8
_SAMPLED = 32
"""Pixels a side that a picture is reduced to before its cosine transform."""
_LEAST_SPREAD = 2.0
"""Standard deviation of brightness, of 255, below which a picture is a plain area."""
_places = np.arange(_SAMPLED)
_COSINES = np.cos(np.pi / _SAMPLED * (_places[None, :] + 0.5) * _places[1 : _SIDE + 1, None])
"""The lowest frequencies of a discrete cosine transform, but for the mean."""


def read(document: Document, _tools: Tools) -> Extraction:
    """Return a picture's size, format and perceptual hashes as notes."""
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
        found.notes["bytes"] = len(body)
        if 0 < width * height <= MAX_PIXELS:
            found.notes["dhash"] = difference_hash(picture)
            if hashed := perceptual_hash(picture):
                found.notes["dct_hash"] = hashed


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


def perceptual_hash(picture: Image.Image) -> str:
    """Return 64 bits as 16 hex digits: which of the lowest frequencies are above their median.

    Where a picture is transparent it is seen on white, unless it is large. "": it is a plain area.
    Of pictures that are not alike, a fifth as many are within 10 bits of each other as by
    `difference_hash` (ADR 71).
    """
    is_small = picture.width * picture.height <= MAX_SEEN_THROUGH
    if is_small and picture.has_transparency_data:
        seen = Image.new("RGBA", picture.size, (255, 255, 255, 255))
        seen.alpha_composite(picture.convert("RGBA"))
        picture = seen
    small = picture.convert("L").resize((_SAMPLED, _SAMPLED), Image.Resampling.BOX)
    dots = np.asarray(small, np.float64)
    if dots.std() < _LEAST_SPREAD:
        return ""
    found = (_COSINES @ dots @ _COSINES.T).ravel()
    return np.packbits(found > np.median(found)).tobytes().hex()
