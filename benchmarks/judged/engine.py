"""The engine as it comes: title and text in its own English tokenizer, any word, its own BM25."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import tantivy

from judged.questions import plain

_HEAP = 128_000_000


def build_engine(path: Path, pages: Iterable[tuple[int, str, str]]) -> None:
    """Write the keys, titles and texts of pages."""
    path.mkdir(parents=True, exist_ok=True)
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("key", stored=True, fast=True)
    builder.add_text_field("title", tokenizer_name="en_stem")
    builder.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(builder.build(), str(path))
    writer = index.writer(_HEAP, 1)
    for key, title, text in pages:
        document = tantivy.Document()
        document.add_unsigned("key", key)
        document.add_text("title", title)
        document.add_text("text", text)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


class Engine:
    """Answers questions by the engine's own default: a sum over both fields, any word will do."""

    def __init__(self, path: Path) -> None:
        self._index = tantivy.Index.open(str(path))
        self._index.reload()
        self._searcher = self._index.searcher()

    def order(self, text: str, top: int = 100) -> Sequence[int]:
        """Return the keys of the best pages. Punctuation would be syntax, so it is left out."""
        words = plain(text)
        if not words:
            return []
        query = self._index.parse_query(words, ["title", "text"])
        places = [place for _, place in self._searcher.search(query, top, count=False).hits]
        keys = self._searcher.fast_field_values("key", places)
        return [int(key) for key in keys if key is not None]
