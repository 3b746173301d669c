"""What a page is instead of content: a "not found" in disguise, or a gate before the content. Pure.

A table of few signals, each of them strong: a short page with the title that such pages have, or
with the scripts of those who sell gates. A long page is never labelled, whatever it is called.
"""

import re
from typing import Literal

from gossamer.model import Extraction, LinkKind

Label = Literal["", "soft_not_found", "challenge"]

LABELS: tuple[Label, ...] = ("soft_not_found", "challenge")
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
    if len(text) > HARDLY_ANY_TEXT:
        return ""
    if not title and _NOT_FOUND.match(text.lstrip()):
        return "soft_not_found"
    return "challenge" if _has_gate(found) else ""


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
