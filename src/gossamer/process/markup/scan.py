"""References hidden in small languages: CSS, scripts, srcset, refresh, plain text.

Every scanner is linear in its input: it either splits, or finds a word and matches a bounded
pattern there, with possessive quantifiers wherever a run could be long.
"""

import re
from collections.abc import Iterator

MAX_FINDS = 1_000
"""References that one stretch of text may yield."""

_CSS = re.compile(
    r"""url\(\s*+(?:"([^"\n]{0,2000})"|'([^'\n]{0,2000})'|([^)\s"'(]{0,2000}))"""
    r"""|@import\s*+(?:"([^"\n]{0,2000})"|'([^'\n]{0,2000})')""",
    re.IGNORECASE,
)
_SCRIPT = re.compile(
    r"""(?:location(?:\.href)?\s*+=\s*+|location\.(?:assign|replace)\s*+\(\s*+|window\.open\s*+\(\s*+)"""
    r"""(?:"([^"\n<>\s]{1,1000})"|'([^'\n<>\s]{1,1000})')(?!\s*+[+.])"""
)
_REFRESH = re.compile(r"\s*+[\d.]*+[\s;,]*+(?:url\s*+=\s*+)?", re.IGNORECASE)
_REFRESH_SECONDS = re.compile(r"\s*+[\d.]++[\s;,]*+$")
_TEXT_URL = re.compile(r"https?://[^\s<>\"'`{}|\\^\x00-\x20\x7f]{1,2000}")
_TRAILING = ".,;:!?)]*_"


def css_urls(text: str) -> list[str]:
    """Return what a style sheet refers to by url() or @import."""
    found: list[str] = []
    lower = text.lower()
    if "url(" not in lower and "@import" not in lower:
        return found
    for match in _CSS.finditer(text):
        href = next(filter(None, match.groups()), "")
        if href and not href.startswith("data:"):
            found.append(href)
        if len(found) >= MAX_FINDS:
            break
    return found


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def script_urls(text: str) -> list[str]:
    """Return where a script plainly sends the reader: location = "...", window.open("...")."""
    found: list[str] = []
    for word in ("location", "window.open"):
        for at in _places(text, word):
            if match := _SCRIPT.match(text, at):
                found.append((match[1] or match[2]).replace("\\/", "/"))
            if len(found) >= MAX_FINDS:
                return found
    return found


def srcset_urls(text: str) -> list[str]:
    """Return the images that a srcset offers."""
    found: list[str] = []
    is_descriptor = False
    for word in text.split():
        href = word
        if is_descriptor:
            descriptor, comma, href = word.partition(",")
            is_descriptor = not comma and not descriptor.endswith(")")
        href = href.lstrip(",")
        if is_descriptor or not href:
            continue
        found.append(href.rstrip(","))
        is_descriptor = not href.endswith(",")
        if len(found) >= MAX_FINDS:
            break
    return [href for href in found if href]


def refresh_url(text: str) -> str:
    """Return the target of a refresh such as `5; url='next.html'`, in any of its spellings."""
    if _REFRESH_SECONDS.match(text):
        return ""
    match = _REFRESH.match(text)
    rest = text[match.end() :] if match else text
    if rest[:1] in {'"', "'"}:
        return rest[1:].partition(rest[0])[0].strip()
    return rest.strip()


def text_urls(text: str) -> list[str]:
    """Return the web addresses that are written out in a text."""
    found: list[str] = []
    for match in _TEXT_URL.finditer(text):
        found.append(match[0].rstrip(_TRAILING))
        if len(found) >= MAX_FINDS:
            break
    return found
