"""What a page is instead of content: a "not found" in disguise, a gate, an empty shell. Pure.

A table of few signals, each of them strong: a short page with the title that such pages have, or
with the scripts of those who sell gates. A long page is never labelled, whatever it is called.

An empty application shell has scripts, hardly any text and links, and one of three things besides:
an element that frameworks render into, a <noscript> that asks for JavaScript, or nothing in its
body. Forms, frames, pictures and redirects are content of their own.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal

from turbohtml import Document as Tree
from turbohtml import Element

from gossamer.model import Extraction, Link, LinkKind

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
    anchors = sum(link.kind is LinkKind.ANCHOR for link in found.links)
    return anchors <= FEW_LINKS and any(
        mark in link.target.text.lower()
        for link in found.links
        if link.kind in {LinkKind.SCRIPT, LinkKind.FRAME, LinkKind.FORM}
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


def is_shell(tree: Tree, text: str, links: Sequence[Link]) -> bool:
    """Return True if a page is an empty application shell."""
    # Anchors come first: of most short pages nothing more is asked.
    has_links = len(links) > _MOST_ANCHORS and links[_MOST_ANCHORS].kind is LinkKind.ANCHOR
    if has_links or len(text) > _MOST_CHARS:
        return False
    scripts = tree.find_all("script")
    if not _has_program(scripts) or any(tree.find_all(tag) for tag in _IN_FRONT):
        return False
    kinds = [link.kind for link in links]
    if LinkKind.REFRESH in kinds or kinds.count(LinkKind.ANCHOR) > _MOST_ANCHORS:
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


def _is_meter(element: Element) -> bool:
    """Return True if a script or a frame only counts visits."""
    source = (element.attr("src") or "").lower()
    return any(meter in source for meter in _METERS)


def _has_program(scripts: Iterable[Element]) -> bool:
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
