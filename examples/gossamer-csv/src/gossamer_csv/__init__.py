"""Reads tables in CSV: how a package of its own teaches Gossamer a media type."""

import csv
import io

from gossamer.model import Document, Extraction, LinkKind
from gossamer.process import RawLink, Tools, decode, processor

MAX_ROWS = 100_000


def read(document: Document, tools: Tools) -> Extraction:
    """Return a table's text, its size, and the addresses in its cells."""
    text, charset = decode(document.body.decoded(), document.charset)
    text = text[: tools.process.max_text_chars]
    rows = columns = 0
    found: list[RawLink] = []
    try:
        for row in csv.reader(io.StringIO(text)):
            rows, columns = rows + 1, max(columns, len(row))
            found += [
                (cell, LinkKind.DATA, row[0][:100], "") for cell in row if cell.startswith("http")
            ]
            if rows >= MAX_ROWS:
                break
    except csv.Error as broken:
        return Extraction(text=text, charset=charset, errors=(f"csv: {broken}",))
    return Extraction(
        text=text,
        charset=charset,
        links=tools.links(document.url.text, found),
        notes={"rows": rows, "columns": columns},
    )


PROCESSOR = processor("text/csv", name="csv")(read)
