"""What a page is instead of content: a "not found" in disguise, a gate, an empty shell. Pure.

A table of few signals, each of them strong: a short page with the title that such pages have, or
with the scripts of those who sell gates. A long page is never labelled, whatever it is called.

An empty application shell has scripts, hardly any text and links, and one of three things besides:
an element that frameworks render into, a <noscript> that asks for JavaScript, or nothing in its
body. Forms, frames, pictures and redirects are content of their own.

Parts of a page are marked, too: what is hidden, ads, and blocks of code (ADR 68).
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from turbohtml import Document as Tree
from turbohtml import Element, Node, Text

from gossamer.model import Extraction, Link, LinkKind, count_of, kind_at, targets_of
from gossamer.process.page_view import AnElement, ElementView, PageView

Label = Literal["", "soft_not_found", "challenge", "needs_javascript"]

LABELS: tuple[Label, ...] = ("soft_not_found", "challenge", "needs_javascript")
"""As they stand among the oddities of a page, where `why` and a rebuild find them."""
SHORT_TEXT = 1500
HARDLY_ANY_TEXT = 600
FEW_LINKS = 5
GATE_STATUS = frozenset({401, 403, 429, 503})
HEAD_BYTES = 8192

_TITLE = re.compile(r"<title[^>]*>([^<]{1,200})", re.IGNORECASE)

_NOT_FOUND = re.compile(
    r"(?:(?:http |error )*404 ?[-:|–—.]* ?)?(?:the |this |oops[!,.]* |sorry[!,.]* )*"
    r"(?:(?:page|file|document|url) )?(?:was |is |could |can)*(?:not be |not )found\b"
    r"|(?:http |error )*404(?: error)?(?: ?[-:|–—].*)?$"
    r"|(?:this |the )?(?:page|file|document) (?:does not|doesn.t|no longer) exists?\b"
    r"|(?:404 ?[-:|–—]* ?)?(?:seite nicht gefunden|page (?:introuvable|non trouvée)"
    r"|p[áa]gina no encontrada|pagina non trovata|página não encontrada|pagina niet gevonden"
    r"|страница не найдена|ページが見つかりません|页面不存在|找不到页面)",
    re.IGNORECASE,
)
"""At the beginning of a title. A number alone proves nothing: there is a page 404 in any book."""
_GATE = re.compile(
    r"^just a moment|^attention required|^checking (?:if|your)|^one moment, please|ddos-guard"
    r"|\b(?:verify|prove)(?:ing)? (?:that )?you(?:.re| are) (?:a )?(?:human|not a robot)\b"
    r"|\bare you (?:a )?(?:human|robot)\b|\brobot check\b|\bcaptcha\b|^security check"
    r"|^before you continue|^access (?:denied|to this page)\b|^pardon our interruption",
    re.IGNORECASE,
)
_GATE_SCRIPTS = (
    "/cdn-cgi/challenge-platform/",
    "challenges.cloudflare.com/",
    "recaptcha/api.js",
    "hcaptcha.com/",
    "/_incapsula_resource",
    "captcha-delivery.com/",
    "/.within.website/x/cmd/anubis",
)


_OF_GATES = frozenset({LinkKind.SCRIPT, LinkKind.FRAME, LinkKind.FORM})


def label_of(found: Extraction) -> Label:
    """Return what a page is instead of content; "" if it is content."""
    text = found.text
    if len(text) > SHORT_TEXT:
        return ""
    title = found.title.strip()
    if _GATE.search(title):
        return "challenge"
    if _NOT_FOUND.match(title):
        return "soft_not_found"
    if len(text) <= HARDLY_ANY_TEXT:
        if not title and _NOT_FOUND.match(text.lstrip()):
            return "soft_not_found"
        if _has_gate(found):
            return "challenge"
    return "needs_javascript" if found.is_shell else ""


def _has_gate(found: Extraction) -> bool:
    """Return True if a page with hardly any text loads the script of a gate."""
    return count_of(found.links, LinkKind.ANCHOR) <= FEW_LINKS and any(
        mark in target.lower()
        for target in targets_of(found.links, _OF_GATES)
        for mark in _GATE_SCRIPTS
    )


def is_gate(status: int, body: bytes) -> bool:
    """Return True if an error is a gate in truth: the page would be there for a browser."""
    if status not in GATE_STATUS:
        return False
    head = body[:HEAD_BYTES].decode("latin-1")
    title = _TITLE.search(head)
    return bool(title and _GATE.search(title[1].strip())) or any(
        mark in head.lower() for mark in _GATE_SCRIPTS
    )


_MOST_CHARS = 1_000
"""Of the whole text, that of <noscript> included: a longer page says something."""
_SHOWN_CHARS = 150
_HARDLY_SHOWN_CHARS = 40
""" "Loading …", or the name of the site."""
_MOST_ANCHORS, _MOST_IMAGES = 3, 2
_MOST_NODES = 200
_MOUNTS = frozenset(
    {
        *("root", "app", "application", "app-root", "react-root", "reactroot", "react-app"),
        *("__next", "__nuxt", "___gatsby", "__docusaurus", "q-app", "svelte", "svelte-app"),
        *("vue", "vue-app", "ember-app", "ember-application", "app-container", "app-mount"),
        *("app-wrapper", "mount", "spa", "elm", "elm-app", "blazor-app"),
    }
)
"""Ids of elements that applications are rendered into."""
_MOUNT_ATTRIBUTES = (
    "ng-app",
    "ng-view",
    "ui-view",
    "data-ng-app",
    "data-ng-view",
    "data-reactroot",
)
_ASKS = re.compile(
    r"(?:enable|require|need|turn on|activate|allow|support|without|disabled|work|run|use)\b"
    r".{0,80}java ?script|java ?script.{0,80}(?:enable|require|need|disabled|turned? o|activ|allow)"
    r"|java ?script.{0,40}(?:aktivier|eingeschaltet|deaktiviert|benötigt)"
    r"|aktivier.{0,60}java ?script"
    r"|activ(?:er|ez|ar|e|a|ate)\b.{0,60}java ?script|habilit\w{1,5}.{0,60}java ?script"
    r"|включ\w{1,6}.{0,60}java ?script|java ?scriptを有効|启用 ?java ?script|java ?script를",
    re.IGNORECASE | re.DOTALL,
)
_METERS = (
    *("google-analytics.com", "googletagmanager.com", "cloudflareinsights.com", "/gtag/"),
    *("googlesyndication.com", "doubleclick.net", "matomo", "piwik", "hotjar.com", "clarity.ms"),
)
"""Scripts that bring no content."""
_IN_FRONT = frozenset(
    {"form", "input", "select", "textarea", "frame", "frameset", "object", "embed"}
)
_BEARING = ("video", "audio", "canvas", "table", "h1", "h2", "ul", "ol", "p", "pre", "svg", "map")
_NOTHING = frozenset({"script", "noscript", "style", "link", "meta", "template", "base"})
_LARGE_SCRIPT_CHARS = 2_000


def may_be_shell(page: PageView[ElementView], text: str, links: Sequence[Link]) -> bool:
    """Return True if a page has little text, few links, and a script that may bring content."""
    # Anchors come first: of most short pages nothing more is asked.
    has_links = len(links) > _MOST_ANCHORS and kind_at(links, _MOST_ANCHORS) is LinkKind.ANCHOR
    return not has_links and len(text) <= _MOST_CHARS and _has_program(page.find_all("script"))


def is_shell(tree: Tree, text: str, links: Sequence[Link]) -> bool:
    """Return True if a page is an empty application shell."""
    if not may_be_shell(tree, text, links) or any(tree.find_all(tag) for tag in _IN_FRONT):
        return False
    scripts = tree.find_all("script")
    if count_of(links, LinkKind.REFRESH) or count_of(links, LinkKind.ANCHOR) > _MOST_ANCHORS:
        return False
    aside = tree.find_all("noscript")
    has_frame = any(not _is_meter(element) for element in tree.find_all("iframe"))
    if has_frame or _outside(tree, aside, "img") > _MOST_IMAGES:
        return False
    shown = len("".join(text.split())) - sum(len("".join(e.text.split())) for e in aside)
    if shown > _SHOWN_CHARS:
        return False
    if any(map(_is_mount, _elements(tree))):
        return True
    if asked := _ASKS.search(text):
        # In the head a <noscript> is closed by its first word: the sentence is then in the body.
        is_aside = any(_ASKS.search(element.text) for element in aside)
        return shown - (0 if is_aside else len(asked[0])) <= _HARDLY_SHOWN_CHARS
    is_redirect = any("location" in element.text for element in scripts)
    return not is_redirect and shown <= 0 and _is_bare(tree)


def _is_meter(element: ElementView) -> bool:
    """Return True if a script or a frame only counts visits."""
    source = (element.attr("src") or "").lower()
    return any(meter in source for meter in _METERS)


def _has_program(scripts: Iterable[ElementView]) -> bool:
    """Return True if there is a script that may bring content."""
    for element in scripts:
        source = element.attr("src")
        if source and not _is_meter(element):
            return True
        if not source and "json" not in (element.attr("type") or ""):
            is_module = element.attr("type") == "module"
            if is_module or len(element.text) > _LARGE_SCRIPT_CHARS:
                return True
    return False


def _outside(tree: Tree, aside: Iterable[Element], tag: str) -> int:
    """Return how many elements of a tag are not in a <noscript>."""
    return len(tree.find_all(tag)) - sum(len(element.find_all(tag)) for element in aside)


def _elements(tree: Tree) -> Iterable[Element]:
    """Return the first elements of the body."""
    for body in islice(tree.find_all("body"), 1):
        for node in islice(body.descendants, _MOST_NODES):
            if isinstance(node, Element):
                yield node


def _is_mount(element: Element) -> bool:
    """Return True if an element is one that a framework renders into, and is empty."""
    is_named = (element.attr("id") or "").lower() in _MOUNTS or element.tag in _MOUNTS
    if not is_named and all(element.attr(name) is None for name in _MOUNT_ATTRIBUTES):
        return False
    if any(element.find_all(name) for name in (*_BEARING[:-2], "img", "a")):
        return False
    return len("".join(element.text.split())) <= _HARDLY_SHOWN_CHARS


def _is_bare(tree: Tree) -> bool:
    """Return True if a body holds nothing that could be seen."""
    if any(tree.find_all(tag) for tag in (*_BEARING, "img")):
        return False
    return all(e.tag in _NOTHING or not e.text.strip() for e in _elements(tree))


class MarkedText(NamedTuple):
    """A page's text, and which parts of it are hidden, ads or code."""

    text: str
    spans: dict[str, list[int]]
    """By kind, of each part in turn: characters since the end of the one before, and its own."""


class TextPart(NamedTuple):
    """A part of a text, by its characters."""

    start: int
    end: int
    kind: str


HIDDEN, ADS, CODE = "hidden", "ads", "code"
_OPENING = {HIDDEN: "\ufdd0", ADS: "\ufdd1", CODE: "\ufdd2"}
_CLOSING = "\ufdd3"
_KINDS = {mark: kind for kind, mark in _OPENING.items()}
_SIGNS = re.compile("[\ufdd0-\ufdd3]")
"""Noncharacters that stand in the tree for a moment, so that the text tells where parts lie."""
_PRE = {"pre": [CODE]}
_UNHIDING = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_NEVER_HIDDEN = frozenset({"html", "body", "main", "article"})
"""A page that a script unveils, against flicker, is shown."""
MOST_PARTS, MOST_ALTS = 1_000, 500
_FEW_CHARS, MOST_SHARE = 200, 0.5
"""A page with less text that is shown counts what is hidden, too; what has more than this share of
the text is what the page is: the file that a listing shows, the ads of a market."""
AD_BLOCKS = 'div:is([class*="ad"], [id*="ad"], [class*="spons"])'
_AD_TAGS = ("aside", "section", "ins")
_AD_WORDS = frozenset(
    {
        *("ad", "ads", "advert", "adverts", "advertisement", "advertisements", "advertising"),
        *("adsbygoogle", "adsense", "adslot", "adunit", "adbox", "adspace", "adzone", "adbanner"),
        "sponsored",
    }
)
_NO_AD_WORDS = frozenset(
    {
        *("no", "not", "non", "without", "hide", "hidden", "disable", "disabled", "free", "hoc"),
        *("has", "with", "allow", "enabled", "block", "blocker", "blocked"),
    }
)
_NAME_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_NAME_CHARS, _KNOWN_NAMES, _ID_WORDS = 200, 4096, 3
DECORATION = re.compile(
    r"\W*|(?:an? )?(?:icon|logo|image|img|photo|picture|pic|bullet|arrow|spacer|blank|avatar|banner"
    r"|thumbnail|button|line|pixel|screenshot|graphic|figure)s?\W*\d*|\S+\.(?:png|jpe?g|gif|svg|webp)",
    re.IGNORECASE,
)
"""Alternative texts that say nothing."""
ALT_CHARS = 500


def marked_text(tree: Tree, styled: Iterable[Element], most_chars: int) -> MarkedText:
    """Return a page's text, with alternative texts and captions, and what parts of it are.

    `styled` are the elements with a style or the attribute `hidden`, among others. The tree is
    afterwards as it was before.
    """
    has_code = bool(tree.find_all("pre"))
    # All is looked up first: a tree that was changed makes its index of elements anew.
    in_grid = tree.select("td pre") if has_code and tree.find_all("td") else []
    captions, images = tree.find_all("caption"), tree.find_all("img")
    hidden, ads = hidden_elements(tree, styled), ad_elements(tree)
    signs: list[Node] = []
    _mark(hidden, HIDDEN, signs)
    _mark(ads, ADS, signs)
    _mark(in_grid, CODE, signs)
    has_signs = bool(signs)
    _tell_captions(captions, signs)
    _tell_pictures(images, signs)
    if has_code:
        text, code = tree.to_annotated_text(_PRE)
    else:
        text, code = tree.to_text(), []
    for sign in signs:
        sign.extract()
    if not has_signs and not code:
        return MarkedText(text[:most_chars], {})
    if has_signs:
        text, parts = unsigned(text, [TextPart(*span) for span in code])
        text = text[:most_chars]
        return MarkedText(text, coded_spans(text, counting_parts(text, parts)))
    text, most = text[:most_chars], MOST_SHARE * len(text)
    return MarkedText(text, coded_spans(text, [one for one in code if one[1] - one[0] <= most]))


def hidden_elements(page: PageView[AnElement], styled: Iterable[AnElement]) -> list[AnElement]:
    """Return elements that are not shown; <noscript> is not where scripts run."""
    found = list(page.find_all("noscript"))
    for element in styled:
        hidden = element.attr("hidden")
        is_hidden = hidden is not None and hidden.lower() != "until-found"
        if not is_hidden and (style := element.attr("style")):
            is_hidden = "n" in style and _UNHIDING.search(style) is not None
        if is_hidden and element.tag not in _NEVER_HIDDEN:
            found.append(element)
    return found


def ad_elements(page: PageView[AnElement]) -> list[AnElement]:
    """Return blocks whose class or id says that they are ads."""
    found: list[AnElement] = []
    some = list(page.select(AD_BLOCKS))
    for tag in _AD_TAGS:
        some += page.find_all(tag)
    for element in islice(some, MOST_PARTS):
        said = element.attr
        is_named = is_ad_name(said("class") or "")
        if not is_named and element.tag != "section":
            is_named = is_ad_id(said("id") or "") and not _has_heading(element)
        if is_named:
            found.append(element)
    return found


@lru_cache(_KNOWN_NAMES)
def is_ad_name(name: str) -> bool:
    """Return True if one of an element's classes says that it is an ad."""
    return any(map(_is_ad_words, map(_name_words, name[:_NAME_CHARS].split())))


@lru_cache(_KNOWN_NAMES)
def is_ad_id(name: str) -> bool:
    """Return True if an id says that its element is an ad: a longer one is that of a heading."""
    words = _name_words(name[:_NAME_CHARS])
    return len(words) <= _ID_WORDS and _is_ad_words(words)


def _name_words(name: str) -> list[str]:
    return [word.lower() for word in _NAME_WORD.findall(name)]


def _is_ad_words(words: list[str]) -> bool:
    return not _AD_WORDS.isdisjoint(words) and _NO_AD_WORDS.isdisjoint(words)


def _has_heading(element: ElementView) -> bool:
    return any(element.find_all(tag) for tag in ("h1", "h2", "h3"))


def _mark(elements: Iterable[Element], kind: str, signs: list[Node]) -> None:
    """Put signs around what elements hold; around each cell, where it is a part of a grid."""
    cells = (cell for element in elements for cell in _cells(element))
    for element in islice(cells, MOST_PARTS):
        opening, closing = Text(_OPENING[kind]), Text(_CLOSING)
        element.insert(0, opening)
        element.append(closing)
        signs += (opening, closing)


def _cells(element: Element) -> list[Element]:
    if element.tag not in {"table", "thead", "tbody", "tr"}:
        return [element]
    return element.find_all("td") + element.find_all("th")


def _tell_captions(captions: Iterable[Element], signs: list[Node]) -> None:
    """Put the captions of tables before them, as text: there is no place for them in a grid."""
    for caption in islice(captions, MOST_PARTS):
        table = caption.parent
        if isinstance(table, Element) and (said := " ".join(caption.text.split())):
            block = Element("p", None, [Text(said)])
            table.insert_before(block)
            signs.append(block)


def _tell_pictures(images: Iterable[Element], signs: list[Node]) -> None:
    """Put alternative texts beside pictures, unless they say nothing, or say it again."""
    told: set[str] = set()
    worded: dict[Node, bool] = {}
    for image in islice(images, MOST_ALTS):
        alt = image.attr("alt")
        if not alt or alt in told or len(alt) > ALT_CHARS or DECORATION.fullmatch(alt):
            continue
        told.add(alt)
        around = image.parent
        if isinstance(around, Element) and around.tag in {"a", "figure"}:
            if around not in worded:
                worded[around] = bool(around.text.strip())
            if worded[around] and (around.tag == "a" or alt in around.text):
                continue
        sign = Text(f" {alt} ")
        image.insert_after(sign)
        signs.append(sign)


def unsigned(text: str, parts: list[TextPart]) -> tuple[str, list[TextPart]]:
    """Return a text without signs, and its parts, those between signs among them."""
    pieces: list[str] = []
    opened: list[tuple[int, str]] = []
    found: list[TextPart] = []
    gone: list[int] = []
    last = 0
    for match in _SIGNS.finditer(text):
        at, sign = match.start(), match[0]
        pieces.append(text[last:at])
        here, last = at - len(gone), at + 1
        gone.append(at)
        if sign != _CLOSING:
            opened.append((here, _KINDS[sign]))
        elif opened:
            start, kind = opened.pop()
            found.append(TextPart(start, here, kind))
    pieces.append(text[last:])
    found += [
        TextPart(start - bisect_left(gone, start), end - bisect_left(gone, end), kind)
        for start, end, kind in parts
    ]
    return "".join(pieces), found


def counting_parts(text: str, parts: list[TextPart]) -> list[TextPart]:
    """Return the outermost parts, without those that are what the page is."""
    most = MOST_SHARE * len(text)
    parts = [part for part in parts if part.end > part.start and _is_some(part, most)]
    for kind, is_kept in ((HIDDEN, _leaves_text), (ADS, _leaves_half)):
        if not is_kept(text, [part for part in _outermost(parts) if part.kind == kind]):
            parts = [part for part in parts if part.kind != kind]
    return _outermost(parts)


def _is_some(part: TextPart, most: float) -> bool:
    return part.kind == HIDDEN or part.end - part.start <= most


def _leaves_text(text: str, parts: list[TextPart]) -> bool:
    return len(text) - sum(part.end - part.start for part in parts) >= _FEW_CHARS


def _leaves_half(text: str, parts: list[TextPart]) -> bool:
    return sum(part.end - part.start for part in parts) <= MOST_SHARE * len(text)


def _outermost(parts: list[TextPart]) -> list[TextPart]:
    """Return parts in their order, without those inside of another."""
    found: list[TextPart] = []
    for part in sorted(parts, key=lambda part: (part.start, -part.end)):
        if not found or part.start >= found[-1].end:
            found.append(part)
    return found


def coded_spans(text: str, parts: Iterable[tuple[int, int, str]]) -> dict[str, list[int]]:
    """Return parts as they are kept: gaps and lengths, by kind."""
    spans: dict[str, list[int]] = {}
    ends: dict[str, int] = {}
    for start, end, kind in parts:
        stop = min(end, len(text))
        if stop > start:
            spans.setdefault(kind, []).extend((start - ends.get(kind, 0), stop - start))
            ends[kind] = stop
    return spans
