"""Names of elements and attributes as numbers, and what the HTML standard says of each. Data."""

from typing import Final

TAGS: Final = (
    *("", "a", "abbr", "address", "annotation-xml", "applet", "area", "article", "aside", "audio"),
    *("b", "base", "basefont", "bgsound", "big", "blockquote", "body", "br", "button", "caption"),
    *("center", "code", "col", "colgroup", "command", "datalist", "dd", "del", "desc", "details"),
    *("dialog", "dir", "div", "dl", "dt", "em", "embed", "fieldset", "figcaption", "figure"),
    *("font", "footer", "foreignobject", "form", "frame", "frameset", "h1", "h2", "h3", "h4"),
    *("h5", "h6", "head", "header", "hgroup", "hr", "html", "i", "iframe", "image", "img"),
    *("import", "input", "ins", "isindex", "keygen", "li", "link", "listing", "main", "marquee"),
    *("math", "menu", "meta", "nav", "nobr", "noembed", "noframes", "noscript", "object", "ol"),
    *("optgroup", "option", "p", "param", "plaintext", "pre", "q", "rb", "rp", "rt", "rtc"),
    *("ruby", "s", "script", "search", "section", "select", "selectedcontent", "small", "source"),
    *("span", "strike", "strong", "style", "sub", "summary", "sup", "svg", "table", "tbody"),
    *("td", "template", "textarea", "tfoot", "th", "thead", "title", "tr", "track", "tt", "u"),
    *("ul", "use", "var", "video", "wbr", "xmp"),
)
TAG_NUMBERS: Final = {name: number for number, name in enumerate(TAGS)}
OTHERS: Final = 256
"""Numbers of elements that have no name here begin at this."""

SPECIAL, SCOPE, FORMATTING, CLOSES_P, ENDS_BLOCK, VOID, HEADING = (1 << n for n in range(7))
IMPLIED_END, RAW, REFERENCES, NAMED, BREAKOUT, FOR_TREE = (1 << n for n in range(7, 13))
TABLE_PART, BLOCK, SKIPPED = (1 << n for n in range(13, 16))
"""RAW: content is text without markup; REFERENCES: such text, with character references.
NAMED: told even without attributes. FOR_TREE: a page with it is not read.
BLOCK and SKIPPED: how text is laid out."""

_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_CLOSING: Final = (
    *("address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div"),
    *("dl", "fieldset", "figcaption", "figure", "footer", "header", "hgroup", "main", "menu"),
    *("nav", "ol", "p", "search", "section", "summary", "ul", *_HEADINGS),
)
_MEMBERS: Final[dict[int, tuple[str, ...]]] = {
    SPECIAL: (
        *("address", "applet", "area", "article", "aside", "base", "basefont", "bgsound"),
        *("blockquote", "body", "br", "button", "caption", "center", "col", "colgroup", "command"),
        *("dd", "details", "dir", "div", "dl", "dt", "embed", "fieldset", "figcaption", "figure"),
        *("footer", "form", "frame", "frameset", *_HEADINGS, "head", "header", "hgroup", "hr"),
        *("html", "iframe", "image", "img", "input", "isindex", "keygen", "li", "link", "listing"),
        *("main", "marquee", "menu", "meta", "nav", "noembed", "noframes", "noscript", "object"),
        *("ol", "p", "param", "plaintext", "pre", "script", "search", "section", "select"),
        *("source", "style", "summary", "table", "tbody", "td", "template", "textarea", "tfoot"),
        *("th", "thead", "title", "tr", "track", "ul", "wbr", "xmp"),
    ),
    SCOPE: (
        *("applet", "caption", "html", "marquee", "object", "select", "table", "td", "template"),
        "th",
    ),
    FORMATTING: (
        *("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong"),
        *("tt", "u"),
    ),
    CLOSES_P: _CLOSING,
    ENDS_BLOCK: (
        *(name for name in _CLOSING if name != "p" and name not in _HEADINGS),
        *("button", "listing", "pre", "select"),
    ),
    VOID: (
        *("area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image"),
        *("img", "input", "keygen", "link", "meta", "param", "source", "track", "wbr"),
    ),
    HEADING: _HEADINGS,
    IMPLIED_END: ("dd", "dt", "li", "option", "optgroup", "p", "rb", "rp", "rt", "rtc"),
    RAW: ("script", "style", "iframe", "noembed", "noframes", "xmp"),
    REFERENCES: ("title", "textarea"),
    NAMED: (
        *("script", "style", "title", "meta", "link", "base", "img", "iframe", "noscript"),
        *("caption", "h1", "h2", "h3"),
    ),
    BREAKOUT: (
        *("b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em"),
        *("embed", *_HEADINGS, "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr"),
        *("ol", "p", "pre", "ruby", "s", "small", "span", "strong", "strike", "sub", "sup"),
        *("table", "tt", "u", "ul", "var", "font"),
    ),
    FOR_TREE: (
        *("annotation-xml", "figcaption", "figure", "foreignobject", "frameset", "plaintext"),
        *("selectedcontent", "template"),
    ),
    TABLE_PART: (*("caption", "col", "colgroup", "tbody", "td", "tfoot", "th", "thead", "tr"),),
    BLOCK: (
        *("html", "body", "p", "div", "section", "article", "header", "footer", "nav", "aside"),
        *("main", "figure", "figcaption", "address", "blockquote", "pre", "hr", *_HEADINGS),
        *("ul", "ol", "li", "dl", "dt", "dd", "menu", "details", "summary", "table"),
    ),
    SKIPPED: ("script", "style", "datalist", "head", "noembed", "noframes", "rp", "title"),
}


def properties() -> list[int]:
    """Return what holds for each element, by its number."""
    found = [0] * len(TAGS)
    for bit, names in _MEMBERS.items():
        for name in names:
            found[TAG_NUMBERS[name]] |= bit
    return found


ATTRIBUTES: Final = (
    *("", "href", "rel", "style", "hidden", "onclick", "ping", "class", "id", "src", "data-src"),
    *("data-original", "data-lazy-src", "data-lazy", "data-url", "lowsrc", "dynsrc", "longdesc"),
    *("profile", "manifest", "xlink:href", "poster", "data", "codebase", "archive", "formaction"),
    *("data-href", "action", "background", "cite", "implementation", "srcset", "data-srcset"),
    *("imagesrcset", "onload", "alt", "content", "http-equiv", "property", "name", "itemprop"),
    *("as", "type", "hreflang", "value", "lang", "srcdoc", "start", "charset"),
)
ATTRIBUTE_NUMBERS: Final = {name: number for number, name in enumerate(ATTRIBUTES)}
_ANYWHERE: Final = ("style", "hidden", "onclick", "ping", "xlink:href")
"""Attributes that are told of any element."""
_WANTED: Final[dict[str, tuple[str, ...]]] = {
    "html": ("manifest", "lang"),
    "head": ("profile",),
    "base": ("href",),
    "meta": ("content", "http-equiv", "property", "name", "itemprop", "charset"),
    "link": ("href", "rel", "as", "type", "hreflang"),
    "script": ("src", "href", "type"),
    "body": ("background", "onload"),
    "img": (
        *("src", "data-src", "data-original", "data-lazy-src", "data-lazy", "data-url", "lowsrc"),
        *("dynsrc", "longdesc", "alt"),
    ),
    "use": ("href",),
    "image": ("href", "src"),
    "area": ("href",),
    "iframe": ("src", "data-src", "longdesc", "srcdoc"),
    "frame": ("src", "longdesc"),
    "source": ("src", "data-src"),
    "video": ("src", "poster", "data-src"),
    "audio": ("src", "data-src"),
    "track": ("src",),
    "bgsound": ("src",),
    "embed": ("src",),
    "object": ("data", "codebase", "archive"),
    "applet": ("codebase", "archive"),
    "input": ("src", "formaction", "type"),
    "button": ("formaction", "data-href"),
    "form": ("action",),
    "isindex": ("action",),
    "blockquote": ("cite",),
    "q": ("cite",),
    "ins": ("cite", "class", "id"),
    "del": ("cite",),
    "import": ("implementation",),
    "param": ("name", "value"),
    "table": ("background",),
    "td": ("background",),
    "th": ("background",),
    "tr": ("data-href",),
    "div": ("class", "id"),
    "aside": ("class", "id"),
    "section": ("class",),
    "a": ("href", "rel"),
    "ol": ("start",),
    "li": ("value",),
}
_SETS: Final = ("srcset", "data-srcset", "imagesrcset")
"""Of any element that may have links."""


def wanted() -> list[int]:
    """Return which attributes are told, a bit for each, by the number of the element.

    Outside of SVG an <image> is an <img>.
    """
    found = [sum(1 << ATTRIBUTE_NUMBERS[name] for name in _ANYWHERE)] * len(TAGS)
    for tag, names in {**_WANTED, "image": (*_WANTED["image"], *_WANTED["img"])}.items():
        for name in (*names, *(_SETS if tag not in _WITHOUT_SETS else ())):
            found[TAG_NUMBERS[tag]] |= 1 << ATTRIBUTE_NUMBERS[name]
    return found


_WITHOUT_SETS: Final = frozenset(
    ["a", "div", "aside", "section", "ol", "li", "td", "th", "tr", "table", "meta", "param"]
)


MOST_LETTERS: Final = 20
"""No attribute has as many."""


def first_letters() -> tuple[int, ...]:
    """Return, by length, which letters attributes begin with; then the same of any element's."""
    found = [0] * (2 * MOST_LETTERS)
    for name in ATTRIBUTES[1:]:
        found[len(name)] |= 1 << (ord(name[0]) - ord("a"))
    for name in _ANYWHERE:
        found[MOST_LETTERS + len(name)] |= 1 << (ord(name[0]) - ord("a"))
    return tuple(found)
