"""SEEN THIS CONTENT? The page whose content a document repeats, byte for byte.

Neighbours: `fetch` makes the documents; `crawl` asks here and hands the answer to `store`, which
writes a revisit record instead of a second copy. Near-duplicates will be judged here too, after
the commit, by a sketch of the text (`sketch.py`, `near.py`): they label pages and never decide
what is stored. Not for: known URLs (that is `seen`).
"""

from gossamer.dedupe.digest import ContentSeen, content_fingerprint
from gossamer.dedupe.words import words_fingerprint

__all__ = ["ContentSeen", "content_fingerprint", "words_fingerprint"]
