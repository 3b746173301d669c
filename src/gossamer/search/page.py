"""Pages as the index takes them in: as somebody found them, and as they are written."""

from msgspec import Struct

LABEL = "label:"
"""How a label is written among a page's types: no type has a colon, so that indexes of before
labels need not be built anew."""
ON_PAGE = "page:"
"""How the key of the page that shows an image is written among the image's marks."""
HASH = "hash:"
"""How its perceptual hash is written there."""


def label_term(label: str) -> str:
    """Return a label as it is looked for: in whatever letters it was written."""
    return " ".join(label.casefold().split())


class ImageFacts(Struct, frozen=True, array_like=True):
    """What is shown of an image. All of it is text of others: never markup."""

    page: str = ""
    """The page that shows it, of several the one that says most of it; "": it was only stored."""
    page_title: str = ""
    alt: str = ""
    caption: str = ""
    other_alts: tuple[str, ...] = ()
    pages: int = 0
    """How many pages show it, as far as was counted."""
    width: int = 0
    """In pixels; 0 if it is not stored, or cannot be read. So are height and bytes."""
    height: int = 0
    bytes: int = 0
    hash: int = 0
    """Perceptual hash of 64 bits; 0: none."""
    is_stored: bool = False
    """The archive has the image itself."""
    labels: str = ""
    """Of the seeds that led to its page, separated by commas."""


class IndexPage(Struct, kw_only=True, frozen=True):
    """One page, wherever it comes from: an archive of ours, WET, WARC or JSONL."""

    url: str
    title: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""
    code: str = ""
    """Its blocks of code, as far as they are known; the text is without them."""
    language: str = ""
    """Two letters; "" if it is not known."""
    media_type: str = ""
    at: float = 0.0
    """When it was fetched; 0 if that is not known."""
    anchors: tuple[str, ...] = ()
    """What links that lead here say, the most frequent first."""
    link_texts: frozenset[str] = frozenset()
    """What its own links say: lines of nothing else are navigation."""
    labels: str = ""
    """Of the seeds that led to it, separated by commas."""


class Prepared(Struct, kw_only=True, frozen=True):
    """A page ready to be written: its words analysed, its facts in the form that is asked for."""

    url: str
    key: int
    """The URL's fingerprint: shared with ranks, graph and frontier."""
    host: int
    """Hash of the host: pages of one host are collapsed."""
    sketch: int
    """64 bits that two pages with nearly the same text share for the most part; 0: no text."""
    at: int
    """Seconds; 0: not known."""
    spam: int = 0
    """From 0 to MOST_SPAM: how much the page looks like a link farm or a list of keywords."""
    listing: int = 0
    """From 0 to MOST_LISTING: how much of its main content is a list of links."""
    title_key: int = 0
    """Hash of the set of the title's terms, without the name of the site; 0: it has none."""
    language: str
    media_type: str
    sites: tuple[str, ...]
    """The host and the domains above it: what `site:` may name."""
    types: tuple[str, ...]
    """What `type:` may name: text/html, html."""
    labels: tuple[str, ...] = ()
    """What `label:` may name."""
    title: str
    text: str
    """For snippets: what the reader is shown, capped."""
    words: tuple[str, ...]
    """Terms of each field, in the order of TEXT_FIELDS, with a space between two."""
    image: ImageFacts | None = None
    """If it is no page but an image."""
    marks: tuple[str, ...] = ()
    """What an image is found by that nobody types: its page, its hash."""

    @property
    def shown(self) -> "Shown":
        """Return what is kept to be shown."""
        return Shown(self.title, self.text, self.language, self.media_type, self.at, self.image)


class Shown(Struct, frozen=True, array_like=True):
    """A page or an image as a reader is shown it, beside its URL."""

    title: str
    text: str
    language: str
    media_type: str
    at: int
    image: ImageFacts | None = None
