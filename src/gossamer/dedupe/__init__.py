"""SEEN THIS CONTENT? The page whose content a document repeats, byte for byte or nearly.

Neighbours: `fetch` makes the documents; `crawl` asks here and hands the answer to `store`, which
writes a revisit record instead of a second copy. Near-duplicates are found after the commit, by a
sketch of the text (`sketch`, `near`, `detector`): they label pages and never decide what is stored.
Which passages of given texts a page holds is found by their phrases (`reuse`).
Not for: known URLs (that is `seen`).
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.dedupe.detector import (
        CONTENT,
        LABEL_ROW,
        NEAR_ROWS,
        ContentSeen,
        CopyChanges,
        CopyDetector,
        CopyItem,
        CopyLabel,
        ExactCopy,
        GonePage,
        SketchShare,
        answer_fingerprint,
        body_fingerprint,
        coded_fingerprint,
        content_fingerprint,
        content_rows,
        copy_row_key,
        decode_label,
        encode_label,
        label_key,
        open_copy_detector,
        read_labels,
        root_of,
        words_fingerprint,
    )
    from gossamer.dedupe.kernels.reuse import PHRASE
    from gossamer.dedupe.near import NearSet, verify_near
    from gossamer.dedupe.passages import MOST_LEFT_OUT, AlignedPassage
    from gossamer.dedupe.phrases import SplitText, WordSplitter
    from gossamer.dedupe.reuse import MIN_WORDS, FoundPassages, TextReuse
    from gossamer.dedupe.sketch import (
        SKETCH_VERSION,
        Level,
        PageText,
        Sketcher,
        Sketches,
        compare,
        compare_pairs,
    )
else:
    __getattr__ = late(
        __name__,
        {
            "detector": (
                "CONTENT LABEL_ROW NEAR_ROWS ContentSeen CopyChanges CopyDetector CopyItem "
                "CopyLabel ExactCopy GonePage SketchShare answer_fingerprint body_fingerprint "
                "coded_fingerprint content_fingerprint content_rows copy_row_key decode_label "
                "encode_label label_key open_copy_detector read_labels root_of "
                "words_fingerprint"
            ),
            "kernels.reuse": "PHRASE",
            "near": "NearSet verify_near",
            "passages": "MOST_LEFT_OUT AlignedPassage",
            "phrases": "SplitText WordSplitter",
            "reuse": "MIN_WORDS FoundPassages TextReuse",
            "sketch": "SKETCH_VERSION Level PageText Sketcher Sketches compare compare_pairs",
        },
    )
