"""Plain text, Markdown, JSON, scripts and style sheets: text as it is, addresses recorded."""

from gossamer.model import Document, Extraction, LinkKind
from gossamer.process.api import RawLink, Tools, processor
from gossamer.process.detect import decode
from gossamer.process.language import language_of
from gossamer.process.references import text_urls
from gossamer.process.stylesheets import css_urls

_TITLE_CHARS = 200
_TITLE_HEAD_CHARS = 4_000
_PROSE = ("text/plain", "text/markdown", "text/x-markdown", "text/x-rst")
_DATA = ("application/json", "application/ld+json", "text/json")
_STYLE = "text/css"


def read(document: Document, tools: Tools) -> Extraction:
    """Return a text document's text; its addresses are recorded, a style sheet's are embeds."""
    text, charset = decode(
        document.body.decoded(), document.charset, is_cut=bool(document.truncated)
    )
    text = text[: tools.process.max_text_chars].replace("\x00", "\ufffd")
    if document.media_type == _STYLE:
        found = [(href, LinkKind.CSS, "", "") for href in css_urls(text)]
        return Extraction(charset=charset, links=tools.links(document.url.text, found))
    raw: list[RawLink] = [(href, LinkKind.TEXT, "", "") for href in text_urls(text)]
    is_prose = document.media_type not in _DATA
    return Extraction(
        title=_title_of(text) if is_prose else "",
        text=text,
        language=language_of(text, document.header("content-language")) if is_prose else "",
        charset=charset,
        links=tools.links(document.url.text, raw),
    )


def _title_of(text: str) -> str:
    """Return the first line that says something, without Markdown's number signs."""
    for line in text[:_TITLE_HEAD_CHARS].splitlines():
        if title := line.strip().lstrip("#").strip():
            return title[:_TITLE_CHARS]
    return ""


PROCESSOR = processor(*_PROSE, *_DATA, _STYLE, name="text")(read)
