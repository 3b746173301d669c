"""How a document lies in the engine: fields, and the one tokenizer that they need.

Words are analysed before they come here (`analysis`), so the engine only splits at spaces. That
keeps one analysis for everything: pages, questions, snippets, both organisations.
"""

from pathlib import Path

import tantivy

from gossamer.search.fields import FAST_FIELDS, POSITIONED, TEXT_FIELDS

SPLIT = "split"
RAW = "raw"
VERSION = 8
"""Of this schema and of the analysis: an index of another version is built again."""
_ASKED_FOR = frozenset({"key", "at"})
"""Numbers that pages are looked up by."""


def make_index(path: Path) -> tantivy.Index:
    """Return the index at a place, made if there is none."""
    path.mkdir(parents=True, exist_ok=True)
    return _prepared(tantivy.Index(_schema(), str(path)))


def open_index(path: Path) -> tantivy.Index:
    """Return the index at a place."""
    return _prepared(tantivy.Index.open(str(path)))


def length_column(field: str) -> str:
    """Return the column that says how many words a page has in a field."""
    return f"{field}_words"


def _prepared(index: tantivy.Index) -> tantivy.Index:
    """Return an index that knows our words and takes up commits only when it is told to.

    Left alone, it looks for them in a thread of its own, and makes a lock file in its folder for
    that, even in one that is being deleted (once it does so anyway, as it is opened).
    """
    index.config_reader("manual")
    splitter = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer(SPLIT, splitter)
    return index


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in TEXT_FIELDS:
        option = "position" if name in POSITIONED else "freq"
        builder.add_text_field(name, tokenizer_name=SPLIT, index_option=option)
    builder.add_text_field("url", stored=True, tokenizer_name=RAW, index_option="basic")
    for name in ("site", "language", "type"):  # as columns, too: facets are counted from them
        builder.add_text_field(name, fast=True, tokenizer_name=RAW, index_option="basic")
    builder.add_text_field("mark", tokenizer_name=RAW, index_option="basic")
    for name in FAST_FIELDS:
        builder.add_unsigned_field(name, indexed=name in _ASKED_FOR, fast=True)
    for name in TEXT_FIELDS:
        builder.add_unsigned_field(length_column(name), fast=True)
    builder.add_bytes_field("shown", stored=True)
    return builder.build()
