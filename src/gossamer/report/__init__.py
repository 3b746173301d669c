"""WHAT IS KNOWN? Totals, and everything decided about one URL, from the state's rows.

Neighbours: `crawl` writes the rows and asks here for a running crawl, `cli` for a stopped one.
Not for: deciding anything. It only reads.
"""

from gossamer.report.clusters import Labels, name_in, name_original, unnamed_original
from gossamer.report.control import ControlSocket
from gossamer.report.explanation import explain_url
from gossamer.report.inquiry import (
    add,
    copies,
    is_running,
    seed_urls,
    show,
    status,
    why,
    why_sources,
)
from gossamer.report.records import (
    COUNTERS,
    URL,
    decode_counters,
    decode_record,
    encode_counters,
    encode_record,
    sum_counters,
    url_row_key,
)
from gossamer.report.totals import merge_standings, status_of

__all__ = [
    "COUNTERS",
    "URL",
    "ControlSocket",
    "Labels",
    "add",
    "copies",
    "decode_counters",
    "decode_record",
    "encode_counters",
    "encode_record",
    "explain_url",
    "is_running",
    "merge_standings",
    "name_in",
    "name_original",
    "seed_urls",
    "show",
    "status",
    "status_of",
    "sum_counters",
    "unnamed_original",
    "url_row_key",
    "why",
    "why_sources",
]
