"""Pages read in one pass over their bytes, without a tree."""

from gossamer.process.onepass.columns import link_columns
from gossamer.process.onepass.loading import Lent
from gossamer.process.onepass.marking import marked_rows
from gossamer.process.onepass.page import MOST_BYTES, NO_ROWS, FlatPage, page_in

__all__ = [
    "MOST_BYTES",
    "NO_ROWS",
    "FlatPage",
    "Lent",
    "link_columns",
    "marked_rows",
    "page_in",
]
