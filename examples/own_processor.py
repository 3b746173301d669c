"""Read something of your own out of documents.

A processor is a function from a document to an extraction, for some media types. Several may read
one type; what they find is put together. To ship one to others, put it into a package with an
entry point: see examples/gossamer-csv.

python examples/own_processor.py
"""

import re

from small_web import small_web

import gossamer
from gossamer import Document, Extraction, Tools, processor

HEADING = re.compile(rb"<h[1-6][ >]", re.IGNORECASE)


@processor("text/html", name="headings")
def headings(document: Document, _tools: Tools) -> Extraction:
    """Count a page's headings."""
    return Extraction(notes={"headings": len(HEADING.findall(document.body.decoded()))})


def main() -> None:
    """Crawl with the processor and read its notes from the links archive."""
    with small_web(max_pages=10) as (seed, config, folder):
        gossamer.run(seed, folder, config=config, processors=[headings])
        for record in gossamer.open(folder).records():
            if "headings" in record.notes:
                print(record.notes["headings"], "headings on", record.url)


if __name__ == "__main__":
    main()
