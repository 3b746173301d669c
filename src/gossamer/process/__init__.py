"""What does the page say, where does it point?

A document comes in with its bytes; an `Extraction` goes out: title, text, language, robots
directives and links. Which code reads a document is decided by its media type, and that code
comes from entry points, so that a new type touches no file of ours (`api.py` says how).

Neighbours: `fetch` makes the documents, `filter` judges the links, `store` keeps both.
Not for: deciding which links are wanted, fetching anything, or keeping bytes.
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.process.api import (
        Processor,
        RawLink,
        ReadFunction,
        Tools,
        importable,
        processor,
    )
    from gossamer.process.detect import declared_in as declared_charset
    from gossamer.process.detect import decode
    from gossamer.process.detect import known as known_charset
    from gossamer.process.helper import (
        HELPER_COMMAND,
        CarriedBody,
        HelperRequest,
        HelperSetup,
        helper_request,
        serve,
    )
    from gossamer.process.item_rules import (
        FieldRule,
        FoundItem,
        ItemRule,
        ItemRules,
        read_item_rules,
    )
    from gossamer.process.labels import LABELS, is_gate, label_of
    from gossamer.process.language import language_of, latin_shares
    from gossamer.process.markup import (
        MarkupError,
        PageMarkup,
        PlacedReference,
        is_named,
        nesting_errors,
        read_markup,
    )
    from gossamer.process.registry import Registry
    from gossamer.process.rendering import HTML_TYPES, TEXT_KINDS, TextKind, page_text
    from gossamer.process.selecting import check_selector, selected_lines
    from gossamer.process.structured import structured_data, structured_json
    from gossamer.process.stylesheets import may_refer, style_references, unescaped
    from gossamer.process.trees import page_tree, tree_links
else:
    __getattr__ = late(
        __name__,
        {
            "api": "Processor RawLink ReadFunction Tools importable processor",
            "detect": "declared_charset=declared_in decode known_charset=known",
            "helper": "HELPER_COMMAND CarriedBody HelperRequest HelperSetup helper_request serve",
            "item_rules": "FieldRule FoundItem ItemRule ItemRules read_item_rules",
            "labels": "LABELS is_gate label_of",
            "language": "language_of latin_shares",
            "markup": "MarkupError PageMarkup PlacedReference is_named nesting_errors read_markup",
            "registry": "Registry",
            "rendering": "HTML_TYPES TEXT_KINDS TextKind page_text",
            "selecting": "check_selector selected_lines",
            "structured": "structured_data structured_json",
            "stylesheets": "may_refer style_references unescaped",
            "trees": "page_tree tree_links",
        },
    )
