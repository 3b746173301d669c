"""SEEN THIS CONTENT? The page whose content a document repeats, byte for byte or nearly.

Neighbours: `fetch` makes the documents; `crawl` asks here and hands the answer to `store`, which
writes a revisit record instead of a second copy. Near-duplicates are judged after the commit, by a
sketch of the text (`sketch`, `near`, `copies`): they label pages and never decide what is stored.
Not for: known URLs (that is `seen`).
"""

from gossamer.dedupe.book import named_key
from gossamer.dedupe.copies import NEAR_ROWS, Copies, Finding, Gone, Item, Known, open_copies
from gossamer.dedupe.digest import ContentSeen, content_fingerprint
from gossamer.dedupe.labels import (
    LABEL_ROW,
    Label,
    decode_label,
    encode_label,
    label_key,
    read_labels,
    root_of,
)
from gossamer.dedupe.near import NearSet, verify_near
from gossamer.dedupe.sketch import (
    VERSION,
    Level,
    Page,
    Sketcher,
    Sketches,
    judge,
    judge_pairs,
)
from gossamer.dedupe.words import words_fingerprint

__all__ = [
    "LABEL_ROW",
    "NEAR_ROWS",
    "VERSION",
    "ContentSeen",
    "Copies",
    "Finding",
    "Gone",
    "Item",
    "Known",
    "Label",
    "Level",
    "NearSet",
    "Page",
    "Sketcher",
    "Sketches",
    "content_fingerprint",
    "decode_label",
    "encode_label",
    "judge",
    "judge_pairs",
    "label_key",
    "named_key",
    "open_copies",
    "read_labels",
    "root_of",
    "verify_near",
    "words_fingerprint",
]
