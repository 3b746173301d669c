"""Pages read in one pass over their bytes, without a tree."""

from gossamer.process.onepass.decoding import Utf8Source, encoding_told, utf_8_source
from gossamer.process.onepass.marking import marked_rows
from gossamer.process.onepass.page import FlatPage, Lent, page_in

__all__ = [
    "FlatPage",
    "Lent",
    "Utf8Source",
    "encoding_told",
    "marked_rows",
    "page_in",
    "utf_8_source",
]
