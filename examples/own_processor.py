"""Read something of your own out of documents.

A processor is a function from a document to an extraction, for some media types. Several may read
one type; what they find is put together. To ship one to others, put it into a package with an
entry point: see examples/gossamer-csv.

python examples/own_processor.py
"""

from small_web import small_web

import gossamer
from gossamer import Document, Extraction, Tools, processor


@processor("text/html", name="headings")
def headings(document: Document, _tools: Tools) -> Extraction:
    """Note a page's headings, by a selector; `document.tree.xpath("//h2")` is there, too."""
    found = document.tree.select("h1, h2, h3")
    return Extraction(notes={"headings": [heading.text for heading in found]})


def main() -> None:
    """Crawl with the processor and read its notes from the links archive."""
    with small_web(max_pages=10) as (seed, config, folder):
        gossamer.run(seed, folder, config=config, processors=[headings])
        for record in gossamer.open(folder).records():
            if "headings" in record.notes:
                print(len(record.notes["headings"]), "headings on", record.url)


if __name__ == "__main__":
    main()
