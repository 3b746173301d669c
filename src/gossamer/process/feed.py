"""Feeds: RSS, Atom, RDF and JSON Feed. Entries become links, their titles and texts are kept."""

import msgspec
from turbohtml import TokenType, parse

from gossamer.model import Document, Extraction, LinkKind
from gossamer.process import detect
from gossamer.process.api import PlainLink, Tools, processor
from gossamer.process.detect import decode
from gossamer.process.language import language_of
from gossamer.process.xml import XmlToken, local, xml_tokens

_MAX_ENTRIES = 10_000
_ENTRIES = frozenset({"item", "entry"})
_TEXTS = frozenset({"description", "summary", "content", "encoded", "subtitle", "content_text"})
_TITLE_CHARS = 500
_SKIPPED_RELS = frozenset({"self", "hub", "edit", "replies", "license", "search"})
_ENCLOSURES = frozenset({"enclosure", "content"})


def read(document: Document, tools: Tools) -> Extraction:
    """Return a feed's entries as links, with the feed's title and all texts."""
    text, charset = decode(document.body.decoded(), document.charset)
    feed = _Feed()
    if text.lstrip()[:1] in {"{", "["}:
        feed.read_json(text)
    else:
        feed.read_xml(text)
    prose = "\n\n".join(feed.texts)[: tools.process.max_text_chars]
    return Extraction(
        title=feed.title,
        text=prose,
        language=language_of(prose),
        charset=charset,
        links=tools.links(document.url.text, feed.links),
        notes={"entries": feed.entries},
    )


def _plain(text: str) -> str:
    """Return the text of what may be HTML, as feeds like to quote it."""
    if "<" in text or "&" in text:
        text = parse(text, positions=False).to_text()
    return text.strip()


class _Feed:
    """A feed while it is being read."""

    def __init__(self) -> None:
        self.title = ""
        self.texts: list[str] = []
        self.links: list[PlainLink] = []
        self.entries = 0
        self._entry_title = ""
        self._entry_links: list[PlainLink] = []
        self._is_in_entry = False
        self._open = ""
        self._said: list[str] = []

    def read_xml(self, text: str) -> None:
        for token in xml_tokens(text):
            if token.kind is TokenType.TEXT:
                if self._open:
                    self._said.append(token.text)
            elif token.kind is TokenType.START_TAG:
                self._opens(token)
            else:
                self._closes(local(token.name))
            if self.entries >= _MAX_ENTRIES:
                return
        self._ends_entry()

    def _opens(self, token: XmlToken) -> None:
        name = local(token.name)
        if name in _ENTRIES:
            self._ends_entry()
            self._is_in_entry = True
            if about := token.attributes.get("rdf:about", ""):
                self._adds(about, LinkKind.FEED)
        elif name == "link" and "href" in token.attributes:
            self._adds_atom_link(token.attributes)
        elif name in _ENCLOSURES and (url := token.attributes.get("url", "")):
            self._adds(url, LinkKind.MEDIA)
        elif name in _ENCLOSURES and (url := token.attributes.get("src", "")):
            self._adds(url, LinkKind.FEED)
        elif not self._open and (name in _TEXTS or name in {"title", "link", "guid", "comments"}):
            is_name = name == "guid" and token.attributes.get("ispermalink") == "false"
            self._open, self._said = "" if is_name else name, []

    def _adds_atom_link(self, attributes: dict[str, str]) -> None:
        rel = attributes.get("rel", "alternate").lower()
        if rel in _SKIPPED_RELS:
            return
        is_media = rel == "enclosure"
        is_page = rel in {"next", "previous", "first", "last"}
        kind = LinkKind.NEXT if is_page else LinkKind.MEDIA if is_media else LinkKind.FEED
        self._adds(attributes["href"], kind)

    def _adds(self, href: str, kind: LinkKind) -> None:
        links = self._entry_links if self._is_in_entry else self.links
        links.append((href.strip(), kind, "", ""))

    def _closes(self, name: str) -> None:
        if name in _ENTRIES:
            self._ends_entry()
        if name != self._open:
            return
        said, self._open = "".join(self._said).strip(), ""
        if name in _TEXTS:
            self.texts.append(_plain(said))
        elif name == "title":
            self._takes_title(_plain(said)[:_TITLE_CHARS])
        elif said.startswith(("http:", "https:", "/")) or (name == "link" and said):
            self._adds(said, LinkKind.FEED)

    def _takes_title(self, title: str) -> None:
        self.texts.append(title)
        if self._is_in_entry:
            self._entry_title = self._entry_title or title
        else:
            self.title = self.title or title

    def _ends_entry(self) -> None:
        """Give the entry's links its title, now that it is known."""
        if self._is_in_entry:
            self.entries += 1
            self.links += [
                (h, kind, self._entry_title, rel) for h, kind, _, rel in self._entry_links
            ]
        self._entry_title, self._entry_links, self._is_in_entry, self._open = "", [], False, ""

    def read_json(self, text: str) -> None:
        """Read a JSON Feed; what is not shaped like one is left out."""
        try:
            data: object = msgspec.json.decode(text)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return
        if not isinstance(data, dict):
            return
        self._takes_title(_string(data, "title")[:_TITLE_CHARS])
        self._adds(_string(data, "home_page_url"), LinkKind.FEED)
        self._adds(_string(data, "next_url"), LinkKind.NEXT)
        items = data.get("items")
        for item in items[:_MAX_ENTRIES] if isinstance(items, list) else ():
            if isinstance(item, dict):
                self._takes_json_entry(item)
        self.links = [link for link in self.links if link[0]]

    def _takes_json_entry(self, item: dict[object, object]) -> None:
        self._is_in_entry = True
        self._takes_title(_plain(_string(item, "title"))[:_TITLE_CHARS])
        for name in ("content_text", "content_html", "summary"):
            if said := _string(item, name):
                self.texts.append(_plain(said))
                break
        for name in ("url", "external_url"):
            self._adds(_string(item, name), LinkKind.FEED)
        self._adds(_string(item, "image"), LinkKind.IMAGE)
        self._ends_entry()


def _string(data: dict[object, object], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


PROCESSOR = processor(*detect.FEEDS, detect.JSON_FEED, name="feed")(read)
