"""PDF: text and links, page by page, with PDFium (twelve times as quick as pypdf on a manual).

The title is that of the metadata, unless it is none (a file name, "untitled"): then it is made of
the largest lines at the beginning of the first page.
"""

import ctypes
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from statistics import median
from typing import Final, NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

from gossamer.model import Document, Extraction, LinkKind
from gossamer.process.api import RawLink, Tools
from gossamer.process.language import language_of

MAX_PAGES = 500
_MAX_LINKS = 5_000
_TITLE_CHARS = 500
_MAX_URI_BYTES = 8192
_TITLE_HEAD_CHARS: Final = 1_500
"""Of the first page: where a title is looked for."""
_TITLE_LINES: Final = 4
_TITLE_LETTERS: Final = 3
_LINE_CHARS: Final = 200
_AS_LARGE: Final = 0.95
_NO_TITLE: Final = re.compile(
    r"(?:untitled|no title|title|document|presentation|slide|layout|blank|none)[\s\d._-]*"
    r"|(?:microsoft (?:office )?(?:word|powerpoint|excel)|powerpoint presentation)\b.*"
    r"|\S*[\w)]\.(?:docx?|dvi|tex|pdf|indd|qxd|pptx?|xlsx?|ps|eps|rtf|odt|odp|fm|html?|txt)"
    r"|[\W\d_]*",
    re.IGNORECASE,
)
"""What writing programs put into the metadata when nobody gave a title."""


def read(document: Document, tools: Tools) -> Extraction:
    """Return a PDF's text and links, up to a number of pages; of a broken one, what can be read."""
    found = Extraction()
    raw_links: list[RawLink] = []
    parts: list[str] = []
    room = tools.process.max_text_chars
    try:
        pdf = pdfium.PdfDocument(document.body.decoded())
        found.title = _title_of(pdf)
        found.notes["pages"] = len(pdf)
        for number in range(min(len(pdf), MAX_PAGES)):
            text, links = _read_page(pdf, number)
            raw_links += links
            parts.append(text[:room])
            room -= len(parts[-1])
            if room <= 0:
                break
    except (pdfium.PdfiumError, ValueError) as broken:
        found.errors = (f"pdf: {type(broken).__name__}: {broken}",)
    found.text = "\n\n".join(part for part in parts if part)
    found.language = language_of(found.text)
    found.links = tools.links(document.url.text, raw_links)
    return found


def _read_page(pdf: pdfium.PdfDocument, number: int) -> tuple[str, list[RawLink]]:
    """Return one page's text and links; a page that cannot be read is empty."""
    try:
        page = pdf[number]
    except pdfium.PdfiumError:
        return "", []
    try:
        text = page.get_textpage().get_text_bounded()
        clean = text.replace("\r\n", "\n").replace("\x00", "").strip()
        return clean, [(uri, LinkKind.PDF, "", "") for uri in _uris_of(pdf, page)]
    finally:
        page.close()


class SizedLine(NamedTuple):
    """A line of a page and the height of its letters."""

    text: str
    height: float


def largest_lines(lines: Sequence[SizedLine]) -> str:
    """Return the first of the largest lines with those after it that are as large; "" if none."""
    told = [line for line in lines if sum(map(str.isalpha, line.text)) >= _TITLE_LETTERS]
    largest = max((line.height for line in told), default=0.0)
    if largest <= 0:
        return ""
    first = next(n for n, line in enumerate(told) if line.height >= _AS_LARGE * largest)
    rest = told[first : first + _TITLE_LINES]
    title = list(takewhile(lambda line: line.height >= _AS_LARGE * largest, rest))
    if largest * _AS_LARGE <= median(line.height for line in told):
        del title[1:]  # all is of one size: the first line will do
    return " ".join(line.text for line in title)[:_LINE_CHARS]


def _title_of(pdf: pdfium.PdfDocument) -> str:
    said = " ".join(pdf.get_metadata_value("Title").split())[:_TITLE_CHARS]
    if not _NO_TITLE.fullmatch(said):
        return said
    return (largest_lines(_first_lines(pdf)) if len(pdf) else "") or said


def _first_lines(pdf: pdfium.PdfDocument) -> list[SizedLine]:
    """Return the lines at the beginning of the first page; none if it cannot be read."""
    try:
        page = pdf[0]
    except pdfium.PdfiumError:
        return []
    try:
        read = page.get_textpage()
        count = min(read.count_chars(), _TITLE_HEAD_CHARS)
        return list(_sized_lines(read.raw, count))
    finally:
        page.close()


def _sized_lines(text_page: object, count: int) -> Iterator[SizedLine]:
    """Give lines with the median height of their letters."""
    box, letters, heights = raw.FS_RECTF(), list[str](), list[float]()
    for place in range(count + 1):
        code = raw.FPDFText_GetUnicode(text_page, place) if place < count else 10
        char = chr(code) if 0 < code <= sys.maxunicode else " "
        if char in "\r\n":
            line = " ".join("".join(letters).split())
            if line and heights:
                yield SizedLine(line, median(heights))
            letters, heights = [], []
            continue
        letters.append(char)
        if not char.isspace() and raw.FPDFText_GetLooseCharBox(text_page, place, box):
            heights.append(abs(box.top - box.bottom))


def _uris_of(pdf: pdfium.PdfDocument, page: pdfium.PdfPage) -> Iterator[str]:
    """Give the addresses that a page's link annotations open."""
    place, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(_MAX_LINKS):
        if not raw.FPDFLink_Enumerate(page.raw, ctypes.byref(place), ctypes.byref(link)):
            return
        action = raw.FPDFLink_GetAction(link)
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
            buffer = ctypes.create_string_buffer(_MAX_URI_BYTES)
            length = raw.FPDFAction_GetURIPath(pdf.raw, action, buffer, _MAX_URI_BYTES)
            if 1 < length <= _MAX_URI_BYTES:
                yield buffer.raw[: length - 1].decode("utf-8", "replace")
